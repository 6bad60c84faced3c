// Goal: the writer makes JSON; a text is what the library makes of it, also where it is not UTF-8.
// Method: random bytes, with runs of plain characters, of controls and of parts of characters.
#include "protocol/json_writer.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

std::string Text(std::string_view text) {
  std::string json;
  JsonWriter(json).Value(text);
  return json;
}

std::string OfTheLibrary(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST(JsonWriterTest, Values) {
  std::string json;
  JsonWriter(json)
      .Array()
      .Value("a")
      .Value(std::string("b"))
      .Value(true)
      .Value(false)
      .Value(std::numeric_limits<std::int64_t>::min())
      .Value(std::numeric_limits<std::uint64_t>::max())
      .Value(0.25)
      .Value(std::nullopt)
      .Value(std::optional<int>())
      .Value(std::optional<int>(7))
      .EndArray();
  EXPECT_EQ(json, R"(["a","b",true,false,-9223372036854775808,18446744073709551615,0.25,)"
                  "null,null,7]");
}

TEST(JsonWriterTest, FieldsAndBrackets) {
  std::string json;
  JsonWriter(json)
      .Object()
      .Array("empty")
      .EndArray()
      .Object("none")
      .EndObject()
      .Array("rows")
      .Object()
      .Field("a", 1)
      .Field("b", "}")
      .EndObject()
      .Array()
      .Array()
      .EndArray()
      .Value("[")
      .EndArray()
      .EndArray()
      .Field("c", std::vector<int>{1, 2})
      .Field("d", std::string::size_type{3})
      .EndObject();
  EXPECT_EQ(json, R"({"empty":[],"none":{},"rows":[{"a":1,"b":"}"},[[],"["]],"c":[1,2],"d":3})");
}

TEST(JsonWriterTest, AnotherWriterContinues) {
  std::string json;
  JsonWriter(json).Object().Field("a", "{");
  JsonWriter(json).Array("b");
  JsonWriter(json).Value(1);
  JsonWriter(json).Value(2).EndArray().EndObject();
  EXPECT_EQ(json, R"({"a":"{","b":[1,2]})");
}

TEST(JsonWriterTest, SomeTexts) {
  EXPECT_EQ(Text(""), R"("")");
  EXPECT_EQ(Text("user:42"), R"("user:42")");
  EXPECT_EQ(Text("a\"b\\\n\x01\x7f"), "\"a\\\"b\\\\\\n\\u0001\x7f\"");
  EXPECT_EQ(Text("sch\u00f6n"), "\"sch\u00f6n\"");
  EXPECT_EQ(Text("a\xc3"), "\"a\uFFFD\"");
}

TEST(JsonWriterTest, TheCharactersOfUtf8AreAsInTheLibrary) {
  // Each pair of bytes, alone and before two bytes that continue it: all bounds of table 3-7.
  for (int first = 0x7e; first <= 0xff; ++first) {
    for (int second = 0x7e; second <= 0xff; ++second) {
      const std::string pair = {static_cast<char>(first), static_cast<char>(second)};
      for (const std::string_view rest : {"", "\x80", "\xbf\x80", "a", "\xc3\xb6"}) {
        const std::string text = pair + std::string(rest);
        ASSERT_EQ(Text(text), OfTheLibrary(text)) << first << " " << second;
      }
    }
  }
}

TEST(JsonWriterTest, AnyBytesAreAsInTheLibrary) {
  CheckLaw(2000, [] {
    const auto part =
        rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::element('a', 'z', ' ', '~')),
                       rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
                       rc::gen::element<std::string>("\n", "\"", "\\", "\xc3\xb6", "\xe2\x82\xac",
                                                     "\xe2\x82", "\xf0\x9f", "\x80"));
    std::string text;
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    RC_ASSERT(Text(text) == OfTheLibrary(text));
  });
}

}  // namespace
}  // namespace weir
