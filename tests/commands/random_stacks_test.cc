// Goal: for any stacks of limits on any keys in any order, a host answers as a set of logs would.
// Method: random turns over a few keys and limits of every kind, spelled out or stored as policies
// (repeated checks, shadows, looks, alternatives, takes, refunds, waits that are served or
// abandoned, resets), each reply compared with that of a model (model_history.h), rounded as
// replies are.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/commands/reply_numbers.h"
#include "tests/commands/client.h"
#include "tests/commands/differences.h"
#include "tests/random/generators.h"
#include "tests/random/model_history.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kWaitersMax = 4;
constexpr milliseconds kLongestWait = std::chrono::floor<milliseconds>(kMaxWaitMax);

// The integers in the form of a reply.
std::string Integers(std::span<const std::int64_t> numbers) {
  std::string bytes;
  for (const std::int64_t number : numbers) bytes += ":" + std::to_string(number) + "\r\n";
  return bytes;
}

std::string Bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class HostHistory : public ModelHistory {
 public:
  // Every second limit is stored as a policy, if policies allow it.
  HostHistory(std::vector<Limit> drawn, Instant start)
      : ModelHistory(std::move(drawn), std::max(start, FakeClock::kStart), kLongestWait,
                     milliseconds{1}),
        client_({.max_wait = kLongestWait}) {
    client_.clock().Set(now());
    for (std::size_t i = 0; i < kLimits; ++i) {
      words_.push_back(LimitText(limits()[i]));
      bucket_names_.push_back(words_.back());
      if (i % 2 == 0 || !limits()[i].has_bucket()) continue;
      const std::string policy = "p" + std::to_string(i);
      RC_ASSERT(client_.Call({"RL.POLICY", "SET", policy, words_.back()}) == "+OK\r\n");
      words_.back() = "@" + policy;
      bucket_names_.back() = "@" + policy + "#0" + (limits()[i].shape().shadow ? ",shadow" : "");
    }
  }

 private:
  // The client that belongs to one of waiters().
  struct Waiter {
    std::unique_ptr<Client> client;
    Instant answered;
    bool with_limits;
  };

  // Every third request asks WITHLIMITS.
  static bool WithLimits(const Turn& turn) { return turn.move.part % 3 == 0; }

  // Expects answers to clients whose time has come, and to no others.
  void OnMove(Instant then) override {
    client_.clock().Set(then);
    for (std::size_t i = 0; i < clients_.size();) {
      const std::string reply = clients_[i].client->Receive();
      if (clients_[i].answered > then) {
        RC_ASSERT(reply == "");
        ++i;
        continue;
      }
      const ModelLimiter::Reservation& reservation = waiters()[i];
      RC_ASSERT(reply == Reply(1, model().Settle(reservation, then), reservation.checks,
                               clients_[i].with_limits));
      Forget(i);
      waiters().erase(waiters().begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void Forget(std::size_t place) {
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // A limit with a bucket carries its cost in its word, so it may share its key with the check
  // before it.
  bool BeginsGroup(const Checks& checks, std::size_t i) const {
    const auto carries_cost = [&](std::size_t check) {
      return limits()[checks[check].bucket.second].has_bucket();
    };
    return i == 0 || checks[i].begins_alternative ||
           checks[i - 1].bucket.first != checks[i].bucket.first || !carries_cost(i) ||
           !carries_cost(i - 1);
  }

  // The command for these checks.
  std::vector<std::string> Words(const std::string& command, const Checks& checks) const {
    std::vector<std::string> words = {command};
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const auto& [key, limit] = checks[i].bucket;
      const std::string cost = std::to_string(checks[i].cost);
      if (BeginsGroup(checks, i)) {
        if (i > 0) words.emplace_back(checks[i].begins_alternative ? "OR" : "AND");
        words.push_back(KeyNames()[key]);
      }
      words.push_back(words_[limit]);
      if (!limits()[limit].has_bucket()) {
        words.insert(words.end(), {"COST", cost});
        continue;
      }
      words.back() += ",cost=" + cost;
      if (checks[i].keep > 0) words.back() += ",keep=" + std::to_string(checks[i].keep);
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
    const bool has_alternatives =
        std::ranges::any_of(checks, &ModelLimiter::Priced::begins_alternative);
    std::int64_t alternative = has_alternatives ? 0 : -1;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Limit& limit = limits()[checks[i].bucket.second];
      if (i > 0 && BeginsGroup(checks, i)) ++group;
      if (checks[i].begins_alternative) ++alternative;
      const AskedLimit asked{"", &limit, group, checks[i].cost, checks[i].keep, alternative};
      const auto decided = DecisionNumbers(asked, verdict.decisions[i]);
      bytes += (has_alternatives ? "*10\r\n" : "*9\r\n") + Bulk(LimitText(limit)) +
               Integers(std::span(decided).first(DecisionFieldsOf(asked)));
    }
    return bytes;
  }

  void Compare(const Turn& turn, const Checks& checks, std::int64_t upto,
               const Grant& want) override {
    const bool takes = turn.what == Turn::What::kTake;
    const char* const command = takes                              ? "RL.TAKE"
                                : turn.what == Turn::What::kPeek   ? "RL.PEEK"
                                : turn.what == Turn::What::kRefund ? "RL.REFUND"
                                                                   : "RL.ALLOW";
    std::vector<std::string> words = Words(command, checks);
    if (takes) words.insert(words.end(), {"UPTO", std::to_string(upto)});
    if (WithLimits(turn)) words.emplace_back("WITHLIMITS");
    const std::int64_t first = takes ? want.granted : want.verdict.allowed ? 1 : 0;
    RC_ASSERT(client_.Call(words) == Reply(first, want.verdict, checks, WithLimits(turn)));
  }

  void CompareCharge(const Turn& turn, const Checks& checks, const Charged& want) override {
    std::vector<std::string> words = Words("RL.CHARGE", checks);
    if (WithLimits(turn)) words.emplace_back("WITHLIMITS");
    RC_ASSERT(client_.Call(words) ==
              Reply(want.verdict.allowed ? 1 : 0, want.verdict, checks, WithLimits(turn)));
  }

  [[nodiscard]] bool CanWaitFor(const Limit& limit) const override {
    return waiters().size() < kWaitersMax && limit.shape().algorithm == Algorithm::kTokenBucket;
  }

  void CompareReserve(const Turn& turn, const Checks& checks, Nanos patience,
                      const ModelLimiter::Admission& want) override {
    std::vector<std::string> words = Words("RL.WAIT", checks);
    words.insert(words.end(), {"TIMEOUT", std::to_string(CeilMillis(patience))});
    if (WithLimits(turn)) words.emplace_back("WITHLIMITS");
    auto client = std::make_unique<Client>(client_.host());
    const std::string reply = client->Call(words);
    if (!want.reservation) {
      RC_ASSERT(reply ==
                Reply(want.verdict.allowed ? 1 : 0, want.verdict, checks, WithLimits(turn)));
      return;
    }
    RC_ASSERT(reply == "");
    clients_.push_back(
        {std::move(client), AnsweredAt(now(), want.reservation->ready), WithLimits(turn)});
  }

  void OnGiveBack(std::size_t place) override { Forget(place); }

  std::size_t ResetOf(std::size_t key, const std::vector<std::size_t>& named) override {
    std::vector<std::string> words = {"RL.RESET", KeyNames()[key]};
    for (const std::size_t limit : named) words.push_back(words_[limit]);
    const auto reply = ReadRespValues(client_.Call(words));
    RC_ASSERT(reply.has_value());
    RC_ASSERT(reply->front().type == ':');
    return static_cast<std::size_t>(reply->front().number);
  }

  void CompareInspect(std::size_t key, const std::vector<Live>& live) override {
    std::vector<std::string> want;
    for (const Live& one : live) {
      want.push_back(bucket_names_[one.limit] + " " + std::to_string(one.remaining) + " " +
                     std::to_string(CeilMillis(one.reset_after)) + " " + std::to_string(one.used) +
                     " " + std::to_string(CeilMillis(one.ban_left)));
    }
    std::vector<std::string> got;
    const auto reply = ReadRespValues(client_.Call({"RL.INSPECT", KeyNames()[key]}));
    RC_ASSERT(reply.has_value());
    for (const RespValue& row : reply->front().elements) {
      got.push_back(row.elements[0].text + " " + std::to_string(row.elements[1].number) + " " +
                    std::to_string(row.elements[2].number) + " " +
                    std::to_string(row.elements[3].number) + " " +
                    std::to_string(row.elements[4].number));
    }
    std::ranges::sort(want);
    std::ranges::sort(got);
    RC_ASSERT(got == want);
  }

  Client client_;
  std::vector<std::string> words_;         // by limit: how a request names it
  std::vector<std::string> bucket_names_;  // by limit: how RL.INSPECT does
  std::vector<Waiter> clients_;            // of waiters()
};

// Limits of every kind, as users write them.
rc::Gen<Limit> AnyKindOfLimit() {
  const auto random = rc::gen::suchThat(
      rc::gen::exec([] {
        return std::to_string(*NumberUpTo(1'000'000)) + "/" + std::to_string(*NumberUpTo(10'000)) +
               *rc::gen::element<std::string>("us", "ms", "s", "m", "h", "d") +
               *rc::gen::element<std::string>("", ",burst=1", ",burst=7", ",burst=100000", ",fixed",
                                              ",fixed,aligned");
      }),
      [](const std::string& text) { return ParseLimitWord(text).ok(); });
  const auto everyday =
      LimitAmong({"3/s", "7/3s", "7/13s,burst=2", "10/s,burst=30", "10/s,burst=1", "100/7s,burst=9",
                  "5/m", "2/s,fixed", "5/m,fixed,aligned", "3/10s,sliding", "4/m,sliding",
                  "1000/h,sliding", "6/d,sliding", "3/day,tz=Africa/Cairo", "5/week,from=sun",
                  "4/month,tz=America/New_York,from=31", "9/year,tz=Europe/Berlin,from=02-29"});
  const auto limit = rc::gen::oneOf(
      everyday, rc::gen::map(random, [](const std::string& text) { return LimitOf(text); }));
  const auto sometimes_shadow =
      SometimesShadow(SometimesBan(rc::gen::oneOf(limit, limit, NotableLimit())));
  return rc::gen::weightedOneOf<Limit>({{16, sometimes_shadow},
                                        {1, rc::gen::just(Limit::Unlimited())},
                                        {1, rc::gen::just(Limit::None())}});
}

TEST(RandomStacksTest, AreAnsweredAsLogsWould) {
  using What = Turn::What;
  // The module's histories have a process each.
  CheckHistories<HostHistory>(Host::IsModule() ? 100 : 1'000, AnyKindOfLimit(),
                              {{40, What::kDecide},
                               {10, What::kPeek},
                               {10, What::kTake},
                               {10, What::kCharge},
                               {10, What::kRefund},
                               {25, What::kReserve},
                               {5, What::kGiveBack},
                               {3, What::kReset},
                               {2, What::kResetAll},
                               {10, What::kInspect}});
}

}  // namespace
}  // namespace weir
