#include "core/rules/top_keys.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/check.h"

namespace weir {
namespace {

constexpr std::uint32_t kCellMax = std::numeric_limits<std::uint32_t>::max();

// The count, cut to the greatest that a cell can hold.
std::uint32_t Capped(std::uint64_t count) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kCellMax));
}

}  // namespace

TopKeys::TopKeys(std::size_t capacity)
    : capacity_(capacity), filter_(std::bit_ceil(capacity * kCellsPerKey)) {
  WEIR_CHECK(capacity > 0);
  WEIR_CHECK(std::has_single_bit(filter_.size()));  // CellOf masks.
}

void TopKeys::Add(std::string_view key, std::uint64_t hash, std::uint16_t partition) {
  if (cleared_.load(std::memory_order_relaxed)) Forget();
  ++added_;
  Cell& cell = CellOf(hash);
  if (cell.counted > 0) {
    if (const auto known = counts_.find(hash); known != counts_.end()) return known->second->Add();
  }
  if (cell.count < threshold_) {
    ++cell.count;
  } else if (IsRefused(cell)) {
    threshold_ = ++cell.count;
    if (threshold_ > refused_max_.load(std::memory_order_relaxed)) {
      refused_max_.store(threshold_, std::memory_order_relaxed);
    }
  } else {
    AddUncounted(cell, key, hash, partition);
  }
}

bool TopKeys::IsRefused(const Cell& cell) const {
  return counts_.size() == capacity_ && added_ < next_eviction_ && cell.count < kCellMax &&
         (std::uint64_t{cell.count} + 1) * capacity_ <= added_;
}

// Called while there is room, or if the cell may have reached the smallest tracked count.
void TopKeys::AddUncounted(Cell& cell, std::string_view key, std::uint64_t hash,
                           std::uint16_t partition) {
  MutexLock lock(mutex_);
  if (counted_.size() < capacity_) {
    return Count(counted_.emplace_back(), 0, key, hash, partition);
  }
  next_eviction_ = added_ + kAdditionsPerEviction;
  Counted& least = counted_[IndexOfLeast()];
  threshold_ = Capped(least.count.value());
  if (cell.count < threshold_) {
    ++cell.count;
    return;
  }
  const std::uint64_t error = std::max<std::uint64_t>(cell.count, least.count.value());
  Evict(least);
  Count(least, error, key, hash, partition);
}

// Tracks a key in a new row, or in the row of an evicted key.
void TopKeys::Count(Counted& counted, std::uint64_t error, std::string_view key, std::uint64_t hash,
                    std::uint16_t partition) {
  WEIR_CHECK(error >= counted.count.value());
  WEIR_CHECK(counted_.size() <= capacity_);
  counted.hash = hash;
  counted.partition = partition;
  counted.count.Add(error + 1 - counted.count.value());
  counted.error = error;
  counted.key.assign(key.substr(0, kTopKeyBytesMax));
  const bool is_new = counts_.emplace(hash, &counted.count).second;
  WEIR_CHECK(is_new);
  ++CellOf(hash).counted;
}

// From now on the key is counted by its cell.
void TopKeys::Evict(const Counted& counted) {
  Cell& cell = CellOf(counted.hash);
  cell.count = std::max(cell.count, Capped(counted.count.value()));
  WEIR_CHECK(cell.counted > 0);
  --cell.counted;
  const std::size_t erased = counts_.erase(counted.hash);
  WEIR_CHECK(erased == 1);
}

std::size_t TopKeys::IndexOfLeast() const {
  WEIR_CHECK(!counted_.empty());
  const auto count = [](const Counted& counted) { return counted.count.value(); };
  const auto least = std::ranges::min_element(counted_, {}, count);
  return static_cast<std::size_t>(least - counted_.begin());
}

// The most often that an untracked key may have come up.
std::uint64_t TopKeys::UnseenMax() const {
  if (counted_.size() < capacity_) return 0;
  return std::max<std::uint64_t>(counted_[IndexOfLeast()].count.value(),
                                 refused_max_.load(std::memory_order_relaxed));
}

void TopKeys::Forget() {
  MutexLock lock(mutex_);
  counted_.clear();
  std::ranges::fill(filter_, Cell{});
  counts_.clear();
  added_ = next_eviction_ = threshold_ = 0;
  refused_max_.store(0, std::memory_order_relaxed);
  cleared_.store(false, std::memory_order_relaxed);
}

std::vector<std::uint64_t> TopKeys::tracked() const {
  MutexLock lock(mutex_);
  std::vector<std::uint64_t> hashes;
  if (cleared_.load(std::memory_order_relaxed)) return hashes;
  hashes.reserve(counted_.size());
  for (const Counted& counted : counted_) hashes.push_back(counted.hash);
  return hashes;
}

std::vector<TopKeys::Row> TopKeys::Merge(std::span<const TopKeys* const> sketches,
                                         std::size_t rows_max) {
  struct Sum {
    Row row;
    std::uint64_t unseen = 0;  // what the sketches that track it would add if they did not
  };
  absl::flat_hash_map<std::uint64_t, Sum> sums;
  std::uint64_t unseen = 0;  // how often a key that no sketch tracks may have come up
  for (const TopKeys* sketch : sketches) {
    MutexLock lock(sketch->mutex_);
    if (sketch->cleared_.load(std::memory_order_relaxed)) continue;
    const std::uint64_t unseen_here = sketch->UnseenMax();
    unseen += unseen_here;
    for (const Counted& counted : sketch->counted_) {
      Sum& sum = sums[counted.hash];
      sum.row.key = counted.key;
      sum.row.hash = counted.hash;
      sum.row.partition = counted.partition;
      sum.row.count += counted.count.value();
      sum.row.error += counted.error;
      sum.unseen += unseen_here;
    }
  }
  std::vector<Row> rows;
  rows.reserve(sums.size());
  for (auto& [hash, sum] : sums) {
    sum.row.count += unseen - sum.unseen;
    sum.row.error += unseen - sum.unseen;
    WEIR_CHECK(sum.row.error < sum.row.count);
    rows.push_back(std::move(sum.row));
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return std::tie(b.count, a.key) < std::tie(a.count, b.key);
  });
  rows.resize(std::min(rows.size(), rows_max));
  return rows;
}

}  // namespace weir
