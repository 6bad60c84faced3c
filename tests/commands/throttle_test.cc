// Goal: CL.THROTTLE answers the five integers that redis-cell documents, computed exactly, and
// RL.THROTTLE is the same command. Method: tables of (time, words) -> integers, computed by hand; E
// is the time that a token is worth. conformance_numbers.h has rates that do not divide a second.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/commands/differences.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::string Throttle(Client& client, std::string_view words) {
  return client.Show("CL.THROTTLE " + std::string(words));
}

struct Row {
  Nanos at;  // since the start
  std::string_view words;
  std::string_view integers;  // limited, max_burst + 1, remaining, retry s or -1, reset s
};

void ExpectRows(const std::vector<Row>& rows, std::string_view command = "CL.THROTTLE ") {
  Client client;
  const Instant start = client.clock().Now();
  for (const Row& row : rows) {
    client.clock().Set(start + row.at);
    EXPECT_EQ(client.Show(std::string(command) + std::string(row.words)), row.integers)
        << row.words << " at " << row.at.count() << " ns";
  }
}

// E = 60 s.
const std::vector<Row>& FiveAnHour() {
  static const std::vector<Row> kRows = {
      {seconds{0}, "k 4 1 60", "0 5 4 -1 60"},
      {seconds{0}, "k 4 1 60 1", "0 5 3 -1 120"},
      {seconds{0}, "k 4 1 60", "0 5 2 -1 180"},
      {seconds{0}, "k 4 1 60", "0 5 1 -1 240"},
      {seconds{0}, "k 4 1 60", "0 5 0 -1 300"},
      {seconds{0}, "k 4 1 60", "1 5 0 60 300"},
      {seconds{59}, "k 4 1 60", "1 5 0 1 241"},
      {seconds{60} - Nanos{1}, "k 4 1 60", "1 5 0 1 241"},
      {seconds{60}, "k 4 1 60", "0 5 0 -1 300"},
      {seconds{90}, "k 4 1 60", "1 5 0 30 270"},
      {seconds{90}, "k 4 1 60 2", "1 5 0 90 270"},
      {seconds{90}, "k 4 1 60 0", "0 5 0 -1 270"},
      {seconds{360} - Nanos{1}, "k 4 1 60 0", "0 5 4 -1 1"},
      {seconds{360}, "k 4 1 60 0", "0 5 5 -1 0"},
      {seconds{360}, "k 4 1 60 6", "1 5 5 -1 0"},
      {seconds{360}, "k 4 1 60 5", "0 5 0 -1 300"},
      {seconds{360}, "k 4 1 60 3", "1 5 0 180 300"},
      {seconds{480}, "k 4 1 60 0", "0 5 2 -1 180"},
      {seconds{480}, "k 4 1 60 3", "1 5 2 60 180"},
      {seconds{480}, "k 4 1 60 2", "0 5 0 -1 300"},
  };
  return kRows;
}

TEST(ThrottleTest, AnswersFiveIntegers) { ExpectRows(FiveAnHour()); }

TEST(ThrottleTest, HasAnotherSpelling) { ExpectRows(FiveAnHour(), "RL.THROTTLE "); }

TEST(ThrottleTest, TheLongestPeriodAndTheGreatestCost) {
  ExpectRows({
      {seconds{0}, "k 0 1 288230376", "0 1 0 -1 288230376"},
      {seconds{0}, "k 0 1 288230376 9223372036854775807", "1 1 0 -1 288230376"},
      {seconds{1}, "k 0 1 288230376", "1 1 0 288230375 288230375"},
  });
}

TEST(ThrottleTest, ImpossibleParametersAreErrorsAndCreateNothing) {
  Client client;
  for (const auto& [words, error] : std::vector<std::pair<std::string, std::string>>{
           {"k 4 1 -60", "invalid period '-60'"},
           {"k 4 1 60 1.5", "invalid quantity '1.5'"},
           {"k 4 1 60 9223372036854775808", "invalid quantity '9223372036854775808'"},
           {"k four 1 60", "invalid max_burst 'four'"},
           {"k 9223372036854775806 1 1", "limit is too long"},
           {"k 1000000 1 288230376", "limit is too long"},
           {"k 0 4294967311 1", "limit is too fine"},
           {"k 4 1", "wrong number of arguments for 'cl.throttle' command"},
           {"k 4 1 60 1 1", "wrong number of arguments for 'cl.throttle' command"},
       }) {
    const std::string reply = Throttle(client, words);
    EXPECT_TRUE(reply.starts_with("ERR ")) << words;
    EXPECT_THAT(reply, HasSubstr(error)) << words;
  }
  EXPECT_EQ(client.Show("DBSIZE"), "0");
}

// Goal: for any numbers in a key's requests, a request passes exactly when redis-cell's rule lets
// it pass, and a denial changes nothing. Method: random requests compared with that rule, which
// keeps one time for each key; the emission intervals are whole seconds, so the model needs no
// fractions.
TEST(ThrottleTest, RandomNumbersAgreeWithRedisCellsRule) {
  Client client;
  std::mt19937_64 random(1);
  const auto between = [&random](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const Instant start = client.clock().Now();
  std::int64_t now = 0;   // in seconds since the start, as are all times here
  std::int64_t full = 0;  // when the key's bucket is full again
  int denied = 0;
  for (int i = 0; i < 2000; ++i) {
    now += between(0, 3) == 0 ? between(0, 20) : 0;
    client.clock().Set(start + seconds{now});
    const std::int64_t tokens = between(1, 10);
    const std::int64_t interval = between(1, 5);
    const std::int64_t quantity = between(1, tokens);
    const std::int64_t next = std::max(full, now) + quantity * interval;
    const bool passes = next <= now + tokens * interval;
    if (passes) full = next;
    denied += passes ? 0 : 1;
    const RespValue reply =
        client.Ask(absl::StrCat("CL.THROTTLE k ", tokens - 1, " 1 ", interval, " ", quantity));
    ASSERT_EQ(reply.elements.size(), 5U);
    ASSERT_EQ(reply.elements[0].number, passes ? 0 : 1) << "request " << i;
    ASSERT_EQ(reply.elements[4].number, std::max<std::int64_t>(full - now, 0)) << "request " << i;
  }
  EXPECT_GT(denied, 100);
  EXPECT_LT(denied, 1900);
}

TEST(ThrottleTest, BothSpellingsShareTheBucketAndNoLimitDoes) {
  Client client;
  EXPECT_EQ(Throttle(client, "k 4 1 60 5"), "0 5 0 -1 300");
  EXPECT_EQ(client.Show("RL.THROTTLE k 4 1 60"), "1 5 0 60 300");
  EXPECT_EQ(client.Show("RL.ALLOW k 5/5m,burst=5"), "1 4 0 60000 0");
  EXPECT_EQ(client.Show("RL.ALLOW k 1/m,burst=5"), "1 4 0 60000 0");
}

TEST(ThrottleTest, LooksAndDeletionsSeeTheBucket) {
  Client client;
  EXPECT_EQ(Throttle(client, "k 4 1 60 2"), "0 5 3 -1 120");
  client.clock().Advance(milliseconds{500});
  EXPECT_EQ(client.Show("RL.INSPECT k"), "[[\"cl.throttle\" -1 119500 -1 0]]");
  EXPECT_EQ(client.Show("PTTL k"), "119500");
  EXPECT_EQ(client.Show("TYPE k"), TypeOfBuckets());
  EXPECT_EQ(client.Show("DEL k"), "1");
  EXPECT_EQ(Throttle(client, "k 4 1 60 0"), "0 5 5 -1 0");
  EXPECT_EQ(Throttle(client, "k 4 1 60"), "0 5 4 -1 60");
  EXPECT_EQ(client.Show("RL.RESET k"), "1");
  EXPECT_EQ(client.Show("EXISTS k"), "0");
}

TEST(ThrottleTest, IsTheSameInResp3) {
  Client client;
  const std::string admitted = "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:60\r\n";
  EXPECT_EQ(client.Run("cl.throttle a 4 1 60"), admitted);
  client.Run("HELLO 3");
  EXPECT_EQ(client.Run("cl.throttle b 4 1 60"), admitted);
}

}  // namespace
}  // namespace weir
