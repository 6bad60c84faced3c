// Conversations over HTTP with a server that has no sockets (conversation.h has the server).
//
//     HttpConversation client;                                 // a server, and a client of it
//     client.Get("/livez")                                     // the response
//     HttpConversation other(client.server(), Face::kAdmin);   // a client of its admin port
//
// An HttpConversation moves bytes as a connection does (session_driver.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "server/http/http_services.h"
#include "server/http/http_session.h"
#include "tests/support/conversation.h"
#include "tests/support/session_driver.h"

namespace weir {

// A server with the state that its HTTP sessions share.
struct HttpTestServer : TestServer {
  using TestServer::TestServer;

  HttpServices http;
};

class HttpConversation {
 public:
  HttpConversation() : HttpConversation(std::make_unique<HttpTestServer>()) {}
  explicit HttpConversation(std::unique_ptr<HttpTestServer> server, Face face = Face::kHttp)
      : HttpConversation(*server, face) {
    owned_ = std::move(server);
  }
  explicit HttpConversation(HttpTestServer& server, Face face = Face::kHttp)
      : server_(server),
        record_(server.services.clients.Add("127.0.0.1:50000", "127.0.0.1:7381", 7,
                                            server.clock.HostNow(), face)),
        session_(server.worker, record_, server.http) {}
  ~HttpConversation() { server_.services.clients.Remove(*record_); }
  HttpConversation(const HttpConversation&) = delete;
  HttpConversation& operator=(const HttpConversation&) = delete;

  std::string Send(std::string_view bytes) { return driver_.Send(bytes); }

  // Sends a request without a body, with these lines of fields besides Host: "A: b\r\n".
  std::string Get(std::string_view target, std::string_view fields = {}) {
    return Request("GET", target, fields, {});
  }
  std::string Post(std::string_view target, std::string_view body, std::string_view fields = {}) {
    return Request("POST", target,
                   absl::StrCat(AbslView(fields), "Content-Type: application/json\r\n",
                                "Content-Length: ", body.size(), "\r\n"),
                   body);
  }
  std::string Request(std::string_view method, std::string_view target, std::string_view fields,
                      std::string_view body) {
    return Send(absl::StrCat(AbslView(method), " ", AbslView(target), " HTTP/1.1\r\nHost: weir\r\n",
                             AbslView(fields), "\r\n", AbslView(body)));
  }

  [[nodiscard]] HttpTestServer& server() { return server_; }
  [[nodiscard]] HttpSession& session() { return session_; }
  [[nodiscard]] ClientRecord& record() { return *record_; }
  [[nodiscard]] const ClientSession::Turn& turn() const { return driver_.turn(); }
  [[nodiscard]] bool closed() const { return driver_.closed(); }
  [[nodiscard]] int turns() const { return driver_.turns(); }
  [[nodiscard]] Nanos longest_turn() const { return driver_.longest_turn(); }
  [[nodiscard]] std::size_t unread_bytes() const { return driver_.unread_bytes(); }

 private:
  std::unique_ptr<HttpTestServer> owned_;
  HttpTestServer& server_;
  std::shared_ptr<ClientRecord> record_;
  HttpSession session_;
  SessionDriver driver_{session_, server_.clock};
};

// The parts of a response.
[[nodiscard]] inline int StatusOf(std::string_view response) {
  int status = 0;
  if (response.starts_with("HTTP/1.1 ")) {
    for (const char digit : response.substr(9, 3)) status = 10 * status + (digit - '0');
  }
  return status;
}
[[nodiscard]] inline std::string_view BodyOf(std::string_view response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == std::string_view::npos ? std::string_view() : response.substr(end + 4);
}
// The value of a field, spelled like this; nothing if there is none.
[[nodiscard]] inline std::optional<std::string_view> FieldOf(std::string_view response,
                                                             std::string_view name) {
  const std::string line = absl::StrCat("\r\n", AbslView(name), ": ");
  const std::string_view head = response.substr(0, response.find("\r\n\r\n"));
  const std::size_t begin = head.find(line);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = head.substr(begin + line.size());
  return rest.substr(0, rest.find("\r\n"));
}

}  // namespace weir
