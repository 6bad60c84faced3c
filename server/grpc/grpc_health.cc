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

// Nothing for bytes that are no request.
std::optional<std::string> ServiceOf(std::string_view message) {
  HealthCheckRequest request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) return {};
  return request.service();
}

Health HealthOf(std::string_view service, const GrpcContext& context) {
  if (!service.empty()) return HealthCheckResponse::SERVICE_UNKNOWN;
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
  explicit HealthUpdates(std::string service) : service_(std::move(service)) {}

  [[nodiscard]] bool has_next(const GrpcContext& context) const override {
    return told_ != HealthOf(service_, context);
  }
  [[nodiscard]] std::string Next(const GrpcContext& context) override {
    told_ = HealthOf(service_, context);
    return Response(*told_);
  }

 private:
  const std::string service_;
  std::optional<Health> told_;
};

GrpcError NoRequest() { return {GrpcStatus::kInvalidArgument, "ERR not a HealthCheckRequest"}; }

}  // namespace

GrpcResult GrpcHealthCheck(std::string_view message, const GrpcContext& context) {
  const std::optional<std::string> service = ServiceOf(message);
  if (!service) return NoRequest();
  const Health health = HealthOf(*service, context);
  if (health == HealthCheckResponse::SERVICE_UNKNOWN) {
    return GrpcError{GrpcStatus::kNotFound, "ERR unknown service"};
  }
  return Response(health);
}

GrpcResult GrpcHealthWatch(std::string_view message, const GrpcContext& /*context*/) {
  std::optional<std::string> service = ServiceOf(message);
  if (!service) return NoRequest();
  return std::make_unique<HealthUpdates>(*std::move(service));
}

}  // namespace weir
