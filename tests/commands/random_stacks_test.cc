// Goal: whatever stacks of limits are asked of whatever keys in whatever order, a host answers as a
// pile of logs would. Method: random turns over a few keys and limits of every kind, spelled out or
// kept as policies (repeated checks, shadows, looks, takes, refunds, waits that are served or left,
// resets), each reply compared with what a model says (model_limiter.h), rounded as replies are.
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/commands/reply_numbers.h"
#include "tests/commands/client.h"
#include "tests/commands/differences.h"
#include "tests/support/generators.h"
#include "tests/support/histories.h"
#include "tests/support/model_limiter.h"
#include "tests/support/random_asks.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kWaitersMax = 4;

struct Turn {
  enum class What { kAllow, kPeek, kTake, kRefund, kWait, kLeave, kReset, kResetAll, kInspect };

  What what = What::kAllow;
  Move move;              // says how long to wait before
  std::vector<Ask> asks;  // at least one

  friend std::ostream& operator<<(std::ostream& out, const Turn& turn) {
    constexpr const char* kNames[] = {"allow", "peek",  "take",      "refund", "wait",
                                      "leave", "reset", "reset all", "inspect"};
    out << "\n" << kNames[static_cast<int>(turn.what)] << turn.move << ":";
    for (const Ask& ask : turn.asks) out << "\n    " << ask;
    return out;
  }
};

rc::Gen<Turn> AnyTurn() {
  using What = Turn::What;
  return rc::gen::build<Turn>(
      rc::gen::set(&Turn::what, rc::gen::weightedElement<What>({{40, What::kAllow},
                                                                {10, What::kPeek},
                                                                {10, What::kTake},
                                                                {10, What::kRefund},
                                                                {20, What::kWait},
                                                                {5, What::kLeave},
                                                                {3, What::kReset},
                                                                {2, What::kResetAll},
                                                                {10, What::kInspect}})),
      rc::gen::set(&Turn::move, AnyMove()), rc::gen::set(&Turn::asks, AnyAsks()));
}

// The integers as a reply has them.
template <std::size_t kCount>
std::string Integers(const std::array<std::int64_t, kCount>& numbers) {
  std::string bytes;
  for (const std::int64_t number : numbers) bytes += ":" + std::to_string(number) + "\r\n";
  return bytes;
}

std::string Bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// A host and the model, side by side through one history.
class Pair {
 public:
  using Checks = std::vector<ModelLimiter::Priced>;

  // Every second limit is kept as a policy, where it can be.
  Pair(std::vector<Limit> limits, Instant start)
      : limits_(std::move(limits)), model_(limits_), client_({.max_wait = kTimeoutMax}) {
    client_.clock().Set(std::max(start, FakeClock::kStart));
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      words_.push_back(LimitText(limits_[i]));
      bucket_names_.push_back(words_.back());
      if (i % 2 == 0 || !limits_[i].has_bucket()) continue;
      const std::string policy = "p" + std::to_string(i);
      RC_ASSERT(client_.Call({"RL.POLICY", "SET", policy, words_.back()}) == "+OK\r\n");
      words_.back() = "@" + policy;
      bucket_names_.back() = "@" + policy + "#0" + (IsShadow(i) ? ",shadow" : "");
    }
  }

  void Take(const Turn& turn) {
    PassTime(turn);
    switch (turn.what) {
      case Turn::What::kAllow:
        return Compare("RL.ALLOW", turn,
                       [&](const Checks& checks) { return model_.Decide(checks, now()); });
      case Turn::What::kPeek:
        return Compare("RL.PEEK", turn,
                       [&](const Checks& checks) { return model_.Look(checks, now()); });
      case Turn::What::kRefund:
        return Compare("RL.REFUND", turn,
                       [&](const Checks& checks) { return model_.Refund(checks, now()); });
      case Turn::What::kTake:
        return TakeUpTo(turn);
      case Turn::What::kWait:
        return Wait(turn);
      case Turn::What::kLeave:
        return Leave(turn);
      case Turn::What::kReset:
      case Turn::What::kResetAll:
        return Reset(turn);
      case Turn::What::kInspect:
        return Inspect(turn.asks.front().key);
    }
  }

  // Every key at the end of the history.
  void CheckAll() {
    for (std::size_t key = 0; key < kKeys; ++key) Inspect(key);
  }

 private:
  static constexpr milliseconds kTimeoutMax = std::chrono::duration_cast<milliseconds>(kMaxWaitMax);

  struct Waiter {
    std::unique_ptr<Client> client;
    ModelLimiter::Reservation reservation;
    Instant answered;
    bool with_limits;
  };

  [[nodiscard]] Instant now() { return client_.clock().Now(); }
  [[nodiscard]] bool IsShadow(std::size_t limit) const { return limits_[limit].shape().shadow; }

  // Every third reply has them.
  static bool WithLimits(const Turn& turn) { return turn.move.part % 3 == 0; }

  void PassTime(const Turn& turn) {
    // Who waits comes when others have just taken what there was.
    if (turn.what == Turn::What::kWait && turn.move.part % 4 != 0) return;
    const Ask& first = turn.asks.front();
    Decision last = model_.State({first.key, first.limit}, now());
    last.retry_after = last_retry_after_;
    MoveTo(NextInstant(turn.move, limits_[first.limit], last, now()));
  }

  // Clients whose time has come are answered, and no others.
  void MoveTo(Instant then) {
    client_.clock().Set(then);
    for (const Waiter& waiter : waiters_) {
      const bool is_served = waiter.answered <= then;
      const std::string reply = waiter.client->Receive();
      RC_ASSERT(reply == (is_served ? Reply(1, model_.Settle(waiter.reservation, then),
                                            waiter.reservation.checks, waiter.with_limits)
                                    : ""));
    }
    std::erase_if(waiters_, [then](const Waiter& waiter) { return waiter.answered <= then; });
  }

  Checks Price(const Turn& turn) { return PriceOf(turn.asks, model_, limits_, now()); }

  // The command with these checks. What has a bucket says its cost itself, and so may share its key
  // with what comes before it.
  std::vector<std::string> Words(const std::string& command, const Checks& checks) const {
    std::vector<std::string> words = {command};
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const auto& [key, limit] = checks[i].bucket;
      const std::string cost = std::to_string(checks[i].cost);
      const bool says_cost = limits_[limit].has_bucket();
      const bool goes_on = i > 0 && checks[i - 1].bucket.first == key && says_cost &&
                           limits_[checks[i - 1].bucket.second].has_bucket();
      if (!goes_on && i > 0) words.emplace_back("AND");
      if (!goes_on) words.push_back(KeyNames()[key]);
      words.push_back(words_[limit] + (says_cost ? ",cost=" + cost : ""));
      if (!says_cost) words.insert(words.end(), {"COST", cost});
    }
    return words;
  }

  std::string Reply(std::int64_t first, const Verdict& verdict, const Checks& checks,
                    bool with_limits) const {
    auto numbers = VerdictNumbers(verdict);
    numbers.front() = first;
    std::string bytes = (with_limits ? "*6\r\n" : "*5\r\n") + Integers(numbers);
    if (!with_limits) return bytes;
    bytes += "*" + std::to_string(checks.size()) + "\r\n";
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Limit& limit = limits_[checks[i].bucket.second];
      bytes += "*6\r\n" + Bulk(LimitText(limit)) +
               Integers(DecisionNumbers(limit, verdict.decisions[i]));
    }
    return bytes;
  }

  // Sends the command to the host; returns what it answers.
  std::string Say(std::vector<std::string> words, const Turn& turn) {
    if (WithLimits(turn)) words.emplace_back("WITHLIMITS");
    return client_.Call(words);
  }

  template <typename Ask>
  void Compare(const std::string& command, const Turn& turn, Ask&& ask_model) {
    const Checks checks = Price(turn);
    const Verdict want = ask_model(checks);
    last_retry_after_ = want.retry_after;
    RC_ASSERT(Say(Words(command, checks), turn) ==
              Reply(want.allowed ? 1 : 0, want, checks, WithLimits(turn)));
  }

  void TakeUpTo(const Turn& turn) {
    const auto [upto, checks] = PricedTake(Price(turn));
    std::vector<std::string> words = Words("RL.TAKE", checks);
    words.insert(words.end(), {"UPTO", std::to_string(upto)});
    const Grant want = model_.Take(checks, upto, now());
    RC_ASSERT(Say(words, turn) == Reply(want.granted, want.verdict, checks, WithLimits(turn)));
  }

  // Of the first key those limits that can be waited for, for a little more than they have.
  void Wait(Turn turn) {
    const std::size_t key = turn.asks.front().key;
    for (Ask& ask : turn.asks) ask.key = key;
    std::erase_if(turn.asks, [this](const Ask& ask) {
      return limits_[ask.limit].shape().algorithm != Algorithm::kTokenBucket;
    });
    if (turn.asks.empty() || waiters_.size() == kWaitersMax) return;
    Checks checks = Price(turn);
    for (ModelLimiter::Priced& check : checks) {
      const std::int64_t remaining = model_.State(check.bucket, now()).remaining;
      if (remaining < limits_[check.bucket.second].capacity_tokens()) check.cost = remaining + 1;
    }
    const milliseconds timeout = TimeoutOf(turn, model_.Wait(checks, now()));
    std::vector<std::string> words = Words("RL.WAIT", checks);
    words.insert(words.end(), {"TIMEOUT", std::to_string(timeout.count())});
    if (WithLimits(turn)) words.emplace_back("WITHLIMITS");
    const Instant came = now();
    const ModelLimiter::Admission want = model_.Reserve(checks, timeout, came);
    auto client = std::make_unique<Client>(client_.host());
    const std::string reply = client->Call(words);
    last_retry_after_ = want.verdict.retry_after;
    if (!want.reservation) {
      RC_ASSERT(reply ==
                Reply(want.verdict.allowed ? 1 : 0, want.verdict, checks, WithLimits(turn)));
      return;
    }
    RC_ASSERT(reply == "");
    waiters_.push_back({std::move(client), *want.reservation,
                        AnsweredAt(came, want.reservation->ready), WithLimits(turn)});
  }

  // None, too short, just enough, or all there is.
  static milliseconds TimeoutOf(const Turn& turn, Nanos told) {
    if (turn.move.part % 4 == 0) return milliseconds{0};
    if (turn.move.part % 4 == 1) return kTimeoutMax;
    const std::int64_t just = told == kNever ? 0 : CeilMillis(told);
    const std::int64_t wanted = turn.move.part % 4 == 2 ? just : just - 1;
    return std::clamp(milliseconds{wanted}, milliseconds{0}, kTimeoutMax);
  }

  // The last who waits, or any.
  void Leave(const Turn& turn) {
    if (waiters_.empty()) return;
    const std::size_t any = static_cast<std::size_t>(turn.move.part) % waiters_.size();
    const std::size_t place = turn.move.part % 2 == 0 ? waiters_.size() - 1 : any;
    model_.GiveBack(waiters_[place].reservation);
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // Of the first key those limits that the turn asks of any, or all.
  void Reset(const Turn& turn) {
    const std::size_t key = turn.asks.front().key;
    std::vector<std::string> words = {"RL.RESET", KeyNames()[key]};
    std::vector<bool> forgets(limits_.size(), turn.what == Turn::What::kResetAll);
    for (const Ask& ask : turn.asks) {
      if (turn.what == Turn::What::kResetAll) break;
      words.push_back(words_[ask.limit]);
      forgets[ask.limit] = true;
    }
    std::size_t live = 0;
    for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
      if (!forgets[limit]) continue;
      live += model_.IsLive({key, limit}, now()) ? 1 : 0;
      model_.Forget({key, limit});
    }
    RC_ASSERT(client_.Call(words) == ":" + std::to_string(live) + "\r\n");
  }

  void Inspect(std::size_t key) {
    std::vector<std::string> want;
    for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
      const Decision state = model_.State({key, limit}, now());
      if (state.reset_after == Nanos{0}) continue;
      want.push_back(bucket_names_[limit] + " " + std::to_string(state.remaining) + " " +
                     std::to_string(CeilMillis(state.reset_after)));
    }
    std::vector<std::string> got;
    const auto reply = ReadRespValues(client_.Call({"RL.INSPECT", KeyNames()[key]}));
    RC_ASSERT(reply.has_value());
    for (const RespValue& row : reply->front().elements) {
      got.push_back(row.elements[0].text + " " + std::to_string(row.elements[1].number) + " " +
                    std::to_string(row.elements[2].number));
    }
    std::ranges::sort(want);
    std::ranges::sort(got);
    RC_ASSERT(got == want);
  }

  const std::vector<Limit> limits_;
  ModelLimiter model_;
  Client client_;
  std::vector<std::string> words_;         // by limit: how a request names it
  std::vector<std::string> bucket_names_;  // by limit: how RL.INSPECT does
  std::vector<Waiter> waiters_;            // in the order of their coming
  Nanos last_retry_after_{0};
};

// Of every kind, as users write them.
rc::Gen<Limit> AnyKindOfLimit() {
  const auto random = rc::gen::suchThat(
      rc::gen::exec([] {
        return std::to_string(*NumberUpTo(1'000'000)) + "/" + std::to_string(*NumberUpTo(10'000)) +
               *rc::gen::element<std::string>("us", "ms", "s", "m", "h", "d") +
               *rc::gen::element<std::string>("", ",burst=1", ",burst=7", ",burst=100000", ",fixed",
                                              ",fixed,aligned");
      }),
      [](const std::string& text) { return ParseLimitWord(text).ok(); });
  const auto everyday = rc::gen::elementOf(
      std::vector<std::string>{"3/s", "7/3s", "7/13s,burst=2", "10/s,burst=30", "10/s,burst=1",
                               "100/7s,burst=9", "5/m", "2/s,fixed", "5/m,fixed,aligned",
                               "3/10s,sliding", "4/m,sliding", "1000/h,sliding", "6/d,sliding"});
  const auto limit = rc::gen::map(rc::gen::oneOf(everyday, random),
                                  [](const std::string& text) { return LimitOf(text); });
  const auto sometimes_shadow =
      rc::gen::map(rc::gen::pair(rc::gen::oneOf(limit, limit, NotableLimit()), Between(0, 3)),
                   [](const std::pair<Limit, int>& drawn) {
                     return drawn.second == 0 ? drawn.first.AsShadow() : drawn.first;
                   });
  return rc::gen::weightedOneOf<Limit>({{16, sometimes_shadow},
                                        {1, rc::gen::just(Limit::Unlimited())},
                                        {1, rc::gen::just(Limit::None())}});
}

TEST(RandomStacksTest, AreAnsweredAsLogsWould) {
  // The module's have a process each.
  CheckLaw(Host::IsModule() ? 300 : 3'000, [] {
    // No two alike, or they would share a bucket.
    const auto limits =
        *rc::gen::uniqueBy<std::vector<Limit>>(kLimits, AnyKindOfLimit(), LimitText);
    Pair pair(limits, *AnyInstant());
    const auto turns = rc::gen::container<std::vector<Turn>>(AnyTurn());
    for (const Turn& turn : *rc::gen::resize(rc::kNominalSize, turns)) pair.Take(turn);
    pair.CheckAll();
  });
}

}  // namespace
}  // namespace weir
