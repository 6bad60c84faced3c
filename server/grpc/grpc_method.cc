#include "server/grpc/grpc_method.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr auto kMethods = std::to_array<GrpcMethod>({
    {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", HttpRouteGroup::kRls,
     ShouldRateLimit, AnswerToTooLong, true},
    {"/grpc.health.v1.Health/Check", HttpRouteGroup::kHealth, GrpcHealthCheck},
    {"/grpc.health.v1.Health/Watch", HttpRouteGroup::kHealth, GrpcHealthWatch},
});

}  // namespace

const GrpcMethod* FindGrpcMethod(std::string_view path, const HttpServices& http) noexcept {
  const auto* const found = std::ranges::find(kMethods, path, &GrpcMethod::path);
  if (found == kMethods.end()) return nullptr;
  return found->group == HttpRouteGroup::kRls && http.rls == nullptr ? nullptr : found;
}

}  // namespace weir
