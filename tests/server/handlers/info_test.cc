// Goal: INFO has the format that tools for Redis parse, and its values are true. Method: the text
// is parsed strictly; after known events the fields have known values. The presence of Redis's
// fields is tested in tests/e2e/differential_commands.py.
#include "server/handlers/info.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/version.h"
#include "server/health/health_watch.h"
#include "server/measures/measure.h"
#include "server/measures/server_snapshot.h"
#include "server/state/state_on_disk.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

struct Info {
  std::vector<std::string> sections;
  std::map<std::string, std::string> fields;
};

bool IsFieldName(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// Fields of sections that Redis names after a command or an error.
bool IsNamedField(std::string_view name) {
  return name.starts_with("cmdstat_") || name.starts_with("latency_percentiles_usec_") ||
         name.starts_with("errorstat_");
}

// A section is "# Name" and a field on each line, CRLF at each end, an empty line between sections.
Info Parse(std::string_view text) {
  Info info;
  bool begins_section = true;
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) {
      ADD_FAILURE() << "a line without end: " << text;
      break;
    }
    const std::string line(text.substr(0, end));
    text.remove_prefix(end + 2);
    if (begins_section) {
      EXPECT_TRUE(line.starts_with("# ") && line.size() > 2) << line;
      info.sections.push_back(line.substr(2));
      begins_section = false;
    } else if (line.empty()) {
      begins_section = true;
    } else {
      const std::size_t colon = line.find(':');
      EXPECT_NE(colon, std::string::npos) << line;
      const std::string name = line.substr(0, colon);
      EXPECT_TRUE(IsFieldName(name) || IsNamedField(name)) << line;
      EXPECT_TRUE(info.fields.emplace(name, line.substr(colon + 1)).second) << "twice: " << line;
      EXPECT_EQ(line.find_first_of("\r\n\t"), std::string::npos) << line;
    }
  }
  EXPECT_FALSE(begins_section && !info.sections.empty()) << "an empty line at the end";
  return info;
}

Info InfoOf(Conversation& client, const std::string& sections = "") {
  return Parse(client.Ask("INFO " + sections).text);
}

// The lines of INFO are the rows that exist, in their order, with Redis's names of sections.
void ExpectEveryRow(Conversation& client) {
  ServerSnapshot snapshot(client.server().services, client.server().clock.Now());
  std::vector<std::string> names;
  for (const Measure& measure : Measures()) {
    const bool is_title = !measure.section.empty() && measure.Exists(snapshot);
    if (is_title) names.push_back("# " + std::string(measure.section));
    if (measure.names.info.empty() || !measure.Exists(snapshot)) continue;
    const MeasureValue value = measure.read(snapshot);
    const auto* const fields = std::get_if<MeasureFields>(&value);
    if (!fields) names.emplace_back(measure.names.info);
    if (!fields) continue;
    for (const auto& [end, text] : *fields) names.push_back(std::string(measure.names.info) + end);
  }
  std::vector<std::string> shown;
  const std::string text = client.Ask("INFO everything").text;
  for (const absl::string_view line : absl::StrSplit(text, "\r\n", absl::SkipEmpty())) {
    shown.emplace_back(line.substr(0, line.find(':')));
  }
  EXPECT_EQ(shown, names);
  EXPECT_GE(names.size(), 90U);
}

TEST(InfoTest, EveryRowIsAField) {
  Conversation client;
  ExpectEveryRow(client);
  EXPECT_FALSE(InfoOf(client).fields.contains("loaded_buckets"));
}

// With a data directory there are more fields.
TEST(InfoTest, EveryRowIsAFieldWhileStateIsLoadedAndAfter) {
  const TemporaryDirectory directory;
  Options options = DefaultOptions();
  options.data_dir = directory.path() + "/data";
  options.snapshot_interval = std::chrono::hours{1};
  absl::StatusOr<std::unique_ptr<StateOnDisk>> state = StateOnDisk::Open(options);
  ASSERT_TRUE(state.ok()) << state.status();
  TestServer server(options, {.secret = (*state)->secret(), .logs_changes = true});
  server.services.state = state->get();
  Conversation client(server);
  ExpectEveryRow(client);
  EXPECT_TRUE(InfoOf(client).fields.contains("loaded_buckets"));
  EXPECT_FALSE(InfoOf(client).fields.contains("rdb_saves"));
  (*state)->StartLoading(server.hub,
                         [](const absl::Status& loaded) { EXPECT_TRUE(loaded.ok()) << loaded; });
  (*state)->StartSaving(server.services.settings, [](std::uint64_t, const absl::Status&) {});
  ExpectEveryRow(client);
  client.server().clock.Advance(std::chrono::seconds{2});
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["rdb_saves"], "0");
  EXPECT_EQ(info.fields["rdb_changes_since_last_save"], "0");
  EXPECT_EQ(info.fields["loss_bound_ms"], "0");
  EXPECT_EQ(info.fields["durability"], "snapshot");
  state->reset();  // It is attached to the server's hub.
}

TEST(InfoTest, HasItsOwnFieldsAndSections) {
  Conversation client;
  Info info = InfoOf(client);
  EXPECT_THAT(info.sections,
              ElementsAre("Server", "Clients", "Memory", "Persistence", "Stats", "Replication",
                          "CPU", "Modules", "Errorstats", "Cluster", "Keyspace", "Weir"));
  for (const char* name :
       {"used_memory_human", "used_memory_rss_human", "used_memory_peak_human", "weir_version",
        "buckets", "limits", "table_bytes", "allowed", "denied", "time_offset_ms"}) {
    EXPECT_TRUE(info.fields.contains(name)) << name;
  }
  EXPECT_EQ(InfoOf(client, "all").sections.back(), "Weir");
}

TEST(InfoTest, TellsTheVerdictOfTheWatch) {
  Conversation client;
  Services& services = client.server().services;
  EXPECT_EQ(InfoOf(client, "weir").fields["health"], "ok");
  EXPECT_EQ(InfoOf(client, "weir").fields["health_reasons"], "");
  HealthWatch watch(services);
  watch.Look();
  services.wall_clock_offset = [] { return Nanos{std::chrono::seconds{9}}; };
  services.main_counters["rejected_connections"].Add();
  EXPECT_EQ(InfoOf(client, "weir").fields["health"], "ok") << "before the next look";
  watch.Look();
  EXPECT_EQ(InfoOf(client, "weir").fields["health"], "warn");
  EXPECT_EQ(InfoOf(client, "weir").fields["health_reasons"], "rejecting_clients,clock_off");
}

TEST(InfoTest, ConstantsAreWhatTheyMustBe) {
  Conversation client;
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["redis_version"], kRedisVersion);
  EXPECT_EQ(info.fields["weir_version"], kVersion);
  EXPECT_EQ(info.fields["run_id"], client.server().services.run_id);
}

// Goal: the counts of commands, times and errors match what happened. Method: events counted by
// hand, with a clock on which each command takes 1.5 ms.
TEST(InfoTest, CountsCallsFailuresRejectionsAndTimes) {
  Conversation client;
  client.server().clock.set_lap(std::chrono::microseconds{1500});
  for (int i = 0; i < 3; ++i) client.Run("PING");
  client.Run("RL.ALLOW k 2/x");  // fails
  client.Run("RL.ALLOW k 2/s");
  client.Run("RL.ALLOW");          // is rejected
  client.Run("CLIENT ID");         // a subcommand
  client.Run("CLIENT NOSUCH");     // no command
  client.Run("NOSUCH");            // likewise
  client.Run("AUTH default x y");  // fails
  Info info = InfoOf(client, "commandstats errorstats latencystats");
  EXPECT_THAT(
      info.fields,
      UnorderedElementsAre(
          Pair("cmdstat_auth",
               "calls=1,usec=1500,usec_per_call=1500.00,rejected_calls=0,failed_calls=1"),
          Pair("cmdstat_client|id",
               "calls=1,usec=1500,usec_per_call=1500.00,rejected_calls=0,failed_calls=0"),
          Pair("cmdstat_ping",
               "calls=3,usec=4500,usec_per_call=1500.00,rejected_calls=0,failed_calls=0"),
          Pair("cmdstat_rl.allow",
               "calls=2,usec=3000,usec_per_call=1500.00,rejected_calls=1,failed_calls=1"),
          Pair("errorstat_ERR", "count=5"),
          Pair("latency_percentiles_usec_auth", "p50=1572.863,p99=1572.863,p99.9=1572.863"),
          Pair("latency_percentiles_usec_client|id", "p50=1572.863,p99=1572.863,p99.9=1572.863"),
          Pair("latency_percentiles_usec_ping", "p50=1572.863,p99=1572.863,p99.9=1572.863"),
          Pair("latency_percentiles_usec_rl.allow", "p50=1572.863,p99=1572.863,p99.9=1572.863")));
}

// As in Redis: each command of a transaction counts, EXEC counts, and EXEC's time is that of all of
// them.
TEST(InfoTest, CountsTheCommandsOfATransaction) {
  Conversation client;
  client.server().clock.set_lap(std::chrono::microseconds{1000});
  client.Send("MULTI\r\nPING\r\nRL.ALLOW k 2/x\r\nEXEC\r\n");
  Info info = InfoOf(client, "commandstats");
  EXPECT_EQ(info.fields["cmdstat_ping"],
            "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=0,failed_calls=0");
  EXPECT_EQ(info.fields["cmdstat_rl.allow"],
            "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=0,failed_calls=1");
  EXPECT_EQ(info.fields["cmdstat_exec"],
            "calls=1,usec=4000,usec_per_call=4000.00,rejected_calls=0,failed_calls=0");
}

// The error that EXEC puts in place of a long reply is not counted as a failure.
TEST(InfoTest, RepliesThatAreTooLongAreNoFailures) {
  Conversation client;
  std::string limits;
  for (int i = 100; i < 164; ++i) {
    absl::StrAppend(&limits, " ", i, "G/9w,name=", std::string(50, 'n'), i);
  }
  client.Run("RL.POLICY SET p 1/s");
  for (int i = 0; i < 32; ++i) client.Run(absl::StrCat("RL.POLICY OVERRIDE p k", i, limits));
  client.Run("MULTI");
  for (int i = 0; i < 60; ++i) client.Run("RL.POLICY OVERRIDES p");
  EXPECT_THAT(client.Run("EXEC"), testing::HasSubstr("are too long"));
  Info info = InfoOf(client, "commandstats");
  EXPECT_THAT(info.fields["cmdstat_rl.policy|overrides"], testing::EndsWith("failed_calls=0"));
  EXPECT_THAT(info.fields["cmdstat_exec"], testing::EndsWith("failed_calls=0"));
}

// Rates are of the last whole second; no thread samples them, so they are exact on a clock that the
// test moves.
TEST(InfoTest, TellsTheRatesOfTheLastSecond) {
  Conversation client;
  client.Send("PING\r\nPING\r\nPING\r\n");
  EXPECT_EQ(InfoOf(client, "stats").fields["instantaneous_ops_per_sec"], "0");
  client.server().clock.Advance(std::chrono::seconds{1});
  Info info = InfoOf(client, "stats");
  EXPECT_EQ(info.fields["instantaneous_ops_per_sec"], "4");  // and the INFO
  EXPECT_EQ(info.fields["instantaneous_input_kbps"], "0.04");
  client.server().clock.Advance(std::chrono::seconds{2});
  EXPECT_EQ(InfoOf(client, "stats").fields["instantaneous_ops_per_sec"], "0");
}

// Sentinel recognises a restarted server by its run id.
TEST(InfoTest, EveryServerHasItsOwnRunId) {
  TestServer one;
  TestServer two;
  EXPECT_NE(one.services.run_id, two.services.run_id);
}

TEST(InfoTest, CountsConnections) {
  Conversation client;
  client.server().services.main_counters["total_connections_received"].Add(5);
  client.server().services.main_counters["rejected_connections"].Add(2);
  Conversation other(client.server());
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["connected_clients"], "2");
  EXPECT_EQ(info.fields["total_connections_received"], "5");
  EXPECT_EQ(info.fields["rejected_connections"], "2");
}

// Errors count as commands; a broken request does not. All workers count.
TEST(InfoTest, CountsCommandsErrorsAndDecisions) {
  Conversation client;
  Worker second(client.server().services);
  second.counters["total_commands_processed"].Add(100);
  second.request_counters.denied.Add(10);
  client.Run("RL.ALLOW k 2/h");
  client.Run("RL.ALLOW k 2/h COST 2");
  client.Run("RL.ALLOW k 2/x");
  client.Run("NOSUCH");
  client.Run("AUTH x");
  Conversation broken(client.server());
  broken.Send("*x\r\n");
  Conversation foreign(client.server());
  foreign.Send("GET / HTTP/1.1\r\n");
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["total_commands_processed"], "106");  // with this one
  EXPECT_EQ(info.fields["total_error_replies"], "4");
  EXPECT_EQ(info.fields["protocol_errors"], "2");
  EXPECT_EQ(info.fields["allowed"], "1");
  EXPECT_EQ(info.fields["denied"], "11");
  EXPECT_EQ(info.fields["io_threads_active"], "2");
}

TEST(InfoTest, CountsBytes) {
  Conversation client;
  client.Send("PING\r\nPI");
  EXPECT_EQ(client.server().worker.counters["total_net_input_bytes"].value(), 6U);
  EXPECT_EQ(client.server().worker.counters["total_net_output_bytes"].value(), 7U);
  client.Send("NG\r\n");
  EXPECT_EQ(client.server().worker.counters["total_net_input_bytes"].value(), 12U);
  EXPECT_EQ(client.server().worker.counters["total_net_output_bytes"].value(), 14U);
}

TEST(InfoTest, CountsBucketsAndSweeping) {
  Conversation client;
  EXPECT_FALSE(InfoOf(client).fields.contains("db0"));
  client.Run("RL.ALLOW a 10/s 1/h AND b 10/s");
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["buckets"], "3");
  EXPECT_EQ(info.fields["limits"], "2");
  EXPECT_EQ(info.fields["db0"], "keys=3,expires=3,avg_ttl=0");
  client.server().clock.Advance(std::chrono::seconds{1});
  while (!client.server().services.sweeper.Step(client.server().clock.Now())) {
  }
  info = InfoOf(client);
  EXPECT_EQ(info.fields["buckets"], "1");
  EXPECT_EQ(info.fields["expired_keys"], "2");
  EXPECT_EQ(info.fields["sweeper_dropped"], "2");
  EXPECT_EQ(info.fields["sweeper_laps"], "1");
}

// Under explicit time nothing is swept, but full buckets still do not count.
TEST(InfoTest, TheKeyspaceIsDbsizesUnderExplicitTime) {
  Conversation client(TestServer::WithExplicitTime());
  client.Run("RL.ALLOW a 10/s 1/h AND b 10/s AT 1000000000");
  EXPECT_EQ(client.Run("DBSIZE"), ":3\r\n");
  EXPECT_EQ(InfoOf(client).fields["db0"], "keys=3,expires=3,avg_ttl=0");
  client.Run("RL.ALLOW c 1/h AT 2000000000");
  EXPECT_EQ(client.Run("DBSIZE"), ":2\r\n");
  EXPECT_EQ(InfoOf(client).fields["db0"], "keys=2,expires=2,avg_ttl=0");
}

TEST(InfoTest, ShowsTimes) {
  Conversation client;
  client.server().services.wall_clock_offset = [] { return std::chrono::milliseconds{-1500}; };
  Info info = InfoOf(client);
  EXPECT_EQ(info.fields["uptime_in_seconds"], "0");
  EXPECT_EQ(info.fields["time_offset_ms"], "-1500");
  EXPECT_EQ(info.fields["explicit_time"], "0");
  EXPECT_EQ(info.fields["checks"], "0");
  EXPECT_EQ(info.fields["http_connections"], "0");
  client.server().clock.Advance(std::chrono::hours{49} - Nanos{1});
  info = InfoOf(client);
  EXPECT_EQ(info.fields["uptime_in_seconds"], std::to_string(49 * 3600 - 1));
  EXPECT_EQ(info.fields["uptime_in_days"], "2");
  Conversation test(TestServer::WithExplicitTime());
  EXPECT_EQ(InfoOf(test).fields["explicit_time"], "1");
}

TEST(InfoTest, ShowsThePortInUse) {
  Conversation client;
  client.server().services.port = 40123;
  EXPECT_EQ(InfoOf(client).fields["tcp_port"], "40123");
}

}  // namespace
}  // namespace weir
