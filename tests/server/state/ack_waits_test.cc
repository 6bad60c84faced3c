// Goal: a wait is over exactly when the replicas that it needs have what was changed before it.
// Method: ticks and acknowledgements by hand, and at random beside a naive count.
#include "server/state/ack_waits.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_scale.h"

namespace weir {
namespace {

class AckWaitsTest : public testing::Test {
 protected:
  std::shared_ptr<AckWait> Add(std::size_t needed) {
    return waits_.Add(needed, [this] { ++woken_; });
  }
  void Tick(std::uint64_t offset) {
    waits_.BeginTick();
    waits_.EndTick(offset);
  }
  void Judge(std::vector<std::uint64_t> acked) { waits_.Judge(acked); }

  AckWaits waits_;
  int woken_ = 0;
};

TEST_F(AckWaitsTest, ATickUnderWayDoesNotCount) {
  waits_.BeginTick();
  const std::shared_ptr<AckWait> wait = Add(1);
  waits_.EndTick(100);
  Judge({100});
  EXPECT_FALSE(wait->is_over());
  Tick(150);
  Judge({149});
  EXPECT_FALSE(wait->is_over());
  Judge({150});
  EXPECT_TRUE(wait->is_over());
  EXPECT_TRUE(wait->is_done());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(waits_.size(), 0U);
}

TEST_F(AckWaitsTest, LaterTicksDoNotMoveTheOffset) {
  const std::shared_ptr<AckWait> wait = Add(2);
  Tick(100);
  Tick(200);
  Judge({200, 99});
  EXPECT_EQ(wait->count(), 1U);
  EXPECT_FALSE(wait->is_over());
  Judge({200, 100});
  EXPECT_TRUE(wait->is_done());
}

TEST_F(AckWaitsTest, AWaitForNoneIsOverAtOnce) {
  EXPECT_TRUE(Add(0)->is_done());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(waits_.size(), 0U);
}

TEST_F(AckWaitsTest, TheSameChangesAreWaitedForAgain) {
  const std::shared_ptr<AckWait> none = waits_.AddForSameChange(nullptr, 1, [this] { ++woken_; });
  EXPECT_FALSE(none->is_over()) << "there is no replica";
  const std::shared_ptr<AckWait> first = Add(3);
  Tick(100);
  Judge({120, 90});
  EXPECT_TRUE(none->is_done());
  const auto again = [&](std::size_t needed) {
    return waits_.AddForSameChange(first.get(), needed, [this] { ++woken_; });
  };
  EXPECT_TRUE(again(1)->is_done()) << "what was acknowledged before";
  const std::shared_ptr<AckWait> second = again(2);
  EXPECT_EQ(second->count(), 1U);
  EXPECT_FALSE(second->is_over());
  Judge({120, 100});
  EXPECT_TRUE(second->is_done());
  EXPECT_FALSE(first->is_over());
}

// Goal: a wait for no replica says when the change was made, so that a later one for the same
// change is not over too early.
TEST_F(AckWaitsTest, TheTickUnderWayIsNotThatOfAWaitForNone) {
  waits_.BeginTick();
  const std::shared_ptr<AckWait> none = Add(0);
  const std::shared_ptr<AckWait> wait =
      waits_.AddForSameChange(none.get(), 1, [this] { ++woken_; });
  waits_.EndTick(100);
  Judge({100});
  EXPECT_FALSE(wait->is_over()) << "the tick may have missed the change";
  Tick(150);
  Judge({150});
  EXPECT_TRUE(wait->is_done());
}

TEST_F(AckWaitsTest, AWaitThatWasGivenUpIsNotCounted) {
  const std::shared_ptr<AckWait> first = Add(2);
  EXPECT_EQ(waits_.size(), 1U);
  first->GiveUp();
  EXPECT_EQ(waits_.size(), 0U);
  Tick(100);
  Judge({100, 100});
  EXPECT_EQ(woken_, 0);
  EXPECT_TRUE(waits_.AddForSameChange(first.get(), 2, [this] { ++woken_; })->is_done());
}

TEST_F(AckWaitsTest, AllEndWithThePrimary) {
  const std::shared_ptr<AckWait> wait = Add(1);
  Tick(100);
  waits_.EndAll();
  EXPECT_TRUE(wait->is_over());
  EXPECT_FALSE(wait->is_done());
  EXPECT_EQ(woken_, 1);
  waits_.EndAll();
  Judge({100});
  EXPECT_EQ(woken_, 1) << "once";
  const std::shared_ptr<AckWait> late = Add(1);
  EXPECT_TRUE(late->is_over());
  EXPECT_FALSE(late->is_done());
  waits_.Begin();
  EXPECT_FALSE(Add(1)->is_over());
}

TEST_F(AckWaitsTest, AWaitThatWasGivenUpIsForgotten) {
  const std::shared_ptr<AckWait> kept = Add(1);
  for (int i = 0; i < 100; ++i) static_cast<void>(Add(1));
  EXPECT_EQ(waits_.size(), 1U);
  Tick(100);
  Judge({100});
  EXPECT_EQ(woken_, 1);
}

// A change is numbered by the byte that it ends at; the tick takes all that were made before it.
TEST_F(AckWaitsTest, AtRandomTheCountIsThatOfTheReplicasThatHaveTheChange) {
  std::uint64_t random = 1;
  const auto below = [&random](std::uint64_t end) {
    random = random * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return (random >> 33) % end;
  };
  struct Asked {
    std::uint64_t change;
    std::shared_ptr<AckWait> wait;
  };
  std::vector<Asked> asked;
  std::uint64_t changed = 0;  // made
  std::uint64_t taken = 0;    // by ticks
  std::uint64_t begun = 0;    // changed at the begin of the tick under way
  bool ticks = false;
  std::array<std::uint64_t, 3> acked{};
  for (std::int64_t i = 0; i < Scaled(100'000); ++i) {
    switch (below(5)) {
      case 0:
        changed += below(3);
        if (below(4) == 0) asked.push_back({changed, Add(1 + below(3))});
        break;
      case 1:
        if (!ticks) {
          waits_.BeginTick();
          begun = changed;
        } else {
          taken = begun;
          waits_.EndTick(taken);
        }
        ticks = !ticks;
        break;
      default: {
        std::uint64_t& one = acked[below(acked.size())];
        one += below(taken - one + 1);
        std::vector<std::uint64_t> sorted(acked.begin(), acked.end());
        std::ranges::sort(sorted, std::ranges::greater());
        waits_.Judge(sorted);
        for (const Asked& each : asked) {
          const auto has = [&](std::uint64_t offset) { return offset >= each.change; };
          const auto having = static_cast<std::size_t>(std::ranges::count_if(acked, has));
          ASSERT_LE(each.wait->count(), having);
          ASSERT_EQ(each.wait->is_over(), each.wait->is_done());
        }
        std::erase_if(asked, [](const Asked& each) { return each.wait->is_over(); });
      }
    }
  }
  if (ticks) waits_.EndTick(begun);
  Tick(changed);
  Judge({changed, changed, changed});
  for (const Asked& each : asked) ASSERT_TRUE(each.wait->is_done());
}

// Else a reply could leave before its change is on the replicas.
TEST_F(AckWaitsTest, OffsetsOfAHistoryDoNotGoBack) {
  const std::shared_ptr<AckWait> wait = Add(2);
  Tick(100);
  EXPECT_DEATH(Tick(99), "offset >= ended_at_");
  EXPECT_DEATH(Judge({1, 2}), "is_sorted");
  waits_.EndAll();
  waits_.Begin();
  const std::shared_ptr<AckWait> of_another_history = Add(1);
  Tick(5);
  Judge({5});
  EXPECT_TRUE(of_another_history->is_done());
}

}  // namespace
}  // namespace weir
