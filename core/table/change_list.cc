#include "core/table/change_list.h"

#include <algorithm>
#include <tuple>

#include "core/base/check.h"

namespace weir {
namespace {

auto Order(const NotedChange& change) {
  return std::tuple(change.key.key_hash(), change.algorithm, change.key.limit);
}

}  // namespace

void MakeDistinct(std::vector<NotedChange>& changes) {
  std::ranges::sort(changes, [](const NotedChange& a, const NotedChange& b) {
    return std::tuple(Order(a), !a.went_back) < std::tuple(Order(b), !b.went_back);
  });
  const auto same = [](const NotedChange& a, const NotedChange& b) { return Order(a) == Order(b); };
  changes.erase(std::unique(changes.begin(), changes.end(), same), changes.end());
}

void ChangeList::Add(NotedChange change, std::size_t slots) {
  if (overflowed_) return;
  const std::size_t most = kNotedMin + slots;
  if (changes_.size() >= most) {
    MakeDistinct(changes_);
    // Too few notes were dropped: the next cut would come too soon.
    if (changes_.size() > most - kNotedMin / 4) return Overflow();
  }
  // Grows by doubling, but never beyond the most that there can be.
  if (changes_.size() == changes_.capacity()) {
    changes_.reserve(std::min(std::max(2 * changes_.size(), kNotedMin / 4), most));
  }
  changes_.push_back(change);
  WEIR_CHECK(changes_.size() <= most);
}

void ChangeList::Empty() {
  WEIR_CHECK(!overflowed_);
  if (changes_.size() < changes_.capacity() / 4) {
    std::vector<NotedChange> smaller;
    smaller.reserve(changes_.size());
    changes_.swap(smaller);
  }
  changes_.clear();
}

void ChangeList::Overflow() {
  Clear();
  overflowed_ = true;
}

void ChangeList::Clear() {
  changes_ = std::vector<NotedChange>();  // {} would keep the memory
  overflowed_ = false;
}

}  // namespace weir
