// Goal: a folder's files of rules come in the order of names, and others are listed as passed over.
// Method: folders.
#include "rls/rule_folder.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RuleFolderTest, FilesAreFoundByName) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path() + "/";
  for (const char* name : {"b.yaml", "a.yml", "c.yaml.bak", ".hidden.yaml", "notes.txt"}) {
    directory.Write(name, "");
  }
  std::filesystem::create_directory(folder + "sub.yaml");
  std::filesystem::create_directory(folder + "..2026_11_30");
  std::filesystem::create_symlink(folder + "notes.txt", folder + "link.yaml");
  const absl::StatusOr<RulePaths> paths = FindRuleFiles(directory.path());
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(paths->files, ElementsAre(folder + "a.yml", folder + "b.yaml", folder + "link.yaml"));
  EXPECT_THAT(paths->passed_over, ElementsAre(folder + ".hidden.yaml", folder + "c.yaml.bak",
                                              folder + "notes.txt", folder + "sub.yaml"));
}

TEST(RuleFolderTest, AFileIsTakenWhateverItsName) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("rules", "");
  EXPECT_THAT(FindRuleFiles(path)->files, ElementsAre(path));
  EXPECT_THAT(FindRuleFiles(path)->passed_over, IsEmpty());
  EXPECT_THAT(FindRuleFiles("/nonexistent")->files, ElementsAre("/nonexistent"));
}

TEST(RuleFolderTest, AFolderWithoutAFileIsAMistake) {
  const TemporaryDirectory directory;
  directory.Write("notes.txt", "");
  EXPECT_EQ(FindRuleFiles(directory.path()).status().message(),
            directory.path() + ": no file *.yaml or *.yml");
}

}  // namespace
}  // namespace weir
