// Goal: the tools of the server's tests do not lie: the reader takes nothing that is not RESP, and
// replies look as in redis-cli (compared with redis-cli 7.0.15 at a terminal). Method: examples.
#include "tests/support/conversation.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

std::string Text(std::string_view bytes) {
  const auto values = ReadRespValues(bytes);
  WEIR_CHECK(values.has_value());
  WEIR_CHECK(values->size() == 1);
  return RedisCliText(values->front());
}

TEST(RedisCliTextTest, LooksAsInRedisCli) {
  EXPECT_EQ(Text("+OK\r\n"), "OK");
  EXPECT_EQ(Text("-ERR no\r\n"), "(error) ERR no");
  EXPECT_EQ(Text(":-2\r\n"), "(integer) -2");
  EXPECT_EQ(Text("$-1\r\n"), "(nil)");
  EXPECT_EQ(Text("_\r\n"), "(nil)");
  EXPECT_EQ(Text("$0\r\n\r\n"), "\"\"");
  EXPECT_EQ(Text("$9\r\na\"\\\r\n\t\x01\xff\x7f\r\n"), R"("a\"\\\r\n\t\x01\xff\x7f")");
  EXPECT_EQ(Text("=8\r\ntxt:a\nb\n\r\n"), "a\nb\n");
  EXPECT_EQ(Text("*0\r\n"), "(empty array)");
  EXPECT_EQ(Text("~0\r\n"), "(empty set)");
  EXPECT_EQ(Text("%0\r\n"), "(empty hash)");
  EXPECT_EQ(Text("*2\r\n:1\r\n*2\r\n+a\r\n*1\r\n+b\r\n"), "1) (integer) 1\n2) 1) a\n   2) 1) b");
  EXPECT_EQ(Text("%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n+x\r\n+y\r\n"),
            "1# a => (integer) 1\n2# b => \n   1~ x\n   2~ y");
  EXPECT_EQ(Text("%1\r\n+a\r\n%1\r\n+b\r\n:1\r\n"), "1# a => 1# b => (integer) 1");
}

TEST(RedisCliTextTest, NumbersAreAlignedFromTenOn) {
  std::string bytes = "*10\r\n*2\r\n:1\r\n:2\r\n";
  for (int i = 2; i <= 10; ++i) bytes += ":0\r\n";
  const std::string text = Text(bytes);
  EXPECT_THAT(text,
              testing::StartsWith(" 1) 1) (integer) 1\n    2) (integer) 2\n 2) (integer) 0\n"));
  EXPECT_THAT(text, testing::EndsWith("\n 9) (integer) 0\n10) (integer) 0"));
}

TEST(RespValueTest, TakesNothingThatIsNotResp) {
  for (const std::string_view bytes : {"",
                                       "+OK",
                                       "+OK\r",
                                       "+OK\n",
                                       "OK\r\n",
                                       "\r\n",
                                       ":\r\n",
                                       ":1.5\r\n",
                                       ":+1\r\n",
                                       ":01\r\n",
                                       ":1 \r\n",
                                       "$1\r\n\r\n",
                                       "$2\r\na\r\n",
                                       "$1\r\nab\r\n",
                                       "$-2\r\n",
                                       "$01\r\na\r\n",
                                       "$99999999999999999999\r\n\r\n",
                                       "*1\r\n",
                                       "*2\r\n:1\r\n",
                                       "%1\r\n:1\r\n",
                                       "_x\r\n",
                                       "=3\r\nabc\r\n",
                                       "=4\r\nbin:\r\n",
                                       "+a\tb\r\n",
                                       "-a\x7f\r\n",
                                       "-a\n\r\n",
                                       "(1\r\n",
                                       "#t\r\n",
                                       ",\r\n",
                                       ",1.5 \r\n",
                                       ",1,5\r\n",
                                       ">1\r\n:1\r\n"}) {
    EXPECT_FALSE(ReadRespValues(bytes).has_value() && !bytes.empty()) << RedisCliQuoted(bytes);
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "*1\r\n";
  EXPECT_FALSE(ReadRespValues(deep + ":1\r\n").has_value());
  EXPECT_EQ(ReadRespValues(":1\r\n,1.5\r\n+OK\r\n")->size(), 3U);
}

TEST(ConversationTest, KeepsWhatIsUnread) {
  Conversation client;
  EXPECT_EQ(client.Send("PI"), "");
  EXPECT_EQ(client.unread_bytes(), 2U);
  EXPECT_EQ(client.Send("NG\r\nPING"), "+PONG\r\n");
  EXPECT_EQ(client.unread_bytes(), 4U);
  EXPECT_EQ(client.Send("\r\nQUIT\r\nPING\r\n"), "+PONG\r\n+OK\r\n");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.Send("PING\r\n"), "");
}

TEST(ConversationTest, WordsAreTypedAsInRedisCli) {
  Conversation client;
  EXPECT_EQ(client.Show("ECHO \"a b\\x00\""), "\"a b\\x00\"");
  EXPECT_EQ(client.Show("ECHO ''"), "\"\"");
}

}  // namespace
}  // namespace weir
