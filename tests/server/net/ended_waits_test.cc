// Goal: where many waits for tokens end together, the tokens of all of them are returned. Method:
// 100 waits over three I/O threads, of one key, of another, and of both, in mixed order; a clock
// that does not advance, so that the buckets must be as they were before; each way in which waits
// end.
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "server/net/io_thread.h"
#include "server/net/redis_port.h"
#include "tests/random/generators.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::size_t kWaits = 100;
constexpr std::string_view kLimit = "10/s,burst=1";
constexpr Nanos kEmissionInterval = std::chrono::milliseconds{100};

class EndedWaitsTest : public testing::Test {
 protected:
  static constexpr std::size_t kThreads = 3;

  EndedWaitsTest() {
    ConfigureLog(LogLevel::kError);
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads_.push_back(std::make_unique<IoThread>(services_));
      threads_.back()->Start("io", [] {});
    }
    Serve(operator_, 0);
    Ask("RL.ALLOW a 10/s,burst=1 AND b 10/s,burst=1\r\n", "*5\r\n:1\r\n:0\r\n:0\r\n:100\r\n:0\r\n");
    for (std::size_t i = 0; i < kWaits; ++i) {
      Serve(clients_[i], i % kThreads);
      constexpr std::array<std::string_view, 4> kKeys = {"a", "b", "a 10/s,burst=1 AND b", "a"};
      EXPECT_TRUE(clients_[i].Send("RL.WAIT " + std::string(kKeys[i % kKeys.size()]) + " " +
                                   std::string(kLimit) + " TIMEOUT 60000\r\n"));
      EXPECT_TRUE(Eventually([&] { return services_.waiters.load() == i + 1; }));
    }
    EXPECT_GT(RetryAfter("a"), 20 * kEmissionInterval);
    EXPECT_GT(RetryAfter("b"), 20 * kEmissionInterval);
  }

  void Serve(LoopbackClient& client, std::size_t thread) {
    client.Connect(acceptor_.local_endpoint().port());
    tcp::socket socket(threads_[thread]->context());
    acceptor_.accept(socket);
    const int descriptor = socket.native_handle();
    threads_[thread]->Adopt(
        Transport(std::move(socket)), RedisProtocol().make,
        services_.clients.Announce("peer", "own", descriptor, clock_.HostNow()));
  }

  // The operator sends a command, and gets this reply.
  void Ask(std::string_view command, std::string_view reply) {
    EXPECT_TRUE(operator_.Send(command));
    EXPECT_EQ(operator_.Receive(reply.size()), reply);
  }

  Nanos RetryAfter(std::string_view key) {
    const Limit limit = LimitOf(kLimit);
    const Verdict verdict = limiter_->Peek(
        {{.key = key, .limit = &limit, .cost = 1, .hash = limiter_->Hash(key)}}, clock_.Now());
    return verdict.decisions.front().retry_after;
  }

  // As before the waits: the next token comes after one interval.
  void ExpectAllReturned() {
    EXPECT_TRUE(Eventually([&] { return services_.waiters.load() == 0; }));
    EXPECT_EQ(RetryAfter("a"), kEmissionInterval);
    EXPECT_EQ(RetryAfter("b"), kEmissionInterval);
  }

  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_{DefaultOptions(), clock_, *limiter_};
  FakeReplication replication_{services_};
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
  LoopbackClient operator_;
  std::vector<LoopbackClient> clients_{kWaits};
  std::vector<std::unique_ptr<IoThread>> threads_;  // last: they end before what they use
};

TEST_F(EndedWaitsTest, OfAServerThatBecomesAReplica) {
  replication_.BecomeReplica();
  IoThread::EndAllWaits(threads_);
  ExpectAllReturned();
  const std::string unblocked = "-UNBLOCKED this server is a replica now\r\n";
  for (LoopbackClient& client : clients_) EXPECT_EQ(client.Receive(unblocked.size()), unblocked);
}

TEST_F(EndedWaitsTest, OfADeposedServer) {
  replication_.Depose();
  IoThread::EndAllWaits(threads_);
  ExpectAllReturned();
}

// SIGTERM and SHUTDOWN.
TEST_F(EndedWaitsTest, OfAServerThatStops) {
  IoThread::DrainAll(threads_);
  ExpectAllReturned();
  for (LoopbackClient& client : clients_) {
    EXPECT_EQ(client.ReceiveAll(), "-UNBLOCKED the server is shutting down\r\n");
  }
}

TEST_F(EndedWaitsTest, OfKilledClients) {
  Ask("CLIENT KILL TYPE normal\r\n", ":100\r\n");
  ExpectAllReturned();
  for (LoopbackClient& client : clients_) EXPECT_EQ(client.ReceiveAll(), "");
}

// CLIENT UNPAUSE wakes all clients, but ends no wait.
TEST_F(EndedWaitsTest, OfClientsThatWerePausedMeanwhile) {
  Ask("CLIENT PAUSE 60000\r\n", "+OK\r\n");
  Ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
  for (const auto& thread : threads_) Settle(*thread);
  EXPECT_EQ(services_.waiters.load(), kWaits);
  EXPECT_GT(RetryAfter("a"), 20 * kEmissionInterval);
  replication_.BecomeReplica();
  IoThread::EndAllWaits(threads_);
  ExpectAllReturned();
}

}  // namespace
}  // namespace weir
