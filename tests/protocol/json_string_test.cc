// Goal: a text in JSON is what the library makes of it as a whole, also where it is no UTF-8.
// Method: random bytes, with runs of plain characters, of controls and of parts of characters.
#include "protocol/json_string.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

std::string Appended(std::string_view text) {
  std::string json = "[";
  AppendJsonString(text, json);
  return json;
}

std::string OfTheLibrary(std::string_view text) {
  return "[" + nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST(JsonStringTest, SomeTexts) {
  EXPECT_EQ(Appended(""), R"(["")");
  EXPECT_EQ(Appended("user:42"), R"(["user:42")");
  EXPECT_EQ(Appended("a\"b\\\n\x01\x7f"), "[\"a\\\"b\\\\\\n\\u0001\x7f\"");
  EXPECT_EQ(Appended("sch\u00f6n"), "[\"sch\u00f6n\"");
  EXPECT_EQ(Appended("a\xc3"), "[\"a\uFFFD\"");
}

TEST(JsonStringTest, AnyBytesAreAsInTheLibrary) {
  CheckLaw(2000, [] {
    const auto part =
        rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::element('a', 'z', ' ', '~')),
                       rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
                       rc::gen::element<std::string>("\n", "\"", "\\", "\xc3\xb6", "\xe2\x82\xac",
                                                     "\xe2\x82", "\xf0\x9f", "\x80"));
    std::string text;
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    RC_ASSERT(Appended(text) == OfTheLibrary(text));
  });
}

}  // namespace
}  // namespace weir
