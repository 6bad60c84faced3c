// /livez and /readyz, for the probes of an orchestrator or a load balancer.
#include <cstdint>
#include <string>

#include "protocol/http_target.h"
#include "protocol/json_writer.h"
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

void Livez(HttpExchange& exchange) { exchange.Answer(200, kPlainText, "ok\n"); }

// Not ready: a server that loads its state or waits for Sentinel, one whose changes must be saved
// and cannot be, a primary that is deposed or lacks replicas, and a replica that has no whole state
// or has lost its primary. With role=primary no replica is ready.
void Readyz(HttpExchange& exchange) {
  bool asks_for_primary = false;
  if (!ReadRole(exchange, asks_for_primary)) return;
  const Services& services = exchange.services();
  std::string text;
  JsonWriter json(text);
  if (services.admission().loading()) {
    const std::uint64_t buckets = services.state->load_report().loaded.load();
    json.Object().Object("loading").Field("buckets", buckets).EndObject().EndObject();
    return exchange.Answer(503, kJson, text);
  }
  if (services.admission().cannot_save()) {
    return exchange.Answer(503, kJson, R"({"persist":"failing"})");
  }
  if (services.is_replica()) {
    const bool is_complete = services.replication->is_complete();
    const bool is_link_up = services.replication->is_link_up();
    if (asks_for_primary || !is_complete || !is_link_up) {
      json.Object().Object("replica").Field("complete", is_complete).Field("link_up", is_link_up);
      json.EndObject().EndObject();
      return exchange.Answer(503, kJson, text);
    }
  }
  if (services.admission().gated())
    return exchange.Answer(503, kJson, R"({"waits_for":"sentinel"})");
  if (!services.is_replica() && !services.is_primary()) {
    return exchange.Answer(503, kJson, R"({"deposed":true})");
  }
  if (!services.is_replica() && services.admission().lacks_replicas()) {
    return exchange.Answer(503, kJson, R"({"replicas":"too few"})");
  }
  exchange.Answer(200, kPlainText, "ok\n");
}

}  // namespace weir
