// The health service of gRPC. It knows one service, the empty name: the server, which serves while
// GET /readyz?role=primary is 200 and it does not stop.
#include <optional>

#include "server/grpc/grpc_method.h"
#include "server/grpc/health.pb.h"
#include "server/health/readiness.h"

namespace weir {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using Health = HealthCheckResponse::ServingStatus;

// Whether the request is for a known service; nothing for bytes that are no request.
std::optional<bool> IsKnown(std::string_view message) {
  HealthCheckRequest request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) return {};
  return request.service().empty();
}

Health HealthOf(bool is_known, const GrpcContext& context) {
  if (!is_known) return HealthCheckResponse::SERVICE_UNKNOWN;
  const bool serves =
      !context.is_ending && ReasonNotReady(context.services, ReadyFor::kChanges).empty();
  return serves ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

std::string Response(Health health) {
  HealthCheckResponse response;
  response.set_status(health);
  return response.SerializeAsString();
}

class HealthUpdates final : public GrpcUpdates {
 public:
  explicit HealthUpdates(bool is_known) : is_known_(is_known) {}

  [[nodiscard]] bool has_next(const GrpcContext& context) const override {
    return told_ != HealthOf(is_known_, context);
  }
  [[nodiscard]] std::string Next(const GrpcContext& context) override {
    told_ = HealthOf(is_known_, context);
    return Response(*told_);
  }

 private:
  const bool is_known_;
  std::optional<Health> told_;
};

GrpcError NoRequest() { return {GrpcStatus::kInvalidArgument, "ERR not a HealthCheckRequest"}; }

}  // namespace

GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context) {
  const std::optional<bool> is_known = IsKnown(message);
  if (!is_known) return NoRequest();
  const Health health = HealthOf(*is_known, context);
  if (health == HealthCheckResponse::SERVICE_UNKNOWN) {
    return GrpcError{GrpcStatus::kNotFound, "ERR unknown service"};
  }
  return Response(health);
}

GrpcResult GrpcHealthWatch(std::string_view message, const GrpcContext& /*context*/) {
  const std::optional<bool> is_known = IsKnown(message);
  if (!is_known) return NoRequest();
  return std::make_unique<HealthUpdates>(*is_known);
}

}  // namespace weir
