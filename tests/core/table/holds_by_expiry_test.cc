// Goal: holds are found in the order of their expiries and then of their reservations, whichever
// of them come and go, and the first one does so without a B-tree. Method: random changes beside a
// sorted list; the bytes that the allocator counts.
#include "core/table/holds_by_expiry.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include <malloc.h>

#include "tests/random/property.h"

namespace weir {
namespace {

constexpr Instant ExpiryAt(std::int64_t nanos) { return Instant{Nanos{nanos}}; }

// Holds whose order of reservation is that of the list.
std::vector<Hold::Owner> MakeHolds(std::uint32_t count) {
  std::vector<Hold::Owner> holds;
  for (std::uint32_t i = 0; i < count; ++i) {
    holds.push_back(Hold::Make({.key = 1, .expiry = {}, .order = i}, "id", {}, {}));
  }
  return holds;
}

std::vector<Hold*> ListOf(const HoldsByExpiry& set) {
  std::vector<Hold*> list;
  set.ForEach([&](const HoldExpiry& entry) {
    list.push_back(entry.hold);
    return true;
  });
  return list;
}

TEST(HoldsByExpiryLawTest, ItIsASortedListOfWhatIsInIt) {
  constexpr std::uint32_t kHolds = 12;
  CheckLaw(500, [] {
    const std::vector<Hold::Owner> holds = MakeHolds(kHolds);
    HoldsByExpiry set;
    std::map<std::pair<Instant, std::uint32_t>, Hold*> expected;
    std::map<std::uint32_t, Instant> times;  // of the holds in the set
    const auto forget = [&](std::uint32_t hold) {
      expected.erase({times.at(hold), hold});
      times.erase(hold);
    };
    for (int step = 0; step < 60; ++step) {
      const auto one = *rc::gen::inRange<std::uint32_t>(0, kHolds);
      if (!times.contains(one)) {
        const Instant time = ExpiryAt(*rc::gen::inRange(1, 6));
        set.Insert({time, holds[one].get()});
        expected[{time, one}] = holds[one].get();
        times[one] = time;
      } else if (*rc::gen::inRange(0, 3) > 0) {
        set.Erase({times[one], holds[one].get()});
        forget(one);
      } else {  // some of those up to this one
        std::vector<HoldExpiry> gone;
        std::vector<std::uint32_t> numbers;
        for (const auto& [place, hold] : expected) {
          if (place > std::pair(times[one], one) || *rc::gen::arbitrary<bool>()) continue;
          gone.push_back({place.first, hold});
          numbers.push_back(place.second);
        }
        set.EraseSorted(gone);
        std::ranges::for_each(numbers, forget);
      }
      std::vector<Hold*> list;
      list.reserve(expected.size());
      for (const auto& [place, hold] : expected) list.push_back(hold);
      RC_ASSERT(ListOf(set) == list);
      RC_ASSERT(set.size() == list.size());
      RC_ASSERT(set.empty() == list.empty());
      if (!list.empty()) {
        RC_ASSERT(set.First().hold == list.front());
        RC_ASSERT(set.Last().hold == list.back());
      }
      for (int time = 0; time < 7; ++time) {
        const auto next = std::ranges::find_if(
            expected, [&](auto& entry) { return entry.first.first > ExpiryAt(time); });
        const Instant expiry = next == expected.end() ? Instant::max() : next->first.first;
        RC_ASSERT(set.NextAfter(ExpiryAt(time)) == expiry);
      }
    }
    set.Clear();
    RC_ASSERT(set.empty() && set.size() == 0U);
  });
}

TEST(HoldsByExpiryTest, AVisitEndsWhereItIsTold) {
  const std::vector<Hold::Owner> holds = MakeHolds(3);
  HoldsByExpiry set;
  for (const Hold::Owner& hold : holds) set.Insert({ExpiryAt(5), hold.get()});
  for (std::size_t most = 1; most <= 3; ++most) {
    std::size_t visits = 0;
    set.ForEach([&](const HoldExpiry&) { return ++visits < most; });
    EXPECT_EQ(visits, most);
  }
}

// A key has one hold at a time, as a rule.
TEST(HoldsByExpiryTest, OneHoldTakesNoMemory) {
  const std::vector<Hold::Owner> holds = MakeHolds(1);
  HoldsByExpiry set;
  const std::size_t before = mallinfo2().uordblks;
  set.Insert({ExpiryAt(5), holds.front().get()});
  EXPECT_EQ(mallinfo2().uordblks, before);
  set.Erase({ExpiryAt(5), holds.front().get()});
  EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace weir
