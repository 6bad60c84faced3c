// Goal: the tools of the server's tests are right: the reader accepts only RESP, and replies of
// different shapes look different. Method: examples.
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
  return ReplyText(values->front());
}

TEST(ReplyTextTest, ValuesAreShownOnOneLine) {
  EXPECT_EQ(Text("+OK\r\n"), "OK");
  EXPECT_EQ(Text("-ERR no\r\n"), "ERR no");
  EXPECT_EQ(Text(":-2\r\n"), "-2");
  EXPECT_EQ(Text(",1.5\r\n"), "1.5");
  EXPECT_EQ(Text("$-1\r\n"), "nil");
  EXPECT_EQ(Text("_\r\n"), "nil");
  EXPECT_EQ(Text("$0\r\n\r\n"), "\"\"");
  EXPECT_EQ(Text("$9\r\na\"\\\r\n\t\x01\xff\x7f\r\n"), R"("a\"\\\r\n\t\x01\xff\x7f")");
  EXPECT_EQ(Text("=8\r\ntxt:a\nb\n\r\n"), R"("a\nb\n")");
  EXPECT_EQ(Text("*3\r\n:1\r\n$1\r\na\r\n$-1\r\n"), "1 \"a\" nil");
}

TEST(ReplyTextTest, BracketsTellArraysApart) {
  EXPECT_EQ(Text("*0\r\n"), "[]");
  EXPECT_EQ(Text("~0\r\n"), "[]");
  EXPECT_EQ(Text("%0\r\n"), "{}");
  EXPECT_EQ(Text("*1\r\n:1\r\n"), "[1]");
  EXPECT_EQ(Text("*1\r\n*1\r\n:1\r\n"), "[[1]]");
  EXPECT_EQ(Text("*2\r\n:1\r\n*0\r\n"), "1\n[]");
  EXPECT_EQ(Text("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n"), "[1 2]\n[3]");
  EXPECT_EQ(Text("*1\r\n*2\r\n*1\r\n:1\r\n:2\r\n"), "[[[1]\n  2]]");
  EXPECT_EQ(Text("*2\r\n:1\r\n*2\r\n*1\r\n:2\r\n*1\r\n:3\r\n"), "1\n[[2]\n [3]]");
  EXPECT_EQ(Text("*1\r\n%1\r\n+a\r\n:1\r\n"), "[{a 1}]");
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
    EXPECT_FALSE(ReadRespValues(bytes).has_value() && !bytes.empty()) << QuotedBytes(bytes);
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
