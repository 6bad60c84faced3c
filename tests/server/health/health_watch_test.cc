// Goal: the watch reads the facts of the server that it watches, each from where it is, and shows
// the verdict of its last look. Method: a server without sockets, brought into each state and out
// of it; the clock is stopped between two looks.
#include "server/health/health_watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/table/table_bound.h"
#include "server/os/process.h"
#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"
#include "tests/support/http_server_on_disk.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// A minute as the watch keeps it, and more.
constexpr Nanos kLongerThanAMinute = LastMinute::kLength + 2 * LastMinute::kStep;

class HealthWatchTest : public testing::Test {
 protected:
  explicit HealthWatchTest(const Options& options = DefaultOptions(), LimiterOptions limits = {})
      : server_(options, WithSecret(limits)) {
    server_.services.port = 7379;
    watch_.Look();
  }

  // The codes after a second and a look.
  std::string Codes() {
    server_.clock.Advance(kLookInterval);
    watch_.Look();
    return CodesOf(*HealthOf(server_.services));
  }
  // The codes when the last minute has passed.
  std::string CodesLater() {
    for (Nanos passed{}; passed < kLongerThanAMinute; passed += kLookInterval) {
      static_cast<void>(Codes());
    }
    return Codes();
  }

  TestServer server_;
  HealthWatch watch_{server_.services};
  Conversation client_{server_};

 private:
  static LimiterOptions WithSecret(LimiterOptions limits) {
    limits.secret = TestServer::kSecret;
    return limits;
  }
};

TEST_F(HealthWatchTest, ANewServerIsWell) {
  EXPECT_EQ(Codes(), "");
  EXPECT_EQ(*watch_.health(), Health{});
  EXPECT_EQ(CodesLater(), "");
}

TEST_F(HealthWatchTest, AVerdictThatWasHandedOutDoesNotChange) {
  FakeReplication replication(server_.services);
  replication.Gate();
  EXPECT_EQ(Codes(), "gated");
  const std::shared_ptr<const Health> before = watch_.health();
  const Health copy = *before;
  replication.BecomePrimary();
  EXPECT_EQ(Codes(), "");
  EXPECT_EQ(*before, copy);
}

TEST_F(HealthWatchTest, RolesAndTheLinkAreRead) {
  FakeReplication replication(server_.services);
  replication.Gate();
  EXPECT_EQ(Codes(), "gated");
  replication.Depose();
  EXPECT_EQ(Codes(), "deposed");
  replication.BecomeReplica(false, true);
  EXPECT_EQ(Codes(), "loading");
  replication.BecomeReplica(true, false);
  EXPECT_EQ(Codes(), "link_down");
  EXPECT_EQ(watch_.health()->reasons[0].text, "the primary 10.0.0.1:7379 is not heard");
  replication.BecomeReplica(true, true);
  EXPECT_EQ(Codes(), "");
}

TEST_F(HealthWatchTest, AReplicaThatLeavesIsMissed) {
  FakeReplication replication(server_.services);
  replication.shown.replicas = {{.ip = "10.0.0.3", .port = 7379, .online = true}};
  EXPECT_EQ(Codes(), "");
  replication.shown.replicas.clear();
  EXPECT_EQ(Codes(), "");
  EXPECT_EQ(Codes(), "");
  EXPECT_EQ(Codes(), "replica_away");
  EXPECT_EQ(watch_.health()->reasons[0].text, "replica 10.0.0.3:7379 is away");
  replication.shown.replicas = {{.ip = "10.0.0.3", .port = 7379, .online = true}};
  EXPECT_EQ(Codes(), "");
  replication.shown.replicas.clear();
  replication.BecomeReplica();
  EXPECT_EQ(Codes(), "");
  replication.BecomePrimary();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Codes(), "") << "its replicas are those of its time";
}

TEST_F(HealthWatchTest, APrimaryThatLacksReplicasSaysHowMany) {
  FakeReplication replication(server_.services);
  ASSERT_EQ(client_.Show("CONFIG SET min-replicas-to-write 2"), "OK");
  replication.shown.good_replicas = 1;
  replication.AdmitUntil(server_.clock.Now());
  EXPECT_EQ(Codes(), "too_few_replicas");
  EXPECT_THAT(watch_.health()->reasons[0].text, HasSubstr("1 of 2 needed replicas"));
  replication.AdmitUntil(kInstantMax);
  EXPECT_EQ(Codes(), "");
}

TEST_F(HealthWatchTest, ErrorsOfTheLastMinuteAreCounted) {
  for (int i = 0; i < 9; ++i) client_.Send("NONSENSE\r\n");
  EXPECT_EQ(Codes(), "");
  client_.Send("NONSENSE\r\n");
  EXPECT_EQ(Codes(), "errors");
  for (int i = 0; i < 990; ++i) client_.Send("PING\r\n");
  EXPECT_EQ(Codes(), "") << "one in a hundred";
  for (int i = 0; i < 10; ++i) client_.Send("NONSENSE\r\n");
  EXPECT_EQ(Codes(), "errors");
  client_.Send("CONFIG RESETSTAT\r\n");
  EXPECT_EQ(Codes(), "errors") << "the verdict has its own minute";
  EXPECT_EQ(CodesLater(), "");
}

TEST_F(HealthWatchTest, SlowCallsOfTheLastMinuteAreCounted) {
  server_.clock.set_lap(milliseconds{12});
  for (int i = 0; i < 150; ++i) client_.Send("PING\r\n");
  EXPECT_EQ(Codes(), "") << "no call for tokens";
  for (int i = 0; i < 100; ++i) client_.Send("RL.ALLOW k 10/s\r\n");
  EXPECT_EQ(Codes(), "slow");
  EXPECT_THAT(watch_.health()->reasons[0].text, HasSubstr("1 % of the calls"));
  EXPECT_EQ(CodesLater(), "");
}

TEST_F(HealthWatchTest, RejectedClientsOfTheLastMinuteAreCounted) {
  server_.services.main_counters["rejected_connections"].Add(3);
  EXPECT_EQ(Codes(), "rejecting_clients");
  EXPECT_THAT(watch_.health()->reasons[0].text, HasSubstr("turned away within a minute: 3"));
  EXPECT_EQ(CodesLater(), "");
}

TEST_F(HealthWatchTest, TheClockOfDecisionsIsComparedWithTheWallClock) {
  server_.services.wall_clock_offset = [] { return milliseconds{-1'001}; };
  EXPECT_EQ(Codes(), "clock_off");
  FakeReplication replication(server_.services);
  replication.BecomeReplica();
  EXPECT_EQ(Codes(), "") << "that of a replica is its primary's";
  replication.BecomePrimary();
  EXPECT_EQ(Codes(), "clock_off");
  server_.services.wall_clock_offset = [] { return seconds{1}; };
  EXPECT_EQ(Codes(), "");
}

// The time of decisions jumps when a server begins to follow: a reason lasts as long as it does.
TEST_F(HealthWatchTest, TheTimesOfReasonsAreThoseOfTheHost) {
  FakeReplication replication(server_.services);
  replication.BecomeReplica(true, false);
  EXPECT_EQ(Codes(), "link_down");
  const HostInstant since = watch_.health()->reasons[0].since;
  EXPECT_EQ(since, server_.clock.HostNow());
  server_.clock.Jump(-std::chrono::hours{100});
  EXPECT_EQ(Codes(), "link_down");
  EXPECT_EQ(watch_.health()->reasons[0].since, since);
  EXPECT_EQ(server_.clock.HostNow() - since, kLookInterval);
}

// --- Memory -------------------------------------------------------------------------------------

constexpr std::size_t kBound = TableBound::kBytesMin;

class HealthOfMemoryTest : public HealthWatchTest {
 protected:
  HealthOfMemoryTest() : HealthWatchTest(Bounded(), {.memory_max = kBound}) {}

  static constexpr std::size_t kBatch = 32;

  // Takes a token of each of kBatch new keys.
  void TakeSome(std::string_view limit) {
    std::string request = "RL.ALLOW";
    for (std::size_t i = 0; i < kBatch; ++i) {
      absl::StrAppend(&request, i == 0 ? " k" : " AND k", keys_++, " ", AbslView(limit));
    }
    client_.Send(request + "\r\n");
  }
  std::uint64_t Permille() { return MemoryPermille(server_.services).value(); }
  // Whether there is an event whose text begins so.
  bool IsNoted(std::string_view begin) {
    return std::ranges::any_of(watch_.events().Since(0), [&](const ServerEvent& event) {
      return event.text.starts_with(begin);
    });
  }

 private:
  static Options Bounded() {
    Options options = DefaultOptions();
    options.max_memory.bytes = kBound;
    return options;
  }

  std::uint64_t keys_ = 0;
};

TEST_F(HealthOfMemoryTest, BucketsInUseThatAreDroppedFillIt) {
  while (server_.services.upkeep.counts().evicted == 0) TakeSome("10/d");
  EXPECT_EQ(Codes(), "memory_full");
  EXPECT_GT(Permille(), kMemoryHighPermille / 2);
  EXPECT_TRUE(IsNoted("memory is full: "));
  EXPECT_FALSE(IsNoted("over: memory is full: "));
  const std::string later = CodesLater();
  EXPECT_TRUE(later.empty() || later == "memory_high") << later;
  EXPECT_TRUE(IsNoted("over: memory is full: "));
  while (Permille() < 1'000) TakeSome("10/d");
  EXPECT_EQ(Codes(), "memory_full");
  EXPECT_EQ(CodesLater(), "memory_high") << "it has dropped none for a minute";
  ASSERT_EQ(client_.Show("FLUSHALL"), "OK");
  EXPECT_EQ(Codes(), "");
  EXPECT_EQ(Permille(), 0U);
}

TEST_F(HealthOfMemoryTest, FullBucketsThatAreDroppedEarlyAreAFirstSign) {
  while (server_.services.upkeep.size().buckets < 100'000) TakeSome("10/s");
  server_.clock.Advance(seconds{10});  // all are full
  while (server_.services.upkeep.counts().evicted_full == 0) TakeSome("10/d");
  EXPECT_EQ(server_.services.upkeep.counts().evicted, 0U);
  EXPECT_EQ(Codes(), "evicting");
}

TEST_F(HealthOfMemoryTest, HoldsMakeItHigh) {
  std::uint64_t id = 0;
  while (Permille() < kMemoryHighPermille) {
    EXPECT_EQ(CodesOf(*watch_.health()), "");
    const std::string reply =
        client_.Send(absl::StrCat("RL.RESERVE k", ++id, " 10/d HOLD h TTL 60000\r\n"));
    ASSERT_FALSE(reply.starts_with('-')) << reply;
  }
  EXPECT_EQ(Codes(), "memory_high");
  EXPECT_EQ(watch_.health()->reasons[0].text, "memory: 80 % of the room for buckets or holds");
}

TEST_F(HealthWatchTest, WithoutABoundMemoryIsNeverHigh) {
  EXPECT_EQ(MemoryPermille(server_.services), std::nullopt);
}

// --- The disk -----------------------------------------------------------------------------------

TEST(HealthOnDiskTest, TheStateIsLoadingUntilItIsLoaded) {
  HttpServerOnDisk on_disk;
  HttpTestServer& server = on_disk.server();
  HealthWatch watch(server.services);
  watch.Look();
  EXPECT_EQ(CodesOf(*watch.health()), "loading");
  on_disk.Load();
  watch.Look();
  EXPECT_EQ(CodesOf(*watch.health()), "");
}

// --- The doors ----------------------------------------------------------------------------------

class OpenPlaceTest : public testing::Test {
 protected:
  // A server with these options that trusts every host that reaches it.
  static std::string PlaceOf(Options options) {
    options.protected_mode = false;
    TestServer server(options);
    server.services.port = 7379;
    EXPECT_TRUE(server.services.access.Configure("", "").ok());
    return OpenPlace(server.services);
  }

  Options options_ = DefaultOptions();
};

TEST_F(OpenPlaceTest, LoopbackIsNone) {
  options_.bind = {"127.0.0.1", "::1", "127.1.2.3"};
  EXPECT_EQ(PlaceOf(options_), "");
}

TEST_F(OpenPlaceTest, EachKindOfPortMayBeOne) {
  options_.bind = {"127.0.0.1", "0.0.0.0"};
  EXPECT_EQ(PlaceOf(options_), "0.0.0.0:7379");
  options_.tls_only = true;
  options_.tls_port = 7380;
  options_.tls_auth_clients = TlsAuthClients::kOptional;
  EXPECT_EQ(PlaceOf(options_), "0.0.0.0:7380");
  options_.tls_auth_clients = TlsAuthClients::kYes;
  EXPECT_EQ(PlaceOf(options_), "") << "clients must show a certificate";
  options_.http_bind = {"::"};
  EXPECT_EQ(PlaceOf(options_), "") << "no port for HTTP";
  options_.http_port = {{7381}};
  EXPECT_EQ(PlaceOf(options_), "[::]:7381");
  options_.http_port = {};
  options_.http_tls_port = 7383;
  EXPECT_EQ(PlaceOf(options_), "");
  options_.tls_auth_clients = TlsAuthClients::kNo;
  options_.tls_port = 0;
  EXPECT_EQ(PlaceOf(options_), "[::]:7383");
  options_.http_tls_port = 0;
  options_.admin_bind = {"10.0.0.5"};
  options_.admin_port = 7382;
  EXPECT_EQ(PlaceOf(options_), "10.0.0.5:7382");
}

class RulesHealthTest : public HealthWatchTest {
 protected:
  RulesHealthTest() : HealthWatchTest(FollowingOptions()) {}

  static Options FollowingOptions() {
    Options options = DefaultOptions();
    options.rls_xds.servers = {{"eg", 18001}};
    return options;
  }
};

// A control plane ends connections for its own reasons, and the next one is there at once.
TEST_F(RulesHealthTest, AControlPlaneIsAwayWhenItHasNotBeenConnectedForLong) {
  std::atomic<bool>& connected = server_.services.xds.connected;
  const auto codes_after = [&](Nanos span) {
    for (Nanos passed{}; passed < span; passed += kLookInterval) static_cast<void>(Codes());
    return CodesOf(*watch_.health());
  };
  EXPECT_EQ(codes_after(kPlaneAway - kLookInterval), "");
  EXPECT_EQ(Codes(), "control_plane_away");
  connected = true;
  EXPECT_EQ(Codes(), "");
  connected = false;
  EXPECT_EQ(codes_after(kPlaneAway), "");
  connected = true;
  EXPECT_EQ(Codes(), "");
  connected = false;
  EXPECT_EQ(codes_after(kPlaneAway), "");
  EXPECT_EQ(Codes(), "control_plane_away");
}

TEST_F(RulesHealthTest, RulesThatAreNotInForceAreAReason) {
  server_.services.xds.connected = true;
  server_.services.rls.set_load_error("shop: a mistake");
  EXPECT_EQ(Codes(), "rules_old");
  server_.services.rls.set_load_error("");
  EXPECT_EQ(Codes(), "");
}

TEST_F(OpenPlaceTest, ALoginOrTheProtectedModeShutsIt) {
  options_.bind = {"0.0.0.0"};
  options_.protected_mode = false;
  TestServer server(options_);
  server.services.port = 7379;
  ASSERT_TRUE(server.services.access.Configure("", "").ok());
  HealthWatch watch(server.services);
  const auto codes = [&] {
    watch.Look();
    return CodesOf(*watch.health());
  };
  EXPECT_EQ(codes(), "no_login");
  Conversation client(server);
  ASSERT_EQ(client.Show("CONFIG SET protected-mode yes"), "OK");
  EXPECT_EQ(codes(), "");
  ASSERT_EQ(client.Show("CONFIG SET protected-mode no"), "OK");
  EXPECT_EQ(codes(), "no_login");
  ASSERT_TRUE(server.services.access.Configure("a-long-password", "").ok());
  EXPECT_EQ(codes(), "");
}

TEST(ServerNameTest, ItIsThatOfTheOptionOrOfTheHost) {
  Options options = DefaultOptions();
  {
    TestServer server(options);
    server.services.port = 7379;
    EXPECT_EQ(ServerName(server.services), absl::StrCat(NameOfHost(), ":7379"));
    EXPECT_NE(NameOfHost(), "");
  }
  options.server_name.name = "weir-a";
  options.tls_only = true;
  options.tls_port = 7380;
  TestServer server(options);
  EXPECT_EQ(ServerName(server.services), "weir-a:7380");
}

}  // namespace
}  // namespace weir
