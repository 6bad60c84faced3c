// The sweeper settles holds that are due in keys that no request opens.
//
// A request about a key settles what is due before it looks, so of all answers only the refusals of
// max-holds depend on the sweeper. It frees the memory of such holds and their places among the
// max-holds, and tells replicas. It knows each key with holds by its name, at about 100 bytes; a
// value that is renamed, copied or moved to another database is swept only once a request has
// changed it. Names of keys that were deleted stay until their time has come, or until there are
// too many: then the latest go first.
//
// A replica sweeps nothing: it gets the changes of its primary. Once it is promoted, it sweeps what
// has become due. Not thread-safe, as all of the module. Cost: O(log n) for a change of a key with
// holds; a look every kPauseMillis while there are some.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "absl/container/btree_set.h"

#include "core/base/instant.h"
#include "module/api/redis_api.h"
#include "module/values/key_buckets.h"

namespace weir {

class HoldSweeper {
 public:
  // Between two calls; while keys are due, so that 64 of them take a small part of the time.
  static constexpr redis::Millis kPauseMillis = 100;
  static constexpr redis::Millis kBusyPauseMillis = 2;

  // Remembers when a value has to be swept. To be called after its holds have changed.
  void Schedule(redis::Context* context, int db, std::string_view key, KeyBuckets& value,
                Instant now);

 private:
  // The most keys that one call sweeps: clients wait for it.
  static constexpr int kKeysAtOnce = 64;
  // When a replica looks again at a key whose primary has not settled it yet.
  static constexpr Nanos kReplicaPause = std::chrono::seconds{5};
  struct Entry {
    Instant due;
    int db;
    std::string key;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  static void OnTimer(redis::Context* context, void* sweeper);
  void SweepDue(redis::Context* context, Instant now, bool is_replica);
  void Insert(Entry entry);

  void StartTimer(redis::Context* context, redis::Millis pause);

  absl::btree_set<Entry> entries_;
  bool has_timer_ = false;  // true while there are entries
};

}  // namespace weir
