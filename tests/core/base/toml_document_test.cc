// Goal: an error names its place, and bytes outside of ASCII are found where they are. Method:
// documents whose strings have such bytes in and beside them. Errors of reading are in
// policy_file_test.cc.
#include "core/base/toml_document.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

bool IsForeign(std::string_view text) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Parse(text, "d.toml");
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() && document->HasForeignBytes(document->root().get("k")->source());
}

TEST(TomlDocumentTest, FindsBytesOutsideOfAscii) {
  EXPECT_TRUE(IsForeign("k = \"\xC3\xBC\""));
  EXPECT_TRUE(IsForeign("# \xC3\xBC\n\nk = \"a\xC3\xBC\"\n"));
  EXPECT_TRUE(IsForeign("\xEF\xBB\xBFk = \"\xC3\xBC\""));
  EXPECT_TRUE(IsForeign("k = \"\"\"one\n\xC3\xBC\"\"\""));
  EXPECT_TRUE(IsForeign("k = [\"one\", \"\xFF\"]"));
  EXPECT_FALSE(IsForeign("k = \"u\" # \xC3\xBC"));
  EXPECT_FALSE(IsForeign("# \xC3\xBC\nk = \"u\"\n# \xC3\xBC"));
  EXPECT_FALSE(IsForeign("\xEF\xBB\xBFk = \"u\""));
  EXPECT_FALSE(IsForeign("k = \"\\u00fc\""));
}

TEST(TomlDocumentTest, ErrorsNameTheLine) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Parse("\n\nk = 1\n", "d.toml");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->Wrong(document->root().get("k")->source(), "it is\n1"),
            absl::InvalidArgumentError("d.toml:3: it is?1"));
  EXPECT_THAT(StdView(TomlDocument::Parse("a = 1\nb =", "d.toml").status().message()),
              testing::StartsWith("d.toml:2: "));
}

}  // namespace
}  // namespace weir
