#include "server/grpc/grpc_method.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr auto kMethods = std::to_array<GrpcMethod>({
    {"/grpc.health.v1.Health/Check", HttpRouteGroup::kHealth, GrpcHealthCheck},
    {"/grpc.health.v1.Health/Watch", HttpRouteGroup::kHealth, GrpcHealthWatch},
});

}  // namespace

const GrpcMethod* FindGrpcMethod(std::string_view path) noexcept {
  const auto* const found = std::ranges::find(kMethods, path, &GrpcMethod::path);
  return found == kMethods.end() ? nullptr : found;
}

}  // namespace weir
