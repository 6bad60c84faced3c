#include "server/http/http_route.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "server/http/http_exchange.h"

namespace weir {
namespace {

constexpr std::string_view kReads = "GET, HEAD";

void NoSuchPath(HttpExchange& exchange) { exchange.Fail(404, kNoSuchPath); }

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
          .guard = HttpRoute::Guard::kPages,
          .handler = handler};
}

// No cache may keep a decision.
constexpr auto kNoStore = std::to_array<HttpField>({{"Cache-Control", "no-store"}});

constexpr auto kDecisionRoutes = std::to_array<HttpRoute>({
    {.path = "/check",
     .methods = {},
     .group = HttpRouteGroup::kCheck,
     .guard = HttpRoute::Guard::kPages,
     .fields = kNoStore,
     .handler = CheckByQuery},
    {.path = "/check/",
     .methods = {},
     .group = HttpRouteGroup::kCheck,
     .fields = kNoStore,
     .handler = CheckByRoute},
    {.path = "/healthcheck",
     .methods = kReads,
     .group = HttpRouteGroup::kHealth,
     .handler = Healthcheck},
    {.path = "/json",
     .methods = "POST",
     .group = HttpRouteGroup::kRls,
     .body = HttpRoute::Body::kRead,
     .login = HttpRoute::Login::kFirst,
     .guard = HttpRoute::Guard::kPages,
     .handler = RlsJson},
    JsonRoute("/v1", JsonCommand),
    JsonRoute("/v1/allow", JsonLimit),
    JsonRoute("/v1/batch", JsonBatch),
    JsonRoute("/v1/cancel", JsonLimit),
    JsonRoute("/v1/charge", JsonLimit),
    JsonRoute("/v1/command", JsonCommand),
    JsonRoute("/v1/commit", JsonLimit),
    JsonRoute("/v1/peek", JsonLimit),
    JsonRoute("/v1/pipeline", JsonPipeline),
    JsonRoute("/v1/refund", JsonLimit),
    JsonRoute("/v1/reserve", JsonLimit),
    JsonRoute("/v1/take", JsonLimit),
});

// The page loads nothing from elsewhere, no site may frame it, and no cache keeps it. Its styles
// and scripts are files, so none may stand in the HTML.
constexpr auto kPageFields = std::to_array<HttpField>({
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "object-src 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
});

// The fields of the page's JSON.
constexpr auto kApiFields = std::to_array<HttpField>({
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
});

// A file of the page. There is no data in it, so it needs no log-in.
constexpr HttpRoute PageRoute(std::string_view path) {
  return {.path = path,
          .methods = kReads,
          .group = HttpRouteGroup::kPage,
          .guard = HttpRoute::Guard::kAdminHosts,
          .fields = kPageFields,
          .handler = PageFile};
}

// A path under /api.
constexpr HttpRoute ApiRoute(std::string_view path, std::string_view methods,
                             void (*handler)(HttpExchange&)) {
  return {.path = path,
          .methods = methods,
          .group = HttpRouteGroup::kApi,
          .body = HttpRoute::Body::kRead,
          .login = HttpRoute::Login::kFirst,
          .guard = HttpRoute::Guard::kAdminHosts,
          .fields = kApiFields,
          .handler = handler};
}

constexpr auto kAdminRoutes = std::to_array<HttpRoute>({
    PageRoute("/"),
    PageRoute("/app.css"),
    PageRoute("/app.js"),
    PageRoute("/app/"),
    PageRoute("/dygraph.js"),
    PageRoute("/icon.svg"),
    ApiRoute("/api/events", kReads, ApiEvents),
    ApiRoute("/api/history", kReads, ApiHistory),
    ApiRoute("/api/key", kReads, ApiKey),
    ApiRoute("/api/key/reset", "POST", ApiKeyReset),
    ApiRoute("/api/limit", kReads, ApiLimit),
    ApiRoute("/api/limits", kReads, ApiLimits),
    ApiRoute("/api/now", kReads, ApiNow),
    ApiRoute("/api/peek", "POST", ApiPeek),
    ApiRoute("/api/policies/", "GET, HEAD, POST, DELETE", ApiPolicies),
    ApiRoute("/api/rls", kReads, ApiRls),
    ApiRoute("/api/simulate", "POST", ApiSimulate),
    ApiRoute("/api/top", kReads, ApiTop),
    {.path = "/api/",
     .methods = {},
     .group = HttpRouteGroup::kApi,
     .guard = HttpRoute::Guard::kAdminHosts,
     .fields = kApiFields,
     .handler = NoSuchPath},
    {.path = "/metrics",
     .methods = kReads,
     .group = HttpRouteGroup::kMetrics,
     .login = HttpRoute::Login::kFirst,
     .handler = Metrics},
});

bool IsFor(const HttpRoute& route, std::string_view path) noexcept {
  if (path == route.path) return true;
  if (!route.path.ends_with('/') || route.path == "/") return false;
  return path.starts_with(route.path) || path == route.path.substr(0, route.path.size() - 1);
}

const HttpRoute* FindIn(std::span<const HttpRoute> routes, std::string_view path) noexcept {
  const auto found =
      std::ranges::find_if(routes, [&](const HttpRoute& route) { return IsFor(route, path); });
  return found == routes.end() ? nullptr : &*found;
}

}  // namespace

std::span<const HttpRoute> HttpRoutes(Face face) noexcept {
  WEIR_CHECK(face != Face::kResp);
  return face == Face::kHttp ? std::span<const HttpRoute>(kDecisionRoutes) : kAdminRoutes;
}

const HttpRoute* FindHttpRoute(Face face, std::string_view path) noexcept {
  const HttpRoute* const found = FindIn(HttpRoutes(face), path);
  return found ? found : FindIn(kHealthRoutes, path);
}

}  // namespace weir
