#include "core/table/limit_registry.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"

namespace weir {

LimitRegistry::LimitRegistry(std::size_t limits_max)
    : limits_max_(std::min(limits_max, kLimitsMax)), ids_(0, HashOf{}, SameLimit{this}) {}

std::size_t LimitRegistry::HashOf::operator()(const Limit& limit) const noexcept {
  return static_cast<std::uint32_t>(absl::HashOf(limit.identity()));
}

bool LimitRegistry::IsGivenOut(const Entry& entry) noexcept {
  return NumberOf(entry.generation.load(std::memory_order_acquire)) % 2 == 1;
}

const Limit& LimitRegistry::Get(LimitId id) const noexcept {
  WEIR_CHECK(IsGivenOut(EntryOf(id)));
  return LastMeaning(id);
}

const Limit& LimitRegistry::LastMeaning(LimitId id) const noexcept {
  const Entry& entry = EntryOf(id);
  WEIR_CHECK(entry.limit.has_value());
  return *entry.limit;
}

// Every id that was ever given out is in use, free, or waits for a save.
void LimitRegistry::CheckCounts() const {
  WEIR_CHECK(ids_.size() + free_.size() + unsaved_.size() + in_save_.size() == used());
  WEIR_CHECK(introduced_by_all_ <= ids_.size());
  WEIR_CHECK(introduced_.size() <= introduced_by_all_);
}

std::optional<LimitId> LimitRegistry::FindWithoutHint(const Limit& limit, LimitHint& hint) const {
  const std::uint32_t given_out = given_out_.load(std::memory_order_relaxed);
  if (hint.missed_at == given_out && given_out != 0) return std::nullopt;
  MutexLock lock(mutex_);
  return FindLocked(limit, hint);
}

std::optional<LimitId> LimitRegistry::FindLocked(const Limit& limit, LimitHint& hint) const {
  const auto found = ids_.find(limit);
  if (found == ids_.end()) {
    hint = {.missed_at = given_out_.load(std::memory_order_relaxed)};
    return std::nullopt;
  }
  hint = {found->id, EntryOf(found->id).generation.load(std::memory_order_relaxed)};
  return found->id;
}

std::size_t LimitRegistry::BytesPerLimit() noexcept {
  return sizeof(Entry) + 2 * (sizeof(HashedId) + 1);
}

void LimitRegistry::set_limits_max(std::size_t limits) noexcept {
  limits_max_.store(std::min(limits, kLimitsMax), std::memory_order_relaxed);
}

absl::Status LimitRegistry::CheckRoom(Introducer introducer) const {
  const auto full = [](std::size_t limits, std::string_view what) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many distinct limits (", limits, " ", AbslView(what), ")"));
  };
  const std::size_t most = limits_max_.load(std::memory_order_relaxed);
  if (ids_.size() >= most) return full(most, "are in use");
  const bool has_id = !free_.empty() || used_.load(std::memory_order_relaxed) < kIdsMax;
  if (!has_id) return full(kIdsMax, "are in use or wait for a save");
  if (introducer == kNoIntroducer) return absl::OkStatus();
  const std::size_t most_of_one = most / 10;
  const std::size_t most_of_all = most - most_of_one;
  if (introduced_by_all_ >= most_of_all) return full(most_of_all, "introduced by users are in use");
  if (introducer == kSoleIntroducer) return absl::OkStatus();
  const auto own = introduced_.find(introducer);
  if (own == introduced_.end() || own->second < most_of_one) return absl::OkStatus();
  return full(most_of_one, "introduced by this user are in use");
}

absl::StatusOr<LimitId> LimitRegistry::Intern(const Limit& limit, LimitHint& hint,
                                              Introducer introducer) {
  if (limit.owner() != LimitOwner{}) introducer = kNoIntroducer;
  MutexLock lock(mutex_);
  if (const std::optional<LimitId> id = FindLocked(limit, hint)) return *id;
  WEIR_RETURN_IF_ERROR(CheckRoom(introducer));
  LimitId id{};
  if (free_.empty()) {
    id = LimitId{used_.load(std::memory_order_relaxed)};
    EnsureChunks(id);
    used_.store(NumberOf(id) + 1, std::memory_order_release);
  } else {
    id = free_.back();
    free_.pop_back();
  }
  GiveOut(id, limit, introducer, hint);
  if (logs_changes_) changed_.insert(id);
  CheckCounts();
  return id;
}

void LimitRegistry::EnsureChunks(LimitId id) {
  while (storage_.size() <= NumberOf(id) / kChunkEntries) {
    storage_.push_back(std::make_unique<Chunk>());
    chunks_[storage_.size() - 1].store(storage_.back().get(), std::memory_order_release);
  }
}

void LimitRegistry::GiveOut(LimitId id, const Limit& limit, Introducer introducer,
                            LimitHint& hint) {
  WEIR_CHECK(NumberOf(id) < kIdsMax);
  Entry& entry = EntryOf(id);
  WEIR_CHECK(!IsGivenOut(entry));
  WEIR_CHECK(entry.buckets.load(std::memory_order_relaxed) == 0);
  entry.limit = limit;
  entry.introducer = introducer;
  if (introducer != kNoIntroducer) {
    ++introduced_[introducer];
    ++introduced_by_all_;
  }
  idle_.fetch_add(1, std::memory_order_relaxed);
  const IdGeneration generation = Next(entry.generation.load(std::memory_order_relaxed));
  entry.generation.store(generation, std::memory_order_release);
  const bool is_new = ids_.insert({id, static_cast<std::uint32_t>(HashOf{}(limit))}).second;
  WEIR_CHECK(is_new);
  WEIR_CHECK(IsGivenOut(entry));
  given_out_.fetch_add(1, std::memory_order_relaxed);
  hint = {id, generation};
}

void LimitRegistry::AddBucket(LimitId id) noexcept {
  WEIR_CHECK(IsGivenOut(EntryOf(id)));
  const std::uint32_t before = EntryOf(id).buckets.fetch_add(1, std::memory_order_relaxed);
  if (before == 0) idle_.fetch_sub(1, std::memory_order_relaxed);
}

void LimitRegistry::RemoveBucket(LimitId id, std::uint32_t buckets) noexcept {
  const std::uint32_t before = EntryOf(id).buckets.fetch_sub(buckets, std::memory_order_relaxed);
  WEIR_CHECK(before >= buckets);
  if (before == buckets) idle_.fetch_add(1, std::memory_order_relaxed);
}

std::size_t LimitRegistry::size() const {
  MutexLock lock(mutex_);
  return ids_.size();
}

std::vector<LimitId> LimitRegistry::Idle(std::size_t ids_max) {
  std::vector<LimitId> idle;
  const std::uint32_t used = used_.load(std::memory_order_acquire);
  std::uint32_t cursor = idle_cursor_.load(std::memory_order_relaxed);
  for (std::uint32_t looked_at = 0; looked_at < used && idle.size() < ids_max; ++looked_at) {
    const LimitId id{cursor % used};
    cursor = NumberOf(id) + 1;
    const Entry& entry = EntryOf(id);
    if (!IsGivenOut(entry)) continue;
    if (entry.buckets.load(std::memory_order_relaxed) == 0) idle.push_back(id);
  }
  idle_cursor_.store(cursor, std::memory_order_relaxed);
  return idle;
}

std::size_t LimitRegistry::Reclaim(std::span<const LimitId> ids) {
  MutexLock lock(mutex_);
  std::size_t reclaimed = 0;
  for (const LimitId id : ids) {
    Entry& entry = EntryOf(id);
    if (!IsGivenOut(entry) || entry.buckets.load(std::memory_order_relaxed) != 0) continue;
    WEIR_CHECK(entry.limit.has_value());
    const auto found = ids_.find(*entry.limit);
    WEIR_CHECK(found != ids_.end());
    WEIR_CHECK(found->id == id);
    ids_.erase(found);
    entry.generation.store(Next(entry.generation.load(std::memory_order_relaxed)),
                           std::memory_order_release);
    idle_.fetch_sub(1, std::memory_order_relaxed);
    if (entry.introducer != kNoIntroducer) {
      const auto own = introduced_.find(entry.introducer);
      WEIR_CHECK(own != introduced_.end());
      --introduced_by_all_;
      if (--own->second == 0) introduced_.erase(own);
    }
    if (logs_changes_) {
      unsaved_.push_back(id);
      changed_.insert(id);
    } else {
      free_.push_back(id);
    }
    ++reclaimed;
  }
  CheckCounts();
  return reclaimed;
}

void LimitRegistry::StartLogging() {
  MutexLock lock(mutex_);
  logs_changes_ = true;
}

void LimitRegistry::StopLogging() {
  MutexLock lock(mutex_);
  logs_changes_ = false;
  changed_.clear();
  free_.insert(free_.end(), unsaved_.begin(), unsaved_.end());
  free_.insert(free_.end(), in_save_.begin(), in_save_.end());
  unsaved_.clear();
  in_save_.clear();
  CheckCounts();
}

void LimitRegistry::BeginSave() {
  MutexLock lock(mutex_);
  in_save_.insert(in_save_.end(), unsaved_.begin(), unsaved_.end());
  unsaved_.clear();
}

void LimitRegistry::EndSave() {
  MutexLock lock(mutex_);
  free_.insert(free_.end(), in_save_.begin(), in_save_.end());
  in_save_.clear();
  CheckCounts();
}

std::vector<LimitChange> LimitRegistry::TakeChanges() {
  MutexLock lock(mutex_);
  std::vector<LimitChange> changes;
  changes.reserve(changed_.size());
  for (const LimitId id : changed_) {
    const Entry& entry = EntryOf(id);
    changes.push_back({id, IsGivenOut(entry) ? entry.limit : std::nullopt});
  }
  changed_.clear();
  return changes;
}

bool LimitRegistry::Restore(LimitId id, const Limit& limit) {
  MutexLock lock(mutex_);
  LimitHint hint;
  if (NumberOf(id) >= kIdsMax || ids_.size() >= kLimitsMax || FindLocked(limit, hint)) return false;
  EnsureChunks(id);
  if (IsGivenOut(EntryOf(id))) return false;
  GiveOut(id, limit, kNoIntroducer, hint);
  used_.store(std::max(used_.load(std::memory_order_relaxed), NumberOf(id) + 1),
              std::memory_order_release);
  return true;
}

void LimitRegistry::EndRestore() {
  MutexLock lock(mutex_);
  WEIR_CHECK(free_.empty());
  for (std::uint32_t number = used_.load(std::memory_order_relaxed); number-- > 0;) {
    const LimitId id{number};
    if (!IsGivenOut(EntryOf(id))) free_.push_back(id);
  }
  CheckCounts();
}

}  // namespace weir
