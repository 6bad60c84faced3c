// Goal: each rule about pages finds what it forbids, and accepts what only looks like it. Method:
// small pages that the test makes up.
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_file.h"

namespace weir::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The lines in which findings are.
std::vector<std::size_t> LinesOf(const Findings& findings) {
  std::vector<std::size_t> lines;
  for (const Finding& finding : findings) lines.push_back(finding.line);
  return lines;
}

TEST(TidyPagesTest, ReadmeHas120To160Lines) {
  const auto findings = [](std::string path, std::size_t lines) {
    return ReadmeLength(MakeSourceFile(std::move(path), std::string(lines, '\n')));
  };
  EXPECT_THAT(findings("README.md", 119), SizeIs(1));
  EXPECT_THAT(findings("README.md", 120), IsEmpty());
  EXPECT_THAT(findings("README.md", 160), IsEmpty());
  EXPECT_THAT(findings("README.md", 161), SizeIs(1));
  EXPECT_THAT(findings("docs/x.md", 1), IsEmpty());
}

TEST(TidyPagesTest, TheIndexLinksEachPageOnce) {
  const SourceFile page = MakeSourceFile("docs/x.md", "# X\n");
  const auto findings = [&page](std::string_view index) {
    return PagesOutsideTheIndex({MakeSourceFile("docs/README.md", index), page});
  };
  EXPECT_THAT(findings("# Pages\n- [x](x.md)\n"), IsEmpty());
  EXPECT_THAT(findings("# Pages\n- [x](x.md#x)\n"), IsEmpty());
  EXPECT_THAT(findings("# Pages\n- x.md\n"), SizeIs(1));
  EXPECT_THAT(findings("# Pages\n- [x](x.md) and [x](../docs/x.md)\n"), SizeIs(1));
  EXPECT_THAT(PagesOutsideTheIndex({page}), SizeIs(1));
  EXPECT_THAT(PagesOutsideTheIndex({MakeSourceFile("clients/x.md", "# X\n")}), IsEmpty());
}

// The lines of the page docs/a.md in which links are broken, beside docs/b.md and a picture.
std::vector<std::size_t> BrokenIn(std::string_view text) {
  const std::set<std::string> paths = {"README.md", "docs", "docs/a.md", "docs/b.md",
                                       "docs/images/c.png"};
  const std::vector<SourceFile> tree = {
      MakeSourceFile("docs/a.md", text),
      MakeSourceFile("docs/b.md",
                     "# B\n## `INFO` and its ends, in 9 rows\n## Log\n## Log\n"
                     "```\n# comment\n```\n")};
  return LinesOf(
      BrokenLinks(tree, [&paths](const std::string& path) { return paths.contains(path); }));
}

TEST(TidyPagesTest, LinksLeadToFiles) {
  EXPECT_THAT(BrokenIn("[b](b.md)\n[c](images/c.png)\n[r](../README.md)\n[d](../docs/)\n"),
              IsEmpty());
  EXPECT_THAT(BrokenIn("[x](x.md)\n[b](b.md) [b](../b.md)\n"), ElementsAre(1, 2));
  EXPECT_THAT(BrokenIn("a [link over\ntwo lines](x.md)\n"), ElementsAre(2));
  EXPECT_THAT(BrokenIn("[x](https://example.org/x.md)\n[x](mailto:a@example.org)\n"), IsEmpty());
  EXPECT_THAT(BrokenIn("```\n[x](x.md)\n```\n`[x](x.md)`\n"), IsEmpty());
  EXPECT_THAT(BrokenIn("[`code`](x.md)\n"), ElementsAre(1));
}

TEST(TidyPagesTest, AnchorsAreTitles) {
  EXPECT_THAT(BrokenIn("# A\n[a](#a)\n[b](b.md#b)\n[b](b.md#info-and-its-ends-in-9-rows)\n"),
              IsEmpty());
  EXPECT_THAT(BrokenIn("[b](b.md#log) [b](b.md#log-1)\n[b](b.md#log-2)\n"), ElementsAre(2));
  EXPECT_THAT(BrokenIn("# A\n[a](#b)\n[b](b.md#comment)\n"), ElementsAre(2, 3));
  EXPECT_THAT(BrokenIn("[c](images/c.png#x)\n"), IsEmpty());
}

TEST(TidyPagesTest, PromisesNameTestsThatExist) {
  const SourceFile test = MakeSourceFile("tests/a_test.cc", "TEST(ATest, Holds) {}\n");
  const auto lines = [&test](std::string_view page) {
    return LinesOf(UntestedPromises({MakeSourceFile("docs/promises.md", page), test}));
  };
  EXPECT_THAT(lines("- `RL.PEEK` writes nothing.\n\n  - `tests/a_test.cc`: `Holds`\n"), IsEmpty());
  EXPECT_THAT(lines("- `tests/a_test.cc`: `Holds`,\n  `Hold`\n"), ElementsAre(2));
  EXPECT_THAT(lines("- `tests/b_test.cc`: `Holds`\n"), ElementsAre(1));
  EXPECT_THAT(lines("- `tests/a_test.cc`: `Holds`\n\n- `RL.PEEK` writes nothing.\n"), IsEmpty());
}

}  // namespace
}  // namespace weir::tidy
