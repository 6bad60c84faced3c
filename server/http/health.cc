// /livez and /readyz, for the probes of an orchestrator or a load balancer; and /healthcheck, which
// those of envoyproxy/ratelimit ask, where its rules are served.
#include <string>

#include "protocol/http_target.h"
#include "server/health/readiness.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"

namespace weir {
namespace {

// Reads "role=primary"; false after answering 400.
bool ReadRole(HttpExchange& exchange, bool& asks_for_primary) {
  for (QueryReader parameters(exchange.head().query); parameters.Next();) {
    if (parameters.name() != "role" || parameters.value() != "primary") {
      exchange.Fail(400, "ERR /readyz has the parameter role=primary");
      return false;
    }
    asks_for_primary = true;
  }
  return true;
}

}  // namespace

void Healthcheck(HttpExchange& exchange) {
  if (exchange.http().rls == nullptr) return exchange.Fail(404, kNoSuchPath);
  const bool asks_if_ready = exchange.head().query == "ready";
  const bool is_well = !asks_if_ready || IsReadyForCalls(exchange.services());
  exchange.Answer(is_well ? 200 : 500, kPlainText, is_well ? "OK" : "NOT_SERVING");
}

void Livez(HttpExchange& exchange) { exchange.Answer(200, kPlainText, "ok\n"); }

void Readyz(HttpExchange& exchange) {
  bool asks_for_primary = false;
  if (!ReadRole(exchange, asks_for_primary)) return;
  const std::string reason = ReasonNotReady(
      exchange.services(), asks_for_primary ? ReadyFor::kChanges : ReadyFor::kItsRole);
  if (!reason.empty()) return exchange.Answer(503, kJson, reason);
  exchange.Answer(200, kPlainText, "ok\n");
}

}  // namespace weir
