// Goal: a mistake of our own code that would send a client what it must not get, read or write
// beyond a buffer, or stop a thread for good, ends the process where it is made. Method: each
// mistake, in a process of its own; sessions that break their promises behind real sockets.
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "server/net/io_thread.h"
#include "server/net/listener.h"
#include "server/net/redis_port.h"
#include "server/net/tls_context.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using asio::ip::tcp;
using Next = ClientSession::Next;

using Turn = ClientSession::Turn;
using Script = std::function<Turn(std::string_view unread, std::string& out)>;

// Does in each turn what the test says.
class ScriptedSession final : public ClientSession {
 public:
  explicit ScriptedSession(Script script) : script_(std::move(script)) {}
  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override {
    return script_(unread, out);
  }
  void FinishDelayed(std::string&, const WaitOutcome&) override {}
  void EndWait(WaitEnd) override {}
  [[nodiscard]] bool has_news() const noexcept override { return false; }
  [[nodiscard]] bool is_logged_in() const noexcept override { return true; }
  [[nodiscard]] std::size_t held_bytes() const override { return 0; }
  void DropUnfinished() override {}
  void OnSent() override {}

 private:
  const Script script_;
};

class NetContractTest : public testing::Test {
 protected:
  NetContractTest() { ConfigureLog(LogLevel::kError); }

  // Serves the client, which sends one byte.
  void Serve(const Script& script) {
    thread_->Start("io", [this] { ended_.set_value(); });
    tcp::acceptor acceptor(context_, {asio::ip::make_address("127.0.0.1"), 0});
    client_.Connect(acceptor.local_endpoint().port());
    tcp::socket socket(thread_->context());
    acceptor.accept(socket);
    ClientArrival arrival = services_.clients.Announce("peer", "own", 0, clock_.HostNow());
    ASSERT_TRUE(client_.Send("x"));
    thread_->Adopt(
        Transport(std::move(socket)),
        [&](Worker&, std::shared_ptr<ClientRecord> record) {
          record_ = std::move(record);
          return std::make_unique<ScriptedSession>(script);
        },
        std::move(arrival));
    Settle(*thread_);
  }
  // Serves it until the process or the connection ends; each turn is this one.
  void ServeWith(const Turn& turn, const std::string& output = "") {
    Serve([=](std::string_view, std::string& out) {
      out += output;
      return turn;
    });
    client_.ReceiveAll();
  }

  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_{DefaultOptions(), clock_, *limiter_};
  LoopbackClient client_;
  std::shared_ptr<ClientRecord> record_;  // its
  asio::io_context context_;
  std::promise<void> ended_;
  const std::unique_ptr<IoThread> thread_ = std::make_unique<IoThread>(services_);
};

TEST_F(NetContractTest, ASessionConsumesWhatItWasGiven) {
  EXPECT_DEATH(ServeWith({.consumed = 2}), "consumed <= unread.size");
}

TEST_F(NetContractTest, OnlyOutputThatIsThereWaits) {
  constexpr Awaited kSave = {.save = Awaited::Save::kAsked};
  EXPECT_DEATH(ServeWith({.consumed = 1, .delayed_from = 2, .awaited = kSave}, "y"),
               "delayed_from <= replies.size");
}

// Else the reply to a change would leave before it is saved.
TEST_F(NetContractTest, OutputThatWaitsWaitsForSomething) {
  EXPECT_DEATH(ServeWith({.consumed = 1, .delayed_from = 0}, "y"), "awaited.any");
}

TEST_F(NetContractTest, AConnectionIsHandedOverWithItsRequest) {
  EXPECT_DEATH(ServeWith({.consumed = 1, .next = Next::kHandOver}), "sync.has_value");
}

// Method: a kill comes while the next turn is in the thread's queue.
TEST_F(NetContractTest, NoTurnFollowsTheEndOfAConnection) {
  int turns = 0;
  Serve([&](std::string_view, std::string&) {
    ++turns;
    record_->killed = true;
    record_->Wake();
    return Turn{.next = Next::kContinue};
  });
  EXPECT_EQ(client_.ReceiveAll(), "");
  Settle(*thread_);
  EXPECT_EQ(turns, 1);
}

// Method: a byte comes before the drain, and more come while the first is executed.
TEST_F(NetContractTest, ADrainReadsWhatHasComeBefore) {
  std::vector<std::string> inputs;
  Serve([&](std::string_view unread, std::string&) {
    inputs.emplace_back(unread);
    if (inputs.size() > 2) return Turn{.consumed = unread.size()};
    EXPECT_TRUE(client_.Send("yy"));
    EXPECT_TRUE(client_.AwaitDelivery());
    if (inputs.size() == 2) return Turn{.consumed = 1};
    thread_->Drain();
    return Turn{.next = Next::kContinue};
  });
  ASSERT_EQ(ended_.get_future().wait_for(kLoopbackDeadline), std::future_status::ready);
  EXPECT_THAT(inputs, testing::ElementsAre("x", "x", "yy"));
}

#ifndef NDEBUG
TEST_F(NetContractTest, OnlyAConnectionOfTheThreadIsWatched) {
  EXPECT_DEATH(thread_->Watch(nullptr), "connections_.contains");
}
#endif

TEST_F(NetContractTest, AnIoThreadsWorkIsItsOwn) {
  const auto elsewhere = [](auto step) { std::thread(step).join(); };
  EXPECT_DEATH(elsewhere([this] { thread_->HandOver(Transport(tcp::socket(context_)), {}); }),
               "check failed");
  EXPECT_DEATH(elsewhere([this] { thread_->Park(nullptr, {.acks = 1}); }), "check failed");
  EXPECT_DEATH(elsewhere([this] { thread_->Remove(nullptr); }), "check failed");
}

// Each of these would wait forever, or race.
TEST_F(NetContractTest, StepsBetweenTurnsAreForThreadsThatRun) {
  std::vector<std::unique_ptr<IoThread>> threads;
  threads.push_back(std::make_unique<IoThread>(services_));
  const auto step = [&] { IoThread::RunBetweenTurns(threads, [](IoThread&) {}); };
  EXPECT_DEATH(step(), "joinable");
  EXPECT_DEATH(
      {
        threads.front()->Start("io", [] {});
        OnThread(*threads.front(), step);
      },
      "get_id");
  EXPECT_DEATH(
      {
        threads.front()->Start("io", [] {});
        threads.front()->OnHandOver({});
      },
      "joinable");
}

TEST_F(NetContractTest, AListenerBelongsToTheControlThread) {
  std::vector<std::unique_ptr<IoThread>> threads;
  EXPECT_DEATH(Listener(context_, services_, threads), "threads_.empty");
  threads.push_back(std::make_unique<IoThread>(services_));
  Listener listener(context_, services_, threads);
  EXPECT_DEATH(std::thread([&] { listener.Close(); }).join(), "check failed");
  EXPECT_DEATH(std::thread([&] { listener.Start(); }).join(), "check failed");
}

TEST_F(NetContractTest, TlsNeedsItsFiles) {
  const std::vector<std::unique_ptr<IoThread>> threads = [this] {
    std::vector<std::unique_ptr<IoThread>> one;
    one.push_back(std::make_unique<IoThread>(services_));
    return one;
  }();
  Listener listener(context_, services_, threads);
  EXPECT_DEATH(static_cast<void>(listener.ListenForTls(RedisProtocol(), {"127.0.0.1"}, 0)),
               "tls_.has_value");
  const SharedTlsContext none;
  EXPECT_DEATH(static_cast<void>(none.NewSession(0)), "context_.has_value");
}

}  // namespace
}  // namespace weir
