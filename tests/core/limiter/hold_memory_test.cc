// Goal: holds stay within their quarter of the bound of memory, and the bytes that are counted for
// them are gone when they are. Method: holds that end in every way, and holds of many limits until
// one is refused.
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"

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
  EXPECT_EQ(limiter_->hold_bytes(), 0U);
  for (const std::string id : {"committed", "cancelled", "expired", "reset"}) {
    EXPECT_TRUE(Reserve({{id, "10/h"}, {id, "5/m,fixed"}}, id, seconds{30}));
  }
  const std::size_t open = limiter_->hold_bytes();
  EXPECT_GT(open, 4 * (2 * sizeof(HoldPart) + sizeof(weir::Hold)));
  EXPECT_LT(open, 4 * 240U) << "docs/commands.md says that three limits take 240 bytes";
  EXPECT_TRUE(Commit("committed", "committed"));
  EXPECT_TRUE(Cancel("cancelled", "cancelled"));
  EXPECT_EQ(limiter_->hold_bytes(), open) << "marks take as much";
  Reset("reset");
  now_ += minutes{1};
  SweepAll();
  EXPECT_EQ(limiter_->hold_bytes(), 0U);
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
  EXPECT_GE(limiter_->hold_bytes(), kMax);
  EXPECT_LT(limiter_->hold_bytes(), kMax + kEach);
  EXPECT_TRUE(Cancel("1", "1"));
  EXPECT_EQ(ReserveMany("again"), "too many holds") << "the mark takes as much";
  limiter_->set_memory_max(0);
  EXPECT_EQ(ReserveMany("again"), "");
}

}  // namespace
}  // namespace weir
