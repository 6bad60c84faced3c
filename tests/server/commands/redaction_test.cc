// Goal: other clients see every argument except passwords. Method: each command that takes a
// password, and some that do not.
#include "server/commands/redaction.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/commands/command_table.h"
#include "server/config/options.h"
#include "server/session/call.h"

namespace weir {
namespace {

std::string Shown(const CommandSpec& spec, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string shown;
  for (const std::string_view word : RedactedWords(spec, views)) {
    absl::StrAppend(&shown, shown.empty() ? "" : " ", AbslView(word));
  }
  return shown;
}

std::string Shown(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  const std::vector<std::string_view> views(words.begin(), words.end());
  return Shown(*FindRequested(views), words);
}

TEST(ShownWordsTest, OtherWordsAreShown) {
  for (const char* line : {"PING auth", "RL.ALLOW AUTH 10/s", "HELLO 3 SETNAME me", "ACL WHOAMI",
                           "CLIENT SETNAME requirepass", "CONFIG GET requirepass"}) {
    EXPECT_EQ(Shown(line), line);
  }
}

TEST(ShownWordsTest, PasswordsAreHidden) {
  EXPECT_EQ(Shown("AUTH secret"), "AUTH (redacted)");
  EXPECT_EQ(Shown("auth me secret"), "auth (redacted) (redacted)");
  EXPECT_EQ(Shown("AUTH me secret more"), "AUTH (redacted) (redacted) (redacted)");
  EXPECT_EQ(Shown("HELLO 3 AUTH me secret SETNAME x"),
            "HELLO 3 AUTH (redacted) (redacted) (redacted) (redacted)");
  EXPECT_EQ(Shown("HELLO 3 FOO auth me secret auth you other"),
            "HELLO 3 FOO auth (redacted) (redacted) (redacted) (redacted) (redacted)");
  EXPECT_EQ(Shown("HELLO 2 SETNAME AUTH AUTH me secret"),
            "HELLO 2 SETNAME AUTH (redacted) (redacted) (redacted)");
  EXPECT_EQ(Shown("HELLO 3 AUTH secret"), "HELLO 3 AUTH (redacted)");
  EXPECT_EQ(Shown("HELLO 3 AUTH"), "HELLO 3 AUTH");
  EXPECT_EQ(Shown("ACL DRYRUN default AUTH secret"), "ACL DRYRUN (redacted) (redacted) (redacted)");
}

TEST(ShownWordsTest, ValuesOfSecretOptionsAreHidden) {
  const CommandSpec config_set{
      .name = "CONFIG|SET", .arity = AtLeast(4), .flags = kAdmin, .group = {}, .summary = {}};
  EXPECT_EQ(Shown(config_set, {"CONFIG", "SET", "timeout", "5", "RequirePass", "secret", "port"}),
            "CONFIG SET timeout 5 RequirePass (redacted) (redacted)");
  EXPECT_EQ(Shown(config_set, {"CONFIG", "SET", "zzz", "requirepass", "requirepass", "secret"}),
            "CONFIG SET zzz requirepass (redacted) (redacted)");
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.secret) continue;
    for (const std::string_view name : {spec.name, spec.redis_alias}) {
      if (name.empty()) continue;
      EXPECT_EQ(Shown(config_set, {"CONFIG", "SET", std::string(name), "secret"}),
                "CONFIG SET " + std::string(name) + " (redacted)");
    }
  }
}

}  // namespace
}  // namespace weir
