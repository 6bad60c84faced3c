#include "core/commands/limit_totals.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>

#include "absl/container/flat_hash_map.h"

#include "core/commands/request_counters.h"

namespace weir {
namespace {

// The counts of a name, summed over all threads.
struct Sum {
  LimitTotals::Numbers numbers{};
  std::uint64_t first_use = std::numeric_limits<std::uint64_t>::max();
};
using Sums = absl::flat_hash_map<std::string, Sum>;

// A name in the order in which names get rows: by kind, and names of one kind are sorted by
// `number`.
struct Ranked {
  NameKind kind;
  std::uint64_t number;
  const Sums::value_type* sum;

  auto operator<=>(const Ranked&) const = default;
};

Sums SumsOf(LimitTotals::Counters counters) {
  Sums sums;
  for (const RequestCounters* request_counters : counters) {
    request_counters->limits.ForEach(
        [&sums](const std::string& name, const LimitCounters& counts, std::uint64_t first_use) {
          const LimitTotals::Numbers numbers = counts.totals();
          if (numbers == LimitTotals::Numbers{}) return;
          Sum& sum = sums[name];
          AddTotals(sum.numbers, numbers);
          sum.first_use = std::min(sum.first_use, first_use);
        });
  }
  return sums;
}

// Returns the places, with those of the names that get a row now.
std::shared_ptr<const LimitPlaces> GiveRows(const Sums& sums,
                                            std::shared_ptr<const LimitPlaces> places) {
  std::vector<Ranked> without;
  for (const Sums::value_type& sum : sums) {
    const NameKind kind = KindOf(sum.first);
    if (sum.first == kOtherLimits || places->by_name.contains(sum.first)) continue;
    if (places->Free(kind) > 0) without.push_back({kind, sum.second.first_use, &sum});
  }
  if (without.empty()) return places;
  std::ranges::sort(without);
  auto more = std::make_shared<LimitPlaces>(*places);
  for (const Ranked& name : without) {
    if (more->Free(name.kind) > 0) more->Give(name.sum->first);
  }
  return more;
}

std::array<std::uint64_t, 2> RequestsOf(std::span<const RequestCounters* const> counters) {
  std::array<std::uint64_t, 2> requests{};
  for (const RequestCounters* request_counters : counters) {
    requests[0] += request_counters->allowed.value();
    requests[1] += request_counters->denied.value();
  }
  return requests;
}

}  // namespace

LimitTotals::Rows LimitTotals::RowsOf(Counters counters) {
  const Sums sums = SumsOf(counters);
  places_ = GiveRows(sums, places_);
  for (RequestCounters* request_counters : counters) request_counters->limits.Keep(places_);
  std::vector<Ranked> ranked;
  Numbers others{};
  for (const Sums::value_type& sum : sums) {
    if (const auto row = places_->by_name.find(sum.first); row != places_->by_name.end()) {
      ranked.push_back({KindOf(sum.first), row->second, &sum});
    } else {
      AddTotals(others, sum.second.numbers);
    }
  }
  std::ranges::sort(ranked);
  Rows rows;
  rows.reserve(ranked.size() + 1);
  for (const Ranked& row : ranked) rows.emplace_back(row.sum->first, row.sum->second.numbers);
  if (others != Numbers{}) rows.emplace_back(kOtherLimits, others);
  return rows;
}

LimitTotals::Rows LimitTotals::Since(Counters counters) {
  MutexLock lock(mutex_);
  return RowsOf(counters);
}

LimitTotals::Numbers LimitTotals::Total(std::span<const RequestCounters* const> counters) const {
  Numbers total{};
  for (const RequestCounters* request_counters : counters) {
    request_counters->limits.ForEach(
        [&total](const std::string& /*name*/, const LimitCounters& counts,
                 std::uint64_t /*first_use*/) { AddTotals(total, counts.totals()); });
  }
  std::ranges::copy(requests_.Of(RequestsOf(counters)), total.begin());
  return total;
}

LimitTotals::Reading LimitTotals::Read(Counters counters) {
  MutexLock lock(mutex_);
  return {.total = Total(counters), .rows = RowsOf(counters), .resets = resets_};
}

void LimitTotals::Reset(Counters counters) {
  MutexLock lock(mutex_);
  ++resets_;
  for (RequestCounters* request_counters : counters) {
    request_counters->limits.Reset();
    request_counters->denied_keys.Clear();
    request_counters->keys_by_limit.Clear();
    request_counters->near_keys.Clear();
  }
  requests_.Reset(RequestsOf(counters));
}

}  // namespace weir
