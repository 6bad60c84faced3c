// The module's state, except for the values of keys: one object, because the host runs the module
// on one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/base/instant.h"
#include "core/commands/decision_events.h"
#include "core/commands/explicit_time.h"
#include "core/commands/limit_totals.h"
#include "core/commands/request_counters.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_records.h"
#include "core/policies/limit_memo.h"
#include "core/policies/policies.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "module/api/load_arguments.h"
#include "module/api/redis_api.h"
#include "module/api/wall_time.h"
#include "module/values/hold_sweeper.h"
#include "module/values/key_buckets.h"
#include "module/values/limit_texts.h"

namespace weir {

class Module {
 public:
  explicit Module(const ModuleOptions& module_options)
      : options(module_options),
        explicit_time(module_options.allow_explicit_time),
        hold_records(registry, static_cast<std::size_t>(module_options.max_holds)),
        keeper(registry, hold_records, module_options.max_wait,
               [this](const Limit& interned) { return policies.PresentLimit(interned); }) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Notes that the node is a primary from now on: at the load, or as a replica that is promoted.
  void BeginPrimary() {
    const auto now = std::chrono::floor<std::chrono::microseconds>(WallTime());
    first_operator_change_ = static_cast<std::uint64_t>(now.time_since_epoch().count());
  }
  // What RL.SLICE tells as `changes`. It begins at the time, in us, of BeginPrimary, so that it is
  // greater than all that the last primary, or this node's last run, has told. It does not count
  // the host's own commands, such as DEL.
  [[nodiscard]] std::uint64_t operator_changes() const {
    return first_operator_change_ + policies.changes() + resets;
  }

  // Takes back ids of limits that no value carries any more, if there are twice as many limits as
  // after the last time, or if there is little room for more. Requires: the caller holds no id that
  // no value carries.
  void ReclaimLimits();
  // Takes them back in any case. Requires: as above.
  void ReclaimIdleLimits();

  const ModuleOptions options;
  ExplicitTime explicit_time;
  LimitRegistry registry;
  Policies policies;
  HoldRecords hold_records;
  HoldKeeper keeper;
  const KeyBuckets::Shared values{registry, hold_records};
  HoldSweeper sweeper;
  LimitTexts limit_texts{registry, policies};
  LimitMemo memo{&policies};
  const WallClock clock;
  RequestCounters request_counters{clock};
  DecisionEvents events;
  LimitTotals limit_totals;
  LimitHint throttle_hint;
  std::uint64_t resets = 0;                    // of keys, by RL.RESET
  bool has_users = false;                      // a user besides `default` has introduced a limit
  const KeyHasher hasher{RandomHashSecret()};  // of keys
  const KeyHasher word_hasher{HashSecret{}};   // of the words of holds: the same on all nodes
  redis::Type* type = nullptr;                 // of our values

 private:
  static constexpr std::size_t kReclaimMin = 4096;
  std::size_t reclaim_at_ = kReclaimMin;
  std::uint64_t first_operator_change_ = 0;
};

// The module that was made when the host loaded weir.so.
[[nodiscard]] Module& TheModule();
void SetTheModule(Module& module);

}  // namespace weir
