// Goal: the parser reads well-formed, odd and hostile requests as documented, however the network
// cuts them. Method: a table of cases, each delivered whole, cut in two at every byte, byte by
// byte, and in random pieces.
#include "protocol/resp_parser.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/protocol/pieces.h"
#include "tests/protocol/resp_transcript.h"

namespace weir {
namespace {

using Commands = std::vector<std::vector<std::string>>;

constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";
constexpr std::string_view kBadCount = "Protocol error: invalid multibulk length";
constexpr std::string_view kBadLength = "Protocol error: invalid bulk length";
constexpr std::string_view kBadQuotes = "Protocol error: unbalanced quotes in request";
const Commands kNothing;
const Commands kOnePing = {{"PING"}};

struct Case {
  std::string name;
  std::string bytes;
  Commands commands;
  std::string_view ending = kNeedsMore;
  RespCaps caps = kRespCaps;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

// A literal with its NULs.
template <std::size_t n>
std::string Bytes(const char (&literal)[n]) {
  return std::string(literal, n - 1);
}

std::string operator+(std::string left, std::string_view right) { return left.append(right); }

std::vector<Case> EmptyRequests() {
  return {
      {"Nothing", "", kNothing},
      {"EmptyLines", Bytes("\r\n\r\n") + kPing, kOnePing},
      {"EmptyLinesWithoutCr", "\n\n \n\t\v\f\r\n", kNothing},
      {"CountZero", "*0\r\nPING\r\n", kOnePing},
      {"CountNegative", Bytes("*-10\r\n") + kPing, kOnePing},
      {"CountMinusOne", "*-1\r\n", kNothing},
      {"CountLeast", Bytes("*-9223372036854775808\r\n") + kPing, kOnePing},
      {"EmptyBetween", Bytes("PING\r\n*0\r\n*-1\r\n\r\n") + kPing + "*0\r\n", {{"PING"}, {"PING"}}},
  };
}

std::vector<Case> Counts() {
  std::vector<Case> cases;
  for (const std::string_view count :
       {"", "a", "+1", "01", "-0", "1 ", " 1", "1a", "0x1", "1025", "2147483647", "2147483648",
        "3000000000", "9223372036854775807", "9223372036854775808", "18446744073709551617",
        "-9223372036854775809", "00000000000000000001"}) {
    cases.push_back({"Count_" + std::string(count), Bytes("*") + count + "\r\n$4\r\nPING\r\n",
                     kNothing, kBadCount});
  }
  cases.push_back({"CountWithNul", Bytes("*1\0\r\n"), kNothing, kBadCount});
  cases.push_back({"CountEndedByLf", "*1\n$4\nPING\n", kNothing, kBadCount});
  cases.push_back({"CountEndedByCr", "*1\r$4\r\nPING\r\n", kNothing, kBadCount});
  cases.push_back({"CountEndedByCrCrLf", "*1\r\r\n$4\r\nPING\r\n", kNothing, kBadCount});
  cases.push_back({"CountIncomplete", "*1", kNothing});
  cases.push_back({"CountWithoutLf", "*1\r", kNothing});
  cases.push_back({"CountBadWithoutLf", "*x\r", kNothing});
  cases.push_back({"CountBadAfterGood", Bytes("") + kPing + "*x\r\n", kOnePing, kBadCount});
  return cases;
}

std::vector<Case> Lengths() {
  std::vector<Case> cases;
  for (const std::string_view length :
       {"", "-1", "-2", "blabla", "+4", "04", "4 ", " 4", "4a", "-0", "65537", "536870912",
        "536870913", "2147483648", "9223372036854775807", "9223372036854775808",
        "99999999999999999999999"}) {
    cases.push_back({"Length_" + std::string(length), Bytes("*1\r\n$") + length + "\r\nPING\r\n",
                     kNothing, kBadLength});
  }
  cases.push_back({"LengthEndedByLf", "*1\r\n$4\nPING\r\n", kNothing, kBadLength});
  cases.push_back({"LengthEndedByCr", "*1\r\n$4\rPING\r\n", kNothing, kBadLength});
  cases.push_back({"LengthTooShort", "*1\r\n$3\r\nPING\r\n", kNothing, kBadLength});
  cases.push_back({"LengthTooLong", Bytes("*1\r\n$5\r\nPING\r\n") + kPing, kNothing, kBadLength});
  cases.push_back({"BulkEndedByLf", "*1\r\n$4\r\nPING\n*", kNothing, kBadLength});
  cases.push_back({"BulkEndedByCr", "*1\r\n$4\r\nPING\rx", kNothing, kBadLength});
  cases.push_back({"BulkIncomplete", "*1\r\n$4\r\nPING\r", kNothing});
  cases.push_back({"BulkWrongButIncomplete", "*1\r\n$4\r\nPINGx", kNothing});
  cases.push_back({"LengthMissing", "*1\r\n", kNothing});
  return cases;
}

std::vector<Case> Types() {
  return {
      {"WordWithoutType", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", kNothing,
       "Protocol error: expected '$', got 'f'"},
      {"SimpleString", "*1\r\n+PING\r\n", kNothing, "Protocol error: expected '$', got '+'"},
      {"IntegerAsWord", "*1\r\n:1\r\n", kNothing, "Protocol error: expected '$', got ':'"},
      {"Nested", "*1\r\n*1\r\n$4\r\nPING\r\n", kNothing, "Protocol error: expected '$', got '*'"},
      {"LineEndAsType", "*1\r\n\r\n", kNothing, "Protocol error: expected '$', got '\r'"},
      {"NoTypeAfterGood", Bytes("") + kPing + "*1\r\nx", kOnePing,
       "Protocol error: expected '$', got 'x'"},
      {"ReplyAsRequest", "+OK\r\n$4\r\nPING\r\n", {{"+OK"}, {"$4"}, {"PING"}}},
  };
}

std::vector<Case> WordCases() {
  return {
      {"Multibulk",
       Bytes("*3\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n"),
       {{"RL.ALLOW", "k", "10/s"}}},
      {"EmptyWord", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", {{"ECHO", ""}}},
      {"OnlyEmptyWords", "*2\r\n$0\r\n\r\n$0\r\n\r\n", {{"", ""}}},
      {"AnyBytes",
       Bytes("*2\r\n$4\r\nECHO\r\n$7\r\n\r\n\0\xff$*\n\r\n"),
       {{"ECHO", Bytes("\r\n\0\xff$*\n")}}},
      {"Pipelined", Bytes("") + kPing + "PING a\n" + kPing, {{"PING"}, {"PING", "a"}, {"PING"}}},
      {"Incomplete", Bytes("") + kPing + "*2\r\n$4\r\nECHO\r\n$9\r\nabc", kOnePing},
  };
}

std::vector<Case> InlineRequests() {
  return {
      {"InlineLf", "PING\n", kOnePing},
      {"InlineCrLf", "PING\r\n", kOnePing},
      {"InlineBlanks", " \tECHO \v\f a\t\r\n", {{"ECHO", "a"}}},
      {"InlineCrInside", "ECHO a\rb\r\n", {{"ECHO", "a", "b"}}},
      {"InlineNul", Bytes("PI\0NG \0\r\n"), {{Bytes("PI\0NG"), Bytes("\0")}}},
      {"InlineIncomplete", "PING\r", kNothing},
      {"InlineStarInside", "ECHO *1\r\n", {{"ECHO", "*1"}}},
      {"InlineBlankStar", " *1\r\n", {{"*1"}}},
      {"DoubleQuotes",
       R"(PING "a\x41b")"
       "\r\n",
       {{"PING", "aAb"}}},
      {"DoubleQuotesEscapes",
       R"(X "\n\r\t\b\a\"\\\q\x" "\x4" "\x4g" "\xfF\x00")"
       "\n",
       {{"X", "\n\r\t\b\a\"\\qx", "x4", "x4g", Bytes("\xff\0")}}},
      {"DoubleQuotesBlanks", "X \" a \t'b' \"\n", {{"X", " a \t'b' "}}},
      {"SingleQuotes",
       R"(PING 'it\'s')"
       "\r\n",
       {{"PING", "it's"}}},
      {"SingleQuotesNoEscapes",
       R"(X '\n\x41\\ ' '"')"
       "\n",
       {{"X", R"(\n\x41\\ )", "\""}}},
      {"QuotesEmpty", "X \"\" ''\n", {{"X", "", ""}}},
      {"QuotesAlone", "\"\"\n", {{""}}},
      {"QuoteInsideWord", "X a\"b c\" d'e f'\n", {{"X", "ab c", "de f"}}},
      {"QuotesMany", "'a' b \"c\" d 'e'\n'f' g\n", {{"a", "b", "c", "d", "e"}, {"f", "g"}}},
      {"QuoteOpen", "PING \"abc\r\n", kNothing, kBadQuotes},
      {"QuoteOpenSingle", "PING 'abc\r\n", kNothing, kBadQuotes},
      {"QuoteOpenAtEnd", "PING '\n", kNothing, kBadQuotes},
      {"QuoteTouchesWord", "PING \"a\"b\r\n", kNothing, kBadQuotes},
      {"QuoteTouchesWordSingle", "PING 'a'b\r\n", kNothing, kBadQuotes},
      {"QuoteTouchesQuote", "PING \"a\"\"b\"\r\n", kNothing, kBadQuotes},
      {"QuoteEscapedAtEnd", "PING \"a\\\"\r\n", kNothing, kBadQuotes},
      {"QuoteEscapedAtEndLf", "PING \"a\\\"\n", kNothing, kBadQuotes},
      {"QuoteEscapedAtEndSingle", "PING 'a\\'\n", kNothing, kBadQuotes},
      {"BackslashAtEnd", "PING \"a\\\n", kNothing, kBadQuotes},
      {"QuoteAfterGood", "PING\nX 'a\nPING\n", kOnePing, kBadQuotes},
  };
}

std::vector<Case> ForeignProtocols() {
  const Commands none;
  return {
      {"HttpPost", Bytes("POST / HTTP/1.1\r\nHost: x\r\n\r\n") + kPing, none, kForeign},
      {"HttpPostBare", "post\r\n", none, kForeign},
      {"HttpPostQuotes", "POST \"\r\n", none, kForeign},
      {"HttpHost", Bytes("hOST: localhost\r\n") + kPing, none, kForeign},
      {"HttpGet", "GET / HTTP/1.0\r\n\r\n", none, kForeign},
      {"HttpAnyMethod", "PROPFIND \"/ HTTP/1.1\r\n", none, kForeign},
      {"HttpAfterUnknownLine", "FOO\r\nHost: x\r\n", {{"FOO"}}, kForeign},
      {"HttpIncomplete", "POST / HTTP/1.1", none},
      {"NotHttpPrefix", "POSTS x\r\nHost:port\r\n", {{"POSTS", "x"}, {"Host:port"}}},
      {"NotHttpLaterWord", "ECHO POST Host: HTTP/1\t\n", none, kForeign},
      {"NotHttpWithoutBlank", "ECHO POST Host: xHTTP/1\n", {{"ECHO", "POST", "Host:", "xHTTP/1"}}},
      {"NotHttpMultibulk",
       "*1\r\n$4\r\nPOST\r\n*1\r\n$9\r\nx HTTP/1\n\r\n",
       {{"POST"}, {"x HTTP/1\n"}}},
  };
}

std::vector<Case> LongLines() {
  const std::string digits(70'000, '1');
  const std::string letters(70'000, 'A');
  return {
      {"LongInline", letters, kNothing, "Protocol error: too big inline request"},
      {"LongInlineEnded", letters + "\r\n", kNothing, "Protocol error: too big inline request"},
      {"LongInlineBlank", std::string(70'000, ' ') + "\n", kNothing,
       "Protocol error: too big inline request"},
      {"LongCount", "*" + digits, kNothing, "Protocol error: too big mbulk count string"},
      {"LongCountEnded", "*" + digits + "\r\n", kNothing,
       "Protocol error: too big mbulk count string"},
      {"LongLength", "*1\r\n$" + digits, kNothing, "Protocol error: too big bulk count string"},
      {"LongAfterGood", std::string(kPing) + letters, kOnePing,
       "Protocol error: too big inline request"},
  };
}

std::vector<Case> BeforeAuth() {
  const RespCaps caps = kRespCapsBeforeAuth;
  constexpr std::string_view count = "Protocol error: unauthenticated multibulk length";
  constexpr std::string_view length = "Protocol error: unauthenticated bulk length";
  return {
      {"StrangerPing", std::string(kPing), kOnePing, kNeedsMore, caps},
      {"StrangerCount", "*11\r\n", kNothing, count, caps},
      {"StrangerCountLarge", "*2147483647\r\n", kNothing, count, caps},
      {"StrangerCountAbsurd", "*2147483648\r\n", kNothing, kBadCount, caps},
      {"StrangerCountBad", "*x\r\n", kNothing, kBadCount, caps},
      {"StrangerLength", "*1\r\n$16385\r\n", kNothing, length, caps},
      {"StrangerLengthLarge", "*1\r\n$536870912\r\n", kNothing, length, caps},
      {"StrangerLengthAbsurd", "*1\r\n$536870913\r\n", kNothing, kBadLength, caps},
      {"StrangerLengthBad", "*1\r\n$-1\r\n", kNothing, kBadLength, caps},
      {"StrangerLongInline", std::string(9'000, 'A'), kNothing,
       "Protocol error: too big inline request", caps},
      {"StrangerLongCount", "*" + std::string(9'000, '1'), kNothing,
       "Protocol error: too big mbulk count string", caps},
  };
}

// The cuts to try for a case: all cuts of a short case; those near the caps and some others of a
// long case.
std::vector<std::size_t> InterestingCuts(const Case& c, std::mt19937_64& random) {
  if (c.bytes.size() <= 2'000) return EveryByte(c.bytes.size());
  std::vector<std::size_t> cuts = {1, 2, 3, 4, 5, 6, c.bytes.size() - 1};
  for (std::size_t near = 0; near < 12; ++near) cuts.push_back(c.caps.line_bytes_max - 4 + near);
  for (int i = 0; i < 20; ++i) cuts.push_back(random() % c.bytes.size());
  return cuts;
}

std::vector<std::size_t> RandomCuts(std::size_t bytes, std::mt19937_64& random) {
  std::vector<std::size_t> cuts;
  for (std::size_t left = 1 + random() % 8; left > 0; --left)
    cuts.push_back(random() % (bytes + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

class RespParserCaseTest : public testing::TestWithParam<Case> {};

TEST_P(RespParserCaseTest, AnswersAsExpectedInEveryCut) {
  const Case& c = GetParam();
  Transcript expected = ParseWhole(c.caps, c.bytes);
  ASSERT_EQ(expected.commands, c.commands) << expected;
  ASSERT_EQ(expected.ending, c.ending);

  EXPECT_EQ(ParseInPieces(c.caps, c.bytes, EveryByte(c.bytes.size())), expected);
  std::mt19937_64 random(c.bytes.size());
  for (const std::size_t cut : InterestingCuts(c, random)) {
    EXPECT_EQ(ParseInPieces(c.caps, c.bytes, {cut}), expected) << "cut at " << cut;
  }
  for (int round = 0; round < 100; ++round) {
    const std::vector<std::size_t> cuts = RandomCuts(c.bytes.size(), random);
    EXPECT_EQ(ParseInPieces(c.caps, c.bytes, cuts), expected) << testing::PrintToString(cuts);
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char byte : info.param.name) {
    name += std::isalnum(static_cast<unsigned char>(byte)) ? std::string(1, byte)
                                                           : absl::StrCat("_", int{byte}, "_");
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(EmptyRequests, RespParserCaseTest, testing::ValuesIn(EmptyRequests()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Counts, RespParserCaseTest, testing::ValuesIn(Counts()), CaseName);
INSTANTIATE_TEST_SUITE_P(Lengths, RespParserCaseTest, testing::ValuesIn(Lengths()), CaseName);
INSTANTIATE_TEST_SUITE_P(Types, RespParserCaseTest, testing::ValuesIn(Types()), CaseName);
INSTANTIATE_TEST_SUITE_P(Words, RespParserCaseTest, testing::ValuesIn(WordCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(InlineRequests, RespParserCaseTest, testing::ValuesIn(InlineRequests()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(ForeignProtocols, RespParserCaseTest,
                         testing::ValuesIn(ForeignProtocols()), CaseName);
INSTANTIATE_TEST_SUITE_P(LongLines, RespParserCaseTest, testing::ValuesIn(LongLines()), CaseName);
INSTANTIATE_TEST_SUITE_P(BeforeAuth, RespParserCaseTest, testing::ValuesIn(BeforeAuth()), CaseName);

// A burst of requests of all kinds is parsed completely and in order, for any sizes of the reads.
TEST(RespParserTest, TenThousandPipelinedRequestsComeOutInOrder) {
  std::string bytes;
  Commands commands;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = absl::StrCat("k", i);
    switch (i % 4) {
      case 0:
        absl::StrAppend(&bytes, "*2\r\n$4\r\nECHO\r\n$", key.size(), "\r\n", key, "\r\n");
        break;
      case 1:
        absl::StrAppend(&bytes, "ECHO ", key, "\r\n");
        break;
      case 2:
        absl::StrAppend(&bytes, "ECHO '", key, "'\n");
        break;
      default:
        absl::StrAppend(&bytes, "\r\n*0\r\nECHO ", key, "\n");
        break;
    }
    commands.push_back({"ECHO", key});
  }
  std::mt19937_64 random(1);
  for (const std::size_t piece_bytes_max : {std::size_t{7}, std::size_t{4'096}, bytes.size()}) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random() % piece_bytes_max) < bytes.size();) {
      cuts.push_back(at);
    }
    const Transcript transcript = ParseInPieces(kRespCaps, bytes, cuts);
    EXPECT_EQ(transcript.commands, commands);
    EXPECT_EQ(transcript.ending, kNeedsMore);
    EXPECT_EQ(transcript.consumed, bytes.size());
  }
}

TEST(RespParserTest, EmptyRequestsAreConsumedWithoutACommand) {
  RespParser parser;
  EXPECT_EQ(parser.Parse("\r\n*0\r\n*-5\r\n*1\r"), ParseResult::kNeedMore);
  EXPECT_EQ(parser.consumed(), std::string_view("\r\n*0\r\n*-5\r\n").size());
  EXPECT_EQ(parser.Parse("*1\r\n$4\r\nPING\r\n"), ParseResult::kCommand);
  EXPECT_EQ(parser.consumed(), kPing.size());
}

TEST(RespParserTest, WordsWithoutQuotesAreViewsIntoTheInput) {
  const std::string bytes = "*2\r\n$4\r\nECHO\r\n$1\r\na\r\nECHO b 'c'\n";
  RespParser parser;
  ASSERT_EQ(parser.Parse(bytes), ParseResult::kCommand);
  EXPECT_EQ(parser.words()[1].data(), bytes.data() + bytes.find('a'));
  ASSERT_EQ(parser.Parse(std::string_view(bytes).substr(parser.consumed())), ParseResult::kCommand);
  ASSERT_EQ(parser.words().size(), 3U);
  EXPECT_EQ(parser.words()[1].data(), bytes.data() + bytes.find('b'));
  EXPECT_EQ(parser.words()[2], "c");
}

TEST(RespParserTest, EveryByteHasAHexEscape) {
  for (const std::string_view digits : {"0123456789abcdef", "0123456789ABCDEF"}) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::string line =
          absl::StrCat("\"\\x", std::string{digits[byte / 16], digits[byte % 16]}, "\"\n");
      EXPECT_EQ(ParseWhole(kRespCaps, line).commands,
                Commands({{std::string(1, static_cast<char>(byte))}}));
    }
  }
}

TEST(RespParserTest, OnlyHexDigitsMakeAHexEscape) {
  for (const char bad : std::string_view("/:@G`g ")) {
    for (const std::string& digits : {std::string{bad, '1'}, std::string{'1', bad}}) {
      EXPECT_EQ(ParseWhole(kRespCaps, absl::StrCat("\"\\x", digits, "\"\n")).commands,
                Commands({{"x" + digits}}));
    }
  }
  EXPECT_EQ(ParseWhole(kRespCaps, "\"\\t41\"\n").commands, Commands({{"\t41"}}));
}

TEST(RespParserTest, CapsChangeBetweenRequests) {
  const std::string eleven_words = "1 2 3 4 5 6 7 8 9 10 11\n";
  RespParser parser(kRespCapsBeforeAuth);
  ASSERT_EQ(parser.Parse(kPing), ParseResult::kCommand);
  parser.set_caps(kRespCaps);
  ASSERT_EQ(parser.Parse(eleven_words), ParseResult::kCommand);
  parser.set_caps(kRespCapsBeforeAuth);
  ASSERT_EQ(parser.Parse(eleven_words), ParseResult::kProtocolError);
}

// Restart works in the middle of a request and after an error.
TEST(RespParserTest, RestartForgetsTheRequestAndTheError) {
  RespParser parser(kRespCapsBeforeAuth);
  for (const std::string_view begun : {"*1\r\n$4\r\nPI", "*1\r\n$", "*", "PI", "*x\r\n", "'\n",
                                       "*2\r\n$4\r\nPING\r\n$4\r\n", "*1\r\n$99999\r\n"}) {
    ASSERT_NE(parser.Parse(begun), ParseResult::kCommand) << begun;
    parser.Restart();
    parser.set_caps(kRespCapsBeforeAuth);
    EXPECT_EQ(parser.error(), "");
    ASSERT_EQ(parser.Parse(kPing), ParseResult::kCommand) << begun;
    EXPECT_THAT(parser.words(), testing::ElementsAre("PING"));
    EXPECT_EQ(parser.consumed(), kPing.size());
  }
}

TEST(RespParserTest, KnowsWhereItsWordsAre) {
  RespParser parser;
  for (const auto& [bytes, in_input] :
       {std::pair(std::string(kPing), true), std::pair(std::string("a 'b'\n"), false),
        std::pair(std::string("a b\n"), true), std::pair(std::string("a \"\"\n"), false),
        std::pair(std::string("\"a\"\n"), false), std::pair(std::string(kPing), true)}) {
    ASSERT_EQ(parser.Parse(bytes), ParseResult::kCommand);
    EXPECT_EQ(parser.words_are_in_input(), in_input) << bytes;
  }
}

// Law: the parser reads each byte once. Method: bytes are changed after the parser has seen them
// and asked for more; the new values must not matter.
TEST(RespParserTest, DoesNotLookAgainAtBytesItHasSeen) {
  for (const auto& [seen, changed] :
       {std::pair("PING a", "\n\n\n\n\n\nb"), std::pair("*111", "*\r\n11"),
        std::pair("*2\r\n$", "*\r\r\r$1"), std::pair("*1\r\n$22", "*9\r\n$\r\n2"),
        std::pair("*2\r\n$1\r\na\r\n$1\r\n", "*x\n\n+9\r\na\n\n$7\n\nb")}) {
    RespParser parser;
    ASSERT_EQ(parser.Parse(seen), ParseResult::kNeedMore);
    EXPECT_EQ(parser.Parse(changed), ParseResult::kNeedMore) << seen;
    EXPECT_EQ(parser.consumed(), 0U);
  }
}

TEST(RespParserTest, AnErrorIsTheEndOfTheStream) {
  RespParser parser;
  EXPECT_EQ(parser.Parse("*x\r\n"), ParseResult::kProtocolError);
  EXPECT_EQ(parser.Parse(kPing), ParseResult::kProtocolError);
  EXPECT_EQ(parser.consumed(), 0U);
  EXPECT_EQ(parser.error(), kBadCount);
}

}  // namespace
}  // namespace weir
