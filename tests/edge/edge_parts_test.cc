// Goal: the parts of an edge that are values: hands, demand, the filter of hot forms, requests as
// an edge reads them, and replies of a primary, well-formed or not.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rules/decision.h"
#include "edge/demand.h"
#include "edge/hand.h"
#include "edge/hot_filter.h"
#include "edge/primary_replies.h"
#include "edge/request_words.h"
#include "tests/edge/scripted_primary.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr HostInstant kStart{std::chrono::hours{1}};
constexpr Nanos kRtt = milliseconds{1};

TEST(Hand, SpendsTheOldestFirst) {
  Hand hand;
  hand.Add({.number = 1, .left = 3, .stop = kStart + seconds{1}});
  hand.Add({.number = 2, .left = 5, .used = 1, .stop = kStart + seconds{2}});
  hand.Spend(4);
  EXPECT_EQ(hand.units(), 4);
  ASSERT_EQ(hand.slices().size(), 1U);
  EXPECT_EQ(hand.slices()[0], (Slice{2, 4, 2, kStart + seconds{2}}));
}

TEST(Hand, DropsWhatHasEnded) {
  Hand hand;
  hand.Add({.number = 1, .left = 3, .stop = kStart + seconds{2}});
  hand.Add({.number = 2, .left = 5, .stop = kStart + seconds{1}});
  EXPECT_EQ(hand.DropEnded(kStart + seconds{1} - Nanos{1}), 0);
  EXPECT_EQ(hand.DropEnded(kStart + seconds{1}), 5);
  EXPECT_EQ(hand.units(), 3);
}

TEST(Hand, CountsALifeFromTheAskLessAMargin) {
  EXPECT_EQ(StopOf(kStart, seconds{2}), kStart + milliseconds{1997});
}

TEST(Demand, IsThatOfTheLastTwoSlots) {
  Demand demand;
  demand.Count(10, kStart, kRtt);
  EXPECT_EQ(demand.In(milliseconds{100}), 20);
  EXPECT_EQ(demand.In(milliseconds{1}), 1);  // rounded up
  demand.Count(4, kStart + milliseconds{60}, kRtt);
  EXPECT_EQ(demand.In(milliseconds{50}), 10);
  demand.Count(0, kStart + milliseconds{110}, kRtt);
  EXPECT_EQ(demand.In(milliseconds{50}), 4);
  demand.Count(0, kStart + milliseconds{300}, kRtt);
  EXPECT_EQ(demand.In(seconds{1}), 0);
}

TEST(Demand, IsBounded) {
  Demand demand;
  for (int i = 0; i < 3; ++i) demand.Count(kUnitsMax, kStart, kRtt);
  EXPECT_EQ(demand.In(std::chrono::hours{1}), kUnitsMax);
}

TEST(HotFilter, NeedsFourRequestsInAWindow) {
  HotFilter filter;
  for (const bool is_hot : {false, false, false, true, true}) {
    EXPECT_EQ(filter.Count(7, kStart, kRtt), is_hot);
  }
  EXPECT_TRUE(filter.IsHot(7, kStart + milliseconds{199}, kRtt));
  EXPECT_FALSE(filter.IsHot(7, kStart + milliseconds{201}, kRtt));
  EXPECT_FALSE(filter.IsHot(8, kStart, kRtt));
}

TEST(HotFilter, StaysHotWhileTheRateLasts) {
  HotFilter filter;
  for (int i = 0; i < 1'000; ++i) {
    const bool is_hot = filter.Count(7, kStart + i * milliseconds{20}, kRtt);
    EXPECT_EQ(is_hot, i >= 3) << i;
  }
  HotFilter slow;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(slow.Count(7, kStart + i * milliseconds{40}, kRtt)) << i;
  }
}

std::string FormTextOf(std::string_view words) {
  const std::vector<std::string> texts = WordsIn(words);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::optional<EdgeRequest> request = ReadEdgeRequest(views);
  if (!request) return "none";
  std::string all;
  for (const EdgeGroup& group : request->groups) {
    std::string text;
    WriteFormText(group, text);
    for (const std::string_view word : WordsOfForm(text)) all += std::string(word) + " ";
    all += "x" + std::to_string(group.units) + ";";
  }
  return all + (request->with_limits ? "rows" : "");
}

TEST(RequestWords, ReadsForms) {
  EXPECT_EQ(FormTextOf("k 10/s"), "k 10/s x1;");
  EXPECT_EQ(FormTextOf("and 10/s 5/m cost 812 WITHLIMITS"), "and 10/s 5/m x812;rows");
  EXPECT_EQ(FormTextOf("a 1/s AND b @p COST 3"), "a 1/s x1;b @p COST 3 x1;");
  EXPECT_EQ(FormTextOf("a 1/s,cost=2 5/s COST 3"), "a 1/s,cost=2 5/s COST 3 x1;");
  for (const std::string_view words :
       {"", "k", "k COST 3", "k 1/s COST", "k 1/s COST -1", "k 1/s COST 1099511627777", "k 1/s AND",
        "k 1/s WITHLIMITS WITHLIMITS", "k 1/s UPTO 3", "k 1/s OR k 2/s"}) {
    EXPECT_EQ(FormTextOf(words), "none") << words;
  }
  EXPECT_EQ(FormTextOf(std::string(kFormBytesMax, 'k') + " 1/s"), "none");
}

TEST(PrimaryReplies, ReadsSlices) {
  const std::string resp2 = SliceReplyOf({.granted = 4, .remaining = 50, .retry_us = -1});
  const std::optional<SliceReply> slice = ReadSliceReply(resp2);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->granted, 4);
  EXPECT_EQ(slice->retry_after, kNever);
  EXPECT_EQ(slice->life, milliseconds{250});
  ASSERT_EQ(slice->rows.size(), 1U);
  EXPECT_EQ(slice->rows[0].name, "100/s");
  EXPECT_THAT(slice->rows[0].numbers, ElementsAre(0, 100, 50, -1, 0, 0, 1, 0));
  for (std::size_t size = 0; size < resp2.size(); ++size) {
    EXPECT_FALSE(ReadSliceReply(resp2.substr(0, size))) << size;
  }
  EXPECT_FALSE(ReadSliceReply(resp2 + ":1\r\n"));
  EXPECT_FALSE(ReadSliceReply(SliceReplyOf({.granted = -1})));
  EXPECT_FALSE(ReadSliceReply(SliceReplyOf({.granted = kUnitsMax + 1})));
  EXPECT_TRUE(ReadSliceReply(SliceReplyOf({.granted = 1, .life_us = INT64_MAX})));
}

TEST(PrimaryReplies, ReadsDenialsOnly) {
  EXPECT_TRUE(ReadDenialReply("*5\r\n:0\r\n:0\r\n:1600\r\n:2000\r\n:0\r\n"));
  EXPECT_TRUE(ReadDenialReply("*6\r\n:0\r\n:0\r\n:1600\r\n:2000\r\n:0\r\n*0\r\n"));
  for (const std::string_view reply :
       {"*5\r\n:1\r\n:0\r\n:0\r\n:2000\r\n:0\r\n", "*5\r\n:0\r\n:0\r\n:0\r\n:2000\r\n:0\r\n",
        "*5\r\n:0\r\n:0\r\n", "-ERR no\r\n", "", "*5\r\n"}) {
    EXPECT_FALSE(ReadDenialReply(reply)) << reply;
  }
}

}  // namespace
}  // namespace weir
