// Goal: the commands of replication read what they are given, pass it on, and show both roles as
// Redis does. Method: conversations with a fake replication. The texts are those of Redis 7.0.15.
#include <chrono>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::StartsWith;

const std::string kRunId(40, 'a');
const std::string kReplid = "0123456789012345678901234567890123abcdef";
const std::string kSync = absl::StrCat("RL.SYNC 1 2 ID ", kRunId, " ADDR - 7379 TERM 3 KEY ",
                                       "000102030405060708090a0b0c0d0e0F");

class ReplicationTest : public testing::Test {
 protected:
  Conversation client_;
  FakeReplication replication_{client_.server().services};
};

// --- REPLICAOF and SLAVEOF -----------------------------------------------------------------------

TEST_F(ReplicationTest, ReplicaofAsksToFollow) {
  EXPECT_EQ(client_.Run("REPLICAOF 10.0.0.1 7379"), "+OK\r\n");
  EXPECT_EQ(client_.Run("slaveof Weir.Internal 65535"), "+OK\r\n");
  EXPECT_EQ(client_.Run("SLAVEOF no One"), "+OK\r\n");
  EXPECT_THAT(replication_.wishes,
              ElementsAre(Optional(HostAndPort{"10.0.0.1", 7379}),
                          Optional(HostAndPort{"weir.internal", 65535}), std::nullopt));
}

TEST_F(ReplicationTest, ReplicaofTheSamePrimaryChangesNothing) {
  replication_.BecomeReplica();
  EXPECT_EQ(client_.Run("REPLICAOF 10.0.0.1 7379"),
            "+OK Already connected to specified master\r\n");
  EXPECT_TRUE(replication_.wishes.empty());
  EXPECT_EQ(client_.Run("REPLICAOF 10.0.0.1 7380"), "+OK\r\n");
  EXPECT_EQ(replication_.wishes.size(), 1U);
  EXPECT_EQ(client_.Show("CONFIG GET replicaof"), "\"replicaof\" \"10.0.0.1 7379\"");
}

TEST_F(ReplicationTest, ReplicaofItselfChangesNothing) {
  EXPECT_EQ(client_.Run("REPLICAOF 10.0.0.99 7379"), "-ERR this server cannot follow itself\r\n");
  EXPECT_TRUE(replication_.wishes.empty());
}

TEST_F(ReplicationTest, ReplicaofRefusesMistakes) {
  for (const char* port : {"0", "-1", "65536", "99999", "abc", "1.5", "\"\""}) {
    EXPECT_EQ(client_.Run(absl::StrCat("REPLICAOF a ", port)), "-ERR Invalid master port\r\n")
        << port;
  }
  for (const char* host : {"\"\"", "\"a b\"", "a:1", "\"a\\r\\nb\""}) {
    EXPECT_EQ(client_.Run(absl::StrCat("REPLICAOF ", host, " 1")), "-ERR Invalid master host\r\n")
        << host;
  }
  EXPECT_EQ(client_.Run("REPLICAOF a"),
            "-ERR wrong number of arguments for 'replicaof' command\r\n");
  EXPECT_TRUE(replication_.wishes.empty());
}

// --- FAILOVER ------------------------------------------------------------------------------------

TEST_F(ReplicationTest, FailoverSaysWhoTakesOverAndWhen) {
  EXPECT_EQ(client_.Run("FAILOVER"), "+OK\r\n");
  EXPECT_EQ(client_.Run("failover timeout 500 to 10.0.0.2 7380 force"), "+OK\r\n");
  ASSERT_EQ(replication_.failovers.size(), 2U);
  EXPECT_EQ(replication_.failovers[0].to, std::nullopt);
  EXPECT_EQ(replication_.failovers[0].timeout, std::nullopt);
  EXPECT_EQ(replication_.failovers[1].to, (HostAndPort{"10.0.0.2", 7380}));
  EXPECT_EQ(replication_.failovers[1].timeout, milliseconds{500});
  EXPECT_TRUE(replication_.failovers[1].force);
}

TEST_F(ReplicationTest, FailoverRefusesMistakes) {
  for (const char* mistake :
       {"FAILOVER x", "FAILOVER FORCE", "FAILOVER TO", "FAILOVER TO a", "FAILOVER TO a b",
        "FAILOVER TO a 0", "FAILOVER TO a 1 TO a 1", "FAILOVER TIMEOUT", "FAILOVER TIMEOUT 0",
        "FAILOVER TIMEOUT -1", "FAILOVER ABORT ABORT", "FAILOVER ABORT TIMEOUT 1"}) {
    EXPECT_THAT(client_.Run(mistake), StartsWith("-ERR ")) << mistake;
  }
  EXPECT_TRUE(replication_.failovers.empty());
  replication_.failover_error = NoFailoverInProgress();
  EXPECT_EQ(client_.Run("FAILOVER ABORT"), "-ERR No failover in progress.\r\n");
}

TEST_F(ReplicationTest, ValkeysSentinelPausesAndFailsOverInATransaction) {
  for (const char* words : {"MULTI", "CLIENT PAUSE 1 WRITE",
                            "FAILOVER TO 10.0.0.2 7380 TIMEOUT 60000", "CLIENT UNPAUSE"}) {
    EXPECT_THAT(client_.Run(words), Not(StartsWith("-"))) << words;
  }
  EXPECT_EQ(client_.Run("EXEC"), "*3\r\n+OK\r\n+OK\r\n+OK\r\n");
  ASSERT_EQ(replication_.failovers.size(), 1U);
  EXPECT_EQ(replication_.failovers[0].to, (HostAndPort{"10.0.0.2", 7380}));
}

TEST(ReplicationCommandsTest, AServerThatTakesTimesOfClientsDoesNotReplicate) {
  Conversation client(TestServer::WithExplicitTime());
  FakeReplication replication(client.server().services);
  for (const std::string& line :
       {std::string("REPLICAOF a 1"), std::string("SLAVEOF a 1"), kSync}) {
    EXPECT_THAT(client.Run(line), StartsWith("-ERR replication does not go with --allow-explicit"));
  }
}

TEST(ReplicationCommandsTest, AServerWithoutReplicationIsAPrimary) {
  Conversation client;
  EXPECT_EQ(client.Run("REPLICAOF a 1"), "-ERR this server does not replicate\r\n");
  EXPECT_EQ(client.Run("REPLICAOF NO ONE"), "+OK\r\n");
  EXPECT_EQ(client.Run(kSync), "-ERR this server does not replicate\r\n");
  EXPECT_EQ(client.Run("ROLE"), "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
}

TEST_F(ReplicationTest, TheCommandsOfRedisReplicasAreRefused) {
  for (const char* line : {"PSYNC ? -1", "SYNC", "REPLCONF", "REPLCONF listening-port 7379"}) {
    EXPECT_EQ(client_.Run(line), "-ERR weir replicates by RL.SYNC, to weir only\r\n") << line;
  }
}

// --- ROLE, INFO and HELLO ------------------------------------------------------------------------

void AddReplicas(ReplicationStatus& shown) {
  shown.term = 3;
  shown.replid = kReplid;
  shown.replid2 = kRunId;
  shown.until = 40;
  shown.offset = 900;
  shown.replicas = {
      {.ip = "10.0.0.2", .port = 7379, .online = true, .offset = 890, .lag = milliseconds{400}},
      {.ip = "10.0.0.3", .port = 7380, .offset = 7, .lag = seconds{3}}};
  shown.backlog = {.active = true, .first_offset = 41, .bytes = 860};
  shown.partitions_sent = 4097;
  shown.loss_bound = milliseconds{2};
}

TEST_F(ReplicationTest, AReplicaThatMayLackWhatItHasAcknowledgedHasPriorityZero) {
  replication_.BecomeReplica();
  replication_.shown.distrusted = true;
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nslave_priority:0\r\n"));
}

TEST_F(ReplicationTest, AnAgeThatIsNotKnownIsNoAgeOfZero) {
  replication_.BecomeReplica();
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("data_age_ms:-1\r\n"));
}

TEST_F(ReplicationTest, ABoundThatIsNotKnownIsNoBoundOfZero) {
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("failover_loss_bound_ms:-1\r\n"));
  replication_.shown.loss_bound = Nanos{0};
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("failover_loss_bound_ms:0\r\n"));
}

TEST_F(ReplicationTest, APrimaryShowsItsReplicas) {
  AddReplicas(replication_.shown);
  EXPECT_EQ(client_.Show("ROLE"), "\"master\" 900\n[[\"10.0.0.2\" \"7379\" \"890\"]]");
  EXPECT_EQ(client_.Run("INFO replication").substr(6),
            absl::StrReplaceAll(
                absl::StrCat("# Replication\n"
                             "role:master\n"
                             "connected_slaves:2\n"
                             "slave0:ip=10.0.0.2,port=7379,state=online,offset=890,lag=0\n"
                             "slave1:ip=10.0.0.3,port=7380,state=send_bulk,offset=7,lag=3\n"
                             "master_failover_state:no-failover\n"
                             "master_replid:",
                             kReplid,
                             "\n"
                             "master_replid2:",
                             kRunId,
                             "\n"
                             "master_repl_offset:900\n"
                             "second_repl_offset:40\n"
                             "repl_backlog_active:1\n"
                             "repl_backlog_size:16777216\n"
                             "repl_backlog_first_byte_offset:41\n"
                             "repl_backlog_histlen:860\n"
                             "term:3\n"
                             "deposed:0\n"
                             "failover_loss_bound_ms:2\n"
                             "sync_partitions_sent:4097\n\n"),
                {{"\n", "\r\n"}}));
  EXPECT_THAT(client_.Run("HELLO 2"), HasSubstr("$4\r\nrole\r\n$6\r\nmaster\r\n"));
}

TEST_F(ReplicationTest, AReplicaShowsItsLink) {
  replication_.BecomeReplica();
  ReplicationStatus& shown = replication_.shown;
  shown.offset = 900;
  LinkStatus& link = *shown.link;
  link.since_last_io = milliseconds{1500};
  link.read_offset = 910;
  link.data_age = milliseconds{2};
  link.time_shift = milliseconds{-12};
  EXPECT_EQ(client_.Show("ROLE"), "\"slave\" \"10.0.0.1\" 7379 \"connected\" 900");
  const std::string info = client_.Run("INFO replication");
  EXPECT_THAT(info, HasSubstr("role:slave\r\n"
                              "master_host:10.0.0.1\r\n"
                              "master_port:7379\r\n"
                              "master_link_status:up\r\n"
                              "master_last_io_seconds_ago:1\r\n"
                              "master_sync_in_progress:0\r\n"
                              "slave_read_repl_offset:910\r\n"
                              "slave_repl_offset:900\r\n"
                              "slave_priority:100\r\n"
                              "slave_read_only:1\r\n"
                              "replica_announced:1\r\n"
                              "connected_slaves:0\r\n"
                              "master_failover_state:no-failover\r\n"));
  EXPECT_THAT(info, HasSubstr("\r\ncomplete:1\r\ndata_age_ms:2\r\nsync_partitions_left:0\r\n"
                              "time_shift_ms:-12\r\n"));
  EXPECT_THAT(info, Not(HasSubstr("master_link_down_since_seconds")));
  EXPECT_THAT(client_.Run("HELLO 2"), HasSubstr("$4\r\nrole\r\n$7\r\nreplica\r\n"));
}

// Sentinel promotes none with priority 0.
TEST_F(ReplicationTest, AReplicaWithHalfAStateHasPriorityZero) {
  replication_.BecomeReplica(false);
  EXPECT_EQ(client_.Show("ROLE"), "\"slave\" \"10.0.0.1\" 7379 \"sync\" 0");
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nslave_priority:0\r\n"));
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nmaster_sync_in_progress:1\r\n"));
  replication_.BecomeReplica(true, false);
  replication_.shown.link->down_for = seconds{7};
  client_.Run("CONFIG SET replica-priority 5 replica-announced no");
  EXPECT_EQ(client_.Show("ROLE"), "\"slave\" \"10.0.0.1\" 7379 \"connect\" -1");
  const std::string info = client_.Run("INFO replication");
  EXPECT_THAT(info, HasSubstr("\r\nmaster_link_status:down\r\n"));
  EXPECT_THAT(info, HasSubstr("\r\nmaster_last_io_seconds_ago:-1\r\n"));
  EXPECT_THAT(info, HasSubstr("\r\nmaster_link_down_since_seconds:7\r\nslave_priority:5\r\n"
                              "slave_read_only:1\r\nreplica_announced:0\r\n"));
}

TEST_F(ReplicationTest, ThePasswordOfTheLinkIsNeverShown) {
  EXPECT_EQ(client_.Show("CONFIG SET masterauth hush masteruser link"), "OK");
  EXPECT_EQ(client_.server().services.settings.All().primary_password, "hush");
  EXPECT_EQ(client_.Show("CONFIG GET primary-password"), "\"primary-password\" \"\"");
  EXPECT_EQ(client_.Show("CONFIG GET masterauth"), "\"masterauth\" \"\"");
  EXPECT_EQ(client_.Show("CONFIG GET primary-user"), "\"primary-user\" \"link\"");
  EXPECT_THAT(client_.Run("CONFIG GET *"), Not(HasSubstr("hush")));
  EXPECT_EQ(client_.server().services.options.primary_password, "");
}

// --- RL.SYNC -------------------------------------------------------------------------------------

TEST_F(ReplicationTest, SyncHandsTheConnectionOver) {
  replication_.answer = {.version = 2,
                         .term = 3,
                         .replid = kReplid,
                         .common = 0,
                         .head = 900,
                         .generation = 5,
                         .secret = "0123456789abcdef"};
  EXPECT_EQ(client_.Send(absl::StrCat("PING\r\n", kSync, "\r\n\x01\x02PING\r\n")),
            absl::StrCat("+PONG\r\n*8\r\n:2\r\n:3\r\n$40\r\n", kReplid,
                         "\r\n:0\r\n:900\r\n:5\r\n$16\r\n0123456789abcdef\r\n$5\r\nfresh\r\n"));
  EXPECT_EQ(client_.turn().next, ClientSession::Next::kHandOver);
  EXPECT_EQ(client_.unread_bytes(), 8U);  // They are frames.
  const std::optional<SyncHandOver> to = client_.session().TakeHandOver();
  ASSERT_TRUE(to.has_value());
  EXPECT_EQ(to->request.oldest_version, 1U);
  EXPECT_EQ(to->request.newest_version, 2U);
  EXPECT_EQ(to->request.run_id, kRunId);
  EXPECT_EQ(to->request.ip, "127.0.0.1") << "its own, because it has announced none";
  EXPECT_EQ(to->request.port, 7379);
  EXPECT_EQ(to->request.term, 3U);
  EXPECT_EQ(to->request.key_fingerprint[1], 1);
  EXPECT_EQ(to->request.key_fingerprint[15], 15);
  EXPECT_EQ(to->request.from, std::nullopt);
  EXPECT_EQ(to->answer.head, 900U);
  EXPECT_FALSE(client_.session().TakeHandOver().has_value());
}

TEST_F(ReplicationTest, SyncMayGoOnFromAnOffset) {
  replication_.answer = {
      .version = 1, .replid = kReplid, .common = 880, .head = 900, .resume = true};
  const std::string from = absl::StrCat(absl::StrReplaceAll(kSync, {{"ADDR -", "ADDR 0::1"}}),
                                        " from ", kReplid, " 890");
  EXPECT_EQ(client_.Show(from), absl::StrCat("1 0 \"", kReplid, "\" 880 900 0 \"\" \"resume\""));
  ASSERT_EQ(replication_.requests.size(), 1U);
  EXPECT_EQ(replication_.requests[0].ip, "::1");
  EXPECT_THAT(replication_.requests[0].from, Optional(HistoryPosition{kReplid, 890}));
}

TEST_F(ReplicationTest, SyncRefusesMistakes) {
  const auto with = [](const char* part, const std::string& in_place) {
    return absl::StrReplaceAll(kSync, {{part, in_place}});
  };
  for (const std::string& line : {with("SYNC 1 2", "SYNC 0 2"),
                                  with("SYNC 1 2", "SYNC 2 1"),
                                  with("SYNC 1 2", "SYNC 1 x"),
                                  with("SYNC 1 2", "SYNC 1 2147483648"),
                                  with("ID a", "ID "),
                                  with("ID a", "ID aa"),
                                  with("ID a", "ID A"),
                                  with("ID ", "RUN "),
                                  with("ADDR - ", "ADDR a:b "),
                                  with("ADDR - ", "ADDR \"\" "),
                                  with("ADDR - ", "ADDR \"a b\" "),
                                  with("7379", "0"),
                                  with("7379", "65536"),
                                  with("TERM 3", "TERM -1"),
                                  with("TERM 3", "TERM 9223372036854775808"),
                                  with("TERM", "TURM"),
                                  with("KEY 00", "KEY "),
                                  with("KEY 00", "KEY 0g"),
                                  with("KEY 00", "KEY 0000"),
                                  absl::StrCat(kSync, " FROM ", kReplid, " -1"),
                                  absl::StrCat(kSync, " FROM ", kRunId.substr(1), " 1"),
                                  absl::StrCat(kSync, " SINCE ", kReplid, " 1"),
                                  absl::StrCat(kSync, " FROM ", kReplid),
                                  absl::StrCat(kSync, " FROM"),
                                  absl::StrCat(kSync, " FROM ", kReplid, " 1 2"),
                                  std::string("RL.SYNC 1 2")}) {
    EXPECT_THAT(client_.Run(line), StartsWith("-ERR ")) << line;
    EXPECT_EQ(client_.turn().next, ClientSession::Next::kRead) << line;
  }
  EXPECT_TRUE(replication_.requests.empty());
}

TEST_F(ReplicationTest, ARefusedSyncKeepsTheConnection) {
  replication_.answer.error = "ERR weir speaks replication 2 to 3, you 1";
  replication_.answer.needs_operator = true;
  EXPECT_EQ(client_.Send(kSync + "\r\nPING\r\n"),
            "-ERR weir speaks replication 2 to 3, you 1\r\n+PONG\r\n");
  client_.Run("MULTI");
  EXPECT_EQ(client_.Run(kSync), "-ERR Command not allowed inside a transaction\r\n");
  client_.Run("DISCARD");
  EXPECT_EQ(replication_.requests.size(), 1U);
}

}  // namespace
}  // namespace weir
