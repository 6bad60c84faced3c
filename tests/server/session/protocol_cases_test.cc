// Goal: broken and odd requests get exactly the bytes that Redis 7.0.15 answers (measured), however
// the network cuts them. Method: a table of cases, each sent whole, cut in two at every byte, and
// byte by byte. Input after an error is never executed; where the connection stays open, it
// continues as if nothing had happened.
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/conversation.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

enum class Then { kStays, kCloses };

struct Case {
  std::string name;
  std::string bytes;
  std::string replies;
  Then then = Then::kStays;

  friend void PrintTo(const Case& row, std::ostream* out) { *out << row.bytes.substr(0, 80); }
};

std::string ProtocolError(std::string_view what) {
  return absl::StrCat("-ERR Protocol error: ", AbslView(what), "\r\n");
}

std::vector<Case> Cases() {
  using namespace std::string_literals;
  const std::string multibulk = ProtocolError("invalid multibulk length");
  const std::string bulk = ProtocolError("invalid bulk length");
  const std::string quotes = ProtocolError("unbalanced quotes in request");
  const std::string long_line(70'000, 'A');
  const std::string long_count(70'000, '1');
  return {
      {"D01_EmptyLines", "\r\n\r\n*1\r\n$4\r\nPING\r\n", "+PONG\r\n"},
      {"D02_NoWords", "*0\r\nPING\r\n", "+PONG\r\n"},
      {"D03_FewerThanNoWords", "*-10\r\nPING\r\n", "+PONG\r\n"},
      {"D04_CountBeyondInt", "*3000000000\r\n", multibulk, Then::kCloses},
      {"D05_NoCount", "*\r\n", multibulk, Then::kCloses},
      {"D05_LetterForCount", "*a\r\n", multibulk, Then::kCloses},
      {"D05_PlusSign", "*+1\r\n", multibulk, Then::kCloses},
      {"D06_NullWord", "*1\r\n$-1\r\n", bulk, Then::kCloses},
      {"D07_LettersForLength", "*1\r\n$blabla\r\n", bulk, Then::kCloses},
      {"D07_NoLength", "*1\r\n$\r\n", bulk, Then::kCloses},
      {"D07_BlankBehindLength", "*1\r\n$4 \r\n", bulk, Then::kCloses},
      {"D08_NoDollar", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n",
       ProtocolError("expected '$', got 'f'"), Then::kCloses},
      {"D09_StatusInside", "*1\r\n+PING\r\n", ProtocolError("expected '$', got '+'"),
       Then::kCloses},
      {"D09_IntegerInside", "*1\r\n:1\r\n", ProtocolError("expected '$', got ':'"), Then::kCloses},
      {"D09_ArrayInside", "*1\r\n*1\r\n$4\r\nPING\r\n", ProtocolError("expected '$', got '*'"),
       Then::kCloses},
      {"D10_WordAboveCap", "*1\r\n$65537\r\n", bulk, Then::kCloses},
      {"D11_EndlessLine", long_line, ProtocolError("too big inline request"), Then::kCloses},
      {"D12_EndlessCount", "*" + long_count, ProtocolError("too big mbulk count string"),
       Then::kCloses},
      {"D13_OpenQuote", "PING \"abc\r\n", quotes, Then::kCloses},
      {"D13_QuoteInWord", "PING \"a\"b\r\n", quotes, Then::kCloses},
      {"D14_HexEscape", "PING \"a\\x41b\"\r\n", "$3\r\naAb\r\n"},
      {"D14_QuotedQuote", "PING 'it\\'s'\r\n", "$4\r\nit's\r\n"},
      {"D15_BareNewline", "PING\n", "+PONG\r\n"},
      {"D15_BareNewlinesInMultibulk", "*1\n$4\nPING\n", multibulk, Then::kCloses},
      {"D16_NulInName", "PI\0NG\r\n"s,
       "-ERR unknown command 'PI NG', with args beginning with: \r\n"},
      {"D17_HttpPost", "POST / HTTP/1.1\r\nHost: x\r\n\r\n*1\r\n$4\r\nPING\r\n", "", Then::kCloses},
      {"D17_HttpHost", "Host: x\r\nPING\r\n", "", Then::kCloses},
      {"D17_HttpGet", "GET /RL.ALLOW HTTP/1.1\r\n\r\nPING\r\n", "", Then::kCloses},
      {"D18_UnknownCommand", "*1\r\n$3\r\nFOO\r\n",
       "-ERR unknown command 'FOO', with args beginning with: \r\n"},
      {"D18_UnknownCommandWithArguments", "*3\r\n$3\r\nFoo\r\n$1\r\na\r\n$3\r\nb\r\n\r\n",
       "-ERR unknown command 'Foo', with args beginning with: 'a' 'b  ' \r\n"},
      {"D18_UnknownSubcommand", "client foo\r\n",
       "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n"},
      {"D19_TooManyArguments", "PING a b c\r\n",
       "-ERR wrong number of arguments for 'ping' command\r\n"},
      {"D19_TooFewForSubcommand", "config get\r\n",
       "-ERR wrong number of arguments for 'config|get' command\r\n"},
      {"D20_HelloNine", "HELLO 9\r\n", "-NOPROTO unsupported protocol version\r\n"},
      {"Quit", "PING\r\nQUIT\r\nPING\r\n", "+PONG\r\n+OK\r\n", Then::kCloses},
  };
}

class ProtocolCasesTest : public testing::TestWithParam<Case> {
 protected:
  // Sends the case's bytes and more, cut at `cuts`, and checks everything that must follow.
  void Deliver(const std::vector<std::size_t>& cuts) {
    const Case& row = GetParam();
    Conversation client(server_);
    std::string replies;
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
      replies += client.Send(std::string_view(row.bytes).substr(begin, cut - begin));
      begin = cut;
    }
    const std::string last = row.bytes.substr(begin);
    if (row.then == Then::kStays) {
      replies += client.Send(last);
      ASSERT_EQ(replies, row.replies) << "cut at " << testing::PrintToString(cuts);
      ASSERT_FALSE(client.closed());
      ASSERT_EQ(client.unread_bytes(), 0U);
      ASSERT_EQ(client.Send("PING\r\n"), "+PONG\r\n");
      return;
    }
    // More commands in the same chunk and in a later one; none is executed.
    constexpr std::string_view kMore = "\r\nRL.ALLOW k 1/h\r\n*1\r\n$4\r\nPING\r\n";
    replies += client.Send(last + std::string(kMore));
    ASSERT_EQ(replies, row.replies) << "cut at " << testing::PrintToString(cuts);
    ASSERT_TRUE(client.closed());
    std::string out;
    const Session::Turn turn = client.session().Execute(kMore, out);
    ASSERT_EQ(turn.next, Session::Next::kClose);
    ASSERT_EQ(turn.consumed, 0U);
    ASSERT_EQ(out, "");
    ASSERT_EQ(server_.services.upkeep.size().buckets, 0U);
  }

  TestServer server_;
};

TEST_P(ProtocolCasesTest, Whole) { Deliver({}); }

// Every position for a cut; of a very long case, the positions near its ends and the caps, and some
// between.
std::vector<std::size_t> Cuts(std::size_t bytes) {
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 1; cut < bytes; ++cut) {
    const bool near_edge = cut < 100 || bytes - cut < 100 || (cut >= 65'500 && cut < 65'560);
    if (bytes < 1000 || near_edge || cut % 499 == 0) cuts.push_back(cut);
  }
  return cuts;
}

TEST_P(ProtocolCasesTest, CutInTwoAnywhere) {
  for (const std::size_t cut : Cuts(GetParam().bytes.size())) {
    Deliver({cut});
    if (HasFatalFailure()) return;
  }
}

TEST_P(ProtocolCasesTest, ByteByByte) { Deliver(Cuts(GetParam().bytes.size())); }

INSTANTIATE_TEST_SUITE_P(Each, ProtocolCasesTest, testing::ValuesIn(Cases()),
                         [](const auto& row) { return row.param.name; });

// D22: ten thousand requests of every kind in one write, each answered once, in order.
TEST(PipelineTest, TenThousandMixedRequestsAreAnsweredInOrder) {
  const auto count = static_cast<int>(Scaled(10'000));
  std::string requests;
  std::string expected;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const std::string key = "key:" + number;
    switch (i % 8) {
      case 0:
        requests += RespRequest(std::vector<std::string>{"ECHO", number});
        absl::StrAppend(&expected, "$", number.size(), "\r\n", number, "\r\n");
        break;
      case 1:
        requests += "PING\r\n";
        expected += "+PONG\r\n";
        break;
      case 2:
        requests += RespRequest(std::vector<std::string>{"RL.ALLOW", key, "10/s"});
        expected += "*5\r\n:1\r\n:9\r\n:0\r\n:100\r\n:0\r\n";
        break;
      case 3:  // of the request before
        requests += "rl.peek key:" + std::to_string(i - 1) + " 10/s cost 10\n";
        expected += "*5\r\n:0\r\n:9\r\n:100\r\n:100\r\n:0\r\n";
        break;
      case 4:
        requests += RespRequest(std::vector<std::string>{"GET", key});
        absl::StrAppend(&expected, "-ERR unknown command 'GET', with args beginning with: '", key,
                        "' - weir limits rates and stores no values: see RL.HELP\r\n");
        break;
      case 5:
        requests += RespRequest(std::vector<std::string>{"RL.ALLOW", key, "10/x"});
        expected +=
            "-ERR invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, "
            "month, year)\r\n";
        break;
      case 6:
        requests += "*0\r\n\r\n" + RespRequest(std::vector<std::string>{"EXISTS", key});
        expected += ":0\r\n";
        break;
      default:
        requests += RespRequest(std::vector<std::string>{"PING", "a", "b"});
        expected += "-ERR wrong number of arguments for 'ping' command\r\n";
    }
  }
  Conversation one_write;
  EXPECT_EQ(one_write.Send(requests), expected);
  EXPECT_EQ(one_write.Send("PING\r\n"), "+PONG\r\n");

  Conversation pieces;
  std::string replies;
  for (std::size_t begin = 0, length = 1; begin < requests.size();
       begin += length, length = length * 5 % 1447 + 1) {
    replies += pieces.Send(std::string_view(requests).substr(begin, length));
  }
  EXPECT_EQ(replies, expected);
}

// D42: the longest key is accepted; one byte more is a broken request.
TEST(KeyBytesTest, TheCapIsExact) {
  const std::vector<std::string> longest = {"RL.ALLOW", std::string(65'536, 'k'), "1/h"};
  Conversation client;
  EXPECT_EQ(client.Call(longest), "*5\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n:0\r\n");
  EXPECT_EQ(client.Call(longest), "*5\r\n:0\r\n:0\r\n:3600000\r\n:3600000\r\n:0\r\n");
  EXPECT_EQ(client.Call({"RL.ALLOW", std::string(65'537, 'k'), "1/h"}),
            ProtocolError("invalid bulk length"));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.server().services.upkeep.size().buckets, 1U);
}

std::vector<std::string> StrangeKeys() {
  using namespace std::string_literals;
  return {
      "",         "a",      "A",       "a\0"s,  "a\0b"s,        "\0"s,  "a\r\n",        "a\n",
      "a\r",      "\r\n",   "a\xff",   "\xff",  "\xff\xfe\xff", "\x7f", "a\r\n+OK\r\n", "a ",
      "'a'",      "\"a\"",  "10/s",    "AND",   "COST",         "{a}",  "\xc3\xa9",     "\x1b[2J",
      "a\0\r\n"s, "-ERR x", "$-1\r\n", "*1\r\n"};
}

TEST(KeyBytesTest, KeysOfAnyBytesAreDistinct) {
  Conversation client;
  for (const std::string& key : StrangeKeys()) {
    EXPECT_EQ(client.Call({"RL.ALLOW", key, "1/h"}), "*5\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n:0\r\n")
        << QuotedBytes(key);
  }
  for (const std::string& key : StrangeKeys()) {
    EXPECT_EQ(client.Call({"RL.PEEK", key, "1/h"}),
              "*5\r\n:0\r\n:0\r\n:3600000\r\n:3600000\r\n:0\r\n")
        << QuotedBytes(key);
  }
  EXPECT_EQ(client.server().services.upkeep.size().buckets, StrangeKeys().size());
}

// Wherever a client's bytes are sent back they are counted (bulk) or free of control bytes, which
// ReadRespValue checks, so they cannot begin a reply of their own.
TEST(KeyBytesTest, BytesComeBackCountedOrEscaped) {
  for (const std::string& key : StrangeKeys()) {
    const std::vector<std::vector<std::string>> requests = {
        {"ECHO", key},
        {"PING", key},
        {"COMMAND", "GETKEYS", "RL.ALLOW", key, "1/s"},
        {key},
        {"GET", key, key},
        {"CLIENT", key},
        {"CLIENT", "SETINFO", key, "x"},
        {"CLIENT", "SETNAME", key},
        {"CLIENT", "LIST", "TYPE", key},
        {"CLIENT", "LIST", "ID", key},
        {"HELLO", key},
        {"HELLO", "2", key},
        {"AUTH", key, key},
        {"SELECT", key},
        {"INFO", key},
        {"CONFIG", "GET", key},
        {"COMMAND", "LIST", "FILTERBY", key, key},
        {"COMMAND", "INFO", key},
        {"COMMAND", "GETKEYS", key, key},
        {"RL.ALLOW", key, key},
        {"RL.ALLOW", key, "1/s", "COST", key},
        {"RL.ALLOW", "k", "1/s", "AND", key, key},
        {"RL.ALLOW", "k", "1/s", "WITHLIMITS", key},
        {"RL.ALLOW", key, "AND"},
        {"RL.RESET", key, key},
        {"FLUSHALL", key},
        {"SHUTDOWN", key},
    };
    for (const std::vector<std::string>& request : requests) {
      Conversation client;
      const std::string reply = client.Call(request);
      const auto values = ReadRespValues(reply);
      ASSERT_TRUE(values.has_value()) << QuotedBytes(reply);
      EXPECT_EQ(values->size(), 1U) << QuotedBytes(reply);
      EXPECT_FALSE(client.closed());
    }
  }
}

}  // namespace
}  // namespace weir
