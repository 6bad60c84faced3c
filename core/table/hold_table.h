// The holds of a store's keys (hold_store.h): the open ones, the marks that settled ones leave for
// a while, and the sums of the buckets that open holds name (settlement.h).
//
// A mark makes it safe to settle twice: it says that the hold was settled. The sums of a bucket
// exist from the first change that they count until no open hold of its key names its limit. So the
// id of their limit is in use (limit_registry.h), as the holds that name it count for it. A bucket
// without sums has sums of 0.
//
// If the table logs its changes for saves, a removal stays logged until a save has taken it, so an
// empty table may still be needed.
//
// A key with more than kFewHolds open holds has an index of them (crowded_holds.h), so that a look
// at a key visits at most kFewHolds of them.
//
// The table stores and finds; it knows no arithmetic. Not thread-safe: the caller holds the lock of
// the store. Cost: O(log n), unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "core/rules/settlement.h"
#include "core/table/crowded_holds.h"
#include "core/table/hold.h"
#include "core/table/hold_changes.h"
#include "core/table/hold_set.h"
#include "core/table/saved_hold.h"
#include "core/table/slot_key.h"

namespace weir {

// public-functions: 34, a map with its log.
class HoldTable {
 public:
  explicit HoldTable(bool logs_changes = false) : logs_changes_(logs_changes) {}

  // The open hold of that name, or null; and the mark.
  [[nodiscard]] Hold* FindOpen(std::uint64_t key, std::string_view id) const {
    return open_.Find(key, id);
  }
  [[nodiscard]] Hold* FindMark(std::uint64_t key, std::string_view id) const {
    return marks_.Find(key, id);
  }

  // Adds an open hold; its order is that of the calls, not that of `terms`. Requires: no open hold
  // and no mark of that name.
  Hold& Open(const HoldTerms& terms, std::string_view id, std::span<const HoldPart> parts,
             std::span<const HoldInterval> intervals, HoldEnd end = HoldEnd::kIsCancelled);
  void Renew(Hold& open, Instant expiry);
  // Makes a mark of an open hold, until `forgotten_at`.
  void Mark(Hold& open, Instant forgotten_at);
  // Take open holds of one key, or marks of one key, which then belong to the caller. Many holds
  // are not logged one by one; instead the whole table counts as changed. Cost: as for
  // HoldSet::TakeMany.
  void TakeManyOpen(std::uint64_t key, std::span<Hold* const> open);
  void TakeManyMarks(std::uint64_t key, std::span<Hold* const> marks);
  // Removes an open hold without a mark, or a mark.
  void RemoveOpen(Hold& open) {
    Log(open);
    static_cast<void>(TakeOpen(open));
  }
  void RemoveMark(Hold& mark) {
    Log(mark);
    static_cast<void>(marks_.Remove(mark));
  }

  [[nodiscard]] const HoldSet& open() const noexcept { return open_; }
  [[nodiscard]] const HoldSet& marks() const noexcept { return marks_; }
  // True if the key of an open hold has another one.
  [[nodiscard]] bool HasOtherOpen(const Hold& open) const;
  [[nodiscard]] std::size_t CountOpen(std::uint64_t key) const;
  // The weight (Hold::weight) of the key's open holds.
  [[nodiscard]] std::size_t WeightOf(std::uint64_t key) const;
  // Returns the tokens that the key's open holds have taken from a held limit. Cost: a visit of few
  // holds, or O(log n).
  [[nodiscard]] HeldTokens HeldOf(std::uint64_t key, LimitId limit) const;
  // The key's open holds that expire at `time` or before, in the order of HoldExpiry, but at most
  // `most`. Cost: a visit of few holds, or of those that it returns.
  [[nodiscard]] std::vector<Hold*> ExpiredOf(
      std::uint64_t key, Instant time,
      std::size_t most = std::numeric_limits<std::size_t>::max()) const;

  // The first expiry of the key's open holds after `time`; Instant::max() if there is none. Cost: a
  // visit of few holds, or O(log n).
  [[nodiscard]] Instant NextExpiry(std::uint64_t key, Instant time) const;
  // Returns the latest expiry of all holds and marks; Instant{} if there are none.
  [[nodiscard]] Instant LatestExpiry() const;

  // The sums of a bucket.
  [[nodiscard]] SettlementSums SumsOf(const SlotKey& bucket) const;
  struct SumsOfBucket {
    SlotKey bucket;
    SettlementSums sums;
  };
  [[nodiscard]] std::vector<SumsOfBucket> SumsOfKey(std::uint64_t key) const;
  // True if sums of the bucket are kept. Cost: O(log n) and, if it has none yet, a visit of few
  // holds.
  [[nodiscard]] bool KeepsSums(const SlotKey& bucket) const;
  // Calls visit(SlotKey, const SettlementSums&) for all sums that are kept.
  template <typename Visit>
  void ForEachSums(Visit visit) const {
    for (const auto& [bucket, sums] : sums_) visit(SlotKey(bucket.first, bucket.second), sums);
  }
  // Requires: KeepsSums().
  void SetSums(const SlotKey& bucket, const SettlementSums& sums);

  // --- Saving and loading ---

  // Calls visit_hold(key, id, std::optional<SavedHold>) for each hold that has changed, and
  // visit_sums(SlotKey, const SettlementSums*) for the sums; nothing, or null: it is gone. In the
  // order of keys, then of ids and limits. Requires: !changes().overflowed().
  template <typename VisitHold, typename VisitSums>
  void TakeChanges(VisitHold visit_hold, VisitSums visit_sums) {
    HoldSet::Finder open_finder(open_);
    HoldSet::Finder mark_finder(marks_);
    const auto hold = [&](std::uint64_t key, std::string_view id) {
      const Hold* const open = open_finder.Find(key, id);
      const Hold* const found = open ? open : mark_finder.Find(key, id);
      std::optional<SavedHold> saved;
      if (found) saved = SavedHoldOf(*found, open == nullptr);
      visit_hold(key, id, std::move(saved));
    };
    const auto sums = [&](const SlotKey& bucket) {
      const auto found = sums_.find({bucket.key_hash(), bucket.limit});
      visit_sums(bucket, found == sums_.end() ? nullptr : &found->second);
    };
    changes_.Take(hold, sums);
  }
  // Logs that the hold or mark of that name has changed.
  void LogHold(std::uint64_t key, std::string_view id) {
    if (logs_changes_) changes_.AddHold(key, id, size());
  }
  // From now on changes are logged.
  void StartLogging() noexcept { logs_changes_ = true; }
  void StopLogging() {
    logs_changes_ = false;
    changes_.Clear();
  }
  void ForgetChanges() { changes_.Clear(); }
  [[nodiscard]] const HoldChanges& changes() const noexcept { return changes_; }

  // Inserts a hold or a mark of an earlier run, which keeps its order, and logs nothing. Requires:
  // no open hold and no mark of that name; the parts of held limits are marked as such
  // (HoldPart::SetHeld).
  Hold& Restore(const HoldTerms& terms, std::string_view id, const SavedHold& saved);
  // The same for the sums of a bucket. Requires: KeepsSums().
  void RestoreSums(const SlotKey& bucket, const SettlementSums& sums);

  // The number of holds, marks and sums.
  [[nodiscard]] std::size_t size() const noexcept {
    return open_.size() + marks_.size() + sums_.size();
  }
  // True if there is no hold, no mark, and no note for a save.
  [[nodiscard]] bool empty() const noexcept {
    return open_.empty() && marks_.empty() && changes_.size() == 0 && !changes_.overflowed();
  }

 private:
  static constexpr std::size_t kFewHolds = 16;

  void Log(const Hold& hold) { LogHold(hold.key(), hold.id()); }
  void LogRemoved(std::span<Hold* const> holds);
  [[nodiscard]] CrowdedHolds* CrowdOf(std::uint64_t key) const;
  // True if an open hold of the key names the limit.
  [[nodiscard]] bool IsNamed(const SlotKey& bucket) const;
  Hold& InsertOpen(Hold::Owner hold, Instant expiry);
  [[nodiscard]] Hold::Owner TakeOpen(Hold& open);
  void ShrinkCrowd(std::uint64_t key);
  // Drops the sums of the buckets that these holds have named and no open hold of their key names
  // any more. Cost: a look-up for each part whose limit is not that of the hold before.
  void DropUnnamedSums(std::span<Hold* const> removed);

  HoldSet open_;
  HoldSet marks_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<CrowdedHolds>> crowds_;
  absl::btree_map<std::pair<std::uint64_t, LimitId>, SettlementSums> sums_;
  std::uint64_t opened_ = std::uint64_t{1} << 32;  // Hold::sequence() of the next
  bool logs_changes_;
  HoldChanges changes_;
};

}  // namespace weir
