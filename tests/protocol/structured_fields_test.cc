// Goal: what is written is a List of RFC 9651, and says what was given. Method: examples to the
// byte; random lists, read back by a parser written from the RFC.
#include "protocol/structured_fields.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/protocol/structured_list_parser.h"

namespace weir {
namespace {

TEST(StructuredListTest, WritesTheFieldsOfTheDraft) {
  std::string policy;
  StructuredList list(policy);
  EXPECT_TRUE(list.empty());
  list.String("burst");
  list.Parameter("q", 100);
  list.Parameter("w", 60);
  list.String("peruser");
  list.Parameter("q", 65535);
  list.Parameter("qu", "content-bytes");
  list.BytesParameter("pk", "\xb1\xd8\xe3\x2d\x45\x0e\x51");
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(policy,
            "\"burst\";q=100;w=60, \"peruser\";q=65535;qu=\"content-bytes\";pk=:sdjjLUUOUQ==:");

  std::string rate;
  StructuredList limits(rate);
  limits.String("burst");
  limits.Parameter("r", 0);
  limits.Integer(-7);
  EXPECT_EQ(rate, "\"burst\";r=0, -7");
}

TEST(StructuredListTest, EscapesStrings) {
  std::string out;
  StructuredList list(out);
  list.String("a\"b\\c ~");
  list.String("caf\xc3\xa9 100%\r\n");
  list.String("");
  EXPECT_EQ(out, R"("a\"b\\c ~", "caf%c3%a9 100%25%0d%0a", "")");
}

TEST(StructuredListTest, LeavesOutNumbersOfMoreThan15Digits) {
  std::string out;
  StructuredList list(out);
  list.String("a");
  list.Parameter("q", 999'999'999'999'999);
  list.Parameter("w", 1'000'000'000'000'000);
  list.Parameter("x", -999'999'999'999'999);
  list.Parameter("y", -1'000'000'000'000'000);
  list.Parameter("z", 1);
  EXPECT_EQ(out, "\"a\";q=999999999999999;x=-999999999999999;z=1");
}

TEST(StructuredListDeathTest, HasNoParameterWithoutAnItem) {
  std::string out;
  StructuredList list(out);
  EXPECT_DEATH(list.Parameter("q", 1), "check failed");
  EXPECT_DEATH(list.Integer(1'000'000'000'000'000), "check failed");
}

// The text that a String stands for: its escapes of bytes decoded.
std::string Unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
    } else {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return out;
}

RC_GTEST_PROP(StructuredListTest, ReadsBackAsWritten,
              (const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& items)) {
  std::string out;
  StructuredList list(out);
  for (const auto& [name, numbers] : items) {
    list.String(name);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      list.Parameter("k" + std::to_string(i), numbers[i]);
    }
    list.Parameter("text", name);
    list.BytesParameter("bytes", name);
  }
  const auto read = StructuredListParser(out).Parse();
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->size() == items.size());
  for (std::size_t item = 0; item < items.size(); ++item) {
    const auto& [name, numbers] = items[item];
    const StructuredItem& got = (*read)[item];
    RC_ASSERT(Unescaped(std::get<std::string>(got.value)) == name);
    RC_ASSERT(got.parameters.at("text") == got.value);
    RC_ASSERT(std::get<ByteSequence>(got.parameters.at("bytes")).bytes == name);
    std::size_t short_numbers = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::to_string(numbers[i]).size() - (numbers[i] < 0 ? 1 : 0) > 15) continue;
      ++short_numbers;
      RC_ASSERT(std::get<std::int64_t>(got.parameters.at("k" + std::to_string(i))) == numbers[i]);
    }
    RC_ASSERT(got.parameters.size() == short_numbers + 2);
  }
}

}  // namespace
}  // namespace weir
