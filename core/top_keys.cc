#include "core/top_keys.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/hash/hash.h"

#include "core/check.h"
#include "core/status.h"

namespace weir {

TopKeys::TopKeys(std::size_t capacity)
    : capacity_(capacity), filter_(std::bit_ceil(capacity * kCellsPerKey)) {
  WEIR_CHECK(capacity > 0);
}

void TopKeys::Add(std::string_view key) {
  const std::uint64_t hash = absl::HashOf(AbslView(key));
  MutexLock lock(mutex_);
  Cell& cell = CellOf(hash);
  if (cell.counted > 0) {
    if (const auto known = known_.find(hash); known != known_.end()) {
      Counted& counted = counted_[known->second];
      ++counted.count;
      return SiftDown(counted.place);
    }
  }
  if (counted_.size() < capacity_) {
    const auto index = static_cast<std::uint32_t>(counted_.size());
    counted_.push_back({hash, 1, 0, index, std::string(key.substr(0, kTopKeyBytesMax))});
    heap_.push_back(index);
    known_.emplace(hash, index);
    ++cell.counted;
    return SiftUp(heap_.size() - 1);
  }
  const std::uint32_t fewest = heap_.front();
  Counted& counted = counted_[fewest];
  if (cell.count + 1 < counted.count && cell.count < UINT32_MAX) {
    ++cell.count;
    return;
  }
  TakePlace(fewest, hash, key);
}

// Where a key's cell has come up to the least count.
void TopKeys::TakePlace(std::uint32_t fewest, std::uint64_t hash, std::string_view key) {
  Counted& counted = counted_[fewest];
  Cell& left = CellOf(counted.hash);
  const std::uint64_t error = std::max<std::uint64_t>(CellOf(hash).count, counted.count - 1);
  left.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(counted.count, UINT32_MAX));
  --left.counted;
  ++CellOf(hash).counted;
  known_.erase(counted.hash);
  known_.emplace(hash, fewest);
  counted.hash = hash;
  counted.error = error;
  counted.count = error + 1;
  counted.key.assign(key.substr(0, kTopKeyBytesMax));
  SiftDown(0);
}

void TopKeys::Clear() {
  MutexLock lock(mutex_);
  counted_.clear();
  heap_.clear();
  known_.clear();
  std::ranges::fill(filter_, Cell{});
}

void TopKeys::Put(std::size_t place, std::uint32_t counted) {
  heap_[place] = counted;
  counted_[counted].place = static_cast<std::uint32_t>(place);
}

void TopKeys::SiftUp(std::size_t place) {
  const std::uint32_t moved = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (counted_[heap_[parent]].count <= counted_[moved].count) break;
    Put(place, heap_[parent]);
    place = parent;
  }
  Put(place, moved);
}

void TopKeys::SiftDown(std::size_t place) {
  const std::uint32_t moved = heap_[place];
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() &&
        counted_[heap_[child + 1]].count < counted_[heap_[child]].count) {
      ++child;
    }
    if (counted_[moved].count <= counted_[heap_[child]].count) break;
    Put(place, heap_[child]);
    place = child;
  }
  Put(place, moved);
}

std::vector<TopKeys::Row> TopKeys::Merge(std::span<const TopKeys* const> sketches,
                                         std::size_t rows_max) {
  struct Sum {
    Row row;
    std::uint64_t unseen = 0;  // what the sketches that count it would add if they did not
  };
  absl::flat_hash_map<std::uint64_t, Sum> sums;
  std::uint64_t unseen = 0;  // how often a key that no sketch counts may have come up
  for (const TopKeys* sketch : sketches) {
    MutexLock lock(sketch->mutex_);
    const bool is_full = sketch->counted_.size() == sketch->capacity_;
    const std::uint64_t fewest = is_full ? sketch->counted_[sketch->heap_.front()].count : 0;
    unseen += fewest;
    for (const Counted& counted : sketch->counted_) {
      Sum& sum = sums[counted.hash];
      sum.row.key = counted.key;
      sum.row.count += counted.count;
      sum.row.error += counted.error;
      sum.unseen += fewest;
    }
  }
  std::vector<Row> rows;
  rows.reserve(sums.size());
  for (auto& [hash, sum] : sums) {
    sum.row.count += unseen - sum.unseen;
    sum.row.error += unseen - sum.unseen;
    rows.push_back(std::move(sum.row));
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return std::tie(b.count, a.key) < std::tie(a.count, b.key);
  });
  rows.resize(std::min(rows.size(), rows_max));
  return rows;
}

}  // namespace weir
