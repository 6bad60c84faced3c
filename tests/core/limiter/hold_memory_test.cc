// Goal: holds stay within their quarter of the bound of memory, and the bytes that are counted for
// them are gone when they are. Method: holds that end in every way, and holds of many limits until
// one is refused.
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/table/hold_counts.h"
#include "core/table/table_bound.h"
#include "tests/core/limiter/hold_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class HoldMemoryTest : public HoldFixture {
 protected:
  using HoldFixture::HoldFixture;

  // The error of a reservation of as many limits as a request may have; empty: none.
  std::string ReserveMany(const std::string& id) {
    std::vector<std::string> limits;
    for (std::size_t i = 1; i <= kChecksMax; ++i) limits.push_back(std::to_string(1000 + i) + "/s");
    std::vector<Asked> asked;
    for (const std::string& limit : limits) asked.push_back({id, limit, 0});
    return std::string(Hold(Of(asked), id, hours{1}).status().message());
  }
};

TEST_F(HoldMemoryTest, BytesAreGoneWithTheLastHoldAndMark) {
  EXPECT_EQ(upkeep_.counts().hold_bytes, 0U);
  for (const std::string id : {"committed", "cancelled", "expired", "reset"}) {
    EXPECT_TRUE(Reserve({{id, "10/h"}, {id, "5/m,fixed"}}, id, seconds{30}));
  }
  const std::size_t open = upkeep_.counts().hold_bytes;
  EXPECT_GT(open, 4 * (2 * sizeof(HoldPart) + sizeof(weir::Hold)));
  EXPECT_LT(open, 4 * 240U) << "docs/commands.md says that three limits take 240 bytes";
  EXPECT_TRUE(Commit("committed", "committed"));
  EXPECT_TRUE(Cancel("cancelled", "cancelled"));
  EXPECT_EQ(upkeep_.counts().hold_bytes, open) << "marks take as much";
  Reset("reset");
  now_ += minutes{1};
  SweepAll();
  EXPECT_EQ(upkeep_.counts().hold_bytes, 0U);
}

class BoundedHoldMemoryTest : public HoldMemoryTest {
 protected:
  BoundedHoldMemoryTest()
      : HoldMemoryTest({.time_is_ordered = false, .memory_max = TableBound::kBytesMin}) {}
};

TEST_F(BoundedHoldMemoryTest, HoldsTakeAQuarterOfTheMemory) {
  constexpr std::size_t kMax = TableBound::HoldBytesMax(TableBound::kBytesMin);
  constexpr std::size_t kEach = 4096;  // at most
  std::size_t holds = 0;
  std::string error;
  while (error.empty()) error = ReserveMany(std::to_string(++holds));
  EXPECT_EQ(error, "too many holds");
  EXPECT_GE(upkeep_.counts().hold_bytes, kMax);
  EXPECT_LT(upkeep_.counts().hold_bytes, kMax + kEach);
  EXPECT_TRUE(Cancel("1", "1"));
  EXPECT_EQ(ReserveMany("again"), "too many holds") << "the mark takes as much";
  upkeep_.set_memory_max(0);
  EXPECT_EQ(ReserveMany("again"), "");
}

class UsersHoldMemoryTest : public HoldMemoryTest {
 protected:
  UsersHoldMemoryTest()
      : HoldMemoryTest({.time_is_ordered = false, .memory_max = 4 * TableBound::kBytesMin}) {}

  std::size_t HoldsUntilRefused(Limiter& limiter, Introducer user) {
    for (std::size_t i = 0;; ++i) {
      const std::string id = std::to_string(next_id_++);
      Request request;
      for (const Limit& limit : limits_) {
        request.push_back({.key = id, .limit = &limit, .hint = nullptr, .hash = limiter.Hash(id)});
      }
      const auto held =
          limiter.DecideAndHold(request, {.id = id, .ttl = hours{1}, .user = user}, now_);
      if (!held.ok()) return i;
    }
  }

  int next_id_ = 0;
  const std::vector<Limit> limits_ = [] {
    std::vector<Limit> limits;
    for (std::size_t i = 1; i <= kChecksMax; ++i) limits.push_back(HeldLimit(100 + i));
    return limits;
  }();
};

TEST_F(UsersHoldMemoryTest, NamedUserHasATenthOfTheMemory) {
  constexpr std::size_t kEach = 64 * sizeof(HoldPart) + 128;
  const Introducer ann = IntroducerNamed("ann");
  const std::size_t tenth = TableBound::HoldBytesMax(4 * TableBound::kBytesMin) / 10;
  EXPECT_NEAR(static_cast<double>(HoldsUntilRefused(*limiter_, ann)),
              static_cast<double>(tenth / kEach), 20.0);
  EXPECT_GT(HoldsUntilRefused(*limiter_, IntroducerNamed("bob")), tenth / kEach / 2);
  upkeep_.set_memory_max(2 * TableBound::kBytesMin);
  EXPECT_EQ(HoldsUntilRefused(*limiter_, IntroducerNamed("ann")), 0U);
  upkeep_.set_memory_max(8 * TableBound::kBytesMin);
  EXPECT_GT(HoldsUntilRefused(*limiter_, ann), 0U);
}

// A user whose share is used up loses marks of the user's own holds only.
TEST_F(UsersHoldMemoryTest, NamedUserForgetsNoMarkOfAnother) {
  const Introducer ann = IntroducerNamed("ann");
  const auto reserve = [&](std::string_view key, std::string_view id, Introducer user) {
    const auto held = limiter_->DecideAndHold(Of({{key, "10/h"}}),
                                              {.id = id, .ttl = hours{1}, .user = user}, now_);
    EXPECT_TRUE(held.ok()) << held.status();
  };
  reserve("shared", "of bob", IntroducerNamed("bob"));
  reserve("shared", "of ann", ann);
  reserve("own", "first", ann);
  reserve("own", "second", ann);
  EXPECT_TRUE(Commit("of bob", "shared"));
  EXPECT_TRUE(Commit("first", "own"));
  EXPECT_GT(HoldsUntilRefused(*limiter_, ann), 0U);
  EXPECT_TRUE(Commit("of ann", "shared"));
  EXPECT_TRUE(Commit("of bob", "shared")) << "the mark answers again";
  EXPECT_FALSE(Commit("of ann", "shared")) << "there was no room for the mark";
  EXPECT_TRUE(Commit("second", "own"));
  EXPECT_FALSE(Commit("first", "own")) << "its mark made room";
  EXPECT_TRUE(Commit("second", "own"));
}

// The bounds on number and memory have the same unit, so that a number alone bounds both.
TEST(HoldCountsTest, TheMillionIsABoundOfMemory) {
  HoldCounts counts(1'000'000);
  EXPECT_EQ(counts.bytes_max(), 256'000'000U);
  counts.AddBytes(kSoleIntroducer, 256'000'000);
  EXPECT_FALSE(counts.TryAdd(kSoleIntroducer, 1));
  counts.RemoveBytes(kSoleIntroducer, 1);
  EXPECT_TRUE(counts.TryAdd(kSoleIntroducer, 1));
  counts.set_bytes_max(1'000'000'000'000);
  EXPECT_EQ(counts.bytes_max(), 256'000'000U);
  counts.set_bytes_max(100);
  EXPECT_EQ(counts.bytes_max(), 100U);
}

// Restored holds count for no user, but for the bounds on all holds, in both units.
TEST(HoldCountsTest, RestoredHoldsTakeTheirPlaceAmongAll) {
  HoldCounts counts(100);
  for (int i = 0; i < 95; ++i) counts.AddRestored();
  const Introducer ann = IntroducerNamed("ann");
  EXPECT_TRUE(counts.TryAdd(ann, 5));
  EXPECT_FALSE(counts.TryAdd(ann, 1));
  counts.Remove(ann, 5);
  counts.AddBytes(kNoIntroducer, counts.bytes_max());
  EXPECT_FALSE(counts.TryAdd(ann, 1));
  counts.RemoveBytes(kNoIntroducer, counts.bytes_max());
  EXPECT_TRUE(counts.TryAdd(ann, 1));
}

// Marks of a named user give way before the user's open holds are refused.
TEST(HoldCountsTest, MarksLeaveAQuarterToOpenHolds) {
  HoldCounts counts(1'000'000);
  const Introducer ann = IntroducerNamed("ann");
  EXPECT_TRUE(counts.HasRoomForMark(ann));
  counts.AddBytes(ann, counts.bytes_max() / 40 * 3);
  EXPECT_FALSE(counts.HasRoomForMark(ann));
  EXPECT_TRUE(counts.HasRoomForMark(IntroducerNamed("bob")));
  EXPECT_TRUE(counts.TryAdd(ann, 1));
}

}  // namespace
}  // namespace weir
