// The smallest burst of a token bucket with which a given share of the logged requests passes.
//
// The limit is decided alone: the other limits of its request are left out, and each check of a
// request counts. Where all are to pass, the answer is the greatest backlog of a bucket that never
// denies, found in one pass. Below that it is found by halving, one pass a step, since a denied
// request charges nothing. The burst that is found admits the share, and the next smaller one does
// not; where costs differ, a still smaller one might again. A log with other commands than RL.ALLOW
// is always halved.
//
// Memory: 24 bytes a check, 28 a bucket. Cost of a pass: some 40 ns a check. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/words/request.h"
#include "replay/logged_request.h"

namespace weir {

// One percent, and 100 percent.
inline constexpr std::int64_t kPercent = 1'000'000;
inline constexpr std::int64_t kAllPercent = 100 * kPercent;

class BurstFit {
 public:
  // `check`: its limit, a token bucket, and what else a check says beside its key and its cost.
  // `max_wait`: as in LimiterOptions.
  BurstFit(const Check& check, Nanos max_wait);

  // Requires: times never go back.
  void Add(const LoggedRequest& request, const KeyHash& key, std::int64_t cost);
  // Forgets all buckets from here on.
  void AddClear();

  // The burst with which `share` of the checks pass, a number of kPercent; nothing if even the
  // greatest burst that a limit of this rate may have does not, or nothing was added. Requires:
  // 0 < share <= kAllPercent.
  [[nodiscard]] std::optional<std::int64_t> Find(std::int64_t share);
  // With this burst: how many checks pass.
  [[nodiscard]] std::uint64_t CountAdmitted(std::int64_t burst);
  [[nodiscard]] std::uint64_t checks() const noexcept { return checks_; }

 private:
  struct Item {
    Instant at;
    std::int64_t cost;
    std::uint32_t bucket;
    std::uint32_t special = 0;  // 1 + the index in specials_; 0: RL.ALLOW
  };
  struct Special {
    LoggedAction action;
    std::int64_t number;
  };
  struct Pass {
    std::uint64_t admitted = 0;
    std::int64_t backlog = 0;  // the greatest, in tokens
  };

  [[nodiscard]] std::optional<Limit> WithBurst(std::int64_t burst) const;
  [[nodiscard]] std::int64_t GreatestBurst() const;
  [[nodiscard]] Pass Run(std::int64_t burst);
  [[nodiscard]] bool DecideSpecial(const Check& check, const Item& item, Bucket& bucket) const;

  Check check_;
  const Nanos max_wait_;
  LimitShape shape_;
  std::uint64_t checks_ = 0;  // that ask for tokens
  std::vector<Item> items_;
  std::vector<Special> specials_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> bucket_of_;  // by a hash of the key
  std::vector<Bucket> buckets_;
};

}  // namespace weir
