// Goal: exactly the replies that the end of a wait concerns are replaced. Method: outputs whose
// replies are letters.
#include "server/session/unsaved_replies.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Unsaved = UnsavedReplies<char>;

constexpr Awaited kChange{.save = Awaited::Save::kOfChange};
constexpr Awaited kAsked{.save = Awaited::Save::kAsked};
constexpr Awaited kLate{.save = Awaited::Save::kLateReply};
constexpr Awaited kAcks{.acks = 1};
constexpr Awaited kBoth{.save = Awaited::Save::kOfChange, .acks = 2};

WaitOutcome NotSaved(bool fails_changes) {
  return {.saved = absl::UnavailableError("full"), .fails_changes = fails_changes};
}

// The output from the first reply that waited on, after the waits have ended.
std::string After(const Unsaved& unsaved, std::string_view output, const WaitOutcome& outcome) {
  std::string rest(output.substr(unsaved.begin().value()));
  unsaved.Replace(rest, outcome,
                  [](char origin, std::string_view reply, Replaced why, std::string& out) {
                    out += origin;
                    out += reply.size() > 1 ? "!!!" : "";
                    out += why == Replaced::kUnacknowledged ? "?" : "";
                  });
  return rest;
}

TEST(UnsavedRepliesTest, RepliesAreReplacedInTheirPlaces) {
  Unsaved unsaved;
  EXPECT_FALSE(unsaved.begin());
  unsaved.Add(2, 4, kChange, 'x');
  unsaved.Add(4, 5, kAsked, 'y');
  unsaved.Add(7, 9, kChange, 'z');
  EXPECT_EQ(unsaved.begin(), 2U);
  EXPECT_EQ(After(unsaved, "abCCDefGGh", NotSaved(true)), "x!!!yefz!!!h");
  EXPECT_EQ(After(unsaved, "abCCDefGGh", NotSaved(false)), "CCyefGGh");
  EXPECT_EQ(After(unsaved, "abCCDefGGh", {.acks_missed = 1}), "CCDefGGh");
  unsaved.Clear();
  EXPECT_FALSE(unsaved.begin());
}

TEST(UnsavedRepliesTest, LateRepliesAreReplacedAfterEverySave) {
  Unsaved unsaved;
  unsaved.Add(0, 1, kAsked, 'x');
  EXPECT_EQ(unsaved.awaited().save, Awaited::Save::kAsked);
  unsaved.Add(1, 2, kLate, 'y');
  unsaved.Add(2, 3, kChange, 'z');
  EXPECT_EQ(unsaved.awaited().save, Awaited::Save::kLateReply);
  for (const bool fails_changes : {false, true}) {
    EXPECT_EQ(After(unsaved, "ABCD", {.fails_changes = fails_changes}), "AyCD");
  }
  EXPECT_EQ(After(unsaved, "ABCD", NotSaved(false)), "xyCD");
  unsaved.Clear();
  EXPECT_FALSE(unsaved.awaited().any());
}

TEST(UnsavedRepliesTest, MissedAcknowledgementsReplaceWhatWaitedForThem) {
  Unsaved unsaved;
  unsaved.Add(0, 1, kAcks, 'x');
  EXPECT_EQ(unsaved.awaited().save, Awaited::Save::kNone);
  unsaved.Add(1, 2, kAsked, 'y');
  unsaved.Add(3, 4, kBoth, 'z');
  EXPECT_EQ(unsaved.awaited().acks, 2U) << "the most of them";
  EXPECT_EQ(After(unsaved, "ABcD", {}), "ABcD");
  EXPECT_EQ(After(unsaved, "ABcD", {.acks_missed = 2}), "x?Bcz?");
  EXPECT_EQ(After(unsaved, "ABcD", NotSaved(true)), "Aycz");
  WaitOutcome neither = NotSaved(true);
  neither.acks_missed = 2;
  EXPECT_EQ(After(unsaved, "ABcD", neither), "x?ycz") << "what is not saved comes first";
}

TEST(UnsavedRepliesTest, TheMemoryOfManyIsGivenBack) {
  Unsaved unsaved;
  unsaved.Add(0, 1, kAsked, 'x');
  unsaved.GiveBack();
  EXPECT_EQ(unsaved.begin(), 0U) << "few are kept";
  for (std::size_t i = 1; i <= kUnsavedKept; ++i) unsaved.Add(i, i + 1, kAsked, 'x');
  unsaved.GiveBack();
  EXPECT_FALSE(unsaved.begin());
}

// Else the reply to a change that is not saved would leave as it is.
TEST(UnsavedRepliesTest, OnlyRepliesThatWaitAreAddedAndReplaced) {
  Unsaved unsaved;
  EXPECT_DEATH(unsaved.Add(0, 1, {}, 'x'), "awaited.any");
  EXPECT_DEATH(unsaved.Add(1, 1, kAsked, 'x'), "begin < end");
  std::string output = "ab";
  const auto write = [](char, std::string_view, Replaced, std::string&) {};
  EXPECT_DEATH(unsaved.Replace(output, {}, write), "!replies_.empty");
  unsaved.Add(1, 4, kAsked, 'x');
  EXPECT_DEATH(unsaved.Add(3, 5, kAsked, 'y'), "end <= begin");
  EXPECT_DEATH(unsaved.Replace(output, {}, write), "output.size");
}

}  // namespace
}  // namespace weir
