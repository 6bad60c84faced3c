// /livez and /readyz, for the probes of an orchestrator.
#include "absl/strings/str_cat.h"

#include "server/http/http_exchange.h"
#include "server/http/http_route.h"

namespace weir {

void Livez(HttpExchange& exchange) { exchange.Answer(200, kPlainText, "ok\n"); }

// Not ready: a server that loads its state, or one whose changes must be saved and cannot be.
void Readyz(HttpExchange& exchange) {
  const Services& services = exchange.services();
  if (services.loading()) {
    const std::uint64_t buckets = services.state->load_report().loaded.load();
    return exchange.Answer(503, kJson, absl::StrCat(R"({"loading":{"buckets":)", buckets, "}}"));
  }
  if (services.refuses_changes()) {
    return exchange.Answer(503, kJson, R"({"persist":"failing"})");
  }
  exchange.Answer(200, kPlainText, "ok\n");
}

}  // namespace weir
