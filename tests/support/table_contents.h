// The contents of a limiter's table by value, so that two limiters can be compared whatever ids
// their limits have.
//
//     LimitNumbers numbers;
//     const TableContents contents = ContentsOf(primary, now, numbers);
//     EXPECT_EQ(DifferenceOf(contents, ContentsOf(replica, now, numbers)), "");
//
// A full bucket counts as absent, and so do sums that are 0 or that no open hold names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"

namespace weir {

// Numbers limits by their identity.
class LimitNumbers {
 public:
  [[nodiscard]] std::size_t Of(const Limit& limit) {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i].SharesBucketsWith(limit)) return i;
    }
    limits_.push_back(limit);
    return limits_.size() - 1;
  }
  [[nodiscard]] const Limit& limit(std::size_t number) const { return limits_[number]; }

 private:
  std::vector<Limit> limits_;
};

struct TableContents {
  using BucketName = std::tuple<std::uint16_t, std::uint64_t, std::size_t>;  // and limit's number
  using HoldName = std::tuple<std::uint16_t, std::uint64_t, std::string>;
  std::map<BucketName, Bucket> buckets{};
  std::map<HoldName, SavedHold> holds{};  // and marks; their limits are numbers
  std::map<BucketName, SettlementSums> sums{};

  friend bool operator==(const TableContents&, const TableContents&) = default;
};

// The records that differ between two tables, a line each; empty if the tables are equal.
[[nodiscard]] inline std::string DifferenceOf(const TableContents& first,
                                              const TableContents& second) {
  std::ostringstream text;
  const auto compare = [&](const char* what, const auto& mine, const auto& others) {
    const auto tell = [&](const char* where, const auto& record) {
      const auto& [partition, hash, name] = record.first;
      text << "\n"
           << what << " " << name << " of key " << hash << " in partition " << partition
           << " is in the " << where;
    };
    for (const auto& record : mine) {
      const auto other = others.find(record.first);
      if (other == others.end()) tell("first only", record);
      if (other != others.end() && other->second != record.second) tell("both, unequal", record);
    }
    for (const auto& record : others) {
      if (!mine.contains(record.first)) tell("second only", record);
    }
  };
  compare("limit", first.buckets, second.buckets);
  compare("hold", first.holds, second.holds);
  compare("sums of limit", first.sums, second.sums);
  return text.str();
}

// Of the partitions from `first` up to `end`. Without `now` no bucket is full.
[[nodiscard]] inline TableContents ContentsOf(Limiter& limiter, std::optional<Instant> now,
                                              LimitNumbers& numbers, std::size_t first = 0,
                                              std::size_t end = kPartitionCount) {
  ChangeReader reader(limiter.table());
  const ChangesLock changes_lock(reader);
  LimiterChanges all;
  for (std::size_t i = first; i < end; ++i) reader.CopyPartition(i, now, all);
  const auto number = [&](LimitId id) { return numbers.Of(reader.LimitOf(id)); };
  TableContents contents;
  for (const BucketChange& bucket : all.buckets) {
    contents.buckets[{bucket.partition, bucket.key.key_hash(), number(bucket.key.limit)}] =
        bucket.bucket;
  }
  for (HoldChange& change : all.holds) {
    for (HoldPart& part : change.hold->parts) {
      part.limit = LimitId{static_cast<std::uint32_t>(number(part.limit))};
    }
    contents.holds[{change.partition, change.key, change.id}] = *change.hold;
  }
  for (const SumsChange& change : all.sums) {
    const std::size_t limit = number(change.bucket.limit);
    const auto names = [&](const auto& hold) {
      return std::get<1>(hold.first) == change.bucket.key_hash() && !hold.second.settled &&
             std::ranges::any_of(hold.second.parts, [&](const HoldPart& part) {
               return NumberOf(part.limit) == limit;
             });
    };
    if (*change.sums == SettlementSums{} || std::ranges::none_of(contents.holds, names)) continue;
    contents.sums[{change.partition, change.bucket.key_hash(), limit}] = *change.sums;
  }
  return contents;
}

}  // namespace weir
