#include "module/values/module.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {
namespace {

Module* the_module = nullptr;

}  // namespace

Module& TheModule() {
  WEIR_DCHECK(the_module != nullptr);
  return *the_module;
}

void SetTheModule(Module& module) { the_module = &module; }

void Module::ReclaimLimits() {
  const std::size_t limits = registry.size();
  const bool has_room = !registry.IsNearlyFull() || registry.idle() == 0;
  if (limits < reclaim_at_ && has_room) return;
  ReclaimIdleLimits();
}

void Module::ReclaimIdleLimits() {
  registry.Reclaim(registry.Idle(kLimitsMax));
  limit_texts.Clear();
  reclaim_at_ = std::max(kReclaimMin, 2 * registry.size());
}

}  // namespace weir
