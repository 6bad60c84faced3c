// Goal: an option that has no effect beside the others is named, and only such an option. Method:
// each option alone, and beside what it needs; the sentences are compared with a list of all.
#include "server/config/option_effects.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/config/option_examples.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Options With(const std::vector<std::pair<std::string_view, std::string_view>>& settings) {
  Options options = DefaultOptions();
  for (const auto& [name, text] : settings) {
    const auto spec = std::ranges::find(OptionTable(), name, &OptionSpec::name);
    EXPECT_TRUE(SetOption(*spec, text, options).ok()) << name;
  }
  return options;
}

// Every kind of thing that an option may need.
const std::vector<std::pair<std::string_view, std::string_view>> kAll = {
    {"data-dir", "d"},  {"durability", "always"}, {"admin-port", "1"},    {"http-port", "2"},
    {"tls-port", "3"},  {"unix-socket", "s"},     {"sentinel", "weir"},   {"rls-config", "r"},
    {"edge-of", "h:1"}, {"rls-xds", "h:2"},       {"rls-xds-tls", "true"}};

TEST(OptionEffectsTest, NothingIsSaidOfOptionsThatAreNotGiven) {
  EXPECT_THAT(OptionsWithoutEffect(DefaultOptions()), IsEmpty());
}

// `always`: those that take effect on every server, now or after CONFIG SET or a command.
TEST(OptionEffectsTest, EachOptionIsKnown) {
  const std::vector<std::string_view> always = {"ack-replicas",
                                                "ack-timeout",
                                                "admin-port",
                                                "allow-explicit-time",
                                                "bind",
                                                "config",
                                                "durability",
                                                "edge-of",
                                                "http-port",
                                                "http-tls-port",
                                                "http-unix-socket",
                                                "latency-monitor-threshold",
                                                "log-format",
                                                "log-level",
                                                "max-clients",
                                                "max-clients-memory",
                                                "max-holds",
                                                "max-memory",
                                                "max-wait",
                                                "min-replicas-max-lag",
                                                "min-replicas-to-write",
                                                "notify-at",
                                                "notify-interval",
                                                "policies",
                                                "primary-password",
                                                "primary-password-file",
                                                "primary-user",
                                                "protected-mode",
                                                "repl-backlog-size",
                                                "repl-timeout",
                                                "replica-announce-ip",
                                                "replica-announce-port",
                                                "replica-announced",
                                                "replica-priority",
                                                "replica-serve-stale-data",
                                                "replicaof",
                                                "replication-tls",
                                                "requirepass",
                                                "requirepass-file",
                                                "rls-config",
                                                "rls-xds",
                                                "sentinel",
                                                "slice-life",
                                                "slowlog-log-slower-than",
                                                "slowlog-max-len",
                                                "threads",
                                                "timeout",
                                                "tls-only",
                                                "tls-port",
                                                "unix-socket",
                                                "users-file"};
  for (const OptionSpec& spec : OptionTable()) {
    const bool has_row = std::ranges::count(OptionEffects(), spec.name, &OptionEffect::name) == 1;
    EXPECT_NE(has_row, std::ranges::count(always, spec.name) == 1)
        << spec.name << ": decide what it needs: option_effects.cc";
  }
  for (const OptionEffect& row : OptionEffects()) {
    EXPECT_EQ(std::ranges::count(OptionTable(), row.name, &OptionSpec::name), 1) << row.name;
  }
}

TEST(OptionEffectsTest, EachIsNamedAloneAndNotBesideWhatItNeeds) {
  for (const OptionEffect& row : OptionEffects()) {
    for (const OptionExample& example : kGoodOptions.at(row.name)) {
      auto settings = kAll;
      settings.emplace_back(row.name, example.text);
      EXPECT_THAT(OptionsWithoutEffect(With(settings)), IsEmpty()) << row.name;
      if (row.name == "data-dir" || row.name == "max-hold" || row.name == "port") continue;
      const Options alone = With({{row.name, example.text}});
      const auto spec = std::ranges::find(OptionTable(), row.name, &OptionSpec::name);
      const bool is_given = OptionText(*spec, alone) != spec->fallback;
      EXPECT_EQ(OptionsWithoutEffect(alone).size(), is_given ? 1U : 0U) << row.name;
    }
  }
}

TEST(OptionEffectsTest, TheSentenceNamesWhatIsMissing) {
  EXPECT_THAT(OptionsWithoutEffect(With({{"backup-dir", "b"}, {"http-bind", "::1"}})),
              ElementsAre("option 'backup-dir' has no effect here: it needs a data-dir, and a "
                          "durability other than none",
                          "option 'http-bind' has no effect here: it needs an http-port or "
                          "http-tls-port"));
  EXPECT_THAT(OptionsWithoutEffect(With({{"data-dir", "d"}, {"durability", "none"}})),
              ElementsAre("option 'data-dir' has no effect here: it needs a durability other than "
                          "none"));
  EXPECT_THAT(OptionsWithoutEffect(With({{"port", "1"},
                                         {"tls-port", "2"},
                                         {"tls-only", "true"},
                                         {"max-holds", "0"},
                                         {"max-hold", "1s"}})),
              ElementsAre("option 'max-hold' has no effect here: it needs max-holds above 0",
                          "option 'port' has no effect here: it needs a server without tls-only"));
}

}  // namespace
}  // namespace weir
