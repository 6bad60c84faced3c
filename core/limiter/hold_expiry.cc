// Settles expired holds for the keeper. All expired holds of a key are settled together, so that
// each bucket is read and written once.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/limiter/hold_keeper.h"
#include "core/rules/held_limit.h"

namespace weir {
namespace {

// The settlement of a part takes as long as this many visits.
constexpr std::size_t kVisitsPerSettled = 4;
// A request ends at most this many expired holds of other keys, and forgets as many marks. It opens
// at most one hold for a key, so expired holds do not pile up in a store.
constexpr std::size_t kDueOfOthers = 1;

}  // namespace

// The buckets of a key while its due holds are settled, in the order of their expiries.
class HoldKeeper::Expiring {
 public:
  Expiring(const HoldKeeper& keeper, const StoredKey& key) : keeper_(keeper), key_(key) {}

  void Settle(Holds due);
  // Stores the buckets that have changed. Requires: the holds are still there.
  void StoreBuckets();
  // Stores the sums if the key has other open holds, too; otherwise the sums end with its last
  // hold. Call it before StoreBuckets, because an eviction changes the sums.
  void StoreSums(std::size_t holds);

 private:
  // A bucket of the key, as the earlier holds have left it.
  struct DueBucket {
    LimitId id{};
    std::optional<Limit> limit;  // its numbers settle; nothing: those of each hold do
    bool is_held = false;
    bool is_stored = false;
    Bucket before;
    Bucket bucket;
    SettlementSums sums;
    std::uint64_t returned = 0;  // tokens of a held limit
    Instant last;                // the time of the last settlement
  };
  void Settle(const Hold& hold);
  [[nodiscard]] DueBucket& BucketOf(std::size_t part, LimitId id);

  const HoldKeeper& keeper_;
  const StoredKey key_;
  absl::flat_hash_map<LimitId, std::unique_ptr<DueBucket>> buckets_;
  // The last bucket used for each part number: most holds of a key have the same limits.
  absl::InlinedVector<DueBucket*, 4> of_part_;
};

HoldKeeper::Expiring::DueBucket& HoldKeeper::Expiring::BucketOf(std::size_t part, LimitId id) {
  if (of_part_.size() <= part) of_part_.resize(part + 1);
  if (of_part_[part] && of_part_[part]->id == id) return *of_part_[part];
  std::unique_ptr<DueBucket>& bucket = buckets_[id];
  if (!bucket) {
    const Limit& interned = keeper_.registry_.Get(id);
    const SlotKey slot{key_.key, id};
    const std::optional<Bucket> stored = key_.store->FindBucket(slot);
    bucket = std::make_unique<DueBucket>();
    bucket->id = id;
    bucket->limit = keeper_.PresentNumbers(interned);
    bucket->is_held = interned.is_held();
    bucket->is_stored = stored.has_value();
    bucket->before = stored.value_or(Bucket{});
    bucket->bucket = bucket->before;
    bucket->sums = key_.store->holds()->SumsOf(slot);
  }
  of_part_[part] = bucket.get();
  return *bucket;
}

void HoldKeeper::Expiring::Settle(const Hold& hold) {
  const std::span<const HoldPart> parts = hold.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    DueBucket& due = BucketOf(i, parts[i].limit);
    due.last = hold.expiry();
    if (due.is_held) {
      due.returned += parts[i].held_tokens();
      continue;
    }
    const auto settle = [&](const Limit& limit) {
      due.bucket = SettleLimit(limit, due.bucket, hold.expiry(), hold.EstimateOf(i, limit), 0,
                               keeper_.max_wait_, due.sums);
    };
    due.limit ? settle(*due.limit) : settle(keeper_.LimitToSettle(hold, i));
  }
}

void HoldKeeper::Expiring::StoreSums(std::size_t holds) {
  HoldTable& table = *key_.store->holds();
  if (table.CountOpen(key_.key) == holds) return;
  for (const auto& [id, due] : buckets_) {
    if (!due->is_held) table.SetSums({key_.key, id}, due->sums);
  }
}

void HoldKeeper::Expiring::StoreBuckets() {
  HoldStore& store = *key_.store;
  for (const auto& [id, due] : buckets_) {
    if (due->is_held) {
      const HeldTokens held = store.holds()->HeldOf(key_.key, id);
      WEIR_CHECK(held.tokens >= due->returned);
      const std::uint64_t left = held.tokens - due->returned;
      due->bucket = due->is_stored && left > 0 ? AddHeld({}, left, held.end) : Bucket{};
    }
    if (due->bucket == due->before) continue;
    const Limit& interned = keeper_.registry_.Get(id);
    store.StoreBucket({key_.key, id}, due->limit ? *due->limit : interned, due->bucket, due->last);
  }
}

void HoldKeeper::Expiring::Settle(Holds due) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (i + kAhead < due.size()) __builtin_prefetch(due[i + kAhead]);
    visits_ += kVisitsPerSettled * due[i]->weight();
    Settle(*due[i]);
  }
  found_expired_ += due.size();
}

void HoldKeeper::Expire(const StoredKey& key, Holds due) {
  Expiring expiring(*this, key);
  expiring.Settle(due);
  expiring.StoreSums(due.size());
  expiring.StoreBuckets();
  ForgetOpen(*key.store->holds(), due);
  expired_.fetch_add(due.size(), std::memory_order_relaxed);
}

void HoldKeeper::ExpireInCopy(const StoredKey& key, Instant now) const {
  const HoldTable* const holds = key.store->holds();
  if (!holds) return;
  const std::vector<Hold*> due = holds->ExpiredOf(key.key, now);
  if (due.empty()) return;
  Expiring expiring(*this, key);
  expiring.Settle(due);
  expiring.StoreBuckets();
}

std::optional<Instant> HoldKeeper::ExpireHolds(HoldStore& store, Instant now, std::size_t most) {
  HoldTable* const holds = store.holds();
  if (!holds) return std::nullopt;
  std::optional<Instant> last;
  std::size_t done = 0;
  while (done < most && holds->open().HasExpired(now)) {
    const std::uint64_t key = holds->open().First().key();
    const std::vector<Hold*> due = holds->ExpiredOf(key, now, most - done);
    last = std::max(last, std::optional(due.back()->expiry()));
    done += due.size();
    Expire({&store, key}, due);
  }
  std::size_t forgotten = 0;
  for (; forgotten < most && holds->marks().HasExpired(now); ++forgotten) {
    ForgetMark(*holds, holds->marks().First());
  }
  if (done + forgotten > 0) store.HoldsChanged();
  return last;
}

std::optional<Instant> HoldKeeper::ExpireHolds(const StoredKey& key, Instant now) {
  std::optional<Instant> last = ExpireHolds(*key.store, now, kDueOfOthers);
  HoldTable* const holds = key.store->holds();
  if (!holds) return last;
  const std::vector<Hold*> own = holds->ExpiredOf(key.key, now);
  if (own.empty()) return last;
  last = std::max(last, std::optional(own.back()->expiry()));
  Expire(key, own);
  key.store->HoldsChanged();
  return last;
}

std::size_t HoldKeeper::CountDue(const StoredKey& key, Instant now, std::size_t most) {
  const HoldTable* const holds = key.store->holds();
  if (!holds) return 0;
  std::size_t due = 0;
  for (const Hold* const hold : holds->ExpiredOf(key.key, now, most)) due += hold->weight();
  visits_ += due;
  return due;
}

}  // namespace weir
