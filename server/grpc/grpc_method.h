// The methods of gRPC: which handler answers which path.
//
//     GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context)
//
// Runs on the thread of the connection. A handler reads the message of a call, and returns one of
// three: the message of the answer, the error, or updates: the call lasts, and is answered by a
// message now and at each change.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "http2/grpc_status.h"
#include "server/http/http_services.h"
#include "server/http/remembered_login.h"
#include "server/session/session.h"

namespace weir {

struct GrpcState {
  const Services& services;
  bool is_ending;  // the server stops
};

// What a handler may know of the server and the connection, and of the call.
struct GrpcContext {
  GrpcState state;
  HttpServices& http;
  Session& session;  // acts for the client; the answer waits for what its delay() awaits
  RememberedLogin& login;
  std::string_view authorization;  // of the call; empty: none
};

// The messages of a call that lasts.
class GrpcUpdates {
 public:
  GrpcUpdates() = default;
  virtual ~GrpcUpdates() = default;
  GrpcUpdates(const GrpcUpdates&) = delete;
  GrpcUpdates& operator=(const GrpcUpdates&) = delete;

  // True if there is a message to be sent: at first, and after a change. Asked twice a second.
  [[nodiscard]] virtual bool has_next(const GrpcState& state) const = 0;
  // That message.
  [[nodiscard]] virtual std::string Next(const GrpcState& state) = 0;
};

using GrpcResult = std::variant<std::string, GrpcError, std::unique_ptr<GrpcUpdates>>;

struct GrpcMethod {
  std::string_view path;
  HttpRouteGroup group;
  GrpcResult (*handler)(std::string_view message, const GrpcContext& context);
  // The answer to a message of more than kGrpcMessageBytesMax; null: an error.
  std::string (*too_long)(Services& services) = nullptr;
  // A pause of changes holds it back.
  bool changes = false;
};

// The method of a path, or null. Those of a service that is not configured do not exist.
[[nodiscard]] const GrpcMethod* FindGrpcMethod(std::string_view path,
                                               const HttpServices& http) noexcept;

// The handlers, by file.

// server/grpc/grpc_health.cc
GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context);
GrpcResult GrpcHealthWatch(std::string_view message, const GrpcContext& context);

// server/rls/should_rate_limit.cc
GrpcResult ShouldRateLimit(std::string_view message, const GrpcContext& context);
std::string AnswerToTooLong(Services& services);

}  // namespace weir
