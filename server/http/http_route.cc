#include "server/http/http_route.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::string_view kReads = "GET, HEAD";

constexpr auto kHealthRoutes = std::to_array<HttpRoute>({
    {.path = "/livez", .methods = kReads, .group = HttpRouteGroup::kHealth, .handler = Livez},
    {.path = "/readyz", .methods = kReads, .group = HttpRouteGroup::kHealth, .handler = Readyz},
});

constexpr auto kDecisionRoutes = std::to_array<HttpRoute>({
    {.path = "/check/", .methods = {}, .group = HttpRouteGroup::kCheck, .handler = AnswerCheck},
});

bool IsFor(const HttpRoute& route, std::string_view path) noexcept {
  if (path == route.path) return true;
  if (!route.path.ends_with('/')) return false;
  return path.starts_with(route.path) || path == route.path.substr(0, route.path.size() - 1);
}

const HttpRoute* FindIn(std::span<const HttpRoute> routes, std::string_view path) noexcept {
  const auto found =
      std::ranges::find_if(routes, [&](const HttpRoute& route) { return IsFor(route, path); });
  return found == routes.end() ? nullptr : &*found;
}

}  // namespace

const HttpRoute* FindHttpRoute(Face face, std::string_view path) noexcept {
  const HttpRoute* const decision = face == Face::kHttp ? FindIn(kDecisionRoutes, path) : nullptr;
  return decision ? decision : FindIn(kHealthRoutes, path);
}

}  // namespace weir
