// Goal: Redis's commands on keys tell the truth about buckets: a key exists while one of its
// buckets is not full. Method: conversations in which buckets fill up nanosecond by nanosecond.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CmdKeysTest : public testing::Test {
 protected:
  void Wait(Nanos span) { client_.server().clock.Advance(span); }

  Conversation client_;
};

// Milliseconds and seconds are rounded up. A full bucket is gone, swept or not.
TEST_F(CmdKeysTest, AKeyExistsUntilItsLastBucketIsFull) {
  client_.Run("RL.ALLOW k 10/s 1000/h");  // 100 ms and 3.6 s
  EXPECT_EQ(client_.Run("PTTL k"), ":3600\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":4\r\n");
  Wait(milliseconds{600} - Nanos{1});
  EXPECT_EQ(client_.Run("PTTL k"), ":3001\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":4\r\n");
  Wait(Nanos{1});
  EXPECT_EQ(client_.Run("PTTL k"), ":3000\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":3\r\n");
  Wait(seconds{3} - Nanos{1});
  EXPECT_EQ(client_.Run("PTTL k"), ":1\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":1\r\n");
  EXPECT_EQ(client_.Run("TYPE k"), "+bucket\r\n");
  EXPECT_EQ(client_.Run("EXISTS k"), ":1\r\n");
  Wait(Nanos{1});
  EXPECT_EQ(client_.Run("PTTL k"), ":-2\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":-2\r\n");
  EXPECT_EQ(client_.Run("TYPE k"), "+none\r\n");
  EXPECT_EQ(client_.Run("EXISTS k"), ":0\r\n");
}

TEST_F(CmdKeysTest, ExistsCountsEachKeyAsOftenAsItIsNamed) {
  client_.Run("RL.ALLOW a 1/h AND b 1/h");
  EXPECT_EQ(client_.Run("EXISTS a b c"), ":2\r\n");
  EXPECT_EQ(client_.Run("EXISTS a a a"), ":3\r\n");
  EXPECT_EQ(client_.Run("exists c d"), ":0\r\n");
}

TEST_F(CmdKeysTest, DelForgetsKeysAndCountsThoseThatExisted) {
  client_.Run("RL.ALLOW a 1/h 2/h 3/h AND b 1/h AND full 10/s AND other 1/h");
  Wait(milliseconds{100});
  EXPECT_EQ(client_.Run("DBSIZE"), ":6\r\n");
  EXPECT_EQ(client_.Run("DEL a nosuch b full a"), ":2\r\n");
  EXPECT_EQ(client_.Run("DBSIZE"), ":1\r\n");
  EXPECT_EQ(client_.Run("EXISTS a b full other"), ":1\r\n");
  EXPECT_EQ(client_.Run("RL.ALLOW a 1/h"), "*5\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n:0\r\n");
}

// Full buckets count until they are swept.
TEST_F(CmdKeysTest, DbsizeCountsWhatIsStored) {
  client_.Run("RL.ALLOW a 10/s 20/s AND b 10/s");
  EXPECT_EQ(client_.Run("DBSIZE"), ":3\r\n");
  Wait(seconds{1});
  EXPECT_EQ(client_.Run("DBSIZE"), ":3\r\n");
  while (!client_.server().services.sweeper.Step(client_.server().clock.Now())) {
  }
  EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
}

TEST_F(CmdKeysTest, FlushForgetsEverything) {
  for (const char* flush : {"FLUSHALL", "FLUSHDB", "flushall async", "FLUSHDB SYNC"}) {
    client_.Run("RL.ALLOW a 1/h AND b 1/h 2/h");
    EXPECT_EQ(client_.Run(flush), "+OK\r\n");
    EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
    EXPECT_EQ(client_.Run("EXISTS a b"), ":0\r\n");
  }
  client_.Run("RL.ALLOW a 1/h");
  client_.Run("FLUSHALL NOW");
  client_.Run("FLUSHALL SYNC ASYNC");
  EXPECT_EQ(client_.Run("EXISTS a"), ":1\r\n");
}

}  // namespace
}  // namespace weir
