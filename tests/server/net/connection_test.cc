// Goal: a connection moves bytes faithfully and within bounds, whatever its client does. Method: a
// real server and real sockets on the loopback; each test is one kind of client, well-behaved or
// not.
#include "server/net/connection.h"

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "server/net/lingering_close.h"
#include "server/session/session.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(ConnectionTest, RequestsMayArriveInAnyPieces) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  const std::string request = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
  for (std::size_t cut = 1; cut < request.size(); ++cut) {
    client.Send(request.substr(0, cut));
    ASSERT_TRUE(client.AwaitDelivery());
    client.Send(request.substr(cut));
    ASSERT_EQ(client.Receive(11), "$5\r\nhello\r\n") << "cut at " << cut;
  }
  for (const char byte : kPing) client.Send({&byte, 1});
  EXPECT_EQ(client.Receive(kPong.size()), kPong);
}

// Requests whose beginnings fit in front of the thread's buffer, and requests whose beginnings do
// not.
TEST(ConnectionTest, LongRequestsMayArriveInAnyPieces) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  for (const std::size_t bytes : {100, 4000, 5000, 65'000}) {
    const Pipeline pipeline(3, bytes);
    for (std::size_t begin = 0; begin < pipeline.requests.size(); begin += 1500) {
      client.Send(std::string_view(pipeline.requests).substr(begin, 1500));
    }
    ASSERT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies) << bytes;
  }
}

TEST(ConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  const Pipeline pipeline(10'000);
  ASSERT_TRUE(client.Send(pipeline.requests));
  EXPECT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies);
}

TEST(ConnectionTest, ManyClientsAtOnceDoNotMixUp) {
  LoopbackServer server;
  const Pipeline pipeline(200);
  std::vector<LoopbackClient> clients;
  clients.reserve(100);
  for (int i = 0; i < 100; ++i) clients.emplace_back(server.port());
  for (LoopbackClient& client : clients) ASSERT_TRUE(client.Send(pipeline.requests));
  for (LoopbackClient& client : clients) {
    EXPECT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies);
  }
}

TEST(ConnectionTest, AClientThatDoesNotReadIsNotReadFrom) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  ASSERT_TRUE(server.AwaitClients(1));
  const Pipeline pipeline(40'000, 1000);
  const std::size_t sent = client.SendWithoutReading(pipeline.requests);
  ASSERT_LT(sent, pipeline.requests.size()) << "the server reads on and on";

  // Every reply is in a kernel's queue, except for those of one turn.
  const int descriptor = server->services().clients.All().front()->descriptor;
  const std::size_t in_kernels =
      client.unread_bytes() + LoopbackClient::Queued(descriptor, SIOCOUTQ);
  const std::size_t reply_bytes = 1100;
  EXPECT_LE(server.output_bytes(), in_kernels + kReplyBytesPerTurn + reply_bytes);

  // Nothing is lost: once the client reads, the server continues.
  ASSERT_TRUE(client.Send(std::string_view(pipeline.requests).substr(sent)));
  EXPECT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies);
}

TEST(ConnectionTest, AClientThatDoesNotReadALongReplyIsClosed) {
  LoopbackServer server;
  LoopbackClient client;
  client.LimitReceiveBuffer(4096);
  client.Connect(server.port());
  ASSERT_TRUE(server.AwaitClients(1));
  // CLIENT LIST has a line for each of these clients: more than the kernel and
  // kPendingOutputBytesMax hold together.
  constexpr std::size_t kRecords = 100'000;
  std::vector<std::shared_ptr<ClientRecord>> records;
  for (std::size_t i = 0; i < kRecords; ++i) {
    records.push_back(
        server->services().clients.Add("127.0.0.1:1", "127.0.0.1:2", 0, HostInstant{}));
  }
  client.Send("CLIENT LIST\r\n");
  EXPECT_TRUE(server.AwaitClients(kRecords));
  EXPECT_LT(client.ReceiveAll().size(), kRecords * 100);
  for (const std::shared_ptr<ClientRecord>& record : records) {
    server->services().clients.Remove(*record);
  }
}

TEST(ConnectionTest, AClientThatReadsGetsALongReply) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  ASSERT_TRUE(server.AwaitClients(1));
  std::vector<std::shared_ptr<ClientRecord>> records;
  for (std::size_t i = 0; i < 10'000; ++i) {
    records.push_back(
        server->services().clients.Add("127.0.0.1:1", "127.0.0.1:2", 0, HostInstant{}));
    records.back()->set_name(std::string(256, 'x'));
  }
  client.Send("CLIENT LIST\r\nQUIT\r\n");
  const std::string replies = client.ReceiveAll();
  EXPECT_GT(replies.size(), 10'000U * 400);
  EXPECT_TRUE(replies.ends_with("+OK\r\n"));
  for (const std::shared_ptr<ClientRecord>& record : records) {
    server->services().clients.Remove(*record);
  }
}

TEST(ConnectionTest, AClientThatFinishesSendingGetsAllReplies) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  const Pipeline pipeline(5'000);
  ASSERT_TRUE(client.Send(pipeline.requests + "*1\r\n$4\r\nPI"));
  client.FinishSending();
  EXPECT_TRUE(client.ReceiveAll() == pipeline.replies);
  EXPECT_FALSE(client.reset());
  EXPECT_TRUE(server.AwaitClients(0));
}

TEST(ConnectionTest, QuitIsAnsweredAndEndsTheConversation) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  client.Send("PING\r\nQUIT\r\nPING\r\n");
  EXPECT_EQ(client.ReceiveAll(), "+PONG\r\n+OK\r\n");
  EXPECT_FALSE(client.reset());
}

TEST(ConnectionTest, AResetInTheMiddleOfARequestLeavesNothingBehind) {
  LoopbackServer server;
  for (int i = 0; i < 20; ++i) {
    LoopbackClient client(server.port());
    client.Send("PING\r\n*2\r\n$4\r\nEC");
    client.Receive(kPong.size());
    client.Reset();
  }
  EXPECT_TRUE(server.AwaitClients(0));
  LoopbackClient other(server.port());
  other.Send(kPing);
  EXPECT_EQ(other.Receive(kPong.size()), kPong);
}

TEST(ConnectionTest, AResetWhileRepliesWaitLeavesNothingBehind) {
  LoopbackServer server;
  {
    LoopbackClient client(server.port());
    const Pipeline pipeline(40'000, 1000);
    client.SendWithoutReading(pipeline.requests);
    client.Reset();
  }
  EXPECT_TRUE(server.AwaitClients(0));
}

TEST(ConnectionTest, AProtocolErrorArrivesInFullThoughTheClientSendsOn) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  const std::string garbage(1'000'000, 'x');
  EXPECT_TRUE(client.Send("PING\r\n*1\r\n:1\r\n" + garbage));
  EXPECT_EQ(client.ReceiveAll(), "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_FALSE(client.reset());
}

TEST(ConnectionTest, AClientThatNeverStopsSendingIsCutInTheEnd) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  const std::string garbage(kLingerBytesMax, 'x');
  bool taken = client.Send("*1\r\n:1\r\n");
  for (int i = 0; i < 20 && taken; ++i) taken = client.Send(garbage);
  EXPECT_FALSE(taken);
  EXPECT_TRUE(server.AwaitClients(0));
}

TEST(ConnectionTest, AClientThatDoesNotCloseAfterAnErrorIsForgottenSoon) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  client.Send("*1\r\n:1\r\n");
  EXPECT_EQ(client.ReceiveAll(), "-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_TRUE(server.AwaitClients(0));  // kLingerTime later
}

TEST(ConnectionTest, ABrowserGetsNoAnswer) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\n\r\n*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_FALSE(client.reset());
}

// On one thread, a client whose pipeline is long waits for its next turn behind another one's
// single request.
TEST(ConnectionTest, ALongPipelineDoesNotKeepOthersWaiting) {
  Options options = LoopbackOptions();
  options.threads = 1;
  LoopbackServer server(options);
  LoopbackClient greedy(server.port());
  LoopbackClient modest(server.port());
  const Pipeline pipeline(static_cast<int>(Scaled(200'000)));
  std::thread flood([&] {
    EXPECT_TRUE(greedy.Send(pipeline.requests));
    EXPECT_TRUE(greedy.Receive(pipeline.replies.size()) == pipeline.replies);
  });
  for (int i = 0; i < 100; ++i) {
    modest.Send(kPing);
    EXPECT_EQ(modest.Receive(kPong.size()), kPong);
  }
  flood.join();
}

TEST(ConnectionTest, SocketsHaveTheirOptions) {
  LoopbackServer server;
  LoopbackClient client(server.port());
  ASSERT_TRUE(server.AwaitClients(1));
  const int descriptor = server->services().clients.All().front()->descriptor;
  const auto option = [descriptor](int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(getsockopt(descriptor, level, name, &value, &bytes), 0);
    return value;
  };
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 60);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NOTSENT_LOWAT), 64 * 1024);
}

}  // namespace
}  // namespace weir
