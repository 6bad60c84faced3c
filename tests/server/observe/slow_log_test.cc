// Goal: the log has the latest slow commands, shortened, up to a bound. Method: entries that
// differ in their words.
#include "server/observe/slow_log.h"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

SlowLog::Entry EntryOf(int number) {
  SlowLog::Entry entry;
  entry.duration = milliseconds{number};
  entry.arguments = {std::to_string(number)};
  return entry;
}

std::vector<std::uint64_t> IdsOf(const std::vector<SlowLog::Entry>& entries) {
  std::vector<std::uint64_t> ids;
  for (const SlowLog::Entry& entry : entries) ids.push_back(entry.id);
  return ids;
}

TEST(SlowLogTest, ACommandAsLongAsTheThresholdIsSlow) {
  SlowLog log(milliseconds{10}, 4);
  EXPECT_FALSE(log.IsSlow(milliseconds{10} - Nanos{1}));
  EXPECT_TRUE(log.IsSlow(milliseconds{10}));
  log.set_threshold(Nanos{0});
  EXPECT_TRUE(log.IsSlow(Nanos{0}));
  log.set_threshold(std::nullopt);
  EXPECT_FALSE(log.IsSlow(std::chrono::hours{24}));
}

TEST(SlowLogTest, HasTheLatestNewestFirst) {
  SlowLog log(Nanos{0}, 3);
  for (int i = 0; i < 5; ++i) log.Add(EntryOf(i));
  EXPECT_EQ(log.size(), 3U);
  EXPECT_THAT(IdsOf(log.Latest(2)), ElementsAre(4, 3));
  EXPECT_THAT(IdsOf(log.Latest(100)), ElementsAre(4, 3, 2));
  EXPECT_EQ(log.Latest(1)[0].arguments, std::vector<std::string>{"4"});
}

TEST(SlowLogTest, AShorterLengthDropsTheOldest) {
  SlowLog log(Nanos{0}, 3);
  for (int i = 0; i < 3; ++i) log.Add(EntryOf(i));
  log.set_length_max(1);
  EXPECT_THAT(IdsOf(log.Latest(9)), ElementsAre(2));
  log.set_length_max(0);
  log.Add(EntryOf(3));
  EXPECT_EQ(log.size(), 0U);
}

TEST(SlowLogTest, NumbersGoOnAfterAReset) {
  SlowLog log(Nanos{0}, 3);
  log.Add(EntryOf(0));
  log.Reset();
  EXPECT_EQ(log.size(), 0U);
  log.Add(EntryOf(1));
  EXPECT_THAT(IdsOf(log.Latest(9)), ElementsAre(1));
}

TEST(SlowLogTest, ArgumentsAreCutAsRedisCutsThem) {
  const std::string at_most(128, 'a');
  const std::string longer(130, 'b');
  EXPECT_THAT(SlowLog::Cut(std::vector<std::string_view>{"PING", at_most, longer}),
              ElementsAre("PING", at_most, std::string(128, 'b') + "... (2 more bytes)"));
  std::vector<std::string_view> words(32, "x");
  EXPECT_EQ(SlowLog::Cut(words).size(), 32U);
  EXPECT_EQ(SlowLog::Cut(words).back(), "x");
  words.resize(40, "y");
  EXPECT_EQ(SlowLog::Cut(words).size(), 32U);
  EXPECT_EQ(SlowLog::Cut(words).back(), "... (9 more arguments)");
}

TEST(SlowLogTest, AnEntryHasAtMostItsStatedSize) {
  const std::string huge(100'000, 'x');
  std::size_t bytes = 0;
  for (const std::string& argument : SlowLog::Cut(std::vector<std::string_view>(32, huge))) {
    bytes += sizeof(argument) + argument.capacity() + 1;
  }
  EXPECT_LE(bytes, 6U * 1024);
}

TEST(SlowLogTest, TheEntryThatExceedsAReplyIsTheLast) {
  SlowLog log(Nanos{0}, 100);
  for (int i = 0; i < 100; ++i) log.Add(EntryOf(i));
  EXPECT_THAT(IdsOf(log.Latest(100, 1)), ElementsAre(99));
  EXPECT_THAT(log.Latest(100, 0), testing::IsEmpty());
  EXPECT_LE(log.Latest(100, 1000).size(), 1000 / 128 + 1);
}

TEST(SlowLogTest, ThreadsMayDoEverythingAtOnce) {
  constexpr int kEntries = 1000;
  SlowLog log(Nanos{0}, 16);
  std::thread adder([&log] {
    for (int i = 0; i < kEntries; ++i) log.Add(EntryOf(i));
  });
  for (int i = 0; i < kEntries; ++i) {
    log.set_threshold(Nanos{i});
    log.set_length_max(static_cast<std::size_t>(1 + i % 16));
    EXPECT_LE(log.Latest(100).size(), 16U);
  }
  adder.join();
  EXPECT_THAT(IdsOf(log.Latest(1)), ElementsAre(kEntries - 1));
}

}  // namespace
}  // namespace weir
