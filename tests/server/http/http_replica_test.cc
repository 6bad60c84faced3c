// Goal: over HTTP a replica is not there for what would change something, answers looks, and tells
// a load balancer what it is good for. Method: conversations with a fake replication.
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http_exchange.h"
#include "tests/support/fake_replication.h"
#include "tests/support/http_conversation.h"
#include "tests/support/metrics_page.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kOneAnHour = R"({"key":"k","limits":["1/h"]})";

class HttpReplicaTest : public testing::Test {
 protected:
  int StatusOfGet(std::string_view target) { return StatusOf(client_.Get(target)); }
  int StatusOfPost(std::string_view target, std::string_view body) {
    return StatusOf(client_.Post(target, body));
  }

  HttpConversation client_;
  FakeReplication replication_{client_.server().services};
};

TEST(StatusOfErrorTest, AServerThatCouldNotDoItNowIsUnavailable) {
  for (const char* error : {"LOADING a", "READONLY a", "MASTERDOWN a", "NOREPLICAS a", "NOACK a",
                            "OOM a", "MISCONF a"}) {
    EXPECT_EQ(StatusOfError(error), 503) << error;
  }
  EXPECT_EQ(StatusOfError("ERR a"), 400);
}

TEST_F(HttpReplicaTest, ChangesAre503AndLooksAreAnswered) {
  replication_.BecomeReplica();
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 503);
  EXPECT_EQ(StatusOfPost("/v1/command", R"(["FLUSHALL"])"), 503);
  EXPECT_EQ(StatusOfGet("/check?key=k&limit=1/h"), 503);
  EXPECT_EQ(StatusOfPost("/v1/peek", kOneAnHour), 200);
  EXPECT_EQ(StatusOfPost("/v1/command", R"(["EXISTS","k"])"), 200);
  EXPECT_THAT(client_.Post("/v1/allow", kOneAnHour), HasSubstr(R"({"error":"READONLY )"));
  replication_.BecomeReplica(false);
  EXPECT_EQ(StatusOfPost("/v1/peek", kOneAnHour), 503);
  replication_.BecomePrimary();
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 200);
}

// A batch of which a part was refused would look like a success.
TEST_F(HttpReplicaTest, ABatchWithAChangeIsRefusedAsAWhole) {
  constexpr std::string_view kLooks = R"({"requests":[{"key":"k","do":"peek","limits":["1/h"]}]})";
  constexpr std::string_view kMixed =
      R"({"requests":[{"key":"k","do":"peek","limits":["1/h"]},{"key":"k","limits":["1/h"]}]})";
  const int looks = StatusOfPost("/v1/batch", kLooks);
  replication_.BecomeReplica();
  EXPECT_EQ(StatusOfPost("/v1/batch", kLooks), looks);
  EXPECT_EQ(StatusOfPost("/v1/batch", kMixed), 503);
}

TEST_F(HttpReplicaTest, RlSyncConcernsAConnection) {
  EXPECT_EQ(StatusOfPost("/v1/command", R"(["RL.SYNC","1","1"])"), 400);
  EXPECT_THAT(client_.Post("/v1/command", R"(["RL.SYNC","1","1"])"),
              HasSubstr("concerns a connection"));
}

TEST_F(HttpReplicaTest, ReadyzKnowsTheRole) {
  HttpConversation admin(client_.server(), Face::kAdmin);
  const auto status = [&](std::string_view target) { return StatusOf(admin.Get(target)); };
  EXPECT_EQ(status("/readyz"), 200);
  EXPECT_EQ(status("/readyz?role=primary"), 200);
  EXPECT_EQ(status("/readyz?role=replica"), 400);
  EXPECT_EQ(status("/readyz?a=b"), 400);
  replication_.BecomeReplica();
  EXPECT_EQ(status("/readyz"), 200);
  EXPECT_EQ(status("/readyz?role=primary"), 503);
  replication_.BecomeReplica(false, true);
  EXPECT_EQ(status("/readyz"), 503);
  replication_.BecomeReplica(true, false);
  EXPECT_EQ(status("/readyz"), 503);
  EXPECT_EQ(BodyOf(admin.Get("/readyz")), R"({"replica":{"complete":true,"link_up":false}})");
  EXPECT_EQ(status("/livez"), 200);
}

TEST_F(HttpReplicaTest, AServerThatWaitsForSentinelIsNotReady) {
  HttpConversation admin(client_.server(), Face::kAdmin);
  replication_.Gate();
  EXPECT_EQ(StatusOf(admin.Get("/readyz")), 503);
  EXPECT_EQ(BodyOf(admin.Get("/readyz?role=primary")), R"({"waits_for":"sentinel"})");
  EXPECT_EQ(StatusOf(admin.Get("/livez")), 200);
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 503);
}

TEST_F(HttpReplicaTest, ADeposedPrimaryIsNotReady) {
  HttpConversation admin(client_.server(), Face::kAdmin);
  replication_.Depose();
  EXPECT_EQ(StatusOf(admin.Get("/readyz")), 503);
  EXPECT_EQ(BodyOf(admin.Get("/readyz?role=primary")), R"({"deposed":true})");
  EXPECT_EQ(StatusOf(admin.Get("/livez")), 200);
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 503);
  constexpr std::string_view kBatch = R"({"requests":[{"key":"k","limits":["1/h"]}]})";
  EXPECT_EQ(StatusOfPost("/v1/batch", kBatch), 503);
  const MetricsPage page(
      MetricsText(client_.server().services, client_.server().http, FakeClock::kStart));
  EXPECT_EQ(page.Of("weir_deposed"), 1);
  EXPECT_EQ(page.Of("weir_replica"), 0);
}

TEST_F(HttpReplicaTest, APrimaryThatLacksReplicasAdmitsNothing) {
  HttpConversation admin(client_.server(), Face::kAdmin);
  replication_.AdmitUntil(Instant{});
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 503);
  EXPECT_THAT(client_.Post("/v1/allow", kOneAnHour), HasSubstr(R"({"error":"NOREPLICAS Not )"));
  EXPECT_EQ(StatusOfGet("/check?key=k&limit=1/h"), 503);
  EXPECT_EQ(StatusOfPost("/v1/peek", kOneAnHour), 200);
  EXPECT_EQ(BodyOf(admin.Get("/readyz")), R"({"replicas":"too few"})");
  replication_.AdmitUntil(kInstantMax);
  EXPECT_EQ(StatusOfPost("/v1/allow", kOneAnHour), 200);
  EXPECT_EQ(StatusOf(admin.Get("/readyz")), 200);
}

TEST_F(HttpReplicaTest, AResponseThatIsNotAcknowledgedIs503) {
  replication_.AdmitUntil(FakeClock::kStart + std::chrono::hours{1});
  Conversation operator_of(client_.server());
  operator_of.Run("CONFIG SET ack-replicas 2");
  std::string response(client_.Post("/v1/allow", kOneAnHour));
  EXPECT_EQ(client_.turn().awaited.acks, 2U);
  EXPECT_EQ(client_.turn().delayed_from, 0U);
  client_.session().FinishDelayed(response, {.acks_missed = 2});
  EXPECT_EQ(StatusOf(response), 503);
  EXPECT_EQ(BodyOf(response),
            R"({"error":"NOACK charged, but fewer than 2 replicas are known to have it"})");
  client_.Post("/v1/peek", kOneAnHour);
  EXPECT_FALSE(client_.turn().awaited.any());
}

TEST_F(HttpReplicaTest, MetricsOfAPrimary) {
  replication_.shown.term = 3;
  replication_.shown.offset = 900;
  replication_.shown.replicas = {{.ip = "10.0.0.2",
                                  .port = 7379,
                                  .online = true,
                                  .offset = 890,
                                  .lag = std::chrono::milliseconds{500}},
                                 {.ip = "10.0.0.3", .port = 7379}};
  replication_.shown.loss_bound = std::chrono::milliseconds{2};
  const MetricsPage page(
      MetricsText(client_.server().services, client_.server().http, FakeClock::kStart));
  EXPECT_EQ(page.Of("weir_replica"), 0);
  EXPECT_EQ(page.Of("weir_replication_term"), 3);
  EXPECT_EQ(page.Of("weir_replication_offset_bytes"), 900);
  EXPECT_EQ(page.Of("weir_replicas"), 1);
  EXPECT_EQ(page.Of("weir_replica_offset_bytes", {{"replica", "10.0.0.2:7379"}}), 890);
  EXPECT_EQ(page.Of("weir_replica_lag_seconds", {{"replica", "10.0.0.2:7379"}}), 0.5);
  EXPECT_EQ(page.Of("weir_replication_loss_bound_seconds"), 0.002);
}

TEST_F(HttpReplicaTest, MetricsOfAReplica) {
  replication_.BecomeReplica(false);
  replication_.shown.link->data_age = std::chrono::milliseconds{4};
  replication_.shown.link->partitions_left = 17;
  const std::string text =
      MetricsText(client_.server().services, client_.server().http, FakeClock::kStart);
  const MetricsPage page(text);
  EXPECT_EQ(page.Of("weir_replica"), 1);
  EXPECT_EQ(page.Of("weir_loading"), 1);
  EXPECT_EQ(page.Of("weir_replication_link_up"), 1);
  EXPECT_EQ(page.Of("weir_replication_data_age_seconds"), 0.004);
  EXPECT_EQ(page.Of("weir_replication_partitions_left"), 17);
  EXPECT_THAT(text, Not(HasSubstr("weir_replicas")));
}

TEST_F(HttpReplicaTest, AStartThatWaitsForSentinelIsOneThatLoads) {
  replication_.Gate();
  const MetricsPage page(
      MetricsText(client_.server().services, client_.server().http, FakeClock::kStart));
  EXPECT_EQ(page.Of("weir_loading"), 1);
}

}  // namespace
}  // namespace weir
