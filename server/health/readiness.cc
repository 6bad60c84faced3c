#include "server/health/readiness.h"

#include <cstdint>

#include "protocol/json_writer.h"
#include "server/session/worker.h"

namespace weir {

std::string ReasonNotReady(const Services& services, ReadyFor purpose) {
  std::string text;
  JsonWriter json(text);
  if (services.admission().loading()) {
    const std::uint64_t buckets = services.state->load_report().loaded.load();
    json.Object().Object("loading").Field("buckets", buckets).EndObject().EndObject();
    return text;
  }
  if (services.admission().cannot_save()) return R"({"persist":"failing"})";
  if (services.is_replica()) {
    const bool is_complete = services.replication->is_complete();
    const bool is_link_up = services.replication->is_link_up();
    if (purpose == ReadyFor::kChanges || !is_complete || !is_link_up) {
      json.Object().Object("replica").Field("complete", is_complete).Field("link_up", is_link_up);
      json.EndObject().EndObject();
      return text;
    }
  }
  if (services.options.is_edge()) {
    const bool answers = services.settings.Get(&Options::edge_away) != EdgeAway::kError;
    return answers || IsEdgeConnected(services) ? "" : R"({"edge":"away"})";
  }
  if (services.admission().gated()) return R"({"waits_for":"sentinel"})";
  if (!services.is_replica() && !services.is_primary()) return R"({"deposed":true})";
  const bool lacks_replicas = !services.is_replica() && services.admission().lacks_replicas();
  return lacks_replicas ? R"({"replicas":"too few"})" : "";
}

bool IsReadyForCalls(const Services& services) {
  const bool has_rules = !services.options.serves_rls() || services.rls.in_force.load();
  return has_rules && ReasonNotReady(services, ReadyFor::kChanges).empty();
}

}  // namespace weir
