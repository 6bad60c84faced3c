// The methods of gRPC: which handler answers which path.
//
//     GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context)
//
// A handler reads the message of a call, and returns one of three: the message of the answer, the
// error, or updates: the call lasts, and is answered by a message now and at each change.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "http2/grpc_status.h"
#include "server/http/http_services.h"
#include "server/session/services.h"

namespace weir {

// What a handler may know of the server and the connection.
struct GrpcContext {
  const Services& services;
  bool is_ending;  // the server stops
};

// The messages of a call that lasts.
class GrpcUpdates {
 public:
  GrpcUpdates() = default;
  virtual ~GrpcUpdates() = default;
  GrpcUpdates(const GrpcUpdates&) = delete;
  GrpcUpdates& operator=(const GrpcUpdates&) = delete;

  // True if there is a message to be sent: at first, and after a change. Asked twice a second.
  [[nodiscard]] virtual bool has_next(const GrpcContext& context) const = 0;
  // That message.
  [[nodiscard]] virtual std::string Next(const GrpcContext& context) = 0;
};

using GrpcResult = std::variant<std::string, GrpcError, std::unique_ptr<GrpcUpdates>>;

struct GrpcMethod {
  std::string_view path;
  HttpRouteGroup group;
  GrpcResult (*handler)(std::string_view message, const GrpcContext& context);
};

// The method of a path, or null. Pure.
[[nodiscard]] const GrpcMethod* FindGrpcMethod(std::string_view path) noexcept;

// The handlers, by file.

// server/grpc/grpc_health.cc
GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context);
GrpcResult GrpcHealthWatch(std::string_view message, const GrpcContext& context);

}  // namespace weir
