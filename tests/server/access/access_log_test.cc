// Goal: the log has the latest refusals, joins equal ones, and stays within its bound. Method:
// entries on both sides of each edge: 60 s, ten entries back, 128 entries, 128 bytes.
#include "server/access/access_log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AccessLogTest : public testing::Test {
 protected:
  static AccessLog::Entry Of(const std::string& key) {
    return {
        .reason = AccessLog::Reason::kKey, .object = key, .user = "app", .client = {}, .last = {}};
  }
  void Add(AccessLog::Entry entry) {
    entry.last = now_;
    entry.client = "id=" + std::to_string(++clients_);
    log_.Add(std::move(entry));
  }
  // "key*count", the latest first.
  std::vector<std::string> Shown(std::size_t max = AccessLog::kEntriesMax) {
    std::vector<std::string> shown;
    for (const AccessLog::Entry& entry : log_.Latest(max)) {
      shown.push_back(entry.object + "*" + std::to_string(entry.count));
    }
    return shown;
  }

  AccessLog log_;
  HostInstant now_{std::chrono::hours{1}};
  int clients_ = 0;
};

TEST_F(AccessLogTest, TheLatestComesFirst) {
  EXPECT_THAT(Shown(), IsEmpty());
  for (const char* key : {"a", "b", "c"}) Add(Of(key));
  EXPECT_THAT(Shown(), ElementsAre("c*1", "b*1", "a*1"));
  EXPECT_THAT(Shown(2), ElementsAre("c*1", "b*1"));
  EXPECT_THAT(Shown(0), IsEmpty());
  log_.Clear();
  EXPECT_THAT(Shown(), IsEmpty());
}

TEST_F(AccessLogTest, EqualRefusalsAreOneEntryWithACount) {
  for (const char* key : {"a", "b", "a", "a"}) Add(Of(key));
  EXPECT_THAT(Shown(), ElementsAre("a*3", "b*1"));
  EXPECT_EQ(log_.Latest(1)[0].client, "id=4") << "who was the last";
}

TEST_F(AccessLogTest, ADifferenceInAnyFieldIsAnotherEntry) {
  Add(Of("a"));
  AccessLog::Entry entry = Of("a");
  entry.user = "other";
  Add(entry);
  entry = Of("a");
  entry.in_transaction = true;
  Add(entry);
  entry = Of("a");
  entry.reason = AccessLog::Reason::kCommand;
  Add(entry);
  EXPECT_THAT(Shown(), ElementsAre("a*1", "a*1", "a*1", "a*1"));
}

// The 60 s count from the last of the equal refusals.
TEST_F(AccessLogTest, ALaterRefusalIsAnotherEntry) {
  Add(Of("a"));
  now_ += AccessLog::kSameTime;
  Add(Of("a"));
  EXPECT_THAT(Shown(), ElementsAre("a*2"));
  now_ += AccessLog::kSameTime;
  Add(Of("a"));
  EXPECT_THAT(Shown(), ElementsAre("a*3"));
  now_ += AccessLog::kSameTime + Nanos{1};
  Add(Of("a"));
  EXPECT_THAT(Shown(), ElementsAre("a*1", "a*3"));
}

TEST_F(AccessLogTest, OnlyTheLatestAreLookedAt) {
  const auto add_others = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) Add(Of("other" + std::to_string(i)));
  };
  Add(Of("a"));
  add_others(AccessLog::kLookedAtMax - 1);
  Add(Of("a"));
  EXPECT_EQ(Shown(1), std::vector<std::string>{"a*2"});
  log_.Clear();
  Add(Of("a"));
  add_others(AccessLog::kLookedAtMax);
  Add(Of("a"));
  EXPECT_EQ(Shown(1), std::vector<std::string>{"a*1"});
}

TEST_F(AccessLogTest, HasABound) {
  for (std::size_t i = 0; i <= AccessLog::kEntriesMax; ++i) Add(Of(std::to_string(i)));
  const std::vector<std::string> shown = Shown(1000);
  EXPECT_THAT(shown, SizeIs(AccessLog::kEntriesMax));
  EXPECT_EQ(shown.front(), "128*1");
  EXPECT_EQ(shown.back(), "1*1") << "the oldest went";
  const std::string fits(AccessLog::kObjectBytesMax, 'x');
  Add(Of(fits));
  EXPECT_EQ(Shown(1)[0], fits + "*1");
  Add(Of(fits + "y"));
  EXPECT_EQ(Shown(1)[0], fits + "...*1");
}

// The counts are of refusals, not of entries, and go on when the log is cleared.
TEST_F(AccessLogTest, CountsRefusalsByReason) {
  Add(Of("a"));
  Add(Of("a"));
  Add({.reason = AccessLog::Reason::kPassword,
       .object = "AUTH",
       .user = {},
       .client = {},
       .last = {}});
  EXPECT_THAT(log_.counts(), ElementsAre(1, 0, 2, 0));
  log_.Clear();
  Add({.reason = AccessLog::Reason::kCommand,
       .object = "get",
       .user = {},
       .client = {},
       .last = {}});
  EXPECT_THAT(log_.counts(), ElementsAre(1, 1, 2, 0));
}

}  // namespace
}  // namespace weir
