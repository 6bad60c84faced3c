// Goal: a client that makes the server hold an incomplete request, or replies that the client does
// not read, may do so for kStalledTime and no longer. No other client is closed, unless there is a
// timeout for idle clients. Method: one I/O thread whose clock is stopped until the test moves
// it, and bare sockets; where the moment matters, the test runs the timer's work.
#include "server/net/io_thread.h"

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "server/net/connection.h"
#include "server/net/redis_port.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using asio::ip::tcp;
using std::chrono::seconds;

constexpr std::string_view kHalf = "*2\r\n$4\r\nEC";
constexpr std::string_view kOtherHalf = "HO\r\n$1\r\nx\r\n";
constexpr std::string_view kEcho = "$1\r\nx\r\n";

// The least length of the reply to AskForMuch(); it is at most kSlowOutputBytesMax longer.
constexpr std::size_t kReplyBytesMin = 640 * 1024;

class IoThreadTest : public testing::Test {
 protected:
  explicit IoThreadTest(const Options& options = DefaultOptions())
      : services_(options, clock_, *limiter_) {
    ConfigureLog(LogLevel::kError);
    thread_.Start("io", [this] { ended_.set_value(); });
  }

  // Connects the client and gives its connection to the thread; the server's kernel holds about
  // `send_buffer_bytes` of the replies.
  void Serve(LoopbackClient& client, int send_buffer_bytes = 0) {
    client.Connect(acceptor_.local_endpoint().port());
    tcp::socket socket(thread_.context());
    acceptor_.accept(socket);
    if (send_buffer_bytes > 0) {
      socket.set_option(asio::socket_base::send_buffer_size(send_buffer_bytes));
    }
    const int descriptor = socket.native_handle();
    thread_.Adopt(Transport(std::move(socket)), RedisProtocol().make,
                  services_.clients.Announce("peer", "own", descriptor, clock_.HostNow()));
  }

  // Sends a ping and these bytes; returns when the server has read all of them.
  void Deliver(LoopbackClient& client, std::string_view rest) {
    ASSERT_TRUE(client.Send(std::string(kPing).append(rest)));
    ASSERT_EQ(client.Receive(kPong.size()), kPong);
    Settle(thread_);
  }

  // Asks for a reply of about 800 KiB: more than kSlowOutputBytesMax, and less than the most
  // allowed. Returns when the server waits for room to send.
  void AskForMuch(LoopbackClient& client) {
    while (records_.size() < 3'500) records_.push_back(services_.clients.Add("p", "o", 0, {}));
    client.LimitReceiveBuffer(4096);
    Serve(client, 4096);
    ASSERT_TRUE(client.Send("CLIENT LIST\r\n"));
    ASSERT_TRUE(Eventually([&] { return client.unread_bytes() > 0; }));
    Settle(thread_);
  }

  // Waits until at most `count` connections are left, not counting the records that make CLIENT
  // LIST long.
  bool AwaitOpen(std::size_t count) {
    return Eventually([&] { return services_.clients.size() - records_.size() <= count; });
  }

  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_;
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::vector<std::shared_ptr<ClientRecord>> records_;
  std::promise<void> ended_;
  IoThread thread_{services_};  // the last member: the thread ends before what it uses
};

TEST_F(IoThreadTest, HalfARequestIsClosedByTheTimer) {
  LoopbackClient client;
  Serve(client);
  Deliver(client, kHalf);
  clock_.Advance(kStalledTime);
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_TRUE(AwaitOpen(0));
}

TEST_F(IoThreadTest, HalfARequestHasItsTimeAndNotMore) {
  LoopbackClient early;
  LoopbackClient late;
  Serve(early);
  Serve(late);
  Deliver(early, kHalf);
  clock_.Advance(Nanos{1});
  Deliver(late, kHalf);
  clock_.Advance(kStalledTime - Nanos{1});
  Tick(thread_);
  EXPECT_EQ(early.ReceiveAll(), "");
  EXPECT_TRUE(late.Send(kOtherHalf));
  EXPECT_EQ(late.Receive(kEcho.size()), kEcho);
}

// A byte now and then does not prolong a request: its time counts from its first byte.
TEST_F(IoThreadTest, DripsDoNotProlongARequest) {
  LoopbackClient client;
  Serve(client);
  Deliver(client, "*1\r\n$10\r\n");
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(kStalledTime / 5);
    ASSERT_TRUE(client.Send("x"));
    ASSERT_TRUE(client.AwaitDelivery());
  }
  Tick(thread_);
  EXPECT_TRUE(AwaitOpen(0));
}

TEST_F(IoThreadTest, EveryRequestHasItsOwnTime) {
  LoopbackClient client;
  Serve(client);
  Deliver(client, "*1\r\n");
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(kStalledTime - Nanos{1});
    Tick(thread_);
    ASSERT_TRUE(client.Send("$4\r\nPING\r\n*1\r\n"));
    ASSERT_EQ(client.Receive(kPong.size()), kPong);
    Settle(thread_);
  }
  clock_.Advance(kStalledTime);
  Tick(thread_);
  EXPECT_EQ(client.ReceiveAll(), "");
}

TEST_F(IoThreadTest, AnIdleConnectionIsNeverClosed) {
  LoopbackClient fresh;
  LoopbackClient used;
  Serve(fresh);
  Serve(used);
  Deliver(used, kHalf);
  ASSERT_TRUE(used.Send(kOtherHalf));
  ASSERT_EQ(used.Receive(kEcho.size()), kEcho);
  Settle(thread_);
  clock_.Advance(std::chrono::hours{24});
  Tick(thread_);
  Deliver(fresh, "");
  Deliver(used, "");
}

TEST_F(IoThreadTest, ManyRepliesThatAreNotReadHaveTheirTimeAndNotMore) {
  LoopbackClient early;
  LoopbackClient late;
  AskForMuch(early);
  clock_.Advance(Nanos{1});
  AskForMuch(late);
  clock_.Advance(kStalledTime - Nanos{1});
  Tick(thread_);
  EXPECT_TRUE(AwaitOpen(1));
  EXPECT_LT(early.ReceiveAll().size(), kReplyBytesMin);
  EXPECT_EQ(late.Receive(kReplyBytesMin).size(), kReplyBytesMin);
}

// The same, but the client reads most of the reply in time; the rest may take as long as it needs.
TEST_F(IoThreadTest, AClientThatReadsIsServedToTheEnd) {
  LoopbackClient client;
  AskForMuch(client);
  clock_.Advance(kStalledTime - Nanos{1});
  EXPECT_EQ(client.Receive(kReplyBytesMin).size(), kReplyBytesMin);
  Settle(thread_);
  clock_.Advance(std::chrono::hours{1});
  Tick(thread_);
  EXPECT_TRUE(client.Send(kPing));
  client.FinishSending();
  EXPECT_TRUE(client.ReceiveAll().ends_with(kPong));
}

class IdleTimeoutTest : public IoThreadTest {
 protected:
  static constexpr seconds kTimeout{60};

  IdleTimeoutTest() : IoThreadTest(WithTimeout()) {}

 private:
  static Options WithTimeout() {
    Options options = DefaultOptions();
    options.timeout = kTimeout;
    return options;
  }
};

TEST_F(IdleTimeoutTest, AnIdleClientHasItsTimeAndNotMore) {
  LoopbackClient fresh;
  LoopbackClient used;
  LoopbackClient active;
  Serve(fresh);
  Serve(used);
  Serve(active);
  Deliver(used, "");
  clock_.Advance(kTimeout - Nanos{1});
  Deliver(active, "");
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 3U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_EQ(fresh.ReceiveAll(), "");
  EXPECT_EQ(used.ReceiveAll(), "");
  Deliver(active, "");
}

TEST_F(IdleTimeoutTest, ItsTimerNeedsNothingElse) {
  LoopbackClient client;
  Serve(client);
  Deliver(client, "");
  clock_.Advance(kTimeout);
  EXPECT_EQ(client.ReceiveAll(), "");
}

class NewTimeoutTest : public IoThreadTest {
 protected:
  void SetTimeout(seconds timeout) {
    const absl::Status set = services_.settings.Change([&](Options& options) {
      options.timeout = timeout;
      return absl::OkStatus();
    });
    ASSERT_TRUE(set.ok());
    thread_.WatchIdle();
    Settle(thread_);
  }
};

TEST_F(NewTimeoutTest, AConnectedClientHasItsTimeAndNotMore) {
  LoopbackClient early;
  Serve(early);
  Deliver(early, "");
  SetTimeout(seconds{60});
  LoopbackClient late;
  Serve(late);
  Deliver(late, "");
  clock_.Advance(seconds{60} - Nanos{1});
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 2U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_EQ(early.ReceiveAll(), "");
  EXPECT_EQ(late.ReceiveAll(), "");
}

TEST_F(NewTimeoutTest, AShorterOneCountsFromTheLastRequest) {
  SetTimeout(seconds{60});
  LoopbackClient client;
  Serve(client);
  Deliver(client, "");
  clock_.Advance(seconds{30});
  Tick(thread_);
  SetTimeout(seconds{30});
  Tick(thread_);
  EXPECT_EQ(client.ReceiveAll(), "");
}

TEST_F(NewTimeoutTest, RemovingItSparesWatchedClients) {
  SetTimeout(seconds{60});
  LoopbackClient client;
  Serve(client);
  Deliver(client, "");
  SetTimeout(seconds{0});
  clock_.Advance(std::chrono::hours{24});
  Tick(thread_);
  Deliver(client, "");
  SetTimeout(seconds{60});
  clock_.Advance(seconds{60});
  Tick(thread_);
  EXPECT_EQ(client.ReceiveAll(), "");
}

// As in Redis, such a client does not count as idle.
TEST_F(IdleTimeoutTest, AClientThatWaitsForTokensIsNotIdle) {
  LoopbackClient client;
  Serve(client);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.Send("RL.WAIT w 1/m,burst=1 TIMEOUT 60000\r\n"));
  }
  ASSERT_TRUE(Eventually([&] { return services_.waiters.load() == 1; }));
  clock_.Advance(kTimeout);
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 1U);
}

// The time of decisions jumps when the server begins to follow a primary.
class ClockJumpTest : public IdleTimeoutTest, public testing::WithParamInterface<int> {};

TEST_P(ClockJumpTest, EachClientHasItsTimeAndNotMore) {
  LoopbackClient idle;
  LoopbackClient half;
  Serve(idle);
  Serve(half);
  Deliver(idle, "");
  Deliver(half, kHalf);
  clock_.Jump(seconds{GetParam()});
  clock_.Advance(kStalledTime - Nanos{1});
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 2U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_EQ(half.ReceiveAll(), "");
  EXPECT_TRUE(AwaitOpen(1));
  clock_.Jump(seconds{-GetParam()});
  clock_.Advance(kTimeout - kStalledTime - Nanos{1});
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 1U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_EQ(idle.ReceiveAll(), "");
}

INSTANTIATE_TEST_SUITE_P(BackAndForth, ClockJumpTest, testing::Values(-300, 300));

TEST_F(IoThreadTest, AStalledConnectionDoesNotKeepTheThread) {
  LoopbackClient client;
  Serve(client);
  Deliver(client, kHalf);
  thread_.Drain();
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_EQ(ended_.get_future().wait_for(kLoopbackDeadline), std::future_status::ready);
}

// A client must log in within kStalledTime, however much it sends.
TEST_F(IoThreadTest, ClientsMustLogInInTime) {
  ASSERT_TRUE(services_.access.Configure("secret", "").ok());
  constexpr std::string_view kNoAuth = "-NOAUTH Authentication required.\r\n";
  LoopbackClient stranger;
  LoopbackClient user;
  Serve(stranger);
  Serve(user);
  for (LoopbackClient* client : {&stranger, &user}) {
    ASSERT_TRUE(client->Send(kPing));
    ASSERT_EQ(client->Receive(kNoAuth.size()), kNoAuth);
  }
  ASSERT_TRUE(user.Send("AUTH secret\r\n"));
  ASSERT_EQ(user.Receive(5), "+OK\r\n");
  clock_.Advance(kStalledTime - Nanos{1});
  ASSERT_TRUE(stranger.Send(kPing));
  ASSERT_EQ(stranger.Receive(kNoAuth.size()), kNoAuth);
  Settle(thread_);
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 2U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_TRUE(AwaitOpen(1));
  Deliver(user, "");
}

}  // namespace
}  // namespace weir
