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

// A path under /v1.
constexpr HttpRoute JsonRoute(std::string_view path, void (*handler)(HttpExchange&)) {
  return {.path = path,
          .methods = "POST",
          .group = HttpRouteGroup::kJson,
          .body = HttpRoute::Body::kRead,
          .login = HttpRoute::Login::kFirst,
          .handler = handler};
}

constexpr auto kDecisionRoutes = std::to_array<HttpRoute>({
    {.path = "/check/",
     .methods = {},
     .group = HttpRouteGroup::kCheck,
     .no_store = true,
     .handler = AnswerCheck},
    JsonRoute("/v1/allow", JsonLimit),
    JsonRoute("/v1/batch", JsonBatch),
    JsonRoute("/v1/charge", JsonLimit),
    JsonRoute("/v1/command", JsonCommand),
    JsonRoute("/v1/peek", JsonLimit),
    JsonRoute("/v1/pipeline", JsonPipeline),
    JsonRoute("/v1/refund", JsonLimit),
    JsonRoute("/v1/take", JsonLimit),
});

constexpr auto kAdminRoutes = std::to_array<HttpRoute>({
    {.path = "/metrics",
     .methods = kReads,
     .group = HttpRouteGroup::kMetrics,
     .login = HttpRoute::Login::kFirst,
     .handler = Metrics},
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
  const HttpRoute* const found =
      face == Face::kHttp ? FindIn(kDecisionRoutes, path) : FindIn(kAdminRoutes, path);
  return found ? found : FindIn(kHealthRoutes, path);
}

}  // namespace weir
