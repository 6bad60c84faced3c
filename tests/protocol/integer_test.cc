// Goal: every integer has exactly one spelling, and the parser accepts no other. Method: examples;
// all short texts.
#include "protocol/integer.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ParseIntegerTest, ReadsWhatToStringWrites) {
  for (std::int64_t number = -12'345; number <= 12'345; ++number) {
    EXPECT_EQ(ParseInteger(std::to_string(number)), number);
  }
  for (const std::int64_t edge :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min() + 1,
        std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1,
        std::numeric_limits<std::int64_t>::max() - 1, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(ParseInteger(std::to_string(edge)), edge);
  }
}

TEST(ParseIntegerTest, RefusesEveryOtherSpelling) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "-"sv,
                                      "+1"sv,
                                      "--1"sv,
                                      "-0"sv,
                                      "00"sv,
                                      "01"sv,
                                      "-01"sv,
                                      " 1"sv,
                                      "1 "sv,
                                      "1\n"sv,
                                      "1\0"sv,
                                      "\0"sv,
                                      "a"sv,
                                      "1a"sv,
                                      "-a"sv,
                                      "0x1"sv,
                                      "1e3"sv,
                                      "1.0"sv,
                                      "\xd9\xa1"sv,
                                      "/"sv,
                                      ":"sv,
                                      "9223372036854775808"sv,
                                      "-9223372036854775809"sv,
                                      "99999999999999999999"sv,
                                      "-99999999999999999999"sv,
                                      "18446744073709551617"sv}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseIntegerTest, NeverLooksBehindTheView) {
  const std::string digits = "123";
  EXPECT_EQ(ParseInteger(std::string_view(digits).substr(0, 2)), 12);
}

// Exhaustive: of all texts of up to five of these bytes, exactly the canonical spellings of
// integers are accepted.
TEST(ParseIntegerTest, AcceptsExactlyTheCanonicalTexts) {
  const std::string alphabet = "-+019 ";
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::optional<std::int64_t> number = ParseInteger(texts[i]);
    if (number) {
      EXPECT_EQ(std::to_string(*number), texts[i]);
    } else {
      EXPECT_NE(std::to_string(std::strtoll(texts[i].c_str(), nullptr, 10)), texts[i]);
    }
    if (texts[i].size() == 5) continue;
    for (const char byte : alphabet) texts.push_back(texts[i] + byte);
  }
}

TEST(ParseIntegerTest, CapIsTheLongestInteger) {
  EXPECT_EQ(std::to_string(std::numeric_limits<std::int64_t>::min()).size(), kIntegerBytesMax);
  EXPECT_EQ(ParseInteger(std::string(kIntegerBytesMax + 1, '1')), std::nullopt);
  EXPECT_EQ(ParseInteger(std::string(1'000'000, '0')), std::nullopt);
}

}  // namespace
}  // namespace weir
