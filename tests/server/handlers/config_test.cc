// Goal: tools read weir's options under weir's names and Redis's; a change of live options takes
// effect for all clients at once, all of it or nothing; other options cannot be changed. Method:
// conversations. Redis's own answers are tested in tests/e2e/differential_commands.py.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/config/options.h"
#include "server/os/log.h"
#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST(ConfigGetTest, AnswersTheOptionsThatToolsAskFor) {
  Options options = DefaultOptions();
  options.port = 1234;
  options.max_clients = 77;
  Conversation client(std::make_unique<TestServer>(options));
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"port", "1234"},
      {"maxclients", "77"},
      {"max-clients", "77"},
      {"bind", "127.0.0.1"},
      {"maxmemory-policy", "noeviction"},
  };
  for (const auto& [name, value] : settings) {
    EXPECT_EQ(client.Run("CONFIG GET " + name), RespRequest(std::vector<std::string>{name, value}));
  }
}

// The policy matches INFO and the bound in force.
TEST(ConfigGetTest, ThePolicyOfMemoryIsThatOfItsBound) {
  Conversation client;
  EXPECT_EQ(client.Run("CONFIG SET maxmemory 100mb"), kOk);
  EXPECT_EQ(client.Run("CONFIG GET maxmemory-policy"),
            RespRequest(std::vector<std::string>{"maxmemory-policy", "volatile-ttl"}));
  EXPECT_THAT(client.Run("CONFIG SET maxmemory-policy noeviction"),
              HasSubstr("can't set immutable config"));
}

// The timeout is a number of seconds as in Redis, and 0 means never.
TEST(ConfigGetTest, TheTimeoutIsInSeconds) {
  for (const auto& [timeout, seconds] : {std::pair(300'000, "300"), std::pair(1, "1")}) {
    Options options = DefaultOptions();
    options.timeout = std::chrono::milliseconds{timeout};
    Conversation client(std::make_unique<TestServer>(options));
    EXPECT_EQ(client.Run("CONFIG GET timeout"),
              RespRequest(std::vector<std::string>{"timeout", seconds}));
  }
}

// Not the 0 of the option, which asks for any free port.
TEST(ConfigGetTest, ThePortIsTheOneInUse) {
  Options options = DefaultOptions();
  options.port = 0;
  Conversation client(std::make_unique<TestServer>(options));
  client.server().services.port = 40123;
  EXPECT_EQ(client.Run("CONFIG GET port"), "*2\r\n$4\r\nport\r\n$5\r\n40123\r\n");
}

std::vector<std::string> NamesOf(const RespValue& settings) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < settings.elements.size(); i += 2)
    names.push_back(settings.elements[i].text);
  return names;
}

TEST(ConfigGetTest, GetTakesFewPatternsAndManyNames) {
  Conversation client;
  const std::vector<std::string> names(1000, "port");
  std::vector<std::string> words = {"CONFIG", "GET"};
  words.insert(words.end(), names.begin(), names.end());
  EXPECT_THAT(client.Call(words), testing::StartsWith("*2\r\n"));
  for (int i = 0; i < 22; ++i) words.emplace_back("por?");
  EXPECT_THAT(client.Call(words), testing::StartsWith("*2\r\n"));
  words.assign({"CONFIG", "GET"});
  for (int i = 0; i < 33; ++i) words.emplace_back("[p]ort");
  EXPECT_EQ(client.Call(words),
            "-ERR CONFIG GET takes at most 32 patterns, and any number of names\r\n");
}

TEST(ConfigGetTest, PatternsMatchInAnyCaseAndEachSettingOnce) {
  Conversation client;
  const std::vector<std::string> all = NamesOf(client.Ask("CONFIG GET *"));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  for (const OptionSpec& spec : OptionTable())
    EXPECT_THAT(all, testing::Contains(std::string(spec.name)));
  EXPECT_EQ(NamesOf(client.Ask("CONFIG GET * save P*")), all);
  EXPECT_THAT(NamesOf(client.Ask("CONFIG GET SAVE max?lients save")),
              testing::UnorderedElementsAre("save", "maxclients"));
}

// A pattern of 64 KiB, all stars and sets, is refused without being tried.
TEST(ConfigGetTest, NoPatternIsTooMuch) {
  Conversation client;
  std::string stars;
  while (stars.size() < 65'000) stars += "*[a-z]";
  EXPECT_EQ(client.Call({"CONFIG", "GET", stars}), "*0\r\n");
}

// --- CONFIG SET ----------------------------------------------------------------------------------

// The value of one option.
std::string Get(Conversation& client, std::string_view name) {
  return client.Ask(absl::StrCat("CONFIG GET ", AbslView(name))).elements.at(1).text;
}

std::string Failed(std::string_view name, std::string_view why) {
  return absl::StrCat("-ERR CONFIG SET failed (possibly related to argument '", AbslView(name),
                      "') - ", AbslView(why), "\r\n");
}

struct Change {
  std::string_view name;
  std::string_view value;
  std::string_view redis_name = {};
  std::string_view redis_value = {};
};
constexpr std::array<Change, 33> kChanges = {{
    {"ack-replicas", "2"},
    {"ack-timeout", "50ms"},
    {"edge-away", "open"},
    {"http-max-connection-age", "60"},
    {"latency-monitor-threshold", "7"},
    {"log-level", "warning", "loglevel", "warning"},
    {"max-clients", "77", "maxclients", "77"},
    {"max-clients-memory", "5000000", "maxmemory-clients", "5000000"},
    {"max-memory", "100000000", "maxmemory", "100000000"},
    {"min-replicas-max-lag", "9"},
    {"min-replicas-to-write", "2"},
    {"notify-at", "50,90"},
    {"notify-interval", "5s"},
    {"on-persist-error", "serve"},
    {"primary-password", "", "masterauth", ""},  // never shown: replication_test.cc
    {"primary-user", "link", "masteruser", "link"},
    {"protected-mode", "no"},
    {"repl-backlog-size", "33554432"},
    {"repl-timeout", "60"},
    {"replica-announce-ip", "weir.internal"},
    {"replica-announce-port", "7380"},
    {"replica-announced", "no"},
    {"replica-priority", "0"},
    {"replica-serve-stale-data", "no"},
    {"rls-headers", "reference"},
    {"rls-metadata", "true"},
    {"rls-quota", "true"},
    {"rls-shadow", "true"},
    {"slice-life", "1s"},
    {"slowlog-log-slower-than", "-1"},
    {"slowlog-max-len", "3"},
    {"snapshot-interval", "250ms"},
    {"timeout", "300"},
}};

TEST(ConfigSetTest, ALowerBoundOnClientsHoldsAtOnce) {
  Conversation client;
  Services& services = client.server().services;
  const auto large = services.clients.Add("127.0.0.1:1", "127.0.0.1:2", 3, HostInstant{});
  services.client_memory.Set(*large, 5'000'000);
  EXPECT_EQ(client.Run("CONFIG SET max-clients-memory 6mb"), kOk);
  EXPECT_FALSE(large->killed);
  EXPECT_EQ(client.Run("CONFIG SET max-clients-memory 2mb"), kOk);
  EXPECT_TRUE(large->killed);
}

TEST(ConfigSetTest, LiveOptionsAreReadBackAsTheyWereSet) {
  for (const auto& [name, value, redis_name, redis_value] : kChanges) {
    Conversation client;
    EXPECT_EQ(client.Call({"CONFIG", "SET", std::string(name), std::string(value)}), kOk) << name;
    EXPECT_EQ(Get(client, name), value);
    if (redis_name.empty()) continue;
    EXPECT_EQ(Get(client, redis_name), redis_value);
    Conversation other;
    EXPECT_EQ(other.Call({"config", "set", std::string(redis_name), std::string(redis_value)}),
              kOk);
    EXPECT_EQ(Get(other, name), value);
  }
}

// The list is written out on purpose: no option that writes a file, and no path, no address to
// listen on, no password of a client and no certificate.
TEST(ConfigSetTest, NothingElseMayChange) {
  Conversation client;
  for (const OptionSpec& spec : OptionTable()) {
    const bool changes = std::ranges::find(kChanges, spec.name, &Change::name) != kChanges.end();
    EXPECT_EQ(spec.live, changes) << spec.name;
    if (changes) continue;
    for (const std::string_view name : {spec.name, spec.redis_alias}) {
      if (name.empty()) continue;
      EXPECT_EQ(client.Call({"CONFIG", "SET", std::string(name), std::string(spec.fallback)}),
                Failed(name, "can't set immutable config"));
    }
  }
  for (const char* name : {"appendonly", "databases", "save"}) {
    EXPECT_EQ(client.Call({"CONFIG", "SET", name, "1"}),
              Failed(name, "can't set immutable config"));
  }
}

TEST(ConfigSetTest, AllOrNothing) {
  Conversation client;
  const std::string before = client.Run("CONFIG GET *");
  for (const char* request :
       {"CONFIG SET max-clients 5 timeout 1 nonesuch 1", "CONFIG SET max-clients 5 port 1",
        "CONFIG SET max-clients 5 timeout -1", "CONFIG SET max-clients 5 maxclients 5",
        "CONFIG SET max-clients 5 timeout", "CONFIG SET timeout 5 max-clients 0"}) {
    EXPECT_THAT(client.Run(request), StartsWith("-ERR ")) << request;
    EXPECT_EQ(client.Run("CONFIG GET *"), before) << request;
  }
  EXPECT_EQ(client.Run("CONFIG SET max-clients 5 timeout 1 protected-mode false"), kOk);
  EXPECT_EQ(Get(client, "maxclients"), "5");
  EXPECT_EQ(Get(client, "timeout"), "1");
  EXPECT_EQ(Get(client, "protected-mode"), "no");
}

TEST(ConfigSetTest, ErrorsSayWhatWouldBeRight) {
  Conversation client;
  EXPECT_EQ(client.Run("CONFIG SET log-level debug loglevel notice"),
            Failed("loglevel", "duplicate parameter"));
  for (const char* clients : {"1000001", "1 "}) {
    EXPECT_EQ(client.Call({"CONFIG", "SET", "MaxClients", clients}),
              Failed("MaxClients", "argument must be an integer from 1 to 1000000"));
  }
  EXPECT_EQ(client.Run("CONFIG SET protected-mode off"),
            Failed("protected-mode", "argument must be true or false"));
  EXPECT_EQ(client.Run("CONFIG SET loglevel loud"),
            Failed("loglevel", "argument must be one of debug, info, warning, error"));
  EXPECT_EQ(client.Run("CONFIG SET log-level notice"),
            Failed("log-level", "argument must be one of debug, info, warning, error"));
}

TEST(ConfigSetTest, ATimeoutIsInSecondsOrHasAUnit) {
  Conversation client;
  for (const auto& [value, seconds] : {std::pair("0", 0), std::pair("60", 60), std::pair("5m", 300),
                                       std::pair("2592000", 2'592'000)}) {
    EXPECT_EQ(client.Call({"CONFIG", "SET", "timeout", value}), kOk) << value;
    EXPECT_EQ(client.server().services.settings.Get(&Options::timeout),
              std::chrono::seconds{seconds});
    EXPECT_EQ(Get(client, "timeout"), std::to_string(seconds));
  }
  for (const char* value : {"", "-1", "x", "1.5", "2592001", "9223372036854775807"}) {
    EXPECT_THAT(client.Call({"CONFIG", "SET", "timeout", value}),
                HasSubstr("argument must be a time from 0s to 2592000s"))
        << value;
  }
}

TEST(ConfigSetTest, LogLevelsOfRedisAreAccepted) {
  Conversation client;
  const std::vector<std::array<const char*, 3>> levels = {{"debug", "debug", "debug"},
                                                          {"verbose", "info", "notice"},
                                                          {"NOTICE", "info", "notice"},
                                                          {"warning", "warning", "warning"},
                                                          {"error", "error", "warning"}};
  for (const auto& [said, ours, told] : levels) {
    EXPECT_EQ(client.Call({"CONFIG", "SET", "loglevel", said}), kOk);
    EXPECT_EQ(Get(client, "log-level"), ours);
    EXPECT_EQ(Get(client, "loglevel"), told);
  }
}

// The log names each change of an operator, and the client that made it. Setting the same value
// again is not a change.
TEST(ConfigSetTest, ChangesAreLogged) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo);
  Conversation client;
  client.Run("CONFIG SET maxclients 10000 timeout 300 protected-mode false");
  client.Run("CONFIG SET timeout 300 port 1");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("[^\n]* warning client 127\\.0\\.0\\.1:50000, user 'default', has set "
                           "timeout to 300s, it was 0s\n[^\n]*has set protected-mode to false, it "
                           "was true\n"));
}

TEST(ConfigSetTest, TheLogsLevelChangesAtOnce) {
  testing::internal::CaptureStderr();
  Options options = DefaultOptions();
  options.log_level = LogLevel::kError;
  ConfigureLog(options.log_level);
  Conversation client(std::make_unique<TestServer>(options));
  client.Run("CONFIG SET timeout 1");
  client.Run("CONFIG SET log-level info");
  client.Run("CONFIG SET timeout 2");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("[^\n]*has set timeout to 2s, it was 1s\n"));
}

TEST(ConfigRewriteTest, NoFileIsWritten) {
  Options options = DefaultOptions();
  options.config = "/etc/weir.toml";
  Conversation with_file(std::make_unique<TestServer>(options));
  EXPECT_EQ(with_file.Run("CONFIG REWRITE"),
            "-ERR weir does not write its config file: to keep a setting over a restart, edit "
            "'/etc/weir.toml'\r\n");
}

}  // namespace
}  // namespace weir
