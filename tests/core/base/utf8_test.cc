// Goal: what is no UTF-8 is replaced, and nothing else. Method: texts at the bounds of each length.
// (How far a replacement reaches is tested by json_writer_test.cc.)
#include "core/base/utf8.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Utf8Test, WhatIsUtf8Stays) {
  for (const std::string_view text :
       {"", "a\n\x7f", "\xc2\x80 \xdf\xbf", "\xe0\xa0\x80\xef\xbf\xbf",
        "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_EQ(AsUtf8(text), text);
  }
}

TEST(Utf8Test, WhatIsNotIsReplaced) {
  EXPECT_EQ(AsUtf8("caf\xe9"), "caf\xef\xbf\xbd");
  EXPECT_EQ(AsUtf8("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(AsUtf8("\xe2\x82z"), "\xef\xbf\xbdz");
  EXPECT_EQ(AsUtf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd") << "a long form";
}

}  // namespace
}  // namespace weir
