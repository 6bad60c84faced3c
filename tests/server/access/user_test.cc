// Goal: a user may do exactly what the rules allow, where the later of two rules wins, and no error
// or line of ACL LIST shows a password. Method: tables of rules.
#include "server/access/user.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSecretHash =
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";  // of "secret"

User Made(const std::vector<std::string_view>& rules) {
  absl::StatusOr<User> user = User::Create("app", rules);
  EXPECT_TRUE(user.ok()) << user.status();
  return user.ok() ? *std::move(user) : *User::Create("app", {});
}

std::string Refused(const std::vector<std::string_view>& rules, std::string_view name = "app") {
  const absl::StatusOr<User> user = User::Create(name, rules);
  EXPECT_FALSE(user.ok());
  return std::string(user.status().message());
}

bool MayRun(const User& user, std::string_view name) { return user.MayRun(*FindCommand(name)); }

TEST(UserTest, ANewOneMayNothing) {
  const User user = Made({});
  EXPECT_FALSE(user.is_on());
  EXPECT_FALSE(user.needs_no_password());
  EXPECT_FALSE(user.Accepts(""));
  EXPECT_FALSE(user.MayUse("k"));
  for (const CommandSpec& spec : CommandTable()) EXPECT_FALSE(user.MayRun(spec)) << spec.name;
  EXPECT_EQ(user.Line(), "user app off -@all");
}

TEST(UserTest, AfterResetOneMayNothing) {
  const User user = Made({"on", "nopass", "+@all", "~*", "reset"});
  for (const CommandSpec& spec : CommandTable()) EXPECT_FALSE(user.MayRun(spec)) << spec.name;
  EXPECT_FALSE(user.MayUse("k"));
  EXPECT_EQ(user.Line(), Made({}).Line());
}

TEST(UserTest, OneMayDoAllIfNoCommandKeyOrChannelIsForbidden) {
  EXPECT_TRUE(Made({"+@all", "~*", "&*"}).MayDoAll());
  EXPECT_TRUE(Made({"-@limit", "~k", "allkeys", "allchannels", "allcommands"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all", "~*"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all", "&*", "~k"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all", "~*", "&*", "-client|kill"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all", "~*", "&*", "resetkeys"}).MayDoAll());
  EXPECT_FALSE(Made({"+@all", "~*", "&*", "resetchannels"}).MayDoAll());
}

TEST(UserTest, ChannelsAreAllowedByPatternsThatAddUp) {
  const User user = Made({"&app:*", "&One"});
  EXPECT_TRUE(user.MayUseChannel("app:1"));
  EXPECT_TRUE(user.MayUseChannel("One"));
  EXPECT_FALSE(user.MayUseChannel("one"));
  EXPECT_TRUE(user.MayUseChannels("app:*"));
  EXPECT_FALSE(user.MayUseChannels("app:1*")) << "though a rule covers all that it matches";
  EXPECT_EQ(user.ChannelRules(), "&app:* &One");
  EXPECT_TRUE(Made({"&one", "&*", "&two"}).MayUseChannels("anything*"));
  EXPECT_EQ(Made({"&one", "&*", "&two"}).Line(), "user app off &* -@all");
  EXPECT_FALSE(Made({"&*", "resetchannels"}).MayUseChannel("one"));
  EXPECT_EQ(Made({"allchannels", "reset"}).ChannelRules(), "");
}

TEST(UserTest, PasswordsAddUp) {
  const User user = Made({">secret", ">other"});
  EXPECT_TRUE(user.Accepts("secret"));
  EXPECT_TRUE(user.Accepts("other"));
  for (const std::string_view wrong : {"", "secre", "secrets", "Secret", "secretother"}) {
    EXPECT_FALSE(user.Accepts(wrong)) << wrong;
  }
  EXPECT_FALSE(user.Accepts(std::string_view("secret\0", 7)));
}

TEST(UserTest, AHashIsAsGoodAsThePassword) {
  const std::string rule = "#" + std::string(kSecretHash);
  const User user = Made({rule});
  EXPECT_TRUE(user.Accepts("secret"));
  EXPECT_FALSE(user.Accepts(kSecretHash)) << "who reads the file cannot log in";
  EXPECT_THAT(user.password_hashes(), testing::ElementsAre(kSecretHash));
  EXPECT_EQ(Made({">secret"}).password_hashes(), user.password_hashes());
}

TEST(UserTest, NopassAndResetpass) {
  EXPECT_TRUE(Made({"nopass"}).Accepts("anything"));
  EXPECT_TRUE(Made({"nopass"}).needs_no_password());
  EXPECT_FALSE(Made({"nopass", ">secret"}).Accepts("anything"));
  EXPECT_TRUE(Made({">secret", "nopass"}).password_hashes().empty());
  EXPECT_FALSE(Made({">secret", "resetpass"}).Accepts("secret"));
  EXPECT_FALSE(Made({"nopass", "resetpass"}).needs_no_password());
}

TEST(UserTest, KeysArePrefixesOrOneKey) {
  const User user = Made({"~app:*", "~one"});
  EXPECT_TRUE(user.MayUse("app:"));
  EXPECT_TRUE(user.MayUse("app:x"));
  EXPECT_TRUE(user.MayUse("one"));
  for (const std::string_view key : {"", "app", "one:x", "two", "App:x", "xapp:"}) {
    EXPECT_FALSE(user.MayUse(key)) << key;
  }
  EXPECT_FALSE(user.MayUseAllKeys());
  EXPECT_EQ(user.KeyRules(), "~app:* ~one");
  for (const std::string_view all : {"~*", "allkeys", "ALLKEYS"}) {
    EXPECT_TRUE(Made({"~app:*", all}).MayUseAllKeys());
  }
  EXPECT_FALSE(Made({"~*", "resetkeys"}).MayUse("k"));
  EXPECT_FALSE(Made({"~*", "resetkeys", "~app:*"}).MayUse("k"));
}

TEST(UserTest, CommandsAndTheirSubcommands) {
  const User user = Made({"+rl.allow", "+client", "-client|kill", "+config|get"});
  EXPECT_TRUE(MayRun(user, "rl.allow"));
  EXPECT_TRUE(MayRun(user, "client|list"));
  EXPECT_FALSE(MayRun(user, "client|kill"));
  EXPECT_TRUE(MayRun(user, "config|get"));
  EXPECT_FALSE(MayRun(user, "config|help"));
  EXPECT_FALSE(MayRun(user, "flushall"));
  EXPECT_EQ(user.command_rules(), "-@all +rl.allow +client -client|kill +config|get");
}

TEST(UserTest, LaterRulesWin) {
  EXPECT_FALSE(MayRun(Made({"+ping", "-ping"}), "ping"));
  EXPECT_TRUE(MayRun(Made({"-ping", "+ping"}), "ping"));
  EXPECT_FALSE(MayRun(Made({"+ping", "-@all"}), "ping"));
  EXPECT_FALSE(MayRun(Made({"+@all", "-@admin"}), "flushall"));
  EXPECT_TRUE(MayRun(Made({"allcommands"}), "flushall"));
  EXPECT_FALSE(MayRun(Made({"allcommands", "nocommands"}), "flushall"));
  EXPECT_EQ(Made({"on", "+@all"}).Line(), "user app on +@all");
  EXPECT_EQ(Made({"on", "nopass", "~*", "+@all", "reset"}).Line(), "user app off -@all");
}

// @limit allows all that an application needs to ask for decisions, and nothing that harms others.
TEST(UserTest, LimitIsAllThatAnApplicationNeeds) {
  const User user = Made({"+@limit"});
  for (const std::string_view name :
       {"rl.allow",  "rl.peek",    "rl.take",        "rl.wait",        "rl.refund",
        "rl.charge", "rl.inspect", "cl.throttle",    "ping",           "hello",
        "auth",      "quit",       "reset",          "echo",           "select",
        "info",      "command",    "multi",          "exec",           "discard",
        "watch",     "unwatch",    "client|setname", "client|setinfo", "client|id"}) {
    EXPECT_TRUE(MayRun(user, name)) << name;
  }
  for (const std::string_view name :
       {"rl.reset", "rl.policy|set", "rl.policy|del", "rl.stats", "rl.top", "flushall", "flushdb",
        "del", "config|get", "shutdown", "save", "client|kill", "client|list", "client|pause",
        "client|unblock", "acl|list", "acl|load"}) {
    EXPECT_FALSE(MayRun(user, name)) << name;
  }
}

// The line of ACL LIST, read as rules, makes the same user.
TEST(UserTest, ItsLineMakesTheSame) {
  const User user = Made({"on", ">secret", "~app:*", "+@limit", "-info", "+config|get"});
  EXPECT_EQ(user.Line(),
            "user app on #" + std::string(kSecretHash) + " ~app:* -@all +@limit -info +config|get");
  const std::string line = user.Line();
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(std::string_view(line).substr(begin, end - begin));
    begin = end + 1;
  }
  const User again = Made({words.begin() + 2, words.end()});
  EXPECT_EQ(again.Line(), line);
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(again.MayRun(spec), user.MayRun(spec)) << spec.name;
  }
}

TEST(UserTest, LinesThatRedisWritesAreRead) {
  EXPECT_EQ(
      Made({"on", "nopass", "sanitize-payload", "~*", "&*", "resetchannels", "-@all", "+ping"})
          .Line(),
      "user app on nopass ~* -@all +ping");
}

TEST(UserTest, BadRulesAreNamedAndPasswordsAreNot) {
  EXPECT_THAT(Refused({"on", "secret"}), HasSubstr("user 'app': rule 2: unknown (on, off, "));
  EXPECT_THAT(Refused({"on", "secret"}), Not(HasSubstr("secret")));
  EXPECT_EQ(Refused({"on"}, ">secret"), "a user's name does not begin with '>' or '#'");
  EXPECT_THAT(Refused({"<secret"}), Not(HasSubstr("secret")));
  EXPECT_THAT(Refused({">", "secret"}), Not(HasSubstr("secret")));
  EXPECT_THAT(Refused({"#secret"}), HasSubstr("64 hex digits"));
  EXPECT_THAT(Refused({"#secret"}), Not(HasSubstr("secret")));
  EXPECT_THAT(Refused({"+nonesuch"}), HasSubstr("'+nonesuch': unknown command"));
  EXPECT_THAT(Refused({"+client|nonesuch"}), HasSubstr("unknown command"));
  EXPECT_THAT(Refused({"+@nonesuch"}), HasSubstr("unknown category (@all, @read, @write"));
  EXPECT_THAT(Refused({"~a*b"}),
              HasSubstr("'~a*b': a key rule is one key, or a prefix with '*' at its end"));
  EXPECT_THAT(Refused({"~a?"}), HasSubstr("a key rule is"));
  EXPECT_THAT(Refused({"~"}), HasSubstr("the key is empty"));
  EXPECT_THAT(Refused({"+"}), HasSubstr("unknown command"));
  EXPECT_THAT(Refused({""}), HasSubstr("rule 1: unknown"));
  EXPECT_THAT(Refused({}, ""), HasSubstr("1 to 256 printable"));
  EXPECT_THAT(Refused({}, "a b"), HasSubstr("1 to 256 printable"));
  EXPECT_THAT(Refused({}, std::string(257, 'u')), HasSubstr("1 to 256 printable"));
}

}  // namespace
}  // namespace weir
