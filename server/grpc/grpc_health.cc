// The health service of gRPC. It knows the server, whose name is empty, and under two names Envoy's
// rate limit service, where that is configured: they serve while GET /readyz?role=primary is 200,
// its rules are in force, and the server does not stop.
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
std::optional<bool> IsKnown(std::string_view message, const GrpcContext& context) {
  HealthCheckRequest request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) return {};
  const std::string& service = request.service();
  const bool is_rls =
      service == "ratelimit" || service == "envoy.service.ratelimit.v3.RateLimitService";
  return service.empty() || (is_rls && context.http.rls != nullptr);
}

Health HealthOf(bool is_known, const GrpcState& state) {
  if (!is_known) return HealthCheckResponse::SERVICE_UNKNOWN;
  const bool serves = !state.is_ending && IsReadyForCalls(state.services);
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

  [[nodiscard]] bool has_next(const GrpcState& state) const override {
    return told_ != HealthOf(is_known_, state);
  }
  [[nodiscard]] std::string Next(const GrpcState& state) override {
    told_ = HealthOf(is_known_, state);
    return Response(*told_);
  }

 private:
  const bool is_known_;
  std::optional<Health> told_;
};

GrpcError NoRequest() { return {GrpcStatus::kInvalidArgument, "ERR not a HealthCheckRequest"}; }

}  // namespace

GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context) {
  const std::optional<bool> is_known = IsKnown(message, context);
  if (!is_known) return NoRequest();
  const Health health = HealthOf(*is_known, context.state);
  if (health == HealthCheckResponse::SERVICE_UNKNOWN) {
    return GrpcError{GrpcStatus::kNotFound, "ERR unknown service"};
  }
  return Response(health);
}

GrpcResult GrpcHealthWatch(std::string_view message, const GrpcContext& context) {
  const std::optional<bool> is_known = IsKnown(message, context);
  if (!is_known) return NoRequest();
  return std::make_unique<HealthUpdates>(*is_known);
}

}  // namespace weir
