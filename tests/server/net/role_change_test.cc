// Goal: after the step that a change of the role runs on all threads, no command that saw the old
// role is under way, and no request waits for tokens. Method: two I/O threads with bare sockets,
// and a fake replication.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
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
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::string_view kUnblocked = "-UNBLOCKED this server is a replica now\r\n";

// Says more than the kernel takes, and is over at a demotion or later.
class EndingSession final : public ClientSession {
 public:
  static constexpr std::size_t kBytes = std::size_t{12} * 1024 * 1024;

  explicit EndingSession(const std::atomic<bool>& is_over) : is_over_(is_over) {}
  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override {
    out.resize(kBytes);
    return {.consumed = unread.size()};
  }
  void FinishDelayed(std::string&, const WaitOutcome&) override {}
  void EndWait(WaitEnd) override { wants_ticks_ = true; }
  [[nodiscard]] bool has_news() const noexcept override { return false; }
  [[nodiscard]] bool wants_ticks() const noexcept override { return wants_ticks_; }
  [[nodiscard]] bool is_over() const noexcept override { return is_over_; }
  [[nodiscard]] bool is_logged_in() const noexcept override { return true; }
  [[nodiscard]] std::size_t held_bytes() const override { return 0; }
  void DropUnfinished() override {}
  void OnSent() override {}

 private:
  const std::atomic<bool>& is_over_;
  bool wants_ticks_ = false;
};

class RoleChangeTest : public testing::Test {
 protected:
  static constexpr std::size_t kThreads = 2;

  RoleChangeTest() {
    ConfigureLog(LogLevel::kError);
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads_.push_back(std::make_unique<IoThread>(services_));
      threads_.back()->Start("io", [] {});
    }
  }

  void Serve(LoopbackClient& client, std::size_t thread,
             const SessionMaker& make = RedisProtocol().make) {
    client.Connect(acceptor_.local_endpoint().port());
    tcp::socket socket(threads_[thread]->context());
    acceptor_.accept(socket);
    const int descriptor = socket.native_handle();
    threads_[thread]->Adopt(
        Transport(std::move(socket)), make,
        services_.clients.Announce("peer", "own", descriptor, clock_.HostNow()));
  }

  std::uint64_t allowed() const {
    std::uint64_t sum = 0;
    for (const Worker* worker : services_.workers) sum += worker->request_counters.allowed.value();
    return sum;
  }

  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_{DefaultOptions(), clock_, *limiter_};
  FakeReplication replication_{services_};
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::vector<std::unique_ptr<IoThread>> threads_;  // last: they end before what they use
};

TEST_F(RoleChangeTest, TheStepRunsOnEachThread) {
  std::vector<IoThread*> ran(kThreads);
  IoThread::RunBetweenTurns(
      threads_, [&](IoThread& thread) { ran[&thread == threads_[0].get() ? 0 : 1] = &thread; });
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_EQ(ran[i], threads_[i].get());
}

TEST_F(RoleChangeTest, AllWaitsEndAndTheirTokensAreBack) {
  std::vector<LoopbackClient> clients(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    Serve(clients[i], i);
    const std::string key(1, static_cast<char>('a' + i));
    ASSERT_TRUE(clients[i].Send("RL.ALLOW " + key + " 10/m COST 10\r\nRL.WAIT " + key +
                                " 10/m TIMEOUT 60000\r\nPING\r\n"));
  }
  ASSERT_TRUE(Eventually([&] { return services_.waiters.load() == kThreads; }));
  replication_.BecomeReplica();
  IoThread::EndAllWaits(threads_);
  EXPECT_EQ(services_.waiters.load(), 0U);
  const std::string admitted = "*5\r\n:1\r\n:0\r\n:0\r\n:60000\r\n:0\r\n";
  for (LoopbackClient& client : clients) {
    const std::string expected = admitted + std::string(kUnblocked) + std::string(kPong);
    EXPECT_EQ(client.Receive(expected.size()), expected);
    ASSERT_TRUE(client.Send("RL.PEEK a 10/m\r\n"));  // 6 s until one is back, as before the wait
    const std::string peeked = "*5\r\n:0\r\n:0\r\n:6000\r\n:60000\r\n:0\r\n";
    EXPECT_EQ(client.Receive(peeked.size()), peeked);
  }
}

TEST_F(RoleChangeTest, AClientThatDoesNotReadIsClosedOnceItsSessionIsOver) {
  std::atomic<bool> is_over = false;
  LoopbackClient client;
  client.LimitReceiveBuffer(4096);
  Serve(client, 0, [&](Worker&, std::shared_ptr<ClientRecord>) {
    return std::make_unique<EndingSession>(is_over);
  });
  ASSERT_TRUE(client.Send("x"));
  ASSERT_TRUE(Eventually([&] { return services_.clients.All().size() == 1; }));
  const ClientRecord& record = *services_.clients.All().front();
  ASSERT_TRUE(Eventually([&] { return record.output_bytes.load() > 0; }));
  IoThread::EndAllWaits(threads_);
  Tick(*threads_[0]);
  EXPECT_EQ(services_.clients.All().size(), 1U);
  is_over = true;
  Tick(*threads_[0]);
  EXPECT_TRUE(Eventually([&] { return services_.clients.All().empty(); }));
  EXPECT_LT(client.ReceiveAll().size(), EndingSession::kBytes);
}

TEST_F(RoleChangeTest, NothingIsAdmittedAfterTheBarrier) {
  std::string pipeline;
  for (int i = 0; i < 3000; ++i) pipeline += "RL.ALLOW k 1000000/s\r\n";
  std::vector<LoopbackClient> clients(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    Serve(clients[i], i);
    ASSERT_TRUE(clients[i].Send(pipeline));
  }
  ASSERT_TRUE(Eventually([&] { return allowed() > 0; }));
  replication_.BecomeReplica();
  IoThread::RunBetweenTurns(threads_, [](IoThread&) {});
  const std::uint64_t at_barrier = allowed();
  for (std::size_t i = 0; i < kThreads; ++i) {
    ASSERT_TRUE(clients[i].Send("ECHO end\r\n"));
    std::string replies;
    while (!replies.ends_with("$3\r\nend\r\n")) {
      const std::string more = clients[i].Receive(1);
      ASSERT_FALSE(more.empty());
      replies += more;
    }
  }
  EXPECT_EQ(allowed(), at_barrier);
}

}  // namespace
}  // namespace weir
