// Goal: exactly the replies that the end of a save concerns are replaced. Method: outputs whose
// replies are letters.
#include "server/session/unsaved_replies.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Unsaved = UnsavedReplies<char>;

// The output from the first unsaved reply on, after a save has ended.
std::string Replaced(const Unsaved& unsaved, std::string_view output, bool changes,
                     bool saved = false) {
  std::string rest(output.substr(unsaved.begin().value()));
  unsaved.Replace(rest, saved, changes, [](char origin, std::string_view reply, std::string& out) {
    out += origin;
    out += reply.size() > 1 ? "!!!" : "";
  });
  return rest;
}

TEST(UnsavedRepliesTest, RepliesAreReplacedInTheirPlaces) {
  Unsaved unsaved;
  EXPECT_FALSE(unsaved.begin());
  unsaved.Add(2, 4, Awaited::kSaveOfChange, 'x');
  unsaved.Add(4, 5, Awaited::kSave, 'y');
  unsaved.Add(7, 9, Awaited::kSaveOfChange, 'z');
  EXPECT_EQ(unsaved.begin(), 2U);
  EXPECT_EQ(Replaced(unsaved, "abCCDefGGh", /*changes=*/true), "x!!!yefz!!!h");
  EXPECT_EQ(Replaced(unsaved, "abCCDefGGh", /*changes=*/false), "CCyefGGh");
  unsaved.Clear();
  EXPECT_FALSE(unsaved.begin());
}

TEST(UnsavedRepliesTest, LateRepliesAreReplacedAfterEverySave) {
  Unsaved unsaved;
  unsaved.Add(0, 1, Awaited::kSave, 'x');
  EXPECT_FALSE(unsaved.has_late_reply());
  unsaved.Add(1, 2, Awaited::kLateReply, 'y');
  unsaved.Add(2, 3, Awaited::kSaveOfChange, 'z');
  EXPECT_TRUE(unsaved.has_late_reply());
  for (const bool changes : {false, true}) {
    EXPECT_EQ(Replaced(unsaved, "ABCD", changes, /*saved=*/true), "AyCD");
  }
  EXPECT_EQ(Replaced(unsaved, "ABCD", /*changes=*/false), "xyCD");
  unsaved.Clear();
  EXPECT_FALSE(unsaved.has_late_reply());
}

TEST(UnsavedRepliesTest, TheMemoryOfManyIsGivenBack) {
  Unsaved unsaved;
  unsaved.Add(0, 1, Awaited::kSave, 'x');
  unsaved.GiveBack();
  EXPECT_EQ(unsaved.begin(), 0U) << "few are kept";
  for (std::size_t i = 1; i <= kUnsavedKept; ++i) unsaved.Add(i, i + 1, Awaited::kSave, 'x');
  unsaved.GiveBack();
  EXPECT_FALSE(unsaved.begin());
}

}  // namespace
}  // namespace weir
