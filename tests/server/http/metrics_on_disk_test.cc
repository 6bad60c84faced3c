// Goal: a server that keeps its state shows its saves, and docs/metrics.md lists what such a server
// shows. Method: a state in a directory of the test; the page beside the documentation.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/version.h"
#include "server/http/check_routes.h"
#include "server/measures/measure.h"
#include "tests/support/fake_replication.h"
#include "tests/support/http_conversation.h"
#include "tests/support/http_server_on_disk.h"
#include "tests/support/metrics_page.h"

namespace weir {
namespace {

TEST(MetricsOnDiskTest, SavesAreShownOnceTheStateIsLoaded) {
  HttpServerOnDisk on_disk;
  HttpTestServer& server = on_disk.server();
  const MetricsPage loading = PageOf(server);
  EXPECT_EQ(loading.Of("weir_loading"), 1);
  EXPECT_FALSE(loading.families().contains("weir_saves_total"));
  on_disk.Load();
  Conversation client(server);
  client.Run("RL.ALLOW a 1/h");
  client.Run("RL.ALLOW b 1/h");
  server.clock.Advance(std::chrono::milliseconds{2'500});
  server.services.host_clock_offset = [] { return Nanos{std::chrono::seconds{-10}}; };
  const MetricsPage page = PageOf(server);
  const auto start = static_cast<double>(FakeClock::kStart.time_since_epoch().count()) / 1e9;
  EXPECT_EQ(page.Of("weir_loading"), 0);
  EXPECT_EQ(page.Of("weir_unsaved_changes"), 2);
  EXPECT_EQ(page.Of("weir_saves_total"), 0);
  EXPECT_EQ(page.Of("weir_save_failures_total"), 0);
  EXPECT_EQ(page.Of("weir_loss_bound_seconds"), 2.5);
  EXPECT_EQ(page.Of("weir_last_save_timestamp_seconds"), start - 10);
  EXPECT_EQ(page.Of("process_start_time_seconds"), start - 10);
  const auto by_the_wall = std::to_string(static_cast<std::int64_t>(start) - 10);
  EXPECT_EQ(client.Run("LASTSAVE"), ":" + by_the_wall + "\r\n");
  EXPECT_THAT(client.Run("INFO persistence"),
              testing::HasSubstr("rdb_last_save_time:" + by_the_wall + "\r\n"));
  EXPECT_EQ(
      page.Of("weir_build_info", {{"version", std::string(kVersion)}, {"durability", "snapshot"}}),
      1);
}

// Goal: docs/metrics.md lists what is served. Method: its rows | `name` | type | labels | meaning |
// beside the pages of a server that has everything, in both roles.
TEST(MetricsOnDiskTest, TheDocumentationListsThem) {
  Options options = DefaultOptions();
  options.rls_config = "rules.yaml";
  options.rls_xds.servers = {{"gateway", 1}};  // which no real server has beside files
  options.rls_metrics = RlsMetrics::kReference;
  HttpServerOnDisk on_disk(Durability::kSnapshot, options);
  on_disk.Load();
  Conversation client(on_disk.server());
  client.Run("RL.CHARGE k 1/h COST 2");
  for (int i = 0; i < 2; ++i) client.Run("RL.ALLOW banned 1/m,ban=1h");
  client.Run("RL.ALLOW k");
  client.Run("CONFIG SET min-replicas-to-write 1 ack-replicas 1");
  ReferenceCounters& reference = on_disk.server().services.rls_reference;
  reference.Of("shop.user.path", false).total_hits.store(1);
  reference.CountUnknownDomain("DOMAIN", 1);
  on_disk.server().http.checks.Replace({{"api", std::make_shared<const CheckRoute>()}});
  std::map<std::string, std::string> documented;
  std::map<std::string, std::set<std::string>> labels;
  std::ifstream file(WEIR_SOURCE_DIR "/docs/metrics.md");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() != 4 || !cells[0].starts_with("| `")) continue;
    const std::string name = cells[0].substr(3, cells[0].size() - 4);
    documented[name] = cells[1] + ": " + cells[3].substr(0, cells[3].size() - 2);
    const std::vector<std::string> words = absl::StrSplit(cells[2], '`');
    for (std::size_t i = 1; i < words.size(); i += 2) labels[name].insert(words[i]);
  }
  FakeReplication replication(on_disk.server().services);
  replication.shown.replicas = {{.ip = "10.0.0.2", .port = 7379, .online = true}};
  replication.shown.loss_bound = Nanos{0};
  const MetricsPage of_primary = PageOf(on_disk.server());
  replication.BecomeReplica();
  replication.shown.link->data_age = Nanos{0};
  const MetricsPage of_replica = PageOf(on_disk.server());
  Options of_an_edge = DefaultOptions();
  of_an_edge.edge_of.servers = {{"127.0.0.1", 1}};
  HttpTestServer edge(of_an_edge);
  const MetricsPage of_edge = PageOf(edge);
  std::map<std::string, std::string> served;
  for (const MetricsPage* page : {&of_primary, &of_replica, &of_edge}) {
    for (const auto& [name, family] : page->families()) {
      if (page == &of_edge && served.contains(name)) continue;  // nothing has happened there
      served[name] = family.type + ": " + family.help;
      ASSERT_FALSE(family.samples.empty()) << name;
      for (const auto& [sample, value] : family.samples) {
        std::set<std::string> names;
        for (const auto& [label, text] : sample.second) names.insert(label);
        names.erase("le");
        EXPECT_EQ(names, labels[name]) << name;
      }
    }
  }
  EXPECT_EQ(documented, served);
  for (const Measure& measure : Measures()) {
    const std::string name(measure.names.metric);
    EXPECT_TRUE(name.empty() || served.contains(name)) << name;
  }
}

}  // namespace
}  // namespace weir
