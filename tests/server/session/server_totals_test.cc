// Goal: totals are the sums over the threads since the last reset; a reset loses no count and may
// come at any time. Method: two workers; one thread that counts while others reset.
#include "server/session/server_totals.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const CommandSpec& PingRow() { return *FindCommand("PING"); }

std::uint64_t CountOf(StatsRow<false> row, const Services& services) {
  return services.totals.CountersOf(services)[row.index()];
}

TEST(ServerTotalsTest, AddsUpTheThreads) {
  TestServer server;
  Worker second(server.services);
  Conversation one(server);
  Conversation two(server, second);
  one.Send("PING\r\nPING\r\nAUTH x y z\r\n");
  two.Send("PING\r\nPING a b\r\nNOSUCH\r\n");
  const ServerTotals& report = server.services.totals;
  const CommandRows rows = report.CommandsOf(server.services);
  EXPECT_EQ(TotalOf(rows.at(&PingRow()).times), 3U);
  EXPECT_EQ(rows.at(&PingRow()).rejected, 1U);
  EXPECT_EQ(rows.at(FindCommand("AUTH")).failed, 1U);
  EXPECT_THAT(report.ErrorsOf(server.services), ElementsAre(Pair("ERR", 3)));
  EXPECT_EQ(CountOf("total_commands_processed", server.services), 6U);
  EXPECT_EQ(CountOf("total_error_replies", server.services), 3U);
}

// A law for all counters, including any that is added later.
TEST(ServerTotalsTest, EveryCounterIsSummedOverTheThreadsAndReset) {
  TestServer server;
  Services& services = server.services;
  Worker second(services);
  for (std::size_t i = 0; i < kStatsFieldCount; ++i) {
    if (kStatsFields[i].is_rate) continue;
    const StatsRow<false> row(i);
    services.main_counters[row].Add(1);
    server.worker.counters[row].Add(10);
    second.counters[row].Add(100 * (i + 1));
    StatsNumbers expected{};
    expected[i] = 11 + 100 * (i + 1);
    EXPECT_EQ(services.totals.CountersOf(services), expected) << kStatsFields[i].name;
    services.totals.Reset(services);
    EXPECT_EQ(services.totals.CountersOf(services), StatsNumbers{}) << kStatsFields[i].name;
    second.counters[row].Add(7);
    expected[i] = 7;
    EXPECT_EQ(services.totals.CountersOf(services), expected) << kStatsFields[i].name;
    services.totals.Reset(services);
  }
}

TEST(ServerTotalsTest, AResetForgetsAllThatIsCounted) {
  Conversation client;
  Services& services = client.server().services;
  services.main_counters["total_connections_received"].Add(5);
  client.Send("PING\r\nNOSUCH\r\n*x\r\n");
  services.totals.Reset(services);
  EXPECT_THAT(services.totals.CommandsOf(services), IsEmpty());
  EXPECT_THAT(services.totals.ErrorsOf(services), IsEmpty());
  EXPECT_EQ(services.totals.CountersOf(services), StatsNumbers{});
  Conversation other(client.server());
  other.Run("PING");
  EXPECT_EQ(TotalOf(services.totals.CommandsOf(services).at(&PingRow()).times), 1U);
  EXPECT_EQ(CountOf("total_commands_processed", services), 1U);
}

TEST(ServerTotalsTest, EvictedClientsAreForgottenByAReset) {
  Conversation client;
  Services& services = client.server().services;
  EXPECT_EQ(client.Run("CONFIG SET max-clients-memory 1mb"), "+OK\r\n");
  const auto evict_one = [&] {
    services.client_memory.Set(*services.clients.Add("1.2.3.4:5", "1.2.3.4:6", 7, HostInstant{}),
                               2'000'000);
  };
  evict_one();
  EXPECT_EQ(CountOf("evicted_clients", services), 1U);
  services.totals.Reset(services);
  EXPECT_EQ(CountOf("evicted_clients", services), 0U);
  evict_one();
  EXPECT_EQ(CountOf("evicted_clients", services), 1U);
  EXPECT_EQ(services.client_memory.evicted(), 2U);
}

// For ThreadSanitizer: no thread waits for another, and no total exceeds the number of events.
TEST(ServerTotalsTest, ResetsWhileOthersCount) {
  TestServer server;
  std::atomic<bool> done{false};
  std::thread counter([&] {
    server.worker.thread.TakeOver();
    Conversation client(server);
    for (int i = 0; i < 2000; ++i) client.Send("PING\r\nNOSUCH\r\n");
    done = true;
  });
  const ServerTotals& report = server.services.totals;
  while (!done) {
    server.services.totals.Reset(server.services);
    const CommandRows rows = report.CommandsOf(server.services);
    if (const auto ping = rows.find(&PingRow()); ping != rows.end()) {
      EXPECT_LE(TotalOf(ping->second.times), 2000U);
    }
    EXPECT_LE(CountOf("total_error_replies", server.services), 2000U);
  }
  counter.join();
}

}  // namespace
}  // namespace weir
