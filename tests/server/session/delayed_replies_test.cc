// Goal: exactly the replies that the end of a wait concerns are replaced. Method: outputs whose
// replies are letters.
#include "server/session/delayed_replies.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Delayed = DelayedReplies<char>;

constexpr Awaited kChange{.save = Awaited::Save::kOfChange};
constexpr Awaited kAsked{.save = Awaited::Save::kAsked};
constexpr Awaited kLate{.save = Awaited::Save::kLateReply};
constexpr Awaited kAcks{.acks = 1};
constexpr Awaited kBoth{.save = Awaited::Save::kOfChange, .acks = 2};

WaitOutcome NotSaved(bool fails_changes) {
  return {.saved = absl::UnavailableError("full"), .fails_changes = fails_changes};
}

// The output from the first reply that waited on, after the waits have ended.
std::string After(const Delayed& delayed, std::string_view output, const WaitOutcome& outcome) {
  std::string rest(output.substr(delayed.begin().value()));
  delayed.Replace(rest, outcome,
                  [](char origin, std::string_view reply, Replaced why, std::string& out) {
                    out += origin;
                    out += reply.size() > 1 ? "!!!" : "";
                    out += why == Replaced::kUnacknowledged ? "?" : "";
                  });
  return rest;
}

TEST(DelayedRepliesTest, RepliesAreReplacedInTheirPlaces) {
  Delayed delayed;
  EXPECT_FALSE(delayed.begin());
  delayed.Add(2, 4, kChange, 'x');
  delayed.Add(4, 5, kAsked, 'y');
  delayed.Add(7, 9, kChange, 'z');
  EXPECT_EQ(delayed.begin(), 2U);
  EXPECT_EQ(After(delayed, "abCCDefGGh", NotSaved(true)), "x!!!yefz!!!h");
  EXPECT_EQ(After(delayed, "abCCDefGGh", NotSaved(false)), "CCyefGGh");
  EXPECT_EQ(After(delayed, "abCCDefGGh", {.acks_missed = 1}), "CCDefGGh");
  delayed.Clear();
  EXPECT_FALSE(delayed.begin());
}

TEST(DelayedRepliesTest, LateRepliesAreReplacedAfterEverySave) {
  Delayed delayed;
  delayed.Add(0, 1, kAsked, 'x');
  EXPECT_EQ(delayed.awaited().save, Awaited::Save::kAsked);
  delayed.Add(1, 2, kLate, 'y');
  delayed.Add(2, 3, kChange, 'z');
  EXPECT_EQ(delayed.awaited().save, Awaited::Save::kLateReply);
  for (const bool fails_changes : {false, true}) {
    EXPECT_EQ(After(delayed, "ABCD", {.fails_changes = fails_changes}), "AyCD");
  }
  EXPECT_EQ(After(delayed, "ABCD", NotSaved(false)), "xyCD");
  delayed.Clear();
  EXPECT_FALSE(delayed.awaited().any());
}

TEST(DelayedRepliesTest, MissedAcknowledgementsReplaceWhatWaitedForThem) {
  Delayed delayed;
  delayed.Add(0, 1, kAcks, 'x');
  EXPECT_EQ(delayed.awaited().save, Awaited::Save::kNone);
  delayed.Add(1, 2, kAsked, 'y');
  delayed.Add(3, 4, kBoth, 'z');
  EXPECT_EQ(delayed.awaited().acks, 2U) << "the most of them";
  EXPECT_EQ(After(delayed, "ABcD", {}), "ABcD");
  EXPECT_EQ(After(delayed, "ABcD", {.acks_missed = 2}), "x?Bcz?");
  EXPECT_EQ(After(delayed, "ABcD", NotSaved(true)), "Aycz");
  WaitOutcome neither = NotSaved(true);
  neither.acks_missed = 2;
  EXPECT_EQ(After(delayed, "ABcD", neither), "x?ycz") << "what is not saved comes first";
}

TEST(DelayedRepliesTest, TheMemoryOfManyIsFreed) {
  Delayed delayed;
  delayed.Add(0, 1, kAsked, 'x');
  delayed.ShrinkBuffers();
  EXPECT_EQ(delayed.begin(), 0U) << "few are kept";
  for (std::size_t i = 1; i <= kDelayedKept; ++i) delayed.Add(i, i + 1, kAsked, 'x');
  delayed.ShrinkBuffers();
  EXPECT_FALSE(delayed.begin());
}

// Else the reply to a change that is not saved would leave as it is.
TEST(DelayedRepliesTest, OnlyRepliesThatWaitAreAddedAndReplaced) {
  Delayed delayed;
  EXPECT_DEATH(delayed.Add(0, 1, {}, 'x'), "awaited.any");
  EXPECT_DEATH(delayed.Add(2, 1, kAsked, 'x'), "begin <= end");
  std::string output = "ab";
  const auto write = [](char, std::string_view, Replaced, std::string&) {};
  EXPECT_DEATH(delayed.Replace(output, {}, write), "!replies_.empty");
  delayed.Add(1, 4, kAsked, 'x');
  EXPECT_DEATH(delayed.Add(3, 5, kAsked, 'y'), "end <= begin");
  EXPECT_DEATH(delayed.Replace(output, {}, write), "output.size");
}

}  // namespace
}  // namespace weir
