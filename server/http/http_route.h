// The routes: which handler answers which path, on which port.
#pragma once

#include <span>
#include <string_view>

#include "protocol/http_head.h"
#include "server/http/http_services.h"
#include "server/observe/client_registry.h"

namespace weir {

class HttpExchange;

struct HttpRoute {
  // The path, as it is sent. With a "/" at its end it stands for all paths below, too, except for
  // the path "/".
  std::string_view path;
  std::string_view methods;  // as in the field Allow: "GET, HEAD"; empty: any
  HttpRouteGroup group;
  // Whether the handler reads the body. If not, it is dropped as it comes.
  enum class Body { kDropped, kRead } body = Body::kDropped;
  // Whether the client logs in, by the field Authorization, before the handler is called.
  enum class Login { kNone, kFirst } login = Login::kNone;
  // The requests that are refused because a page of another site may have made a browser send them
  // (site_guard.h): none; those to a host that is not one of the admin port's; or, from clients
  // that have not proved who they are, those to a host that is not in http-hosts and those that a
  // browser marks as a page's.
  enum class Guard { kNone, kAdminHosts, kPages } guard = Guard::kNone;
  // What every response has, whatever its status.
  std::span<const HttpField> fields = {};
  void (*handler)(HttpExchange& exchange);
};

// The routes of the ports of a face, but for those of health, which all ports have.
[[nodiscard]] std::span<const HttpRoute> HttpRoutes(Face face) noexcept;

// The route of a path, on the ports of a face: the first that fits, or null. Pure. Cost: compares
// the path with a dozen others.
[[nodiscard]] const HttpRoute* FindHttpRoute(Face face, std::string_view path) noexcept;

// The handlers, by file.

// server/http/check.cc
void CheckByRoute(HttpExchange& exchange);
void CheckByQuery(HttpExchange& exchange);

// server/http/health.cc
void Healthcheck(HttpExchange& exchange);
void Livez(HttpExchange& exchange);
void Readyz(HttpExchange& exchange);

// server/json/json_limits.cc
void JsonLimit(HttpExchange& exchange);
void JsonBatch(HttpExchange& exchange);

// server/json/json_commands.cc
void JsonCommand(HttpExchange& exchange);
void JsonPipeline(HttpExchange& exchange);

// server/http/metrics.cc
void Metrics(HttpExchange& exchange);

// server/rls/rls_json.cc
void RlsJson(HttpExchange& exchange);

// server/page/api_events.cc
void ApiEvents(HttpExchange& exchange);

// server/page/api_key.cc
void ApiKey(HttpExchange& exchange);
void ApiKeyReset(HttpExchange& exchange);

// server/page/api_numbers.cc
void ApiHistory(HttpExchange& exchange);
void ApiLimits(HttpExchange& exchange);
void ApiNow(HttpExchange& exchange);

// server/page/api_policies.cc
void ApiPolicies(HttpExchange& exchange);

// server/page/api_rls.cc
void ApiRls(HttpExchange& exchange);

// server/page/api_top.cc
void ApiLimit(HttpExchange& exchange);
void ApiTop(HttpExchange& exchange);

// server/page/api_try.cc
void ApiPeek(HttpExchange& exchange);
void ApiSimulate(HttpExchange& exchange);

// server/page/page_files.cc
void PageFile(HttpExchange& exchange);

}  // namespace weir
