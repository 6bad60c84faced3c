// Goal: a command's arguments are read from left to right, and the first failure stays. Method:
// examples of words, integers, keywords and failures.
#include "protocol/arg_reader.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

std::string FailureOf(ArgReader& args) {
  const absl::Status status = args.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message().data(), status.message().size());
}

TEST(ArgReaderTest, ReadsFromLeftToRight) {
  const Words words = {"3", "auth", "me", "secret", "a", "b"};
  ArgReader args(words);
  EXPECT_EQ(args.Integer("protover", 2, 3), 3);
  EXPECT_TRUE(args.TryKeyword("AUTH"));
  EXPECT_EQ(args.Word("username"), "me");
  EXPECT_EQ(args.Word("password"), "secret");
  EXPECT_FALSE(args.AtEnd());
  const std::span<const std::string_view> rest = args.Rest();
  EXPECT_EQ(Words(rest.begin(), rest.end()), Words({"a", "b"}));
  EXPECT_TRUE(args.AtEnd());
  EXPECT_TRUE(args.Finish().ok());
}

TEST(ArgReaderTest, NothingToReadIsFine) {
  ArgReader args({});
  EXPECT_TRUE(args.AtEnd());
  EXPECT_FALSE(args.TryKeyword("AUTH"));
  EXPECT_TRUE(args.Rest().empty());
  EXPECT_TRUE(args.Finish().ok());
}

TEST(ArgReaderTest, EmptyWordsAreWords) {
  const Words words = {"", ""};
  ArgReader args(words);
  EXPECT_EQ(args.Word("key"), "");
  EXPECT_FALSE(args.TryKeyword("AUTH"));
  EXPECT_EQ(args.Word("key"), "");
  EXPECT_TRUE(args.Finish().ok());
}

TEST(ArgReaderTest, KeywordsIgnoreCaseAndMatchWhole) {
  for (const std::string_view spelling : {"SETNAME", "setname", "SetName"}) {
    const Words words = {spelling};
    ArgReader args(words);
    EXPECT_FALSE(args.TryKeyword("AUTH"));
    EXPECT_FALSE(args.TryKeyword("SET"));
    EXPECT_FALSE(args.TryKeyword("SETNAMES"));
    EXPECT_TRUE(args.TryKeyword("SETNAME"));
    EXPECT_TRUE(args.Finish().ok());
  }
}

TEST(ArgReaderTest, IntegersReachFromEndToEnd) {
  const Words words = {"-9223372036854775808", "9223372036854775807", "-5", "5"};
  ArgReader args(words);
  EXPECT_EQ(args.Integer("n", kLeast, kGreatest), kLeast);
  EXPECT_EQ(args.Integer("n", kLeast, kGreatest), kGreatest);
  EXPECT_EQ(args.Integer("n", -5, 5), -5);
  EXPECT_EQ(args.Integer("n", -5, 5), 5);
  EXPECT_TRUE(args.Finish().ok());
}

TEST(ArgReaderTest, BadIntegersNameWordAndRange) {
  for (const std::string_view word :
       {"x", "", "01", "+1", "1 ", "0", "11", "9223372036854775808"}) {
    const Words words = {word};
    ArgReader args(words);
    EXPECT_EQ(args.Integer("count", 1, 10), 1);
    EXPECT_EQ(FailureOf(args), "invalid count '" + std::string(word) +
                                   "': value is not an integer or out of range (1 to 10)");
  }
}

TEST(ArgReaderTest, MissingWordIsNamed) {
  ArgReader args({});
  EXPECT_EQ(args.Word("password"), "");
  EXPECT_EQ(FailureOf(args), "syntax error, password is missing");
  ArgReader integer_args({});
  EXPECT_EQ(integer_args.Integer("count", -7, 10), -7);
  EXPECT_EQ(FailureOf(integer_args), "syntax error, count is missing");
}

TEST(ArgReaderTest, ExtraArgumentsAreASyntaxError) {
  const Words words = {"a", "b"};
  ArgReader args(words);
  EXPECT_EQ(args.Word("key"), "a");
  EXPECT_EQ(FailureOf(args), "syntax error");
}

TEST(ArgReaderTest, TheFirstFailureStays) {
  const Words words = {"x", "y", "z"};
  ArgReader args(words);
  args.Integer("first", 0, 1);
  args.Integer("second", 0, 1);
  args.Fail("third");
  EXPECT_EQ(FailureOf(args), "invalid first 'x': value is not an integer or out of range (0 to 1)");
  EXPECT_EQ(FailureOf(args), "invalid first 'x': value is not an integer or out of range (0 to 1)");
}

TEST(ArgReaderTest, AfterAFailureNothingIsLeft) {
  const Words words = {"AUTH", "b", "c"};
  ArgReader args(words);
  args.Fail("no");
  EXPECT_TRUE(args.AtEnd());
  EXPECT_FALSE(args.TryKeyword("AUTH"));
  EXPECT_EQ(args.Word("name"), "");
  EXPECT_EQ(args.Integer("n", 7, 9), 7);
  EXPECT_TRUE(args.Rest().empty());
  EXPECT_EQ(FailureOf(args), "no");
}

TEST(ArgReaderTest, EchoesAtMostTheCap) {
  const auto failure = [](std::size_t bytes) {
    const std::string word(bytes, 'x');
    const Words words = {word};
    ArgReader args(words);
    args.Integer("n", 0, 1);
    return FailureOf(args);
  };
  const std::string most(kArgQuotedBytesMax, 'x');
  const std::string rest = ": value is not an integer or out of range (0 to 1)";
  EXPECT_EQ(failure(kArgQuotedBytesMax), "invalid n '" + most + "'" + rest);
  EXPECT_EQ(failure(kArgQuotedBytesMax + 1), "invalid n '" + most + "...'" + rest);
  EXPECT_EQ(failure(60'000), "invalid n '" + most + "...'" + rest);
}

}  // namespace
}  // namespace weir
