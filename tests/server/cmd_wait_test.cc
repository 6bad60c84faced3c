// Goal: RL.WAIT takes its tokens at once and answers at exactly the instant at which they are
// there, first come, first served; who leaves gives back. Method: conversations whose clock the
// test moves to one nanosecond before, and to the instant itself.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class RlWaitTest : public testing::Test {
 protected:
  void Advance(Nanos span) { client_.server().clock.Advance(span); }
  void AdvanceTo(Nanos since_start) { client_.server().clock.Set(FakeClock::kStart + since_start); }

  // Sends a request that has to be waited for.
  void Wait(Conversation& client, std::string_view line, Nanos ready_since_start) {
    SCOPED_TRACE(line);
    EXPECT_EQ(client.Run(line), "");
    EXPECT_EQ(client.wake(), FakeClock::kStart + ready_since_start);
  }
  void Wait(std::string_view line, Nanos ready_since_start) {
    Wait(client_, line, ready_since_start);
  }

  // A bucket as it is, which changes nothing: its remaining tokens and when it is full.
  std::string Look(std::string_view key_and_limit) {
    return other_.Run("RL.PEEK " + std::string(key_and_limit) + " COST 0");
  }

  Conversation client_;
  Conversation other_{client_.server()};
};

// --- The instant --------------------------------------------------------------------------------

TEST_F(RlWaitTest, TokensThatAreThereAreAnsweredAtOnce) {
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s TIMEOUT 1000"), Five("1 1 0 500 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k 2/s TIMEOUT 1000"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client_.wake(), std::nullopt);
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

// Who is served late, or after a token has come back, is told what is true then.
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

// A third of a second is no whole number of nanoseconds: rounded up, as retry_after is.
TEST_F(RlWaitTest, TheInstantIsThatOfRetryAfter) {
  client_.Run("RL.ALLOW k 3/s COST 3");
  Wait("RL.WAIT k 3/s TIMEOUT 1000", Nanos{333'333'334});
  Wait(other_, "RL.WAIT k 3/s TIMEOUT 1000", Nanos{666'666'667});
  Advance(Nanos{333'333'333});
  EXPECT_EQ(client_.Receive(), "");
  Advance(Nanos{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1334 0"));
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
  Conversation third(client_.server());
  client_.Run("RL.ALLOW k 10/s COST 10");
  Wait("RL.WAIT k 10/s COST 3 TIMEOUT 1000", milliseconds{300});
  Wait(other_, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{800});
  Wait(third, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{900});
  Conversation late(client_.server());
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

// To the millisecond, where the wait is a whole number of them.
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

TEST_F(RlWaitTest, WhatFollowsIsAnsweredAfterItInOrder) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client_.Send("PING\r\nRL.WAIT k 10/s TIMEOUT 1000\r\nECHO a\r\n"
                         "RL.WAIT k 10/s TIMEOUT 1000\r\nECHO b\r\nEC"),
            "+PONG\r\n");
  EXPECT_EQ(client_.Send("HO c\r\n"), "");
  EXPECT_EQ(other_.Run("PING"), "+PONG\r\n");
  // The second is read after the first is answered.
  AdvanceTo(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0") + "$1\r\na\r\n");
  EXPECT_EQ(client_.wake(), FakeClock::kStart + milliseconds{200});
  AdvanceTo(milliseconds{200});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0") + "$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
}

// A connection may come too early; nothing is consumed then, and nothing executed.
TEST_F(RlWaitTest, AnEarlyTurnWaitsOn) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  std::string out;
  const Session::Turn turn = client_.session().Execute("PING\r\n", out);
  EXPECT_EQ(turn.next, Session::Next::kWait);
  EXPECT_EQ(turn.wake, FakeClock::kStart + milliseconds{100});
  EXPECT_EQ(turn.consumed, 0U);
  EXPECT_EQ(out, "");
}

TEST_F(RlWaitTest, WaitersAreCounted) {
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:0\r\n"));
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  std::optional<Conversation> third(client_.server());
  third->Run("RL.WAIT k 10/s TIMEOUT 1000");
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:2\r\n"));
  third.reset();
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:1\r\n"));
  Advance(milliseconds{100});
  client_.Receive();
  EXPECT_THAT(other_.Run("INFO"), HasSubstr("\r\nblocked_clients:0\r\n"));
}

// --- Who leaves ---------------------------------------------------------------------------------

TEST_F(RlWaitTest, WhoLeavesGivesBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  const std::string before = Look("k 10/s");
  auto leaver = std::make_unique<Conversation>(client_.server());
  Wait(*leaver, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1500 0"));
  leaver.reset();
  EXPECT_EQ(Look("k 10/s"), before);
}

// Also what there was no bucket for, with cost left over for one that is full.
TEST_F(RlWaitTest, WhoLeavesLeavesFullBucketsFull) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s 1000/h TIMEOUT 1000");
  client_.EndWait();
  EXPECT_EQ(other_.Run("RL.INSPECT k"), "*1\r\n*3\r\n$4\r\n10/s\r\n:0\r\n:1000\r\n");
}

// What another has built on stays: he was promised an instant.
TEST_F(RlWaitTest, WhatAnotherHasBuiltOnIsNotGivenBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto first = std::make_unique<Conversation>(client_.server());
  Wait(*first, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  Wait("RL.WAIT k 10/s TIMEOUT 1000", milliseconds{600});
  first.reset();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1600 0"));
  // The last one gives back his own.
  client_.EndWait();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1500 0"));
}

TEST_F(RlWaitTest, InTheOppositeOrderAllIsGivenBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  auto first = std::make_unique<Conversation>(client_.server());
  Wait(*first, "RL.WAIT k 10/s COST 5 TIMEOUT 1000", milliseconds{500});
  Wait("RL.WAIT k 10/s TIMEOUT 1000", milliseconds{600});
  client_.EndWait();
  first.reset();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
}

// Bucket by bucket.
TEST_F(RlWaitTest, OfSeveralLimitsThoseNobodyBuiltOnAreGivenBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s 5/s TIMEOUT 1000");
  EXPECT_EQ(other_.Run("RL.ALLOW k 5/s"), Five("1 3 0 400 0"));
  client_.EndWait();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(Look("k 5/s"), Five("1 3 0 400 0"));
}

TEST_F(RlWaitTest, WhoWasServedGivesNothingBack) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  std::optional<Conversation> served(client_.server());
  served->Run("RL.WAIT k 10/s TIMEOUT 1000");
  Advance(milliseconds{100});
  EXPECT_EQ(served->Receive(), Five("1 0 0 1000 0"));
  served->EndWait();  // is none of a wait that is over
  EXPECT_EQ(served->Receive(), "");
  served.reset();
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1000 0"));
}

// What has been forgotten meanwhile does not come back, neither by a leaver nor by one served.
TEST_F(RlWaitTest, AResetWhileItWaits) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  Wait(other_, "RL.WAIT k 10/s TIMEOUT 1000", milliseconds{200});
  Conversation third(client_.server());
  EXPECT_EQ(third.Run("RL.RESET k"), ":1\r\n");
  other_.EndWait();
  EXPECT_EQ(third.Run("RL.INSPECT k"), "*0\r\n");
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 10 0 0 0"));
}

TEST_F(RlWaitTest, AnEndedWaitIsAnErrorAndTheConversationGoesOn) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Send("RL.WAIT k 10/s TIMEOUT 1000\r\nPING\r\n");
  const std::uint64_t errors = client_.server().worker.counters.errors.value();
  client_.EndWait();
  EXPECT_EQ(client_.Receive(), "-UNBLOCKED the server is shutting down\r\n+PONG\r\n");
  EXPECT_EQ(client_.server().worker.counters.errors.value(), errors + 1);
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
}

// --- Limits -------------------------------------------------------------------------------------

// The latest of the limits' instants counts, and every limit is charged now.
TEST_F(RlWaitTest, SeveralLimitsOnTheKey) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.ALLOW k 2/s COST 2");
  Wait("RL.WAIT k 10/s 2/s 1000/h TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1100 0"));
  EXPECT_EQ(Look("k 2/s"), Five("1 0 0 1500 0"));
  EXPECT_EQ(Look("k 1000/h"), Five("1 999 0 3600 0"));
  Advance(milliseconds{500});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 3100 1"));
}

// One limit that it cannot wait for, and none is charged.
TEST_F(RlWaitTest, AllOrNothing) {
  client_.Run("RL.ALLOW k 10/s 1/m COST 1");
  client_.Run("RL.ALLOW k 10/s COST 9");
  const std::string state = client_.Run("RL.INSPECT k");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/m 5/s TIMEOUT 1000"), Five("0 0 60000 60000 1"));
  EXPECT_EQ(client_.Run("RL.INSPECT k"), state);
}

TEST_F(RlWaitTest, TheSameBucketTwiceIsOneCheck) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  Wait("RL.WAIT k 10/s 1000/h 10/s,cost=2,name=again TIMEOUT 1000 WITHLIMITS", milliseconds{300});
  AdvanceTo(milliseconds{300});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:3300\r\n:0\r\n*3\r\n"
            "*6\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n"
            "*6\r\n$6\r\n1000/h\r\n:1\r\n:1000\r\n:999\r\n:0\r\n:3300\r\n"
            "*6\r\n$5\r\nagain\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n");
}

TEST_F(RlWaitTest, UnlimitedAndNone) {
  EXPECT_EQ(client_.Run("RL.WAIT k unlimited TIMEOUT 1000"), Five("1 9223372036854775807 0 0 0"));
  client_.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s none TIMEOUT 1000"), Five("0 0 -1 1000 1"));
  Wait("RL.WAIT k unlimited 10/s TIMEOUT 1000", milliseconds{100});
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 1"));
}

// Nobody waits for a shadow: it admits where its tokens are there when those of the others are.
TEST_F(RlWaitTest, NobodyWaitsForAShadow) {
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000"), Five("1 9 0 100 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000 WITHLIMITS"),
            "*6\r\n:1\r\n:8\r\n:0\r\n:200\r\n:0\r\n*2\r\n"
            "*6\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:8\r\n:0\r\n:200\r\n"
            "*6\r\n$10\r\n1/s,shadow\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000 WITHLIMITS"),
            "*6\r\n:1\r\n:7\r\n:0\r\n:300\r\n:0\r\n*2\r\n"
            "*6\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:7\r\n:0\r\n:300\r\n"
            "*6\r\n$10\r\n1/s,shadow\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n");
  EXPECT_EQ(client_.Run("PTTL k"), ":1000\r\n");  // charged once
  EXPECT_EQ(client_.Run("RL.WAIT k2 1/h,shadow COST 2 TIMEOUT 1000"), Five("1 1 0 0 0"));
  client_.Run("RL.ALLOW k 10/s COST 7");
  Wait("RL.WAIT k 10/s 5/s,shadow TIMEOUT 1000", milliseconds{100});
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
}

// What a shadow said is told when the answer leaves.
TEST_F(RlWaitTest, AShadowThatWouldHaveDeniedSaysSoAfterTheWait) {
  client_.Run("RL.ALLOW k 1/s 1/h,shadow");
  Wait("RL.WAIT k 1/s 1/h,shadow TIMEOUT 5000 WITHLIMITS", seconds{1});
  Advance(seconds{1});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n*2\r\n"
            "*6\r\n$3\r\n1/s\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n"
            "*6\r\n$10\r\n1/h,shadow\r\n:0\r\n:1\r\n:0\r\n:3599000\r\n:3599000\r\n");
}

TEST_F(RlWaitTest, WithLimitsInResp2AndResp3) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s 5/m,name=slow COST 1 TIMEOUT 1000 WITHLIMITS");
  other_.Run("HELLO 3");
  other_.Run("RL.WAIT k 10/s TIMEOUT 1000 WITHLIMITS");
  // The words of the request are gone, and so is what the worker remembered of them.
  for (int i = 0; i < 5000; ++i) {
    const std::vector<std::string> words = {"RL.PEEK", "k", std::to_string(i + 20) + "/h"};
    Conversation(client_.server()).Call(words);
  }
  Advance(milliseconds{200});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:11800\r\n:0\r\n*2\r\n"
            "*6\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n"
            "*6\r\n$4\r\nslow\r\n:1\r\n:5\r\n:4\r\n:0\r\n:11800\r\n");
  EXPECT_EQ(other_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n*1\r\n"
            "%6\r\n$4\r\nname\r\n$4\r\n10/s\r\n$7\r\nallowed\r\n:1\r\n$5\r\nlimit\r\n:10\r\n"
            "$9\r\nremaining\r\n:0\r\n$14\r\nretry_after_ms\r\n:0\r\n"
            "$14\r\nreset_after_ms\r\n:1000\r\n");
}

TEST_F(RlWaitTest, APolicyMayBeWaitedFor) {
  client_.Run("RL.POLICY SET p 10/s 1000/h");
  client_.Run("RL.ALLOW k @p COST 10");
  Wait("RL.WAIT k @p,cost=2 TIMEOUT 1000", milliseconds{200});
  Wait(other_, "RL.WAIT k @p TIMEOUT 1000", milliseconds{300});
  // A promise stands, whatever becomes of the policy.
  Conversation admin(client_.server());
  admin.Run("RL.POLICY SET p 1/m");
  Advance(milliseconds{200});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 46600 0"));
  admin.Run("RL.POLICY DEL p");
  Advance(milliseconds{100});
  EXPECT_EQ(other_.Receive(), Five("1 10 0 0 0"));
}

// --- Errors -------------------------------------------------------------------------------------

TEST_F(RlWaitTest, ErrorsSayWhatWouldBeRightAndChangeNothing) {
  client_.Run("RL.POLICY SET windows 10/s 5/m,fixed");
  client_.Run("RL.ALLOW k 10/s COST 10");
  const std::string state = client_.Run("RL.INSPECT k");
  const std::string unexpected =
      ": after the limits of a key come COST once, then TIMEOUT and WITHLIMITS once each";
  const std::string no_window = ": a window cannot be waited for, use a token bucket";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"k 10/s TIMEOUT", "wrong number of arguments for 'rl.wait' command"},
      {"k 10/s COST 2", "TIMEOUT and the longest wait in ms must follow"},
      {"k 10/s 20/s WITHLIMITS", "TIMEOUT and the longest wait in ms must follow"},
      {"k 10/s 20/s TIMEOUT", "TIMEOUT needs a number after it"},
      {"k 10/s TIMEOUT -1",
       "invalid TIMEOUT '-1': value is not an integer or out of range (0 to 86400000)"},
      {"k 10/s TIMEOUT 1s",
       "invalid TIMEOUT '1s': value is not an integer or out of range (0 to 86400000)"},
      {"k 10/s TIMEOUT 60001", "invalid TIMEOUT '60001': above the server's max-wait, 60000 ms"},
      {"k 10/s AND l 10/s TIMEOUT 10", "a waiting request has one key: AND does not stand here"},
      {"k 10/s TIMEOUT 10 AND l 10/s", "unexpected 'AND'" + unexpected},
      {"k 10/s TIMEOUT 10 TIMEOUT 10", "unexpected 'TIMEOUT'" + unexpected},
      {"k 10/s WITHLIMITS TIMEOUT 10 withlimits", "unexpected 'withlimits'" + unexpected},
      {"k 10/s TIMEOUT 10 AT 1767225600000000000", "unexpected 'AT'" + unexpected},
      {"k 10/s UPTO 3 TIMEOUT 10", "unexpected 'UPTO'" + unexpected},
      {"k 10/s TIMEOUT 10 COST 1", "unexpected 'COST'" + unexpected},
      {"k COST 1 TIMEOUT 10", "expected a limit as in 10/s after the key 'k'"},
      {"k 10/s 5/m,fixed TIMEOUT 10", "limit '5/m,fixed'" + no_window},
      {"k 5/m,sliding,shadow TIMEOUT 10", "limit '5/m,sliding,shadow'" + no_window},
      {"k @windows TIMEOUT 10", "limit '@windows'" + no_window},
      {"k @absent TIMEOUT 10", "unknown policy 'absent': RL.POLICY SET makes one"},
  };
  for (const auto& [line, error] : bad) {
    EXPECT_EQ(client_.Run("RL.WAIT " + line), "-ERR " + error + "\r\n") << line;
    EXPECT_EQ(client_.Run("RL.INSPECT k"), state) << line;
    EXPECT_EQ(client_.Run("EXISTS l"), ":0\r\n");
  }
  EXPECT_EQ(client_.Run("RL.WAIT k2 10/s TIMEOUT 60000"), Five("1 9 0 100 0"));
}

TEST_F(RlWaitTest, MaxWaitBoundsTheTimeout) {
  Options options = DefaultOptions();
  options.max_wait = milliseconds{1000};
  Conversation client(std::make_unique<TestServer>(
      options, LimiterOptions{.secret = TestServer::kSecret, .max_wait = options.max_wait}));
  client.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(client.Run("RL.WAIT k 1/s TIMEOUT 1001"),
            "-ERR invalid TIMEOUT '1001': above the server's max-wait, 1000 ms\r\n");
  Wait(client, "RL.WAIT k 1/s TIMEOUT 1000", milliseconds{1000});
}

// What is admitted with a promise counts as admitted, once.
TEST_F(RlWaitTest, VerdictsAreCounted) {
  const Tally& tally = client_.server().worker.tally;
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1");
  EXPECT_EQ(tally.denied.value(), 1U);
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  Advance(milliseconds{100});
  client_.Receive();
  EXPECT_EQ(tally.allowed.value(), 2U);
  EXPECT_EQ(tally.denied.value(), 1U);
}

}  // namespace
}  // namespace weir
