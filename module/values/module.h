// The module's state beside the values of the keys: one object, since the host runs it on one
// thread.
#pragma once

#include <cstddef>

#include "core/base/instant.h"
#include "core/commands/explicit_time.h"
#include "core/commands/limit_totals.h"
#include "core/commands/request_counters.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/words/limit_memo.h"
#include "core/words/policies.h"
#include "module/api/load_arguments.h"
#include "module/api/redis_api.h"
#include "module/values/limit_texts.h"

namespace weir {

class Module {
 public:
  explicit Module(const ModuleOptions& module_options)
      : options(module_options), explicit_time(module_options.allow_explicit_time) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Takes back ids of limits that no value carries any more: once there are twice as many as the
  // last time, and at once where there is little room for more. No caller may hold an id that no
  // value carries.
  void ReclaimLimits();
  // The same, at once.
  void ReclaimIdleLimits();

  const ModuleOptions options;
  ExplicitTime explicit_time;
  LimitRegistry registry;
  Policies policies;
  LimitTexts limit_texts{registry, policies};
  LimitMemo memo{&policies};
  RequestCounters request_counters;
  LimitTotals limit_totals;
  LimitHint throttle_hint;
  bool has_users = false;                      // a user besides `default` has introduced a limit
  const KeyHasher hasher{RandomHashSecret()};  // of keys in RL.TOP
  redis::Type* type = nullptr;                 // of our values

 private:
  static constexpr std::size_t kReclaimMin = 4096;
  std::size_t reclaim_at_ = kReclaimMin;
};

// The one that was made when the server loaded us.
[[nodiscard]] Module& TheModule();
void SetTheModule(Module& module);

}  // namespace weir
