// Goal: the registry lists exactly the open connections, oldest first, in lines that tools can
// parse. Method: examples, and threads that connect, disconnect, write and read at once (for
// ThreadSanitizer).
#include "server/observe/client_registry.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(HostOfTest, TakesThePortAndTheBracketsAway) {
  EXPECT_EQ(HostOf("127.0.0.1:50000"), "127.0.0.1");
  EXPECT_EQ(HostOf("[::1]:50000"), "::1");
  EXPECT_EQ(HostOf("/run/weir.sock:0"), "/run/weir.sock");
}

using std::chrono::seconds;
using testing::ElementsAre;

constexpr HostInstant kNow = FakeClock::kHostStart;

std::vector<std::uint64_t> Ids(const ClientRegistry& registry) {
  std::vector<std::uint64_t> ids;
  for (const auto& record : registry.All()) ids.push_back(record->id);
  return ids;
}

TEST(ClientRegistryTest, ListsWhatIsOpenOldestFirst) {
  ClientRegistry registry;
  EXPECT_EQ(registry.size(), 0U);
  const auto one = registry.Add("127.0.0.1:1", "127.0.0.1:7379", 10, kNow);
  const auto two = registry.Add("127.0.0.1:2", "127.0.0.1:7379", 11, kNow);
  const auto three = registry.Add("127.0.0.1:3", "127.0.0.1:7379", 12, kNow);
  EXPECT_THAT(Ids(registry), ElementsAre(1, 2, 3));
  registry.Remove(*two);
  EXPECT_THAT(Ids(registry), ElementsAre(1, 3));
  registry.Remove(*two);
  EXPECT_EQ(registry.size(), 2U);
  // A number is never reused.
  registry.Remove(*three);
  EXPECT_EQ(registry.Add("127.0.0.1:4", "127.0.0.1:7379", 12, kNow)->id, 4U);
}

// A connection counts from its announcement, so a burst of connections cannot exceed the bound.
TEST(ClientRegistryTest, AnAnnouncedClientCountsAndIsListedOnceItIsAdded) {
  ClientRegistry registry;
  ClientArrival first = registry.Announce("127.0.0.1:1", "127.0.0.1:7379", 10, kNow);
  ClientArrival second = registry.Announce("127.0.0.1:2", "127.0.0.1:7379", 11, kNow);
  EXPECT_EQ(registry.size(), 2U);
  EXPECT_THAT(Ids(registry), ElementsAre());
  const auto two = registry.Add(std::move(second));  // by another thread than the first, and sooner
  const auto one = registry.Add(std::move(first));
  EXPECT_EQ(registry.size(), 2U);
  EXPECT_THAT(Ids(registry), ElementsAre(1, 2));
  registry.Remove(*one);
  EXPECT_EQ(registry.size(), 1U);
}

// The killed client's connection may take a while to end, and counts until then.
TEST(ClientRegistryTest, AKilledClientIsNotFound) {
  ClientRegistry registry;
  const auto one = registry.Add("127.0.0.1:1", "127.0.0.1:7379", 10, kNow);
  const auto two = registry.Add("127.0.0.1:2", "127.0.0.1:7379", 11, kNow);
  one->killed = true;
  EXPECT_THAT(Ids(registry), ElementsAre(2));
  EXPECT_EQ(registry.Find(1), nullptr);
  EXPECT_EQ(registry.Find(2), two);
  EXPECT_EQ(registry.size(), 2U);
}

// A record may be read after its removal.
TEST(ClientRegistryTest, ARecordOutlivesItsRemoval) {
  ClientRegistry registry;
  auto record = registry.Add("[::1]:1", "[::1]:7379", 10, kNow);
  const auto listed = registry.All();
  registry.Remove(*record);
  record.reset();
  EXPECT_EQ(listed[0]->address, "[::1]:1");
}

TEST(ClientRecordTest, TheLineHasTheFieldsOfRedis) {
  ClientRecord record({42, "10.0.0.1:50000", "10.0.0.2:7379", 9, kNow, Face::kResp});
  EXPECT_EQ(record.Line(kNow),
            "id=42 addr=10.0.0.1:50000 laddr=10.0.0.2:7379 fd=9 name= age=0 idle=0 flags=N db=0 "
            "sub=0 psub=0 ssub=0 "
            "multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 "
            "tot-mem=0 events=r "
            "cmd=NULL user= redir=-1 resp=2 lib-name= lib-ver=");
  record.set_name("worker-1");
  record.set_user("default");
  record.set_library("redis-py");
  record.set_library_version("5.2.0");
  record.protocol = 3;
  record.input_bytes = 20;
  record.output_bytes = 30;
  record.held_bytes = 55;
  record.last_command = FindCommand("CLIENT|LIST");
  record.last_active_ns = (kNow + seconds{8}).time_since_epoch().count();
  EXPECT_EQ(
      record.Line(kNow + seconds{10} - Nanos{1}),
      "id=42 addr=10.0.0.1:50000 laddr=10.0.0.2:7379 fd=9 name=worker-1 age=9 idle=1 flags=N db=0 "
      "sub=0 psub=0 "
      "ssub=0 multi=-1 qbuf=20 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=30 "
      "tot-mem=55 "
      "events=r cmd=client|list user=default redir=-1 resp=3 lib-name=redis-py lib-ver=5.2.0");
  EXPECT_EQ(record.name(), "worker-1");
}

TEST(ClientRecordTest, TheFlagsTellWhatAClientIs) {
  ClientRecord record({42, "/run/weir.sock:0", "/run/weir.sock:0", 9, kNow, Face::kResp});
  EXPECT_THAT(record.Line(kNow), testing::HasSubstr(" flags=U "));
  record.stays = true;
  record.monitors = true;
  EXPECT_THAT(record.Line(kNow), testing::HasSubstr(" flags=OUe "));
}

// Another thread's clock reading may be a little later than ours.
TEST(ClientRecordTest, ALittleInTheFutureIsNow) {
  ClientRecord record({1, "a", "b", 1, kNow, Face::kResp});
  record.last_active_ns = (kNow + std::chrono::milliseconds{900}).time_since_epoch().count();
  EXPECT_THAT(record.Line(kNow), testing::HasSubstr(" idle=0 "));
}

TEST(ClientRegistryTest, ThreadsComeGoAndLook) {
  ClientRegistry registry;
  const std::int64_t rounds = Scaled(2'000);
  std::atomic<int> running = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::int64_t round = 0; round < rounds; ++round) {
        const auto record = registry.Add("peer", "own", i, kNow);
        record->set_name("name" + std::to_string(round));
        record->set_library("library");
        record->last_active_ns = kNow.time_since_epoch().count();
        record->last_command = FindCommand("PING");
        registry.Remove(*record);
      }
      --running;
    });
  }
  while (running > 0) {
    std::uint64_t last = 0;
    for (const auto& record : registry.All()) {
      EXPECT_GT(record->id, last);
      last = record->id;
      EXPECT_THAT(record->Line(kNow),
                  testing::StartsWith("id=" + std::to_string(last) + " addr=peer "));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.size(), 0U);
  EXPECT_EQ(registry.Add("peer", "own", 0, kNow)->id, static_cast<std::uint64_t>(4 * rounds + 1));
}

}  // namespace
}  // namespace weir
