// Goal: a server that lacks descriptors, threads or a name server survives, answers its clients,
// and continues once it has them. Method: a server in this process, which may open and start
// nothing, and a getaddrinfo that waits.
#include <latch>
#include <string>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server.h"
#include "tests/server/loopback.h"
#include "tests/server/replicas/bare_replica.h"
#include "tests/server/scarcity.h"
#include "tests/server/waiting_names.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::string_view kOk = "+OK\r\n";
constexpr std::string_view kPong = "+PONG\r\n";

void ExpectPong(LoopbackClient& client) {
  ASSERT_TRUE(client.Send("PING\r\n"));
  EXPECT_EQ(client.Receive(kPong.size()), kPong);
}

void ExpectOk(LoopbackClient& client, const std::string& command) {
  ASSERT_TRUE(client.Send(absl::StrCat(command, "\r\n")));
  EXPECT_EQ(client.Receive(kOk.size()), kOk) << command;
}

[[nodiscard]] bool AwaitRole(LoopbackServer& server, bool is_replica) {
  return Eventually([&] { return server->services().is_replica() == is_replica; });
}

TEST(ScarceResourcesTest, AReplicaIsServed) {
  LoopbackServer server;
  BareReplica replica(server.port());
  const NoDescriptors no_descriptors;
  const NoThreads no_threads;
  replica.Connect();
  replica.AwaitOverrides(0);
}

TEST(ScarceResourcesTest, TheRoleChangesToAndFro) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  ExpectPong(client);
  const NoDescriptors no_descriptors;
  const NoThreads no_threads;
  for (const char* const host : {"127.0.0.1", "name.invalid"}) {
    ExpectOk(client, absl::StrCat("REPLICAOF ", host, " 1"));
    EXPECT_TRUE(AwaitRole(server, true));
    ExpectPong(client);
    ExpectOk(client, "REPLICAOF NO ONE");
    EXPECT_TRUE(AwaitRole(server, false));
    ExpectPong(client);
  }
}

TEST(ScarceResourcesTest, TheLinkTriesAgain) {
  LoopbackServer primary;
  LoopbackServer server;
  LoopbackClient client(server.port());
  ExpectPong(client);
  {
    const NoDescriptors no_descriptors;
    const NoThreads no_threads;
    ExpectOk(client, absl::StrCat("REPLICAOF localhost ", primary.port()));
    EXPECT_TRUE(AwaitRole(server, true));
    ExpectPong(client);
  }
  EXPECT_TRUE(Eventually([&] {
    const ReplicationStatus status = server->services().replication->status();
    return status.link && status.link->state == LinkState::kConnected;
  }));
}

// The state is loaded when clients are connected already, and may have used up all threads.
TEST(ScarceResourcesTest, WhatIsLoadedIsServedSweptAndSaved) {
  const TemporaryDirectory directory;
  Options options = LoopbackOptions();
  options.data_dir = directory.path() + "/data";
  options.durability = Durability::kAlways;
  Server server(options);
  ASSERT_TRUE(server.Start().ok());
  std::latch begins(1);
  std::thread runner([&] {
    begins.wait();
    EXPECT_TRUE(server.Run().ok());
  });
  {
    const NoThreads none;
    begins.count_down();
    EXPECT_TRUE(Eventually([&] { return !server.services().admission().loading(); }));
    LoopbackClient client(server.port());
    constexpr std::string_view kAdmitted = "*5\r\n:1\r\n:0\r\n";
    ASSERT_TRUE(client.Send("RL.ALLOW k 1/h\r\n"));
    EXPECT_EQ(client.Receive(kAdmitted.size()), kAdmitted);
    const std::uint64_t laps = server.services().sweeper.laps();
    EXPECT_TRUE(Eventually([&] { return server.services().sweeper.laps() > laps; }));
  }
  server.RequestShutdown();
  runner.join();
}

// Each may fail, with an answer.
TEST(ScarceResourcesTest, CommandsThatOpenFilesAreAnswered) {
  const TemporaryDirectory directory;
  Options options = LoopbackOptions();
  options.data_dir = directory.path() + "/data";
  options.backup_dir = directory.path() + "/backups";
  options.policies = directory.Write("policies.toml", "[policies]\nfree = \"1/s\"\n");
  options.users_file = directory.Write("users", "user default on nopass ~* +@all\n");
  LoopbackServer server(options);
  ASSERT_TRUE(Eventually([&] { return !server->services().admission().loading(); }));
  LoopbackClient client(server.port());
  ExpectPong(client);
  {
    const NoDescriptors no_descriptors;
    const NoThreads no_threads;
    for (const char* const command :
         {"RL.POLICY RELOAD", "ACL LOAD", "RL.BACKUP b", "INFO", "SAVE", "BGSAVE"}) {
      ASSERT_TRUE(client.Send(absl::StrCat(command, "\r\n")));
      const std::string first = client.Receive(1);
      EXPECT_THAT(first, testing::AnyOf("-", "+", "$", "*", ":")) << command;
      ASSERT_TRUE(client.Send("ECHO the-end\r\n"));
      std::string reply;
      while (!reply.ends_with("the-end\r\n")) {
        const std::string byte = client.Receive(1);
        ASSERT_FALSE(byte.empty()) << command << " ends the connection";
        reply += byte;
      }
    }
  }
  ExpectPong(client);
}

TEST(SilentNameServerTest, TheNextRoleAndNewClientsDoNotWait) {
  WaitingNames names;
  LoopbackServer server;
  LoopbackClient client(server.port());
  ExpectOk(client, absl::StrCat("REPLICAOF ", WaitingNames::name(), " 7379"));
  names.AwaitLookUps(1);
  ExpectOk(client, "REPLICAOF NO ONE");
  EXPECT_TRUE(AwaitRole(server, false));
  LoopbackClient next(server.port());
  ExpectPong(next);
}

TEST(SilentNameServerTest, TheEndOfTheServerDoesNotWait) {
  WaitingNames names;
  {
    LoopbackServer server;
    LoopbackClient client(server.port());
    ExpectOk(client, absl::StrCat("REPLICAOF ", WaitingNames::name(), " 7379"));
    names.AwaitLookUps(1);
  }
  // Nor does it wait for the look-up of a name in a Sentinel's hello.
  Options options = LoopbackOptions();
  options.sentinel = "weir";
  LoopbackServer server(options);
  LoopbackClient client(server.port());
  ASSERT_TRUE(
      client.Send(absl::StrCat("PUBLISH __sentinel__:hello 10.0.0.1,26379,", std::string(40, 'a'),
                               ",1,weir,", WaitingNames::name(), ",7379,1\r\n")));
  names.AwaitLookUps(2);
}

}  // namespace
}  // namespace weir
