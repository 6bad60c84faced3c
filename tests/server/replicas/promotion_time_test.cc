// Goal: a promoted server continues with the time of its primary only if the primary has told it
// since the start; otherwise the hours without any server have passed, as on a restarted primary.
// Method: servers in this process whose wall clocks the test sets, over a stop of both.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/replicas/kept_server.h"
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
