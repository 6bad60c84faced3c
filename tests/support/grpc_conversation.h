// Conversations of gRPC over HTTP/2 with a server that has no sockets.
//
//     HttpTestServer server;
//     GrpcConversation client(server);
//     client.Call("/grpc.health.v1.Health/Check", Framed("")).body
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http2/grpc_message.h"
#include "server/grpc/first_bytes.h"
#include "tests/support/http2_client.h"
#include "tests/support/http_conversation.h"

namespace weir {

// A message with its prefix.
inline std::string Framed(std::string_view message) {
  std::string body;
  AppendGrpcMessage(message, body);
  return body;
}

// A client of HTTP/2 and its session.
class GrpcConversation {
 public:
  explicit GrpcConversation(HttpTestServer& server)
      : record_(server.services.clients.Add("127.0.0.1:50000", "127.0.0.1:7381", 7,
                                            server.clock.HostNow(), Face::kHttp)),
        server_(server),
        session_(std::make_unique<FirstBytes>(server.worker, record_, server.http)),
        driver_(*session_, server.clock) {}
  ~GrpcConversation() { server_.services.clients.Remove(*record_); }
  GrpcConversation(const GrpcConversation&) = delete;
  GrpcConversation& operator=(const GrpcConversation&) = delete;

  // Moves what both sides have to say, as a connection does at its ticks, too.
  void Talk() {
    Send(client.TakeOutput());
    for (std::string more; !closed() && !(more = client.TakeOutput()).empty();) Send(more);
    while (!closed() && session_->has_news()) Send("");
  }
  void Send(std::string_view bytes) { client.Receive(driver_.Send(bytes)); }
  Http2Answer& Call(std::string_view path, std::string_view body, const Http2FieldList& more = {}) {
    const std::int32_t id = client.Call(path, body, more);
    Talk();
    return client.answers[id];
  }
  [[nodiscard]] bool closed() const { return driver_.closed(); }
  [[nodiscard]] ClientSession& session() { return *session_; }
  [[nodiscard]] ClientRecord& record() { return *record_; }
  [[nodiscard]] int turns() const { return driver_.turns(); }

  Http2Client client;

 private:
  std::shared_ptr<ClientRecord> record_;
  HttpTestServer& server_;
  std::unique_ptr<ClientSession> session_;
  SessionDriver driver_;
};

}  // namespace weir
