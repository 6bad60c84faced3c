// Goal: with ack-replicas a reply to a change leaves when the replicas have it, or as NOACK after
// ack-timeout or with the primary's end; all other replies leave at once. Method: an I/O thread
// with bare sockets and a fake replication, whose ticks are the test's.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "server/net/io_thread.h"
#include "server/net/redis_port.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::string_view kTaken = "*5\r\n:1\r\n:9\r\n:0\r\n:6000\r\n:0\r\n";
constexpr std::string_view kNoAck =
    "-NOACK charged, but fewer than 1 replicas are known to have it\r\n";

Options WithAcks(std::chrono::milliseconds timeout) {
  Options options = DefaultOptions();
  options.ack_replicas = 1;
  options.ack_timeout = timeout;
  return options;
}

class AckParkTest : public testing::Test {
 protected:
  explicit AckParkTest(std::chrono::milliseconds timeout = std::chrono::minutes{1})
      : services_(WithAcks(timeout), clock_, *limiter_) {
    ConfigureLog(LogLevel::kError);
    replication_.AdmitUntil(clock_.Now() + std::chrono::hours{1});
    thread_ = std::make_unique<IoThread>(services_);
    thread_->Start("io", [] {});
  }

  void Serve(LoopbackClient& client) {
    client.Connect(acceptor_.local_endpoint().port());
    tcp::socket socket(thread_->context());
    acceptor_.accept(socket);
    const int descriptor = socket.native_handle();
    thread_->Adopt(Transport(std::move(socket)), RedisProtocol().make,
                   services_.clients.Announce("peer", "own", descriptor, clock_.HostNow()));
  }

  bool WaitsFor(std::size_t groups) {
    return Eventually([&] { return replication_.acks().size() == groups; });
  }

  void Acknowledge() {
    replication_.acks().BeginTick();
    replication_.acks().EndTick(100);
    const std::vector<std::uint64_t> acked = {100};
    replication_.acks().Judge(acked);
  }

  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_;
  FakeReplication replication_{services_};
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::unique_ptr<IoThread> thread_;  // last: it ends before what it uses
};

TEST_F(AckParkTest, AChangeIsAnsweredWhenItIsAcknowledged) {
  LoopbackClient client;
  Serve(client);
  ASSERT_TRUE(client.Send("PING\r\nRL.ALLOW k 10/m\r\nPING\r\n"));
  EXPECT_EQ(client.Receive(kPong.size()), kPong) << "what is before the change does not wait";
  ASSERT_TRUE(WaitsFor(1));
  Settle(*thread_);
  Acknowledge();
  EXPECT_EQ(client.Receive(kTaken.size() + kPong.size()), std::string(kTaken) + std::string(kPong));
}

TEST_F(AckParkTest, DenialsAndLooksDoNotWait) {
  LoopbackClient client;
  Serve(client);
  ASSERT_TRUE(client.Send("RL.PEEK k 10/m\r\nRL.ALLOW k 10/m COST 11\r\n"));
  EXPECT_EQ(client.Receive(kTaken.size()).substr(0, 4), "*5\r\n");
  ASSERT_TRUE(client.Send("RL.RESET k\r\n"));
  ASSERT_TRUE(WaitsFor(1));
  Acknowledge();
}

TEST_F(AckParkTest, AllRepliesOfADemotedPrimaryEndWithNoAck) {
  std::vector<LoopbackClient> clients(3);
  for (LoopbackClient& client : clients) Serve(client);
  for (LoopbackClient& client : clients) ASSERT_TRUE(client.Send("RL.ALLOW k 10/m\r\n"));
  ASSERT_TRUE(
      Eventually([&] { return services_.workers[0]->request_counters.allowed.value() == 3; }));
  Settle(*thread_);
  Settle(*thread_);
  replication_.BecomeReplica();
  replication_.acks().EndAll();
  for (LoopbackClient& client : clients) EXPECT_EQ(client.Receive(kNoAck.size()), kNoAck);
}

TEST_F(AckParkTest, DrainingWaitsForAcknowledgements) {
  LoopbackClient client;
  Serve(client);
  ASSERT_TRUE(client.Send("RL.ALLOW k 10/m\r\n"));
  ASSERT_TRUE(WaitsFor(1));
  thread_->Drain();
  Settle(*thread_);
  Acknowledge();
  EXPECT_EQ(client.Receive(kTaken.size()), kTaken);
}

class AckTimeoutTest : public AckParkTest {
 protected:
  AckTimeoutTest() : AckParkTest(std::chrono::milliseconds{1}) {}
};

// The clock of the deadline is the test's, so the reply leaves only once it has been moved.
TEST_F(AckTimeoutTest, WithoutAcknowledgementsTheAnswerIsNoAck) {
  LoopbackClient client;
  Serve(client);
  ASSERT_TRUE(client.Send("RL.ALLOW k 10/m\r\nPING\r\n"));
  ASSERT_TRUE(WaitsFor(1));
  clock_.Jump(-std::chrono::hours{1});
  clock_.Advance(std::chrono::milliseconds{1});
  EXPECT_EQ(client.Receive(kNoAck.size() + kPong.size()), std::string(kNoAck) + std::string(kPong));
  ASSERT_TRUE(client.Send("RL.ALLOW k 10/m\r\n"));
  ASSERT_TRUE(WaitsFor(1));
  Acknowledge();
  const std::string second = "*5\r\n:1\r\n:8\r\n:0\r\n:12000\r\n:0\r\n";
  EXPECT_EQ(client.Receive(second.size()).substr(0, 12), second.substr(0, 12)) << "it was charged";
}

}  // namespace
}  // namespace weir
