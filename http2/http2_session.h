// The server's end of a connection of HTTP/2: the client's bytes become streams, and answers become
// bytes. It knows neither sockets nor gRPC, and reads no clock.
//
//     Http2Session http2(receiver);           // receiver.OnProgress(stream) hears of each stream
//     consumed = http2.Receive(input, now, units_max).bytes;
//     http2.Begin(stream, {{":status", "200"}, {"content-type", "application/grpc"}});
//     http2.Write(stream, bytes);
//     http2.End(stream, {{"grpc-status", "0"}});
//     http2.Flush(out);                       // appends what may be sent now
//     if (http2.has_ended()) ... close the connection behind those bytes
//
// Bounds of a connection: kHttp2StreamsMax streams; 16 KiB of header fields for each, at most 100;
// tables of 4 KiB for the compression of fields in either direction; frames of 16 KiB; and
// kHttp2WindowBytes of bodies that are kept, over all streams. A stream above its bound is reset. A
// client that breaks the protocol, or sends a flood (frame_watch.h), gets GOAWAY.
//
// Not thread safe. What it allocates is counted: held_bytes(), about 26 KB between two calls, of
// which the library does not touch a half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "http2/frame_watch.h"
#include "http2/http2_field.h"

struct nghttp2_session;

namespace weir {

inline constexpr std::size_t kHttp2StreamsMax = 1024;
inline constexpr std::size_t kHttp2HeaderBytesMax = 16 * 1024;
inline constexpr std::size_t kHttp2FieldsMax = 100;
inline constexpr std::size_t kHttp2FrameBytesMax = 16 * 1024;
inline constexpr std::size_t kHttp2WindowBytes = 256 * 1024;

// The fields of a request that are kept; empty: there was none.
struct Http2Fields {
  std::string method;
  std::string path;
  std::string content_type;
  std::string grpc_encoding;
  std::string authorization;  // is wiped behind the stream
};

// A request and its answer.
struct Http2Stream {
  std::int32_t id = 0;
  HostInstant began{};  // when its fields began to arrive
  Http2Fields fields;
  std::string body;          // what has come of it, unless it is dropped
  bool is_complete = false;  // the client sends nothing more
  bool is_answered = false;  // Begin() or Answer() was called
  bool may_last = false;     // the answer may take any time: ResetOverdue() leaves it alone
  // For Http2Session alone.
  std::size_t field_bytes = 0;
  std::size_t field_count = 0;
  bool drops_body = false;
  std::string output;
  std::size_t output_sent = 0;
  bool is_ended = false;  // no more output comes behind that
  std::vector<std::pair<std::string, std::string>> trailers;
};

class Http2Receiver {
 public:
  Http2Receiver() = default;
  Http2Receiver(const Http2Receiver&) = delete;
  Http2Receiver& operator=(const Http2Receiver&) = delete;
  virtual ~Http2Receiver() = default;
  // The fields of a request have come, or more of its body, or its end.
  virtual void OnProgress(Http2Stream& stream) = 0;
};

class Http2Session {
 public:
  // `receiver` must outlive the session; it is called within Receive().
  explicit Http2Session(Http2Receiver& receiver);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // Reads bytes of the client, as far as Http2FrameWatch::Look does, and returns what that does.
  Http2FrameWatch::Read Receive(std::string_view input, HostInstant now, std::size_t units_max);

  // The stream of that id; null if it has ended or was reset.
  [[nodiscard]] Http2Stream* Find(std::int32_t id);
  [[nodiscard]] std::size_t streams() const noexcept { return streams_.size(); }

  // Forgets the body so far, and throws away what comes of it.
  void DropBody(Http2Stream& stream);

  // The answer: its fields, its body in pieces, and the fields behind it.
  void Begin(Http2Stream& stream, std::span<const Http2Field> fields);
  void Write(Http2Stream& stream, std::string_view bytes);
  void End(Http2Stream& stream, std::span<const Http2Field> trailers);
  // An answer of fields only.
  void Answer(Http2Stream& stream, std::span<const Http2Field> fields);

  // The first time at which a stream is overdue that began `span` before: HostInstant::max() if
  // there is none.
  [[nodiscard]] HostInstant FirstOverdue(Nanos span) const;
  // Resets the streams that are overdue (CANCEL).
  void ResetOverdue(HostInstant now, Nanos span);

  // Tells the client to open no more streams on this connection. Those that it has opened, and
  // those that are on their way, are served.
  void AnnounceEnd();
  // Ends the connection: resets each request without an answer (REFUSED_STREAM: the client may
  // repeat it elsewhere), and sends GOAWAY without an error. Appends both.
  void EndNow(std::string& out);

  // Appends what may be sent now.
  void Flush(std::string& out);

  // True if nothing more is read or sent: after the client has broken the protocol or sent a flood,
  // after EndNow(), or when a client that has said so (GOAWAY) has all answers.
  [[nodiscard]] bool has_ended() const noexcept;
  [[nodiscard]] Http2Flood flood() const noexcept { return watch_.flood(); }
  // True if the client has broken the protocol.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

  // The memory of the connection and its streams.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  struct Callbacks;
  struct SessionDeleter {
    void operator()(nghttp2_session* session) const noexcept;
  };

  void MarkAnswered(Http2Stream& stream);
  void TakeBody(Http2Stream& stream, std::string_view bytes);
  void ReturnWindow(Http2Stream& stream);
  void Close(std::int32_t id);

  Http2Receiver& receiver_;
  Http2FrameWatch watch_;
  std::size_t library_bytes_ = 0;  // that nghttp2 has allocated
  std::size_t stream_bytes_ = 0;   // of fields, bodies and answers
  HostInstant now_{};              // of the present Receive()
  bool is_broken_ = false;
  bool ends_ = false;         // EndNow() was called
  bool client_ends_ = false;  // the client has sent GOAWAY
  std::map<std::int32_t, Http2Stream> streams_;
  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
};

}  // namespace weir
