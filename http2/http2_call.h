// The client's end of a connection of HTTP/2 that makes one call, which may last: a stream with a
// request's fields, and bodies in both directions. It knows neither sockets nor gRPC, and reads no
// clock.
//
//     Http2Call call({{":method", "POST"}, {":path", "/a.B/C"}, ...});
//     call.Write(message);
//     call.Flush(out);                      // appends what may be sent now
//     call.Receive(input);                  // bytes of the server
//     use(call.TakeBody());
//     if (call.has_ended()) ... call.reason(), and close the connection
//
// The server may send kHttp2CallWindowBytes ahead. What has come of the answer is kept until it is
// taken, so its owner takes it after each Receive(). Of fields only those below are kept. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "http2/http2_field.h"

struct nghttp2_session;

namespace weir {

inline constexpr std::size_t kHttp2CallWindowBytes = std::size_t{256} * 1024;
// The most of the request's body that waits for a server which gives no room for it.
inline constexpr std::size_t kHttp2CallOutputBytesMax = std::size_t{1024} * 1024;

class Http2Call {
 public:
  // Begins the call. `fields` may go when this returns.
  explicit Http2Call(std::span<const Http2Field> fields);
  ~Http2Call();
  Http2Call(const Http2Call&) = delete;
  Http2Call& operator=(const Http2Call&) = delete;

  // Reads bytes of the server. What it breaks of the protocol is known behind the next Flush().
  void Receive(std::string_view input);
  // What has come of the answer's body since the last call.
  [[nodiscard]] std::string TakeBody() { return std::exchange(body_, {}); }
  // Sends more of the request's body. Ends the call if kHttp2CallOutputBytesMax would wait.
  void Write(std::string_view bytes);
  // Asks whether the server is there. Requires: !awaits_pong().
  void Ping();
  [[nodiscard]] bool awaits_pong() const noexcept { return awaits_pong_; }
  // Ends the call for this reason, and tells the server that it is over (CANCEL).
  void Cancel(std::string_view reason);
  // Appends what may be sent now, even after the end.
  void Flush(std::string& out);

  // True once the server has begun to answer with the status 200.
  [[nodiscard]] bool is_answered() const noexcept { return status_ == "200"; }
  // The field content-type of the answer, up to 512 bytes; empty: none has come.
  [[nodiscard]] const std::string& content_type() const noexcept { return content_type_; }
  // True if the call is over: nothing more is read.
  [[nodiscard]] bool has_ended() const noexcept { return !reason_.empty(); }
  // Why, in a few words: "grpc-status 14: no such node", "the stream was reset (8)".
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  struct Callbacks;
  struct SessionDeleter {
    void operator()(nghttp2_session* session) const noexcept;
  };

  void End(std::string reason);
  void OnStreamEnd(std::uint32_t code);

  std::int32_t stream_ = 0;
  std::string output_;
  std::size_t output_sent_ = 0;
  std::string body_;
  bool awaits_pong_ = false;
  std::string status_;  // the fields of the answer; empty: it had none
  std::string content_type_;
  std::string grpc_status_;
  std::string grpc_message_;
  std::string reason_;
  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
};

}  // namespace weir
