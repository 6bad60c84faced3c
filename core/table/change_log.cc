#include "core/table/change_log.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {
namespace {

constexpr std::size_t kRoomMin = 8;
constexpr std::size_t kFewMax = 16;
constexpr std::size_t kCheapMax = 128;  // changes that are sorted in 2 us

// In BucketOrder. Most changes differ in the hash.
struct IsBefore {
  bool operator()(const LoggedChange& a, const LoggedChange& b) const noexcept {
    const std::uint64_t hash_a = a.key_hash();
    const std::uint64_t hash_b = b.key_hash();
    if (hash_a != hash_b) return hash_a < hash_b;
    return BucketOrder(a.key(), a.algorithm()) < BucketOrder(b.key(), b.algorithm());
  }
};

// Keeps equal changes in their order. std::stable_sort would allocate memory for a few, too, and a
// replicator takes a few changes of each partition, a thousand times a second.
void Sort(std::vector<LoggedChange>& changes) {
  if (changes.size() > kFewMax) {
    std::stable_sort(changes.begin(), changes.end(), IsBefore());
    return;
  }
  for (auto end = changes.begin(); end != changes.end(); ++end) {
    std::rotate(std::upper_bound(changes.begin(), end, *end, IsBefore()), end, end + 1);
  }
}

}  // namespace

void KeepLast(std::vector<LoggedChange>& changes) {
  if (changes.size() < 2) return;
  Sort(changes);
  std::size_t kept = 0;
  for (const LoggedChange& change : changes) {
    if (kept > 0 && changes[kept - 1].IsOfSameBucket(change)) {
      changes[kept - 1].Follow(change);
    } else {
      changes[kept++] = change;
    }
  }
  changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(kept), changes.end());
}

bool ChangeLog::Add(const LoggedChange& change, std::size_t slots) {
  if (overflowed_) return false;
  const std::uint16_t tag = change.tag();
  if (std::ranges::find(tags_, tag) != tags_.end()) {
    // Newest first: after MakeRoom a bucket may be there twice, and the later one counts.
    const std::size_t looked_at = std::min(changes_.size(), kLookedAt);
    for (std::size_t i = 1; i <= looked_at; ++i) {
      LoggedChange& last = changes_[changes_.size() - i];
      if (!last.IsOfSameBucket(change)) continue;
      last.Follow(change);
      return false;
    }
  }
  const std::size_t most = kChangesMin + slots;
  if (changes_.size() == changes_.capacity() || changes_.size() >= most) MakeRoom(most);
  if (overflowed_) return true;
  changes_.push_back(change);
  static_assert(kLookedAt == 3);
  tags_ = {tag, tags_[0], tags_[1]};
  return true;
}

// Makes room for one more change, or overflows. The room is doubled, but never beyond the most that
// there can be.
void ChangeLog::MakeRoom(std::size_t most) {
  if (changes_.size() >= most) {
    KeepLast(changes_);
    // A short log may be sorted often, a long one not soon again.
    const std::size_t room = most <= kCheapMax ? kChangesMin / 4 : most / 4;
    if (changes_.size() > most - room) Overflow();
    return;
  }
  changes_.reserve(std::min(std::max(2 * changes_.size(), kRoomMin), most));
}

void ChangeLog::TakeInto(std::vector<LoggedChange>& taken) {
  WEIR_CHECK(!overflowed_);
  taken.assign(changes_.begin(), changes_.end());
  if (changes_.capacity() > kRoomMin && changes_.size() < changes_.capacity() / 4) {
    std::vector<LoggedChange> smaller;
    smaller.reserve(std::max(changes_.size(), kRoomMin));
    changes_.swap(smaller);
  }
  changes_.clear();
}

void ChangeLog::Overflow() {
  Clear();
  overflowed_ = true;
}

void ChangeLog::Clear() {
  changes_ = std::vector<LoggedChange>();  // {} would keep the memory
  overflowed_ = false;
}

}  // namespace weir
