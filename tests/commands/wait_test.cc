// Goal: RL.WAIT takes its tokens at once and answers at exactly the instant at which they are
// available, first come, first served; a client that leaves gives its tokens back. Method: clients
// of a host whose clock the test moves to one nanosecond before each instant, and to the instant
// itself.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/wait_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// --- The instant --------------------------------------------------------------------------------

TEST_F(RlWaitTest, AvailableTokensAreAnsweredAtOnce) {
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s TIMEOUT 1000"), Five("1 1 0 500 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s TIMEOUT 1000"), Five("1 0 0 1000 0"));
}

TEST_F(RlWaitTest, TheAnswerComesAtItsInstantWithTheNumbersOfIt) {
  client_.Run("RL.ALLOW k 2/s COST 2");
  Wait("RL.WAIT k 2/s TIMEOUT 1000", milliseconds{500});
  Advance(milliseconds{500} - Nanos{1});
  EXPECT_EQ(client_.Receive(), "");
  Advance(Nanos{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  EXPECT_EQ(client_.Receive(), "");
}

// A client that is answered late, or after a token has come back, gets the numbers at that time.
TEST_F(RlWaitTest, TheNumbersAreThoseOfTheAnswer) {
  client_.Run("RL.ALLOW k 2/s COST 2");
  Wait("RL.WAIT k 2/s TIMEOUT 1000", milliseconds{500});
  Advance(milliseconds{1001});
  EXPECT_EQ(client_.Receive(), Five("1 1 0 499 0"));
  client_.Run("RL.ALLOW k 2/s");
  Wait("RL.WAIT k 2/s COST 2 TIMEOUT 1000", milliseconds{2000});
  Advance(milliseconds{5000});
  EXPECT_EQ(client_.Receive(), Five("1 2 0 0 0"));
}

// A third of a second is not a whole number of nanoseconds; it is rounded up, as retry_after is.
TEST_F(RlWaitTest, TheInstantIsThatOfRetryAfter) {
  const Instant start = client_.clock().Now();
  client_.Run("RL.ALLOW k 3/s COST 3");
  Wait("RL.WAIT k 3/s TIMEOUT 1000", Nanos{333'333'334});
  Wait(other_, "RL.WAIT k 3/s TIMEOUT 1000", Nanos{666'666'667});
  Advance(Nanos{333'333'333});
  EXPECT_EQ(client_.Receive(), "");
  const Instant answered = AnsweredAt(start, start + Nanos{333'333'334});
  MoveTo(answered);
  const std::int64_t reset_ms = CeilMillis(start + Nanos{1'666'666'667} - answered);
  EXPECT_EQ(client_.Receive(), Five("1 0 0 " + std::to_string(reset_ms) + " 0"));
}

// The same holds for timers of any resolution.
TEST_F(RlWaitTest, AClientBetweenTwoTicksIsNotAnsweredEarly) {
  for (const Nanos odd : {Nanos{1}, Nanos{999}, Nanos{1'001}, Nanos{999'999}}) {
    Advance(seconds{10} + odd);
    const Nanos came = client_.clock().Now() - FakeClock::kStart;
    client_.Run("RL.ALLOW k 2/s COST 2");
    Wait("RL.WAIT k 2/s TIMEOUT 1000", came + milliseconds{500});
  }
}

TEST_F(RlWaitTest, TheTokensAreTakenAtOnce) {
  client_.Run("RL.ALLOW k 2/s COST 2");
  Wait("RL.WAIT k 2/s TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(other_.Run("RL.ALLOW k 2/s"), Five("0 0 1000 1500 0"));
  AdvanceTo(milliseconds{1000} - Nanos{1});
  EXPECT_EQ(other_.Run("RL.ALLOW k 2/s"), Five("0 0 1 501 0"));
  Advance(Nanos{1});
  EXPECT_EQ(other_.Run("RL.ALLOW k 2/s"), Five("1 0 0 1000 0"));
}

TEST_F(RlWaitTest, FirstComeFirstServed) {
  Client third(client_.host());
  client_.Run("RL.ALLOW k 10/s COST 10");
  Wait("RL.WAIT k 10/s COST 3 TIMEOUT 1000", milliseconds{300});
  Wait(other_, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{800});
  Wait(third, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{900});
  Client late(client_.host());
  EXPECT_EQ(late.Run("RL.ALLOW k 10/s"), Five("0 0 1000 1900 0"));
  AdvanceTo(milliseconds{300});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1600 0"));
  EXPECT_EQ(other_.Receive() + third.Receive(), "");
  AdvanceTo(milliseconds{900} - Nanos{1});
  EXPECT_EQ(third.Receive(), "");
  EXPECT_EQ(other_.Receive(), Five("1 0 0 1001 0"));
  Advance(Nanos{1});
  EXPECT_EQ(third.Receive(), Five("1 0 0 1000 0"));
  EXPECT_EQ(late.Run("RL.ALLOW k 10/s"), Five("0 0 100 1000 0"));
  AdvanceTo(milliseconds{1000});
  EXPECT_EQ(late.Run("RL.ALLOW k 10/s"), Five("1 0 0 1000 0"));
}

// --- No wait ------------------------------------------------------------------------------------

TEST_F(RlWaitTest, LongerThanTheTimeoutIsADenialAtOnceThatChargesNothing) {
  client_.Run("RL.ALLOW k 3/s COST 3");
  const std::string state = Look("k 3/s");
  const std::string denied = other_.Run("RL.ALLOW k 3/s");
  EXPECT_EQ(denied, Five("0 0 334 1000 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k 3/s TIMEOUT 333"), denied);
  EXPECT_EQ(client_.Run("RL.WAIT k 3/s TIMEOUT 0"), denied);
  EXPECT_EQ(Look("k 3/s"), state);
  Wait("RL.WAIT k 3/s TIMEOUT 334", Nanos{333'333'334});
}

// To the millisecond, where the wait is a whole number of milliseconds.
TEST_F(RlWaitTest, ATimeoutThatJustSuffices) {
  client_.Run("RL.ALLOW k 2/s COST 2");
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s TIMEOUT 499"), Five("0 0 500 1000 0"));
  Wait("RL.WAIT k 2/s TIMEOUT 500", milliseconds{500});
}

TEST_F(RlWaitTest, NeverIsADenialAtOnce) {
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s COST 11 TIMEOUT 60000"), Five("0 10 -1 0 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k none TIMEOUT 60000"), Five("0 0 -1 0 0"));
  EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
}

TEST_F(RlWaitTest, TimeoutZeroIsAllow) {
  for (int time = 0; time < 4; ++time) {
    EXPECT_EQ(client_.Run("RL.WAIT a 3/s TIMEOUT 0"), client_.Run("RL.ALLOW b 3/s"));
  }
  EXPECT_EQ(client_.Run("RL.INSPECT a"), client_.Run("RL.INSPECT b"));
}

TEST_F(RlWaitTest, CostZeroIsAnsweredAtOnceAndCreatesNothing) {
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s COST 0 TIMEOUT 1000"), Five("1 2 0 0 0"));
  EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
  client_.Run("RL.ALLOW k 2/s COST 2");
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s COST 0 TIMEOUT 1000"), Five("1 0 0 1000 0"));
}

// --- The connection -----------------------------------------------------------------------------

TEST_F(RlWaitTest, LaterRequestsAreAnsweredAfterItInOrder) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client_.Send("PING\r\nRL.WAIT k 10/s TIMEOUT 1000\r\nECHO a\r\n"
                         "RL.WAIT k 10/s TIMEOUT 1000\r\nECHO b\r\nEC"),
            "+PONG\r\n");
  EXPECT_EQ(client_.Send("HO c\r\n"), "");
  EXPECT_EQ(other_.Run("PING"), "+PONG\r\n");
  // The second is read after the first is answered.
  AdvanceTo(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0") + "$1\r\na\r\n");
  AdvanceTo(milliseconds{200} - Nanos{1});
  EXPECT_EQ(client_.Receive(), "");
  AdvanceTo(milliseconds{200});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0") + "$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
}

TEST_F(RlWaitTest, WaitersAreCounted) {
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:0\r\n"));
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  std::optional<Client> third(client_.host());
  third->Run("RL.WAIT k 10/s TIMEOUT 1000");
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:2\r\n"));
  third.reset();
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:1\r\n"));
  Advance(milliseconds{100});
  client_.Receive();
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:0\r\n"));
}

// --- Clients that leave -------------------------------------------------------------------------

TEST_F(RlWaitTest, AClientThatLeavesGivesBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  const std::string before = Look("k 10/s");
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1500 0"));
  Leave(leaver);
  EXPECT_EQ(Look("k 10/s"), before);
}

// This includes limits that had no bucket, when other limits already are full.
TEST_F(RlWaitTest, AClientThatLeavesLeavesFullBucketsFull) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT k 10/s 1000/h TIMEOUT 1000", milliseconds{100});
  Leave(leaver);
  EXPECT_EQ(other_.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:0\r\n:1000\r\n:10\r\n:0\r\n");
}

// Tokens with a later waiter behind them stay taken: that waiter was promised an instant.
TEST_F(RlWaitTest, TokensWithALaterWaiterBehindThemStayTaken) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto first = std::make_unique<Client>(client_.host());
  Wait(*first, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  auto second = std::make_unique<Client>(client_.host());
  Wait(*second, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{600});
  Leave(first);
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1600 0"));
  // The last one gives back its own.
  Leave(second);
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1500 0"));
}

TEST_F(RlWaitTest, InTheOppositeOrderAllIsGivenBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto first = std::make_unique<Client>(client_.host());
  Wait(*first, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  auto second = std::make_unique<Client>(client_.host());
  Wait(*second, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{600});
  Leave(second);
  Leave(first);
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
}

// Bucket by bucket.
TEST_F(RlWaitTest, LimitsWithoutALaterWaiterAreGivenBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT k 10/s 5/s TIMEOUT 1000", milliseconds{100});
  EXPECT_EQ(other_.Run("RL.ALLOW k 5/s"), Five("1 3 0 400 0"));
  Leave(leaver);
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(Look("k 5/s"), Five("1 3 0 400 0"));
}

TEST_F(RlWaitTest, AServedClientGivesNothingBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  std::optional<Client> served(client_.host());
  served->Run("RL.WAIT k 10/s TIMEOUT 1000");
  Advance(milliseconds{100});
  EXPECT_EQ(served->Receive(), Five("1 0 0 1000 0"));
  served.reset();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
}

// Buckets that were reset in the meantime do not come back, neither when a client leaves nor when
// one is served.
TEST_F(RlWaitTest, AResetWhileItWaits) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{200});
  EXPECT_EQ(other_.Run("RL.RESET k"), ":1\r\n");
  Leave(leaver);
  EXPECT_EQ(other_.Run("RL.INSPECT k"), "*0\r\n");
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 10 0 0 0"));
}

// CLIENT UNBLOCK ends a wait as a denial, as if its time had run out, or as an error.
TEST_F(RlWaitTest, AnUnblockedClientGivesBack) {
  const std::string id = std::to_string(client_.Ask("CLIENT ID").number);
  client_.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id), ":0\r\n") << "it does not wait";
  EXPECT_EQ(client_.Send("RL.WAIT k 1/s TIMEOUT 5000\r\nPING\r\n"), "");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id), ":1\r\n");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id), ":0\r\n") << "once";
  EXPECT_EQ(client_.Receive(), Five("0 0 1000 1000 0") + "+PONG\r\n") << "as it was before";
  EXPECT_EQ(Look("k 1/s"), Five("1 0 0 1000 0"));

  EXPECT_EQ(client_.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id + " ERROR"), ":1\r\n");
  EXPECT_EQ(client_.Receive(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
  EXPECT_EQ(Look("k 1/s"), Five("1 0 0 1000 0"));

  EXPECT_EQ(client_.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  Advance(seconds{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id), ":0\r\n") << "it is served";
}

}  // namespace
}  // namespace weir
