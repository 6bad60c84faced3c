// Goal: a mistake of our own code that would leave a client without its answer, or give it a wrong
// one, ends the process where it is made. Method: each mistake, in a process of its own.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/commands/request_grammar.h"
#include "server/handlers/ack_waiter.h"
#include "server/session/open_waits.h"
#include "server/session/pause.h"
#include "server/session/session.h"
#include "server/session/verdict_reader.h"
#include "server/session/waiter.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

std::unique_ptr<Waiter> AnyWaiter() {
  return std::make_unique<AckWaiter>(std::make_shared<AckWait>(1, [] {}), kHostInstantMax);
}

// Does something in place of reading the verdict of a command that runs alone.
class VerdictAct final : public VerdictReader {
 public:
  explicit VerdictAct(std::function<void()> act) : act_(std::move(act)) {}
  void Read(const ParsedRequest&, std::int64_t, const Verdict&) override { act_(); }

 private:
  const std::function<void()> act_;
};

class SessionContractTest : public testing::Test {
 protected:
  void RunAlone(const std::vector<std::string_view>& words, VerdictReader* reader = nullptr) {
    std::string out;
    RespWriter reply(out);
    session_.ExecuteAlone(ReadAhead::Alone(words), server_.clock.Now(), reply, reader);
  }
  void ActAlone(std::function<void()> act) {
    VerdictAct reader(std::move(act));
    RunAlone({"RL.ALLOW", "k", "1/s"}, &reader);
  }

  // A request for a token that comes in a second. The words stay.
  std::pair<ParsedRequest, Reservation> ReserveOne() {
    static const std::vector<std::string_view> kWords = {"k", "1/s,burst=1"};
    ParsedRequest request =
        ParseRequest(kWords, server_.worker.memo, KeyHashes(server_.limiter->hasher())).value();
    const Instant now = server_.clock.Now();
    static_cast<void>(server_.limiter->Decide(request.checks, now));
    std::optional<Reservation> reserved =
        server_.limiter->Reserve(request.checks, std::chrono::minutes{1}, now)->reservation;
    return {std::move(request), *std::move(reserved)};
  }

  TestServer server_;
  Conversation client_{server_};
  Session& session_ = client_.session();
};

TEST_F(SessionContractTest, AClientWaitsForOneThing) {
  session_.Wait(AnyWaiter());
  EXPECT_DEATH(session_.Wait(AnyWaiter()), "!waiter_");
}

TEST_F(SessionContractTest, NoMoreWaitsEndThanHaveBegun) {
  session_.Wait(AnyWaiter());
  EXPECT_DEATH(
      {
        server_.services.waiters = 0;
        client_.EndWait();
      },
      "waiters");
}

TEST_F(SessionContractTest, ACommandThatRunsAloneDoesNotWait) {
  EXPECT_DEATH(ActAlone([this] { session_.Wait(AnyWaiter()); }), "may_wait");
}

TEST_F(SessionContractTest, AReplicaThatWasRefusedIsNotHandedOver) {
  EXPECT_DEATH(session_.HandOver({.answer = {.error = "ERR"}}), "error.empty");
}

TEST_F(SessionContractTest, AReaderOfRequestsGetsNoSettlement) {
  VerdictAct reader([] {});
  EXPECT_DEATH(reader.ReadSettled({}, {}, {}), "false");
}

// A command whose reply is to come later, and does not say from where.
TEST_F(SessionContractTest, ALateReplyComesFromSomewhere) {
  class Late final : public Waiter {
   public:
    explicit Late(Session& session) : session_(session) {}
    [[nodiscard]] HostInstant ReadyAt(const Clock::Reading&) const override { return {}; }
    [[nodiscard]] std::size_t held_bytes() const override { return 0; }
    [[nodiscard]] bool has_changed() const override { return false; }
    [[nodiscard]] bool Serve(RespWriter& reply, Instant) override {
      session_.delay().AwaitLateReply(nullptr);
      reply.Null();
      return true;
    }
    void Withdraw(RespWriter&, Instant) override {}

   private:
    Session& session_;
  };
  session_.Wait(std::make_unique<Late>(session_));
  std::string out;
  ASSERT_EQ(session_.Execute("", out).delayed_from, 0U);
  EXPECT_DEATH(session_.FinishDelayed(out, {}), "late != nullptr");
}

TEST_F(SessionContractTest, ASessionBelongsToOneThread) {
  session_.Wait(AnyWaiter());
  EXPECT_DEATH(std::thread([this] { client_.EndWait(); }).join(), "check failed");
  EXPECT_DEATH(std::thread([this] { Conversation(server_).session().client().Close(); }).join(),
               "check failed");
}

TEST_F(SessionContractTest, AWaitForTokensHasOneEnd) {
  const auto [request, reservation] = ReserveOne();
  ServerWaiter waiter(server_.worker, client_.record(), request, reservation);
  EXPECT_DEATH(ServerWaiter(server_.worker, client_.record(), request, reservation), "is_new");
  server_.clock.Advance(std::chrono::seconds{1});
  std::string out;
  RespWriter reply(out);
  ASSERT_TRUE(waiter.Serve(reply, server_.clock.Now()));
  EXPECT_DEATH(static_cast<void>(waiter.Serve(reply, server_.clock.Now())), "!over_");
  EXPECT_DEATH(waiter.Withdraw(reply, server_.clock.Now()), "!over_");
}

TEST_F(SessionContractTest, NoWaitForTokensOutlivesTheServer) {
  const auto [request, reservation] = ReserveOne();
  auto waits = std::make_unique<OpenWaits>(*server_.limiter);
  waits->Add(reservation, client_.record());
  EXPECT_DEATH(waits.reset(), "waits_.empty");
  EXPECT_TRUE(waits->Remove(reservation));
}

// Its policies would take the place of all others.
TEST_F(SessionContractTest, APolicyFileThatWasNotReadIsNotUsed) {
  EXPECT_DEATH(static_cast<void>(server_.services.Use({})), "reading.number > 0");
}

TEST_F(SessionContractTest, ASwitchPausesForSomeTime) {
  const HostInstant now = server_.clock.HostNow();
  EXPECT_DEATH(server_.services.pause.BeginSwitch(now, now), "until > now");
}

#ifndef NDEBUG
TEST_F(SessionContractTest, ACommandThatRunsAloneLeavesTheConversationAsItIs) {
  EXPECT_DEATH(RunAlone({"MULTI"}), "transaction...is_open");
}

TEST_F(SessionContractTest, NoCommandOfAnotherClientIsLeft) {
  const std::vector<std::string_view> ping = {"PING"};
  const std::vector<std::span<const std::string_view>> commands = {ping};
  server_.worker.read_ahead.Fill(commands, *server_.limiter);
  std::string out;
  EXPECT_DEATH(static_cast<void>(session_.Execute("PING\r\n", out)), "ahead.empty");
}

TEST_F(SessionContractTest, NoTokenIsGivenBeforeItsTime) {
  const auto [request, reservation] = ReserveOne();
  ServerWaiter waiter(server_.worker, client_.record(), request, reservation);
  std::string out;
  RespWriter reply(out);
  EXPECT_DEATH(static_cast<void>(waiter.Serve(reply, server_.clock.Now())), "ready");
}

TEST_F(SessionContractTest, TheCountOfCommandsDoesNotGoBack) {
  EXPECT_DEATH(server_.worker.CountTurn(1, 0, 0, server_.clock.HostNow()), "commands_before");
}
#endif

}  // namespace
}  // namespace weir
