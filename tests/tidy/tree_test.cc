// Goal: the whole tree keeps the rules of tests/tidy/rules.h. Method: read it, apply each rule.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_file.h"

namespace weir::tidy {
namespace {

const std::vector<SourceFile>& Tree() {
  static const std::vector<SourceFile> kTree = ReadTree(WEIR_SOURCE_DIR);
  return kTree;
}

void ExpectNone(const Findings& findings) {
  if (!findings.empty()) ADD_FAILURE() << '\n' << Report(findings);
}

void ExpectKept(Findings (*rule)(const SourceFile&)) {
  Findings all;
  for (const SourceFile& file : Tree()) std::ranges::move(rule(file), std::back_inserter(all));
  ExpectNone(all);
}

TEST(TidyTest, TheTreeIsFound) { EXPECT_GT(Tree().size(), 50U); }

TEST(TidyTest, FoldersIncludeOnlyAlongTheArrows) { ExpectKept(IncludeArrows); }

TEST(TidyTest, RoomsAreSmall) { ExpectNone(SmallRooms(Tree())); }

TEST(TidyTest, RoomsWithThreadsAssert) { ExpectNone(FewAssertions(Tree())); }

TEST(TidyTest, NoBannedWordIsUsed) { ExpectKept(BannedWords); }

TEST(TidyTest, NoBannedPhraseIsUsed) { ExpectKept(BannedPhrases); }

TEST(TidyTest, FormulasAreWhole) { ExpectKept(BrokenFormulas); }

TEST(TidyTest, FilesBeginWithANounOrAVerb) { ExpectKept(Opening); }

TEST(TidyTest, NothingIsLeftOver) { ExpectKept(Leftovers); }

TEST(TidyTest, HeadersAreIncludedOnce) { ExpectKept(PragmaOnce); }

TEST(TidyTest, LinesAndFilesAreShort) { ExpectKept(Layout); }

TEST(TidyTest, FunctionsAreShort) { ExpectKept(LongFunctions); }

TEST(TidyTest, ClassesHaveFewPublicFunctions) { ExpectKept(ManyPublicFunctions); }

TEST(TidyTest, PagesHaveOneTitle) { ExpectKept(OneTitle); }

TEST(TidyTest, ReadmeIsShort) { ExpectKept(ReadmeLength); }

TEST(TidyTest, EveryPageIsInTheIndex) { ExpectNone(PagesOutsideTheIndex(Tree())); }

TEST(TidyTest, LinksResolve) {
  const std::filesystem::path root = WEIR_SOURCE_DIR;
  ExpectNone(BrokenLinks(
      Tree(), [&root](const std::string& path) { return std::filesystem::exists(root / path); }));
}

TEST(TidyTest, PromisesHaveTests) { ExpectNone(UntestedPromises(Tree())); }

TEST(TidyTest, SourcesIncludeTheirOwnHeaderFirst) { ExpectNone(OwnHeaderFirst(Tree())); }

TEST(TidyTest, NoFileIsDead) { ExpectNone(DeadFiles(Tree())); }

}  // namespace
}  // namespace weir::tidy
