// Goal: a mistake in a file of text is found with its place, in the file that has it, and a
// password is never shown. Method: files with one mistake each.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/file_check.h"
#include "core/base/status.h"
#include "tests/server/net/tls_peer.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigCheckTest : public testing::Test {
 protected:
  // Writes a file of a config, and an option that names it.
  void Give(std::string_view option, std::string_view name, std::string_view text) {
    absl::StrAppend(&config_, AbslView(option), " = '", Write(name, text), "'\n");
  }
  std::string Write(std::string_view name, std::string_view text) {
    return directory_.Write(name, text);
  }
  FileReport Report() { return CheckConfigFile(Write("weir.toml", config_)); }
  // The findings, with the names of files alone.
  static std::string Text(const FileReport& report, const TemporaryDirectory& directory) {
    std::string text = absl::StrJoin(report.findings, "\n");
    const std::string folder = directory.path() + "/";
    for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;) {
      text.erase(at, folder.size());
    }
    return text;
  }
  std::string Found() { return Text(Report(), directory_); }

  TemporaryDirectory directory_;
  std::string config_;
};

// A beginner takes 1000/day for 1000/d. One note a file is enough, and it is no mistake.
TEST_F(ConfigCheckTest, TheCalendarsDayIsExplainedOnce) {
  const auto note_of = [this](std::string_view text) {
    const FileReport report = CheckPolicyFile(Write("p", text));
    EXPECT_THAT(report.findings, IsEmpty());
    return report.facts.size() == 2 ? report.facts[1].substr(directory_.path().size() + 7) : "";
  };
  EXPECT_EQ(note_of("[policies]\n# '5/day'\na = ['10/s', '1000/day']\nb = '10/month'\n"),
            "p:3: 'day' is the calendar's, in UTC: all 1000 are back at midnight; 1000/d is a "
            "bucket over 24 hours");
  EXPECT_EQ(note_of("[policies]\na = \"1M/month,name=x\"\n"),
            "p:2: 'month' is the calendar's, in UTC: all 1M are back on the 1st at midnight; "
            "1M/30d is a bucket over 30 days");
  EXPECT_EQ(note_of("[policies]\na = '10/day,tz=UTC'\nb = '10/day,from=06:00'\nc = '10/d'\n"), "");
}

TEST_F(ConfigCheckTest, FilesWithoutAMistakeAreCounted) {
  Give("policies", "policies.toml", "[policies]\nfree = '10/s'\npaid = '100/s'\n");
  Give("checks", "checks.toml", "[api]\nkey = 'k'\nlimits = ['10/s']\nuser = 'app'\n");
  Give("users-file", "users", "user app on >secret ~* +@all\n");
  absl::StrAppend(&config_, "http-port = 1\n");
  const FileReport report = Report();
  EXPECT_THAT(report.findings, IsEmpty());
  const std::string folder = directory_.path() + "/";
  EXPECT_THAT(report.facts,
              ElementsAre(folder + "weir.toml: ok", folder + "users: 2 users, with default",
                          folder + "policies.toml: 2 policies", folder + "checks.toml: 1 route"));
}

TEST_F(ConfigCheckTest, AnOptionWithoutEffectIsNoMistakeAndIsNamed) {
  config_ = "backup-dir = 'b'\n";
  const FileReport report = Report();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.facts.back(), HasSubstr("weir.toml: option 'backup-dir' has no effect here"));
}

// Its role on disk, or a command, may say otherwise.
TEST_F(ConfigCheckTest, AServerThatFollowsItselfIsNamed) {
  config_ = "port = 7400\nreplicaof = 'localhost 7400'\n";
  const FileReport report = Report();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.facts, testing::Contains(HasSubstr(
                                "option 'replicaof': localhost 7400 is the address of this server, "
                                "which has no primary then, unless its data-dir names one")));
}

TEST_F(ConfigCheckTest, AMistakeInAnOptionHasItsLine) {
  config_ = "# where\nport = 70000\n";
  EXPECT_EQ(
      Found(),
      "weir.toml:2: option 'port': invalid value '70000': must be an integer from 0 to 65535");
  config_ = "durability = 'always'\ntls-only = true\n";
  EXPECT_EQ(Found(), "weir.toml: option 'durability': always needs a data-dir");
  EXPECT_THAT(CheckConfigFile("/nonexistent/weir.toml").findings,
              ElementsAre(HasSubstr("/nonexistent/weir.toml: option 'config': cannot read")));
}

TEST_F(ConfigCheckTest, EveryFileThatIsNamedIsChecked) {
  config_ += "http-port = 7381\n";
  Give("policies", "policies.toml", "[policies]\nfree = '10/x'\n");
  Give("checks", "checks.toml", "[api]\nkey = 'k'\n");
  Give("users-file", "users", "user app on >secret ~* +@all\n");
  const FileReport report = Report();
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_THAT(report.findings[0], HasSubstr("/policies.toml:2: policy 'free': invalid limit"));
  EXPECT_THAT(report.findings[1], HasSubstr("/checks.toml:1: route 'api': it must have limits"));
  EXPECT_THAT(report.facts, ElementsAre(HasSubstr("/users: 2 users")));
}

TEST_F(ConfigCheckTest, ARouteNeedsAUserThatIsOn) {
  const std::string route = "[api]\nkey = 'k'\nlimits = ['10/s']\nuser = 'app'\n";
  Give("checks", "checks.toml", route);
  EXPECT_THAT(Found(), HasSubstr("checks.toml:4: route 'api': user 'app' is unknown or off"));
  EXPECT_THAT(CheckChecksFile(Write("checks.toml", route)).findings, IsEmpty());
  Give("users-file", "users", "user app off >secret ~* +@all\n");
  EXPECT_THAT(Found(), HasSubstr("checks.toml:4: route 'api': user 'app' is unknown or off"));
}

TEST_F(ConfigCheckTest, TheFilesOfPasswordsAreRead) {
  Give("requirepass-file", "clients", "secret\n");
  EXPECT_EQ(Found(), "");
  Give("primary-password-file", "link", "\n");
  EXPECT_EQ(Found(),
            "weir.toml: option 'primary-password-file': the first line of 'link' is empty");
  config_ += "requirepass = secret-2\n";
  EXPECT_EQ(Found(), "weir.toml: requirepass and requirepass-file: give one of them");
}

TEST_F(ConfigCheckTest, NoPasswordIsShown) {
  Give("users-file", "users", "user app on >secret-1 ~* +@all\nuser b on secret-2\n");
  config_ += "requirepass = secret-3\n";
  EXPECT_THAT(Found(), HasSubstr("requirepass and users-file: give one of them"));
  config_ += "secret-4\n";
  EXPECT_THAT(Found(), HasSubstr("weir.toml:3: unknown option 'secret-4'"));
  const std::string users = Write("users", "user app on >secret-1 ~*\n\nuser b on secret-2\n");
  const FileReport report = CheckUsersFile(users);
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("/users:3: user 'b': rule 2: unknown")));
  EXPECT_THAT(report.findings[0], testing::Not(HasSubstr("secret")));
  EXPECT_THAT(CheckUsersFile("/nonexistent").findings,
              ElementsAre("/nonexistent: cannot read the users file /nonexistent: No such file or "
                          "directory"));
}

TEST_F(ConfigCheckTest, TheFilesOfTlsAreChecked) {
  const TestAuthority authority(directory_, "ca");
  const TestCertificate good = authority.Issue("server");
  const TestCertificate old = authority.Issue("old", {.seconds = -1});
  config_ = absl::StrCat("tls-port = 1\ntls-ca = ", authority.path(), "\n");
  EXPECT_EQ(Found(), "weir.toml: option 'tls-cert': TLS needs a certificate");
  const std::string before = config_;
  config_ = absl::StrCat(before, "tls-cert = ", good.path, "\ntls-key = ", old.key, "\n");
  EXPECT_EQ(Found(),
            "weir.toml: option 'tls-key': cannot use 'ca-old.key': it is not the key of the "
            "certificate in tls-cert");
  config_ = absl::StrCat(before, "tls-cert = ", old.path, "\ntls-key = ", old.key, "\n");
  EXPECT_EQ(Found(), "weir.toml: option 'tls-cert': 'ca-old.pem' has expired");
  config_ = absl::StrCat(before, "tls-cert = ", good.path, "\ntls-key = ", good.key, "\n");
  EXPECT_EQ(Found(), "");
}

TEST_F(ConfigCheckTest, TheFilesOfTlsOfAControlPlaneAreChecked) {
  const TestAuthority authority(directory_, "ca");
  const TestCertificate good = authority.Issue("client");
  const TestCertificate old = authority.Issue("old", {.seconds = -1});
  const std::string before = "http-port = 1\nrls-xds = 'plane:18000'\nrls-xds-tls = true\n";
  config_ = absl::StrCat(before, "rls-xds-ca = '/nonexistent'\n");
  EXPECT_THAT(Found(), HasSubstr("weir.toml: option 'rls-xds-ca': cannot use '/nonexistent'"));
  config_ = absl::StrCat(before, "rls-xds-cert = ", old.path, "\nrls-xds-key = ", old.key, "\n");
  EXPECT_EQ(Found(), "weir.toml: option 'rls-xds-cert': 'ca-old.pem' has expired");
  config_ = absl::StrCat(before, "rls-xds-ca = ", authority.path(), "\nrls-xds-cert = ", good.path,
                         "\nrls-xds-key = ", good.key, "\n");
  EXPECT_EQ(Found(), "");
}

TEST_F(ConfigCheckTest, TheFilesOfTlsOfALinkAreChecked) {
  const TestAuthority authority(directory_, "ca");
  const TestCertificate old = authority.Issue("old", {.seconds = -1});
  config_ = absl::StrCat("replication-tls = true\ntls-ca = ", authority.path(),
                         "\ntls-cert = ", old.path, "\ntls-key = ", old.key, "\n");
  EXPECT_EQ(Found(), "weir.toml: option 'tls-cert': 'ca-old.pem' has expired");
}

TEST_F(ConfigCheckTest, APolicyFileIsCheckedAlone) {
  EXPECT_THAT(CheckPolicyFile(Write("p", "[policies]\na = '1/s'\n")).facts,
              ElementsAre(HasSubstr("/p: 1 policy")));
  EXPECT_THAT(CheckPolicyFile(Write("p", "[policies]\n\na = 1/s\n")).findings,
              ElementsAre(HasSubstr("/p:3: ")));
  EXPECT_THAT(CheckPolicyFile(directory_.path()).findings,
              ElementsAre(HasSubstr("Is a directory")));
}

}  // namespace
}  // namespace weir
