// A client of HTTP/2 for tests, in memory: calls become bytes, and the server's bytes become the
// answers.
//
//     Http2Client client;
//     const std::int32_t call = client.Call("/grpc.health.v1.Health/Check", message);
//     server.Receive(client.TakeOutput(), ...);
//     client.Receive(bytes of the server);
//     client.answers[call].trailers["grpc-status"];
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_session;

namespace weir {

// The answer to a call, as far as it has come.
struct Http2Answer {
  std::map<std::string, std::string> fields;    // the first ones
  std::map<std::string, std::string> trailers;  // those behind the body, or all without a body
  std::string body;
  bool is_ended = false;                 // by the server
  std::optional<std::uint32_t> reset{};  // the code with which the stream ended, if it was not 0
};

using Http2FieldList = std::vector<std::pair<std::string, std::string>>;

class Http2Client {
 public:
  Http2Client();
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // A call of gRPC, with further fields. Returns its stream.
  std::int32_t Call(std::string_view path, std::string_view body, const Http2FieldList& more = {});
  // A request with these fields alone, which continues after `body` if it is `open`.
  std::int32_t Request(const Http2FieldList& fields, std::string_view body, bool open = false);
  void Reset(std::int32_t stream, std::uint32_t code);
  void Ping();

  // The bytes to the server so far. They begin with the preface.
  [[nodiscard]] std::string TakeOutput();
  // Reads bytes of the server. Returns false if they are no HTTP/2.
  bool Receive(std::string_view bytes);

  struct GoAway {
    std::int32_t last_stream;
    std::uint32_t code;
    std::string text;
  };
  std::map<std::int32_t, Http2Answer> answers;
  std::vector<GoAway> go_aways;
  std::map<std::uint16_t, std::uint32_t> settings;  // of the server

 private:
  struct Callbacks;
  struct Body {
    std::string bytes;
    std::size_t sent = 0;
    bool open = false;
  };
  struct SessionDeleter {
    void operator()(nghttp2_session* session) const noexcept;
  };

  std::map<std::int32_t, std::unique_ptr<Body>> bodies_;
  std::unique_ptr<nghttp2_session, SessionDeleter> session_;
};

// The frame of HTTP/2 with that content, as a client of bad will would write it.
[[nodiscard]] std::string Http2Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                                     std::string_view payload = {});

}  // namespace weir
