// Goal: the page of metrics is in the format of Prometheus, its numbers are those of INFO and
// RL.STATS, and a scrape needs no lock and no right that it should not. Method: the exact text of a
// small server; a strict parser beside random load; a server in the middle of something.
#include "server/http/metrics.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/limiter/isolation.h"
#include "server/session/client_state.h"
#include "tests/support/http_conversation.h"
#include "tests/support/metrics_page.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string TextOf(HttpTestServer& server) {
  return MetricsText(server.services, server.http, server.clock.Now());
}

// --- The page -----------------------------------------------------------------------------------
// All but the help, which another test reads, and the families whose samples are not the same
// everywhere and in every version.
std::string WithoutVarying(std::string_view text) {
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n', absl::SkipEmpty())) {
    const bool varies = absl::StartsWith(line, "# HELP") || absl::StrContains(line, "process_") ||
                        absl::StrContains(line, "weir_build_info") ||
                        absl::StrContains(line, "weir_http_responses_total");
    if (!varies) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

constexpr std::string_view kSmallPage = R"(# TYPE weir_limit_decisions_total counter
weir_limit_decisions_total{limit="1/h,shadow",result="allowed"} 1
weir_limit_decisions_total{limit="1/h,shadow",result="denied"} 0
weir_limit_decisions_total{limit="1/h,shadow",result="shadow_denied"} 1
weir_limit_decisions_total{limit="3/m,burst=2,ban=1h",result="allowed"} 2
weir_limit_decisions_total{limit="3/m,burst=2,ban=1h",result="denied"} 1
weir_limit_decisions_total{limit="hourly",result="allowed"} 1
weir_limit_decisions_total{limit="hourly",result="denied"} 1
# TYPE weir_limit_near_total counter
weir_limit_near_total{limit="1/h,shadow"} 1
weir_limit_near_total{limit="3/m,burst=2,ban=1h"} 1
weir_limit_near_total{limit="hourly"} 0
# TYPE weir_bans_total counter
weir_bans_total{limit="3/m,burst=2,ban=1h"} 1
# TYPE weir_charged_beyond_total counter
weir_charged_beyond_total{limit="hourly"} 1
# TYPE weir_metrics_limits_folded gauge
weir_metrics_limits_folded 0
# TYPE weir_requests_total counter
weir_requests_total{face="resp",result="allowed"} 2
weir_requests_total{face="resp",result="denied"} 2
weir_requests_total{face="resp",result="error"} 2
weir_requests_total{face="http",result="allowed"} 0
weir_requests_total{face="http",result="denied"} 0
weir_requests_total{face="http",result="error"} 0
# TYPE weir_command_duration_seconds histogram
weir_command_duration_seconds_count{command="rl.allow"} 4
weir_command_duration_seconds_sum{command="rl.allow"} 1.2e-05
weir_command_duration_seconds_bucket{command="rl.allow",le="1e-06"} 0
weir_command_duration_seconds_bucket{command="rl.allow",le="2.5e-06"} 0
weir_command_duration_seconds_bucket{command="rl.allow",le="5e-06"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="1e-05"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="2.5e-05"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="5e-05"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.0001"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.00025"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.001"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.005"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.025"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="0.1"} 4
weir_command_duration_seconds_bucket{command="rl.allow",le="+Inf"} 4
weir_command_duration_seconds_count{command="rl.charge"} 1
weir_command_duration_seconds_sum{command="rl.charge"} 3e-06
weir_command_duration_seconds_bucket{command="rl.charge",le="1e-06"} 0
weir_command_duration_seconds_bucket{command="rl.charge",le="2.5e-06"} 0
weir_command_duration_seconds_bucket{command="rl.charge",le="5e-06"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="1e-05"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="2.5e-05"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="5e-05"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.0001"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.00025"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.001"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.005"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.025"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="0.1"} 1
weir_command_duration_seconds_bucket{command="rl.charge",le="+Inf"} 1
# TYPE weir_commands_total counter
weir_commands_total{command="rl.allow"} 4
weir_commands_total{command="rl.charge"} 1
# TYPE weir_command_errors_total counter
weir_command_errors_total{command="rl.allow"} 2
weir_command_errors_total{command="rl.charge"} 0
# TYPE weir_errors_total counter
weir_errors_total{prefix="ERR"} 2
# TYPE weir_h2_closed_total counter
weir_h2_closed_total{reason="client"} 0
weir_h2_closed_total{reason="protocol_error"} 0
weir_h2_closed_total{reason="resets"} 0
weir_h2_closed_total{reason="control_frames"} 0
weir_h2_closed_total{reason="demotion"} 0
weir_h2_closed_total{reason="shutdown"} 0
weir_h2_closed_total{reason="age"} 0
# TYPE weir_check_incomplete_total counter
# TYPE weir_buckets gauge
weir_buckets 3
# TYPE weir_table_bytes gauge
weir_table_bytes 75
# TYPE weir_limits gauge
weir_limits 3
# TYPE weir_policies gauge
weir_policies 0
# TYPE weir_overrides gauge
weir_overrides 0
# TYPE weir_evicted_total counter
weir_evicted_total{full="false"} 0
weir_evicted_total{full="true"} 0
# TYPE weir_swept_total counter
weir_swept_total 0
# TYPE weir_holds gauge
weir_holds 0
# TYPE weir_hold_bytes gauge
weir_hold_bytes 0
# TYPE weir_holds_total counter
weir_holds_total{result="committed"} 0
weir_holds_total{result="cancelled"} 0
weir_holds_total{result="expired"} 0
weir_holds_total{result="lapsed"} 0
# TYPE weir_slices gauge
weir_slices 0
# TYPE weir_slice_tokens gauge
weir_slice_tokens 0
# TYPE weir_slices_granted_total counter
weir_slices_granted_total 0
# TYPE weir_slices_lapsed_total counter
weir_slices_lapsed_total 0
# TYPE weir_connections gauge
weir_connections{face="resp"} 1
weir_connections{face="http"} 0
weir_connections{face="admin"} 0
# TYPE weir_connections_max gauge
weir_connections_max 10000
# TYPE weir_connections_total counter
weir_connections_total 0
# TYPE weir_rejected_connections_total counter
weir_rejected_connections_total 0
# TYPE weir_waiters gauge
weir_waiters 0
# TYPE weir_clients_memory_bytes gauge
weir_clients_memory_bytes 0
# TYPE weir_events_dropped_total counter
weir_events_dropped_total 0
# TYPE weir_denied_access_total counter
weir_denied_access_total{reason="auth"} 0
weir_denied_access_total{reason="command"} 0
weir_denied_access_total{reason="key"} 0
weir_denied_access_total{reason="channel"} 0
# TYPE weir_loading gauge
weir_loading 0
# TYPE weir_replica gauge
weir_replica 0
# TYPE weir_deposed gauge
weir_deposed 0
# TYPE weir_replication_term gauge
weir_replication_term 0
# TYPE weir_replication_offset_bytes gauge
weir_replication_offset_bytes 0
# TYPE weir_replicas gauge
weir_replicas 0
# TYPE weir_replica_offset_bytes gauge
# TYPE weir_replica_lag_seconds gauge
# TYPE weir_replication_loss_bound_seconds gauge
# TYPE weir_health gauge
weir_health 0
)";

TEST(MetricsTest, ThePageOfASmallServer) {
  HttpTestServer server;
  server.clock.set_lap(std::chrono::microseconds{3});
  Conversation client(server);
  client.Run("RL.ALLOW user:42 3/m,burst=2,ban=1h 100/h,name=hourly");
  client.Run("RL.ALLOW user:42 3/m,burst=2,ban=1h 1/h,shadow");
  client.Run("RL.ALLOW user:42 3/m,burst=2,ban=1h 1/h,shadow");
  client.Run("RL.CHARGE user:42 100/h,name=hourly COST 1000");
  client.Run("RL.ALLOW user:42 nonsense");
  client.Run("RL.ALLOW user:42");
  EXPECT_EQ(WithoutVarying(TextOf(server)), kSmallPage);
}

// No key may be a label: there would be a series for each.
TEST(MetricsTest, NoKeyIsOnThePage) {
  HttpTestServer server;
  Conversation client(server);
  for (int i = 0; i < 3; ++i) client.Run("RL.ALLOW secret-key 1/h");
  client.Run("CL.THROTTLE secret-key 1 1 60");
  client.Run("SECRET-KEY secret-key");
  EXPECT_THAT(TextOf(server), testing::Not(HasSubstr("secret-key")));
}

// --- The numbers are those of INFO and RL.STATS -------------------------------------------------

std::map<std::string, std::string> InfoOf(Conversation& client) {
  std::map<std::string, std::string> fields;
  for (const absl::string_view line : absl::StrSplit(client.Ask("INFO all").text, "\r\n")) {
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    fields.insert(field);
  }
  return fields;
}

// The number of a field like "calls=7,usec=9".
double Part(const std::string& field, const std::string& name) {
  const std::size_t begin = ("," + field).find("," + name + "=");
  EXPECT_NE(begin, std::string::npos) << field;
  return std::strtod(field.c_str() + begin + name.size() + 1, nullptr);
}

class RandomLoad {
 public:
  explicit RandomLoad(std::uint64_t seed) : random_(seed) {}

  std::string Line() {
    switch (random_() % 12) {
      case 0:
        return absl::StrCat("RL.CHARGE ", Key(), " ", Limit(), " COST ", random_() % 20);
      case 1:
        return absl::StrCat("RL.TAKE ", Key(), " ", Limit(), " UPTO ", 1 + random_() % 5);
      case 2:
        return absl::StrCat("CL.THROTTLE ", Key(), " 3 5 60");
      case 3:
        return absl::StrCat("RL.PEEK ", Key(), " ", Limit());
      case 4:
        return absl::StrCat("RL.REFUND ", Key(), " ", Limit());
      case 5:
        return Wrong();
      case 6:
        return "PING";
      default:
        return absl::StrCat("RL.ALLOW ", Key(), " ", Limit(), " ", Limit());
    }
  }

 private:
  std::string Key() { return absl::StrCat("key:", random_() % 20); }
  std::string Limit() {
    constexpr std::array<const char*, 7> kLimits = {
        "5/m",         "3/10s,shadow", "4/h,name=four", "2/s,fixed,ban=5s",
        "9/d,sliding", "unlimited",    "@free"};
    return kLimits[random_() % kLimits.size()];
  }
  std::string Wrong() {
    constexpr std::array<const char*, 5> kWrong = {"RL.ALLOW k", "RL.ALLOW k 1/x", "NOTHING",
                                                   "AUTH user password", "GET k"};
    return kWrong[random_() % kWrong.size()];
  }

  std::mt19937_64 random_;
};

TEST(MetricsTest, TheNumbersAreThoseOfInfoAndStats) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    HttpTestServer server;
    server.clock.set_lap(std::chrono::nanoseconds{700});
    Worker second(server.services);
    Conversation one(server);
    Conversation two(server, second);
    one.Run("RL.POLICY SET free 6/m,name=free 60/h,shadow");
    RandomLoad load(seed);
    for (std::int64_t i = 0; i < Scaled(3'000); ++i) {
      (i % 2 == 0 ? one : two).Run(load.Line());
      server.clock.Advance(kLoginDelay);  // so that no command waits for the one before it
      if (i == Scaled(500)) one.Run("CONFIG RESETSTAT");
      if (i == Scaled(600)) one.Run("RL.STATS RESET");
    }
    const MetricsPage page = PageOf(server);
    std::size_t limits = 0;
    for (const RespValue& row : one.Ask("RL.STATS").elements) {
      const std::string& limit = row.elements[0].text;
      if (limit == "(total)") continue;
      ++limits;
      // A number that is 0 may be missing.
      const auto number_of = [&](const std::string& name, MetricLabels labels) {
        labels["limit"] = limit;
        return page.Find(name, labels).value_or(0);
      };
      const std::string decisions = "weir_limit_decisions_total";
      EXPECT_EQ(number_of(decisions, {{"result", "allowed"}}), row.elements[1].number);
      EXPECT_EQ(number_of(decisions, {{"result", "denied"}}), row.elements[2].number);
      EXPECT_EQ(number_of(decisions, {{"result", "shadow_denied"}}), row.elements[3].number);
      EXPECT_EQ(number_of("weir_limit_near_total", {}), row.elements[4].number);
      EXPECT_EQ(number_of("weir_bans_total", {}), row.elements[5].number);
      EXPECT_EQ(number_of("weir_charged_beyond_total", {}), row.elements[6].number);
    }
    EXPECT_EQ(page.families().at("weir_limit_near_total").samples.size(), limits);
    EXPECT_GT(limits, 5U);

    const auto info = InfoOf(one);
    const auto number = [&](const std::string& name) {
      return std::strtod(info.at(name).c_str(), nullptr);
    };
    const auto requests = [&](const std::string& result) {
      return page.Of("weir_requests_total", {{"face", "resp"}, {"result", result}});
    };
    EXPECT_EQ(requests("allowed"), number("allowed"));
    EXPECT_EQ(requests("denied"), number("denied"));
    EXPECT_EQ(page.Of("weir_buckets"), number("buckets"));
    EXPECT_EQ(page.Of("weir_table_bytes"), number("table_bytes"));
    EXPECT_EQ(page.Of("weir_limits"), number("limits"));
    EXPECT_EQ(page.Of("weir_connections", {{"face", "resp"}}), number("connected_clients"));
    EXPECT_EQ(page.Of("weir_connections_max"), number("maxclients"));
    std::size_t commands = 0;
    for (const auto& [name, value] : info) {
      if (name.starts_with("errorstat_")) {
        EXPECT_EQ(page.Of("weir_errors_total", {{"prefix", name.substr(10)}}),
                  Part(value, "count"));
      }
      if (!name.starts_with("cmdstat_") || name == "cmdstat_rl.stats") continue;
      ++commands;
      const MetricLabels command = {{"command", name.substr(8)}};
      EXPECT_EQ(page.Of("weir_commands_total", command), Part(value, "calls")) << name;
      EXPECT_EQ(page.Of("weir_command_errors_total", command),
                Part(value, "rejected_calls") + Part(value, "failed_calls"))
          << name;
    }
    EXPECT_GT(commands, 7U);
  }
}

// A duration is in the first bucket whose bound it does not exceed; one that lies less than an
// eighth below a bound may be in the next.
TEST(MetricsTest, ADurationIsNeverCountedAsShorter) {
  constexpr std::array<const char*, 13> kBounds = {
      "1e-06",   "2.5e-06", "5e-06", "1e-05", "2.5e-05", "5e-05", "0.0001",
      "0.00025", "0.001",   "0.005", "0.025", "0.1",     "+Inf"};
  HttpTestServer server;
  Conversation client(server);
  for (std::int64_t nanos = 1; nanos < 400'000'000; nanos = nanos * 21 / 20 + 1) {
    server.clock.set_lap(Nanos{nanos});
    client.Run("CONFIG RESETSTAT");
    client.Run("RL.ALLOW k 1/s");
    const MetricsPage page = PageOf(server);
    for (const char* bound : kBounds) {
      const std::string name = "weir_command_duration_seconds";
      const double counted = page.families().at(name).samples.at(
          {name + "_bucket", {{"command", "rl.allow"}, {"le", bound}}});
      const double seconds = static_cast<double>(nanos) / 1e9;
      const double limit = std::strtod(bound, nullptr);
      const bool may_count = seconds <= limit;
      const bool must_count = seconds * 9 / 8 < limit;
      EXPECT_LE(counted, may_count ? 1 : 0) << nanos << " ns, " << bound;
      EXPECT_GE(counted, must_count ? 1 : 0) << nanos << " ns, " << bound;
    }
  }
}

// --- The labels of limits -----------------------------------------------------------------------

TEST(MetricsTest, MoreLimitsThanTheOptionSaysAreFolded) {
  Options options = DefaultOptions();
  options.metrics_max_limits = 3;
  HttpTestServer server(options);
  Conversation client(server);
  for (int i = 0; i < 10; ++i) client.Run(absl::StrCat("RL.ALLOW key:", i, " 5/s,name=limit-", i));
  const MetricsPage page = PageOf(server);
  EXPECT_EQ(page.families().at("weir_limit_near_total").samples.size(), 4U);
  EXPECT_EQ(page.Of("weir_metrics_limits_folded"), 7);
  EXPECT_EQ(page.Of("weir_limit_decisions_total", {{"limit", "(others)"}, {"result", "allowed"}}),
            7);
}

// No client takes the series of others by writing out many limits, on any thread, before the first
// scrape or after it, and over RL.STATS RESET.
TEST(MetricsTest, PoliciesAndLabelsHaveASeriesHoweverManyLimitsAreSpelledOut) {
  HttpTestServer server;
  Worker second(server.services);
  Conversation client(server);
  Conversation flood(server, second);
  client.Run("RL.POLICY SET free 10/s");
  int spelled_out = 0;
  for (const int limits : {601, 6'000, 600}) {
    for (int i = 0; i < limits; ++i) {
      ++spelled_out;
      flood.Run(absl::StrCat("RL.ALLOW k", spelled_out, " ", spelled_out, "/m"));
    }
    client.Run("RL.ALLOW u @free");
    flood.Run("RL.ALLOW u @free");
    flood.Run("RL.ALLOW pay 77/s,name=payments");
    const MetricsPage page = PageOf(server);
    for (const auto& [limit, allowed] : {std::pair{"@free#0", 2}, {"payments", 1}}) {
      EXPECT_EQ(page.Find("weir_limit_decisions_total", {{"limit", limit}, {"result", "allowed"}}),
                allowed)
          << limit;
    }
    EXPECT_EQ(page.Of("weir_limit_decisions_total", {{"limit", "(others)"}, {"result", "allowed"}}),
              limits - (spelled_out == limits ? 498 : 0));
    client.Run("RL.STATS RESET");
  }
}

TEST(MetricsTest, TextsAreEscaped) {
  HttpTestServer server;
  server.worker.CountError("A\"B\\C{}=,\xff is wrong");
  EXPECT_EQ(PageOf(server).Of("weir_errors_total", {{"prefix", "A\"B\\C{}=,?"}}), 1);
}

// --- Access, turns, locks -----------------------------------------------------------------------

TEST(MetricsTest, TheAdminPortHasThePage) {
  HttpTestServer server;
  HttpConversation decisions(server);
  HttpConversation admin(server, Face::kAdmin);
  EXPECT_EQ(StatusOf(decisions.Get("/metrics")), 404);
  const std::string response = admin.Get("/metrics");
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_EQ(FieldOf(response, "Content-Type"), kMetricsType);
  EXPECT_THAT(std::string(BodyOf(response)), StartsWith("# HELP weir_limit_decisions_total "));
  EXPECT_EQ(StatusOf(admin.Post("/metrics", "")), 405);
  EXPECT_EQ(BodyOf(admin.Request("HEAD", "/metrics", "", "")), "");
  EXPECT_EQ(PageOf(server).Of("weir_http_responses_total", {{"route", "metrics"}, {"code", "2xx"}}),
            2);
}

TEST(MetricsTest, OnlyUsersWhoMaySeeInfoAndStatsMayScrape) {
  const TemporaryDirectory directory;
  HttpTestServer server;
  constexpr std::string_view kUsers =
      "user eye on >see ~* +INFO +RL.STATS\nuser app on >secret ~* +@limit +INFO\n"
      "user half on >secret ~* +RL.STATS\n";
  ASSERT_TRUE(server.services.access.Configure("", directory.Write("users", kUsers)).ok());
  HttpConversation client(server, Face::kAdmin);
  const auto get = [&](std::string_view login) {
    const std::string field =
        absl::StrCat("Authorization: Basic ", absl::Base64Escape(AbslView(login)), "\r\n");
    return StatusOf(client.Get("/metrics", field));
  };
  EXPECT_EQ(StatusOf(client.Get("/metrics")), 401);
  EXPECT_EQ(get("eye:see"), 200);
  EXPECT_EQ(get("app:secret"), 403);
  EXPECT_EQ(get("half:secret"), 403);
  EXPECT_EQ(StatusOf(client.Get("/metrics")), 401) << "no login stays for the next request";
  EXPECT_EQ(get("eye:wrong"), 401);
  const MetricsPage page = PageOf(server);
  EXPECT_EQ(page.Of("weir_denied_access_total", {{"reason", "command"}}), 2);
  EXPECT_EQ(page.Of("weir_denied_access_total", {{"reason", "auth"}}), 1);
  EXPECT_EQ(server.services.access_log.Latest(9).at(1).object, "info");
}

// A page takes longer than other requests, so other clients come before the next ones.
TEST(MetricsTest, APageIsChargedToItsTurn) {
  HttpTestServer server;
  HttpConversation client(server, Face::kAdmin);
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += "GET /metrics HTTP/1.1\r\nHost: weir\r\n\r\n";
  std::string out;
  const ClientSession::Turn turn = client.session().Execute(requests, out);
  EXPECT_EQ(turn.next, ClientSession::Next::kContinue);
  EXPECT_LT(turn.consumed, requests.size() / 2);
  EXPECT_EQ(StatusOf(out), 200);
}

// Goal: a scrape never waits for a decision, and no decision for a scrape. Method: it ends while
// another thread holds all partitions.
TEST(MetricsTest, APageNeedsNoLockOfTheTable) {
  HttpTestServer server;
  Conversation(server).Run("RL.ALLOW k 1/s");
  const Isolation everything(server.limiter->table());
  std::thread([&] { EXPECT_EQ(PageOf(server).Of("weir_buckets"), 1); }).join();
}

}  // namespace
}  // namespace weir
