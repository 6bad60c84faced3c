// Goal: a promoted server continues with the time of its primary only if the primary has told it
// since the start; otherwise the hours without any server have passed, as on a restarted primary.
// Method: servers in this process whose wall clocks the test sets, over a stop of both.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/state/replication.h"
#include "tests/server/loopback.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

// 2026-11-28 20:00:00 UTC.
constexpr Nanos kEvening = seconds{1'795'896'000};
constexpr std::int64_t kMillisToDecember = milliseconds{hours{2 * 24 + 4}}.count();

// Real time passes from `wall` on.
SystemClock::Source ClockAt(Nanos wall) {
  static const SystemClock real;
  const auto boot = [] { return real.Now().time_since_epoch(); };
  return {.wall = [wall, begun = boot(), boot] { return wall + boot() - begun; }, .boot = boot};
}

class KeptServer {
 public:
  KeptServer(const Options& options, Nanos wall)
      : server_(options, ClockAt(wall)), client_(server_.port()) {
    EXPECT_TRUE(Eventually([this] { return !server_->services().admission().loading(); }));
  }

  // The first two integers of a reply: whether the request is admitted, and what is left.
  std::vector<std::int64_t> Decide(const std::string& command) {
    std::vector<std::int64_t> numbers = Integers(command);
    numbers.resize(2);
    return numbers;
  }

  std::vector<std::int64_t> Integers(const std::string& command) {
    client_.Send(command + "\r\n");
    std::vector<std::int64_t> numbers;
    const std::string head = Line();
    EXPECT_EQ(head.substr(0, 1), "*") << command << " -> " << head;
    for (int i = head.empty() ? 0 : std::stoi(head.substr(1)); i > 0; --i) {
      std::string line = Line();
      if (line.substr(0, 1) == "$") line = ":" + Line();
      numbers.push_back(std::stoll(line.substr(1)));
    }
    return numbers;
  }

  void BecomePrimary() {
    client_.Send("REPLICAOF NO ONE\r\n");
    EXPECT_EQ(Line(), "+OK");
    const Replication& replication = *server_->services().replication;
    EXPECT_TRUE(Eventually([&] { return replication.role() == ServerRole::kPrimary; }));
  }

  // As Sentinel tells it.
  void BecomePrimaryForSentinel() {
    Replication& replication = *server_->services().replication;
    EXPECT_TRUE(replication.is_complete());
    replication.BecomePrimaryForSentinel();
    EXPECT_TRUE(Eventually([&] { return replication.role() == ServerRole::kPrimary; }));
  }

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  ReplicationStatus status() { return server_->services().replication->status(); }

 private:
  std::string Line() {
    std::string line;
    for (std::string byte = client_.Receive(1); !byte.empty() && byte != "\n";
         byte = client_.Receive(1)) {
      if (byte != "\r") line += byte;
    }
    return line;
  }

  LoopbackServer server_;
  LoopbackClient client_;
};

bool IsConnected(KeptServer& replica) {
  const ReplicationStatus status = replica.status();
  return status.link && status.link->state == LinkState::kConnected;
}

// True once the replica has all that the primary has changed. Requires: the replica was connected
// before, as a change before that is in the copy of the table, and adds nothing to the offset.
bool IsLevel(KeptServer& replica, KeptServer& primary) {
  const std::uint64_t offset = replica.status().offset;
  return IsConnected(replica) && offset == primary.status().offset && offset > 0;
}

class PromotionTimeTest : public testing::Test {
 protected:
  [[nodiscard]] Options OptionsIn(std::string_view directory,
                                  std::uint16_t primary_port = 0) const {
    Options options = LoopbackOptions();
    options.data_dir = directory_.path() + "/" + std::string(directory);
    options.durability = Durability::kSnapshot;
    options.snapshot_interval = milliseconds{50};
    if (primary_port != 0) options.replicaof = {"127.0.0.1", primary_port};
    return options;
  }

  // A primary and its replica are used, and stop.
  void StopBoth() {
    KeptServer primary(OptionsIn("p"), kEvening);
    KeptServer replica(OptionsIn("r", primary.port()), kEvening + minutes{3});
    ASSERT_TRUE(Eventually([&] { return IsConnected(replica); }));
    ASSERT_THAT(primary.Decide("RL.ALLOW team 3/day COST 3"), ElementsAre(1, 0));
    ASSERT_THAT(primary.Decide("RL.ALLOW u 5/h COST 5"), ElementsAre(1, 0));
    ASSERT_THAT(primary.Decide("RL.ALLOW b 1/m,ban=15m"), ElementsAre(1, 0));
    ASSERT_THAT(primary.Decide("RL.ALLOW b 1/m,ban=15m"), ElementsAre(0, 0));
    ASSERT_THAT(primary.Decide("RL.RESERVE j 1,held HOLD x TTL 60000"), ElementsAre(1, 0));
    ASSERT_TRUE(Eventually([&] { return IsLevel(replica, primary); }));
  }

  static void ExpectEightHoursHavePassed(KeptServer& server) {
    EXPECT_THAT(server.Decide("RL.ALLOW team 3/day"), ElementsAre(1, 2));
    EXPECT_THAT(server.Decide("RL.ALLOW u 5/h"), ElementsAre(1, 4));
    EXPECT_THAT(server.Decide("RL.ALLOW b 1/m,ban=15m"), ElementsAre(1, 0));
    EXPECT_THAT(server.Decide("RL.RESERVE j 1,held HOLD y TTL 60000"), ElementsAre(1, 0));
    EXPECT_EQ(server.Integers("TIME").front(), seconds{(kEvening + hours{8}) / seconds{1}}.count());
  }

  TemporaryDirectory directory_;
};

// No server listens on port 1.
TEST_F(PromotionTimeTest, TheHoursWithoutAServerHavePassed) {
  StopBoth();
  {
    SCOPED_TRACE("a restarted primary");
    KeptServer primary(OptionsIn("p"), kEvening + hours{8});
    ExpectEightHoursHavePassed(primary);
  }
  KeptServer replica(OptionsIn("r", 1), kEvening + hours{8});
  EXPECT_LT(replica.Integers("TIME").front(),
            seconds{(kEvening + minutes{10}) / seconds{1}}.count());
  replica.BecomePrimary();
  ExpectEightHoursHavePassed(replica);
}

TEST_F(PromotionTimeTest, TheyHavePassedForAServerThatSentinelPromotes) {
  StopBoth();
  Options options = OptionsIn("r", 1);
  options.sentinel = "weir";
  KeptServer replica(options, kEvening + hours{8});
  replica.BecomePrimaryForSentinel();
  ExpectEightHoursHavePassed(replica);
}

TEST_F(PromotionTimeTest, ThePrimarysTimeIsKeptWhereItWasHeard) {
  StopBoth();
  KeptServer primary(OptionsIn("p"), kEvening + minutes{30});
  KeptServer replica(OptionsIn("r", primary.port()), kEvening + hours{8});
  ASSERT_TRUE(Eventually([&] { return IsConnected(replica); }));
  replica.BecomePrimary();
  EXPECT_THAT(replica.Decide("RL.ALLOW u 5/h"), ElementsAre(1, 1));
  EXPECT_THAT(replica.Decide("RL.ALLOW team 3/day"), ElementsAre(0, 0));
}

TEST_F(PromotionTimeTest, AnEmptyReplicaHasTheTimeOfItsHost) {
  {
    KeptServer replica(OptionsIn("r", 1), kEvening);
    EXPECT_EQ(replica.Integers("TIME").front(), seconds{kEvening / seconds{1}}.count());
    replica.BecomePrimary();
    const std::vector<std::int64_t> month = replica.Integers("RL.ALLOW m 3/month");
    EXPECT_EQ(month[1], 2);
    EXPECT_LT(std::abs(month[3] - kMillisToDecember), 60'000);
    EXPECT_THAT(replica.Decide("RL.ALLOW k 5/h COST 5"), ElementsAre(1, 0));
  }
  KeptServer restarted(OptionsIn("r"), kEvening + seconds{10});
  EXPECT_THAT(restarted.Decide("RL.ALLOW k 5/h"), ElementsAre(0, 0));
}

// The promoted server's host is hours ahead of its primary's, or behind. Each start is clean.
TEST_F(PromotionTimeTest, APromotedServerKeepsThePrimarysTimeOverCleanRestarts) {
  for (const Nanos ahead : {Nanos{hours{2}}, -Nanos{hours{2}}}) {
    const std::string name = ahead > Nanos{0} ? "ahead" : "behind";
    SCOPED_TRACE(name);
    const auto seconds_of = [](KeptServer& server) { return server.Integers("TIME").front(); };
    const auto seconds_at = [](Nanos time) { return seconds{time / seconds{1}}.count(); };
    {
      KeptServer primary(OptionsIn("p_" + name), kEvening);
      KeptServer replica(OptionsIn(name, primary.port()), kEvening + ahead);
      ASSERT_TRUE(Eventually([&] { return IsConnected(replica); }));
      ASSERT_THAT(primary.Decide("RL.ALLOW u 5/h COST 5"), ElementsAre(1, 0));
      ASSERT_TRUE(Eventually([&] { return IsLevel(replica, primary); }));
      replica.BecomePrimary();
    }
    for (int start = 1; start <= 2; ++start) {  // ten minutes after one another
      SCOPED_TRACE(start);
      const Nanos passed = start * minutes{10};
      KeptServer server(OptionsIn(name), kEvening + ahead + passed);
      EXPECT_THAT(seconds_of(server) - seconds_at(kEvening + passed), AllOf(Ge(0), Lt(60)));
      EXPECT_THAT(server.Decide("RL.PEEK u 5/h COST 2"), ElementsAre(0, start - 1));
    }
    Options reset = OptionsIn(name);
    reset.reset_clock = true;
    KeptServer server(reset, kEvening + ahead);
    EXPECT_THAT(seconds_of(server) - seconds_at(kEvening + ahead), AllOf(Ge(0), Lt(60)));
  }
}

TEST_F(PromotionTimeTest, AShiftOfMoreThanADayIsNotKept) {
  const Nanos ahead = hours{25};
  {
    KeptServer primary(OptionsIn("p"), kEvening);
    KeptServer replica(OptionsIn("r", primary.port()), kEvening + ahead);
    ASSERT_TRUE(Eventually([&] { return IsConnected(replica); }));
    ASSERT_THAT(primary.Decide("RL.ALLOW u 5/h COST 5"), ElementsAre(1, 0));
    ASSERT_TRUE(Eventually([&] { return IsLevel(replica, primary); }));
    replica.BecomePrimary();
  }
  KeptServer server(OptionsIn("r"), kEvening + ahead);
  EXPECT_GE(server.Integers("TIME").front(), seconds{(kEvening + ahead) / seconds{1}}.count());
}

}  // namespace
}  // namespace weir
