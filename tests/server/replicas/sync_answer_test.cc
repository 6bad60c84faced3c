// Goal: a server gives its role up only to a later history of its own group. Method: requests to
// follow it, from all pairs of secrets and terms, to servers that are empty, have or had buckets,
// have a policy, or have the record of a history.
#include <future>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/policy.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/primary_link.h"
#include "server/state/replication.h"
#include "tests/server/loopback.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

enum class Has { kNothing, kBuckets, kHadBuckets, kPolicy, kHistory };

class AskedServer {
 public:
  explicit AskedServer(Has has) {
    if (has == Has::kBuckets) {
      LoopbackClient client(server_.port());
      client.Send("RL.ALLOW k 1/d\r\n");
      EXPECT_EQ(client.Receive(3), "*5\r");
    }
    if (has == Has::kHadBuckets) {
      LoopbackClient client(server_.port());
      client.Send("RL.ALLOW k 1/d\r\n");
      EXPECT_EQ(client.Receive(3), "*5\r");
      LoopbackClient other(server_.port());
      other.Send("FLUSHALL\r\n");
      EXPECT_EQ(other.Receive(5), "+OK\r\n");
      EXPECT_EQ(server_->services().upkeep.size().buckets, 0U);
    }
    if (has == Has::kPolicy) {  // from its disk
      EXPECT_TRUE(server_->services().policies.Set("free", *ParsePolicyLimits({{"2/s"}})).ok());
    }
    if (has == Has::kHistory) {
      EXPECT_EQ(Ask(true, 0).error, "");
    }
  }

  SyncAnswer Ask(bool has_its_secret, std::uint64_t term, bool was_told = false) {
    SyncRequest request = {.oldest_version = kStreamVersionMin,
                           .newest_version = kStreamVersionMax,
                           .run_id = std::string(40, 'a'),
                           .port = 7379,
                           .term = term,
                           .from = HistoryPosition{.replid = std::string(40, 'b'), .offset = 7}};
    request.key_fingerprint = FingerprintOfSecret(server_->services().limiter.hasher());
    if (!has_its_secret) request.key_fingerprint[0] ^= 1;
    request.was_told = was_told;
    std::promise<SyncAnswer> answer;
    replication().AnswerSync(request,
                             [&](SyncAnswer given) { answer.set_value(std::move(given)); });
    return answer.get_future().get();
  }
  void Tell(const std::string& command) {
    LoopbackClient client(server_.port());
    client.Send(command + "\r\nECHO end\r\n");
    std::string replies;
    while (!replies.ends_with("end\r\n")) replies += client.Receive(1);
  }
  Replication& replication() { return *server_->services().replication; }

 private:
  LoopbackServer server_;
};

TEST(SyncAnswerTest, OnlyALaterHistoryOfItsGroupDeposesAServer) {
  for (const Has has :
       {Has::kNothing, Has::kBuckets, Has::kHadBuckets, Has::kPolicy, Has::kHistory}) {
    for (const bool has_its_secret : {true, false}) {
      SCOPED_TRACE(static_cast<int>(has));
      SCOPED_TRACE(has_its_secret);
      AskedServer server(has);
      const std::string error = server.Ask(has_its_secret, 0).error;
      if (has_its_secret) {
        EXPECT_EQ(error, "") << "a term that is not later";
      } else {
        EXPECT_THAT(error, StartsWith("OTHERGROUP "));
        EXPECT_EQ(server.Ask(has_its_secret, 0, true).error, "") << "a command has told it";
      }
      EXPECT_EQ(server.replication().role(), ServerRole::kPrimary);
    }
    for (const bool has_its_secret : {true, false}) {
      SCOPED_TRACE(static_cast<int>(has));
      SCOPED_TRACE(has_its_secret);
      AskedServer server(has);
      const ReplicationStatus before = server.replication().status();
      const std::string error = server.Ask(has_its_secret, 9).error;
      // A server without any state may have lost it, and with it its secret.
      if (has_its_secret || has == Has::kNothing) {
        EXPECT_THAT(error, HasSubstr("it may have lost its state"));
        EXPECT_EQ(server.replication().role(), ServerRole::kDeposed);
        continue;
      }
      EXPECT_THAT(error, HasSubstr("OTHERGROUP this server is of another group"));
      EXPECT_EQ(server.replication().role(), ServerRole::kPrimary);
      EXPECT_EQ(server.replication().status().term, before.term);
      EXPECT_EQ(server.replication().status().replid, before.replid);
    }
  }
}

// A primary that has lost its disk and starts again hears of lost holds and keys first. It has no
// state by that, and gives way to the replica that has all of it.
TEST(SyncAnswerTest, CommandsThatChangeNothingAreNoState) {
  for (const std::string command :
       {"DEL nothing", "RL.RESET nothing", "RL.COMMIT k 1/d HOLD lost", "RL.REFUND k 1/d",
        "FLUSHALL", "RL.PEEK k 1/d", "RL.POLICY UNOVERRIDE free k"}) {
    SCOPED_TRACE(command);
    AskedServer server(Has::kNothing);
    server.Tell(command);
    EXPECT_THAT(server.Ask(false, 9).error, HasSubstr("it may have lost its state"));
    EXPECT_EQ(server.replication().role(), ServerRole::kDeposed);
  }
}

// A deposed server still has the sender of its history. The command that restores it ends that, and
// the next command, or the end of the server, comes before it has ended.
TEST(SyncAnswerTest, ARestoredServerMayBeToldToFollowOrStoppedAtOnce) {
  for (const bool follows : {true, false}) {
    SCOPED_TRACE(follows);
    AskedServer server(Has::kHistory);
    EXPECT_THAT(server.Ask(true, 9).error, HasSubstr("it may have lost its state"));
    server.replication().Follow(std::nullopt);
    if (!follows) continue;
    server.replication().Follow(HostAndPort{"127.0.0.1", 1});
    EXPECT_THAT(server.Ask(true, 0).error, StartsWith("NOMASTERLINK "));
    EXPECT_EQ(server.replication().role(), ServerRole::kReplica);
  }
}

}  // namespace
}  // namespace weir
