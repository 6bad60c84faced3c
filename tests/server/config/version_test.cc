// Goal: a version is one version wherever it is written. Method: the version that the server tells
// is compared with the newest entry of each list of changes.
#include "server/config/version.h"

#include <fstream>
#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/options.h"

namespace weir {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// The first line of a file of the tree that begins so.
std::string LineOf(const std::string& path, const std::string& beginning) {
  std::ifstream file(WEIR_SOURCE_DIR "/" + path);
  std::string line;
  while (std::getline(file, line) && !line.starts_with(beginning)) {
  }
  return line;
}

TEST(VersionTest, TheCommandLineShowsIt) {
  const char* const words[] = {"weir-server", "--version"};
  EXPECT_EQ(ParseCommandLine(2, words)->print_and_exit, "weir " + std::string(kVersion) + "\n");
  EXPECT_THAT(std::string(kVersion), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(std::string(kVersionDate), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}"));
}

TEST(VersionTest, TheNewestChangesAreThoseOfThisVersion) {
  const std::string title = "## " + std::string(kVersion) + ", ";
  EXPECT_THAT(LineOf("CHANGELOG.md", "## "),
              AnyOf(title + "not released", title + std::string(kVersionDate)));
  EXPECT_THAT(LineOf("debian/changelog", "weir "),
              StartsWith("weir (" + std::string(kVersion) + ") "));
}

TEST(VersionTest, ThePackageHasTheDayOfTheVersion) {
  absl::CivilDay day;
  ASSERT_TRUE(absl::ParseCivilTime(std::string(kVersionDate), &day));
  const absl::TimeZone utc = absl::UTCTimeZone();
  EXPECT_THAT(LineOf("debian/changelog", " -- "),
              HasSubstr(absl::FormatTime(">  %a, %d %b %Y ", absl::FromCivil(day, utc), utc)));
}

}  // namespace
}  // namespace weir
