#include "server/policy_reload.h"

#include "absl/status/status.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "server/health/add_event.h"
#include "server/os/log.h"
#include "server/session/services.h"

namespace weir {

void ReloadPolicyFile(Services& services) {
  if (services.admission().loading()) {
    return spdlog::warn("received SIGHUP: the policy file is not read while the state is loading");
  }
  if (!services.is_primary() && !services.admission().gated()) {
    return spdlog::info(
        "received SIGHUP: the policy file is not read on a replica, which has its primary's "
        "policies");
  }
  if (services.options.policies.empty()) {
    return spdlog::info("received SIGHUP: there is no policy file to read, see --policies");
  }
  if (const absl::Status reloaded = services.ReloadPolicies(); !reloaded.ok()) {
    return spdlog::error("received SIGHUP: the policies are unchanged: {}",
                         EscapedForLog(StdView(reloaded.message())));
  }
  spdlog::info("received SIGHUP: read the policy file again");
  AddEvent(services, ServerEventKind::kPolicy, "", "SIGHUP: read the policy file again");
}

}  // namespace weir
