// Goal: a stop loses no request that was received, and always comes to an end. Method: requests
// that are in the server's kernel buffers when the stop begins, and clients that do not cooperate.
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/random/generators.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"

namespace weir {
namespace {

TEST(ServerTest, AStopAnswersWhatHasBeenReceived) {
  const Pipeline pipeline(500);
  for (int round = 0; round < 10; ++round) {
    LoopbackServer server;
    std::vector<LoopbackClient> clients;
    for (int i = 0; i < 50; ++i) clients.emplace_back(server.port());
    ASSERT_TRUE(server.AwaitClients(50));
    for (LoopbackClient& client : clients) {
      ASSERT_TRUE(client.Send(pipeline.requests + "*2\r\n$4\r\nEC"));
    }
    for (LoopbackClient& client : clients) ASSERT_TRUE(client.AwaitDelivery());
    server->RequestShutdown();
    for (LoopbackClient& client : clients) {
      EXPECT_TRUE(client.ReceiveAll() == pipeline.replies);
      EXPECT_FALSE(client.reset());
      client.Close();
    }
    server.AwaitEnd();
  }
}

// Goal: a new bound from CONFIG SET takes effect. Method: one key with more buckets than a
// partition may hold under the new bound.
TEST(ServerTest, ANewBoundOfMemoryIsKept) {
  LoopbackServer server;
  Services& services = server->services();
  std::int64_t count = 0;
  const auto add_bucket = [&] {
    const Limit limit = LimitOf(std::to_string(++count) + "/d");
    WEIR_CHECK(services.limiter
                   .Decide({{.key = "k", .limit = &limit, .hash = services.limiter.Hash("k")}},
                           services.clock.Now())
                   .ok());
  };
  while (count < 1'000) add_bucket();
  EXPECT_EQ(services.upkeep.counts().evicted, 0U);
  LoopbackClient client(server.port());
  client.Send("CONFIG SET maxmemory 32mb\r\n");
  EXPECT_EQ(client.Receive(5), "+OK\r\n");
  while (services.upkeep.counts().evicted == 0) add_bucket();
  EXPECT_LT(services.upkeep.size().buckets, 600U);
}

TEST(ServerTest, AStopClosesIdleClients) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  client.Send(kPing);
  EXPECT_EQ(client.Receive(kPong.size()), kPong);
  server->RequestShutdown();
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_FALSE(client.reset());
}

// The client sends without end; requests that arrive after the stop has begun are not executed.
TEST(ServerTest, AStopEndsThoughAClientGoesOnAsking) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  std::size_t replies = 0;
  for (;;) {
    if (!client.Send(kPing)) break;
    if (client.Receive(kPong.size()) != kPong) break;
    if (++replies == 100) server->RequestShutdown();
  }
  EXPECT_GE(replies, 100U);
  server.AwaitEnd();
}

TEST(ServerTest, AStopCutsAClientThatDoesNotTakeItsReplies) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  ASSERT_TRUE(server.AwaitClients(1));
  client.SendWithoutReading(Pipeline(40'000, 1000).requests);
  server->RequestShutdown();
  server.AwaitEnd();  // kDrainTime later
}

TEST(ServerTest, NoClientIsAcceptedAfterAStop) {
  LoopbackServer server;
  server->RequestShutdown();
  server.AwaitEnd();
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(descriptor);
}

TEST(ServerTest, TheCommandShutdownStops) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  LoopbackClient other(server.port());
  ASSERT_TRUE(server.AwaitClients(2));
  client.Send("PING\r\nSHUTDOWN\r\n");
  EXPECT_EQ(client.ReceiveAll(), kPong);
  EXPECT_EQ(other.ReceiveAll(), "");
  client.Close();
  server.AwaitEnd();
}

TEST(ServerTest, AServerThatNeverRanEndsToo) {
  Server server(LoopbackOptions());
  ASSERT_TRUE(server.Start().ok());
  LoopbackClient client(server.port());
}

}  // namespace
}  // namespace weir
