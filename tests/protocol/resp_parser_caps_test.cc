// Goal: a request exactly as large as each cap is accepted; one byte or word more fails with that
// cap's error, as soon as the excess is certain. Method: each cap from both sides.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "protocol/resp_parser.h"
#include "tests/protocol/multibulk.h"
#include "tests/protocol/resp_transcript.h"

namespace weir {
namespace {

// A multibulk request of exactly `bytes` bytes, with words as long as allowed, except for the last.
std::string MultibulkOfBytes(std::size_t bytes, std::size_t word_bytes_max) {
  std::vector<std::string> words = {""};
  std::size_t missing = bytes - Multibulk(words).size();
  while (missing > 0) {
    // A longer word may also need a longer length, so the last bytes come one by one.
    const std::size_t room = word_bytes_max - words.back().size();
    const std::size_t more = missing > 100 ? std::min(room, missing - 100) : 1;
    if (room == 0) words.emplace_back();
    words.back().append(room == 0 ? 0 : more, 'a');
    missing = bytes - Multibulk(words).size();
  }
  return Multibulk(words);
}

void ExpectCommand(const RespCaps& caps, const std::string& bytes) {
  const Transcript transcript = ParseWhole(caps, bytes);
  EXPECT_EQ(transcript.commands.size(), 1U) << transcript;
  EXPECT_EQ(transcript.consumed, bytes.size());
  EXPECT_EQ(transcript.ending, kNeedsMore);
}

void ExpectError(const RespCaps& caps, const std::string& bytes, std::string_view error) {
  const Transcript transcript = ParseWhole(caps, bytes);
  EXPECT_TRUE(transcript.commands.empty()) << transcript;
  EXPECT_EQ(transcript.ending, absl::StrCat("Protocol error: ", error.data()));
}

class RespCapTest : public testing::TestWithParam<RespCaps> {
 protected:
  const RespCaps& caps() const { return GetParam(); }
  std::size_t args_max() const { return static_cast<std::size_t>(caps().args_max); }
  std::size_t arg_bytes_max() const { return static_cast<std::size_t>(caps().arg_bytes_max); }
  const char* Word(const char* authenticated, const char* unauthenticated) const {
    return caps().authenticated ? authenticated : unauthenticated;
  }
};

TEST_P(RespCapTest, InlineLine) {
  ExpectCommand(caps(), std::string(caps().line_bytes_max, 'A') + "\n");
  ExpectCommand(caps(), std::string(caps().line_bytes_max - 1, 'A') + "\r\n");
  EXPECT_EQ(ParseWhole(caps(), std::string(caps().line_bytes_max, 'A')).ending, kNeedsMore);
  const std::string error = "too big inline request";
  ExpectError(caps(), std::string(caps().line_bytes_max + 1, 'A'), error);
  ExpectError(caps(), std::string(caps().line_bytes_max + 1, 'A') + "\n", error);
  ExpectError(caps(), std::string(caps().line_bytes_max, 'A') + "\r\n", error);
}

TEST_P(RespCapTest, CountLine) {
  const std::string at_cap = "*" + std::string(caps().line_bytes_max - 1, '1');
  EXPECT_EQ(ParseWhole(caps(), at_cap).ending, kNeedsMore);
  ExpectError(caps(), at_cap + "\r\n", "invalid multibulk length");
  ExpectError(caps(), at_cap + "1", "too big mbulk count string");
  ExpectError(caps(), at_cap + "1\r\n", "too big mbulk count string");
}

TEST_P(RespCapTest, LengthLine) {
  const std::string at_cap = "*1\r\n$" + std::string(caps().line_bytes_max - 1, '1');
  EXPECT_EQ(ParseWhole(caps(), at_cap).ending, kNeedsMore);
  ExpectError(caps(), at_cap + "\r\n", "invalid bulk length");
  ExpectError(caps(), at_cap + "1", "too big bulk count string");
  ExpectError(caps(), at_cap + "1\r\n", "too big bulk count string");
}

TEST_P(RespCapTest, Arguments) {
  ExpectCommand(caps(), Multibulk(std::vector<std::string>(args_max(), "a")));
  ExpectError(caps(), absl::StrCat("*", args_max() + 1, "\r\n"),
              Word("invalid multibulk length", "unauthenticated multibulk length"));
}

TEST_P(RespCapTest, InlineArguments) {
  std::string line;
  for (std::size_t i = 0; i < args_max(); ++i) line += "a ";
  ExpectCommand(caps(), line + "\n");
  ExpectError(caps(), line + "a\n", "too many arguments in inline request");
  ExpectError(caps(), line + "'\n", "too many arguments in inline request");
}

TEST_P(RespCapTest, ArgumentBytes) {
  RespCaps roomy = caps();  // Before AUTH a request is no larger than its argument may be.
  roomy.request_bytes_max = 2 * arg_bytes_max();
  ExpectCommand(roomy, Multibulk({std::string(arg_bytes_max(), 'a')}));
  ExpectError(roomy, absl::StrCat("*1\r\n$", arg_bytes_max() + 1, "\r\n"),
              Word("invalid bulk length", "unauthenticated bulk length"));
}

TEST_P(RespCapTest, RequestBytes) {
  const std::size_t word_bytes_max = arg_bytes_max() / 2;
  ExpectCommand(caps(), MultibulkOfBytes(caps().request_bytes_max, word_bytes_max));
  const std::string one_more = MultibulkOfBytes(caps().request_bytes_max + 1, word_bytes_max);
  ExpectError(caps(), one_more, "too big request");
  // The excess is certain, and so reported, once the length of the last word is known.
  const std::size_t last_length_end = one_more.rfind("\r\n", one_more.size() - 3) + 2;
  ExpectError(caps(), one_more.substr(0, last_length_end), "too big request");
  EXPECT_EQ(ParseWhole(caps(), one_more.substr(0, last_length_end - 1)).ending, kNeedsMore);
}

// A length line that cannot end within the cap fails where its CR would be too late, even before
// its first byte.
TEST_P(RespCapTest, RequestBytesInALengthLine) {
  for (const std::size_t missing : {0U, 1U, 2U, 3U}) {
    std::string bytes = MultibulkOfBytes(caps().request_bytes_max - missing, arg_bytes_max() / 2);
    const std::size_t words = static_cast<std::size_t>(bytes[1] - '0');
    bytes.replace(1, 1, std::to_string(words + 1));
    const std::size_t room = missing == 0 ? 0 : missing - 1;
    if (room > 0) {
      EXPECT_EQ(ParseWhole(caps(), bytes + std::string(room - 1, '$')).ending, kNeedsMore);
    }
    ExpectError(caps(), bytes + std::string(room, '$'), "too big request");
    ExpectError(caps(), bytes + std::string(room, '$') + "1\r\na\r\n", "too big request");
  }
}

TEST(RespCapsTest, ConsistentCapsHaveRoomForEachOther) {
  constexpr RespCaps kTight = {.line_bytes_max = 5,
                               .args_max = 1,
                               .arg_bytes_max = 5,
                               .request_bytes_max = 7,
                               .authenticated = true};
  const auto with = [kTight](auto RespCaps::*cap, auto value) {
    RespCaps caps = kTight;
    caps.*cap = value;
    return caps;
  };
  EXPECT_TRUE(IsConsistent(kTight));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::line_bytes_max, 0U)));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::args_max, 0)));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::arg_bytes_max, 4)));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::arg_bytes_max, -1)));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::request_bytes_max, 6U)));
  EXPECT_TRUE(IsConsistent(with(&RespCaps::request_bytes_max, 0xffff'ffffU)));
  EXPECT_FALSE(IsConsistent(with(&RespCaps::request_bytes_max, 0x1'0000'0000U)));
}

std::string CapsName(const testing::TestParamInfo<RespCaps>& info) {
  return info.param.authenticated ? "Authenticated" : "BeforeAuth";
}

INSTANTIATE_TEST_SUITE_P(Each, RespCapTest, testing::Values(kRespCaps, kRespCapsBeforeAuth),
                         CapsName);

}  // namespace
}  // namespace weir
