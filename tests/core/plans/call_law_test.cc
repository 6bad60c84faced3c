// Goal: a call of any rules is decided as the laws L27 to L29 say. Method: random histories
// of fixed windows beside a decider that counts in plain numbers; and of all limits beside a second
// limiter, which is asked rule by rule with RL.ALLOW, RL.CHARGE and RL.REFUND.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "core/limiter/call_decider.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/generators.h"
#include "tests/random/windows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/take_all.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr std::string_view kCalledKeys[] = {"a", "b"};

struct CalledRule {
  std::vector<Limit> limits;
  bool shadow = false;
  bool quota = false;

  // A rule of one aligned fixed window marks.
  [[nodiscard]] bool marks() const {
    const LimitShape& shape = limits[0].shape();
    return limits.size() == 1 && shape.aligned && !shape.shadow && shape.ban == Nanos{0};
  }
};

struct CalledPart {
  std::size_t rule;
  std::size_t key;
  Way way;
  std::int64_t hits;
  std::int64_t keep = 0;

  [[nodiscard]] std::pair<std::size_t, std::size_t> place() const { return {rule, key}; }
};

struct RandomCall {
  std::vector<CalledPart> parts;
  bool is_over = false;
  bool quota_passes = false;
};

// A limiter that is asked for some rules.
class CallSubject {
 public:
  explicit CallSubject(const std::vector<CalledRule>& rules) : rules_(rules) {}

  Request Of(const CalledPart& part) {
    Request request;
    const std::string_view key = kCalledKeys[part.key];
    for (const Limit& limit : rules_[part.rule].limits) {
      request.push_back({.key = key,
                         .limit = &limit,
                         .cost = part.hits,
                         .hash = limiter->Hash(key),
                         .keep = limit.has_bucket() ? part.keep : 0});
    }
    return request;
  }
  CallVerdict Decide(const RandomCall& random, Instant now) {
    CallRequest call;
    for (const CalledPart& part : random.parts) {
      const CalledRule& rule = rules_[part.rule];
      call.Add({.way = part.way, .shadow = rule.shadow, .quota = rule.quota, .marks = rule.marks()},
               Of(part));
    }
    call.is_over = random.is_over;
    call.quota_passes = random.quota_passes;
    return *Limiter::CallDecider(*limiter).Decide(call, now);
  }
  // What a look at the rule says.
  bool IsInDebt(const CalledPart& part, Instant now) {
    const std::vector<LiveBucket> live = limiter->Inspect(kCalledKeys[part.key], now);
    return std::ranges::any_of(rules_[part.rule].limits, [&](const Limit& limit) {
      if (limit.shape().shadow) return false;
      if (!limit.has_bucket()) return limit == Limit::None();
      const auto found = std::ranges::find(live, limit, &LiveBucket::limit);
      return found != live.end() &&
             (found->used > limit.capacity_tokens() || found->ban_left > Nanos{0});
    });
  }
  bool Passes(const CalledPart& part, Instant now) {
    if (part.way == Way::kRefund) return true;
    return part.way == Way::kLook ? !IsInDebt(part, now) : limiter->Peek(Of(part), now).allowed;
  }
  // All that can be seen of the buckets.
  std::vector<std::string> State(Instant now) {
    std::vector<std::string> state;
    for (const std::string_view key : kCalledKeys) {
      for (const LiveBucket& bucket : limiter->Inspect(key, now)) {
        state.push_back(absl::StrCat(std::string(key), " ", LimitText(bucket.limit), " ",
                                     bucket.remaining, " ", bucket.reset_after.count(), " ",
                                     bucket.used, " ", bucket.ban_left.count()));
      }
    }
    std::ranges::sort(state);
    state.push_back(absl::StrCat(LimiterUpkeep(limiter->table()).size().buckets));
    return state;
  }
  // What a save and a replica see of the buckets, and of the sums that their open holds need.
  std::vector<std::string> Changes(Instant now) {
    std::vector<std::string> changes;
    const LimiterChanges all = TakeAll(*limiter, now);
    for (const BucketChange& change : all.buckets) {
      changes.push_back(absl::StrCat(change.key.key_hash(), " ", NumberOf(change.key.limit), " ",
                                     change.went_back, change.erased, " ", change.bucket.low, " ",
                                     change.bucket.high, " ", change.bucket.extra));
    }
    for (const SumsChange& change : all.sums) {
      const SettlementSums sums = change.sums.value_or(SettlementSums{});
      changes.push_back(absl::StrCat(change.bucket.key_hash(), " ", NumberOf(change.bucket.limit),
                                     " given back ", sums.given_back, ", cut off ", sums.cut_off));
    }
    return changes;
  }
  void Hold(const CalledPart& part, Instant now) {
    static_cast<void>(
        limiter->DecideAndHold(Of(part), {.id = "id", .ttl = hours{1}}, now)->granted);
  }
  void Settle(std::size_t key, std::int64_t cost, Instant now) {
    const std::string_view name = kCalledKeys[key];
    const SettledKey keys[] = {{{name, limiter->Hash(name)}, cost}};
    static_cast<void>(limiter->SettleHold({.id = "id", .keys = keys, .named = {}}, now)->settled);
  }

  const std::unique_ptr<Limiter> limiter =
      std::make_unique<Limiter>(LimiterOptions{.time_is_ordered = false, .logs_changes = true});

 private:
  const std::vector<CalledRule>& rules_;
};

// Whether a call is over, from what its rules say.
bool IsCallOver(const std::vector<CalledRule>& rules, const RandomCall& call,
                const std::vector<bool>& passes) {
  if (call.is_over) return true;
  int quotas = call.quota_passes ? 1 : 0;
  int full_quotas = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const CalledRule& rule = rules[call.parts[i].rule];
    const bool is_over = !passes[i] && !rule.shadow;
    if (is_over && !rule.quota) return true;
    quotas += rule.quota ? 1 : 0;
    full_quotas += rule.quota && is_over ? 1 : 0;
  }
  return quotas > 0 && full_quotas == quotas;
}

// --- Fixed windows in plain numbers -------------------------------------------------------------

// Counts what each aligned fixed window of the rules has used.
class WindowCounts {
 public:
  explicit WindowCounts(const std::vector<CalledRule>& rules) : rules_(rules) {}

  struct Answer {
    bool over = false;
    std::vector<bool> passes;
  };
  Answer Decide(const RandomCall& call, Instant now) {
    now_ = now;
    std::map<std::pair<std::size_t, std::size_t>, Sum> sums;
    for (const CalledPart& part : call.parts) {
      Sum& sum = sums[part.place()];
      if (part.way == Way::kAsk || part.way == Way::kReport) sum.tokens += part.hits;
      if (part.way == Way::kRefund) sum.tokens -= part.hits;
      sum.reports |= part.way == Way::kReport;
      sum.only_refunds &= part.way == Way::kRefund;
    }
    for (auto& [place, sum] : sums) sum.passes = Passes(place, sum);
    Answer answer;
    for (const CalledPart& part : call.parts) {
      answer.passes.push_back(sums[part.place()].passes);
    }
    answer.over = IsCallOver(rules_, call, answer.passes);
    for (const auto& [place, sum] : sums) Take(place, sum, answer.over);
    return answer;
  }
  std::int64_t& Used(std::pair<std::size_t, std::size_t> place, std::size_t limit) {
    const std::int64_t window =
        now_.time_since_epoch() / rules_[place.first].limits[limit].shape().period;
    Window& last = windows_[{place, limit}];
    if (last.number != window) last = {window, 0};
    return last.used;
  }

 private:
  struct Sum {
    std::int64_t tokens = 0;
    bool reports = false;
    bool only_refunds = true;
    bool passes = true;
  };
  struct Window {
    std::int64_t number = 0;
    std::int64_t used = 0;
  };

  std::int64_t CountOf(std::pair<std::size_t, std::size_t> place, std::size_t limit) const {
    return rules_[place.first].limits[limit].shape().count;
  }
  std::size_t LimitsOf(std::pair<std::size_t, std::size_t> place) const {
    return rules_[place.first].limits.size();
  }
  bool Passes(std::pair<std::size_t, std::size_t> place, const Sum& sum) {
    if (sum.tokens < 0 || sum.only_refunds) return true;
    for (std::size_t i = 0; i < LimitsOf(place); ++i) {
      if (Used(place, i) + sum.tokens > CountOf(place, i)) return false;
    }
    return true;
  }
  void Take(std::pair<std::size_t, std::size_t> place, const Sum& sum, bool over) {
    for (std::size_t i = 0; i < LimitsOf(place); ++i) {
      std::int64_t& used = Used(place, i);
      const std::int64_t count = CountOf(place, i);
      if (sum.tokens <= 0) {
        used = std::max<std::int64_t>(0, used + sum.tokens);
      } else if (sum.reports) {
        used = std::max(used, std::min(used + sum.tokens, 2 * count));
      } else if (sum.passes && !over) {
        used += sum.tokens;
      } else if (!sum.passes && rules_[place.first].marks() && used == count) {
        ++used;
      }
    }
  }

  const std::vector<CalledRule>& rules_;
  Instant now_;
  std::map<std::pair<std::pair<std::size_t, std::size_t>, std::size_t>, Window> windows_;
};

std::vector<CalledRule> DrawnWindowRules() {
  std::vector<CalledRule> rules(4);
  for (CalledRule& rule : rules) {
    rule.limits.push_back(
        WindowOf(Algorithm::kFixedWindow, *Between<std::int64_t>(1, 4), minutes{1}, true));
    if (*Between(0, 3) == 0) {
      rule.limits.push_back(
          WindowOf(Algorithm::kFixedWindow, *Between<std::int64_t>(2, 8), hours{1}, true));
    }
    rule.shadow = *Between(0, 4) == 0;
    rule.quota = *Between(0, 2) == 0;
  }
  // Rules with equal limits would share their buckets.
  for (std::uint32_t r = 0; r < rules.size(); ++r) {
    for (std::uint32_t i = 0; i < rules[r].limits.size(); ++i) {
      rules[r].limits[i] = rules[r].limits[i].OwnedBy({PolicyId{r + 1}, i});
    }
  }
  return rules;
}

RandomCall DrawnCall(const std::vector<CalledRule>& rules, std::int64_t hits_max,
                     bool keeps = false) {
  RandomCall call;
  call.parts.resize(*Between<std::size_t>(1, 5));
  for (CalledPart& part : call.parts) {
    part.rule = *Between<std::size_t>(0, rules.size() - 1);
    part.key = *Between<std::size_t>(0, 1);
    part.way = *rc::gen::weightedElement<Way>(
        {{6, Way::kAsk}, {2, Way::kLook}, {2, Way::kReport}, {1, Way::kRefund}});
    const std::int64_t most =
        std::clamp<std::int64_t>(rules[part.rule].limits[0].capacity_tokens(), 1, hits_max);
    part.hits = part.way == Way::kLook
                    ? 0
                    : *rc::gen::weightedOneOf<std::int64_t>({{4, rc::gen::just<std::int64_t>(1)},
                                                             {1, rc::gen::just(most)},
                                                             {1, NumberUpTo(most)}});
    if (keeps && *Between(0, 3) == 0) part.keep = *NumberUpTo(most);
  }
  call.is_over = *Between(0, 15) == 0;
  call.quota_passes = *Between(0, 15) == 0;
  return call;
}

TEST(CallLawTest, L27FixedWindowsAreCountedAsPlainNumbers) {
  CheckLaw(2'000, [] {
    const std::vector<CalledRule> rules = DrawnWindowRules();
    CallSubject subject(rules);
    WindowCounts counts(rules);
    Instant now = FakeClock::kStart;
    for (int steps = *Between(1, 30); steps > 0; --steps, now += Nanos{*NumberUpTo(1LL << 35)}) {
      const RandomCall call = DrawnCall(rules, 5);
      const CallVerdict got = subject.Decide(call, now);
      const WindowCounts::Answer want = counts.Decide(call, now);
      RC_ASSERT(got.over == want.over);
      for (std::size_t p = 0; p < call.parts.size(); ++p) {
        const CalledPart& part = call.parts[p];
        RC_ASSERT(got.parts[p].over == !want.passes[p]);
        std::int64_t fewest = kWindowCountMax;
        for (std::size_t i = 0; i < rules[part.rule].limits.size(); ++i) {
          const Limit& limit = rules[part.rule].limits[i];
          const std::int64_t left = limit.shape().count - counts.Used(part.place(), i);
          fewest = std::min(fewest, std::max<std::int64_t>(0, left));
        }
        if (want.passes[p]) RC_ASSERT(got.parts[p].decision.remaining == fewest);
      }
    }
  });
}

// --- All limits, rule by rule -------------------------------------------------------------------

std::vector<CalledRule> DrawnRules() {
  const auto kinds = rc::gen::weightedOneOf<Limit>({{6, AnyLimit()},
                                                    {6, FixedWindows::AnyLimit()},
                                                    {4, SlidingWindows::AnyLimit()},
                                                    {1, rc::gen::just(Limit::Unlimited())},
                                                    {1, rc::gen::just(Limit::None())}});
  // The tokens used of a greater one are not told.
  const auto is_counted = [](const Limit& limit) { return limit.capacity_tokens() < kCountMax; };
  const auto limits = *rc::gen::uniqueBy<std::vector<Limit>>(
      4, rc::gen::suchThat(SometimesShadow(SometimesBan(kinds)), is_counted), LimitText);
  std::vector<CalledRule> rules = {{{limits[0]}}, {{limits[1]}}, {{limits[2], limits[3]}}};
  for (CalledRule& rule : rules) {
    rule.shadow = *Between(0, 4) == 0;
    rule.quota = *Between(0, 2) == 0;
  }
  return rules;
}

// Does to a limiter what a call does, rule by rule. Returns what the rules say.
struct RuleByRule {
  const std::vector<CalledRule>& rules;
  CallSubject subject{rules};

  void Mark(const CalledPart& part, Instant now) {
    const Limit& limit = rules[part.rule].limits[0];
    const Request one = subject.Of({part.rule, part.key, part.way, 1});
    for (const LiveBucket& live : subject.limiter->Inspect(kCalledKeys[part.key], now)) {
      if (live.limit == limit && live.used == limit.shape().count) {
        static_cast<void>(subject.limiter->Charge(one, now)->beyond);
        return;
      }
    }
  }
  // Returns the bits of reports whose tokens were not there.
  std::uint64_t Take(const CalledPart& part, bool passes, bool over, Instant now) {
    Limiter& limiter = *subject.limiter;
    const Request request = subject.Of(part);
    if (part.way == Way::kReport) {
      const Charged charged = *limiter.Charge(request, now);
      RC_ASSERT(charged.verdict.allowed == passes);
      return charged.beyond;
    }
    if (part.way == Way::kRefund) {
      RC_ASSERT(limiter.Refund(request, now).allowed);
    } else if (part.way == Way::kAsk && passes && over) {
      // A shadow limit that denies is banned, as in a denial.
      for (const Check& check : request) {
        const Request alone = {check};
        if (!limiter.Peek(alone, now).decisions[0].allowed) {
          RC_ASSERT(limiter.Decide(alone, now)->allowed);
        }
      }
    } else if (part.way == Way::kAsk) {
      RC_ASSERT(limiter.Decide(request, now)->allowed == passes);
      if (!passes && rules[part.rule].marks()) Mark(part, now);
    }
    return 0;
  }
  std::vector<bool> Decide(const RandomCall& call, Instant now) {
    std::vector<bool> passes;
    for (const CalledPart& part : call.parts) passes.push_back(subject.Passes(part, now));
    const bool over = IsCallOver(rules, call, passes);
    std::size_t checks = 0;
    beyond = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      beyond |= Take(call.parts[i], passes[i], over, now) << checks;
      checks += rules[call.parts[i].rule].limits.size();
    }
    return passes;
  }

  std::uint64_t beyond = 0;
};

// The same bucket is asked at most once.
RandomCall DrawnDistinctCall(const std::vector<CalledRule>& rules) {
  RandomCall call = DrawnCall(rules, INT64_MAX, true);
  std::vector<CalledPart> distinct;
  for (const CalledPart& part : call.parts) {
    const auto is_same = [&](const CalledPart& other) { return other.place() == part.place(); };
    if (std::ranges::none_of(distinct, is_same)) distinct.push_back(part);
  }
  call.parts = distinct;
  return call;
}

// A sliding window forgets its age in 2^31 periods, of a ms at least.
constexpr Nanos kLongestWait = hours{7 * 24};

TEST(CallLawTest, L27CallIsAsItsRulesOneByOne) {
  CheckLaw(2'000, [] {
    const std::vector<CalledRule> rules = DrawnRules();
    CallSubject whole(rules);
    RuleByRule single{rules};
    Instant now = *AnyInstant(2 * kLongestWait);
    const std::vector<CalledPart> held = DrawnCall(rules, 1000).parts;
    const bool holds = *Between(0, 1) == 0;
    for (CallSubject* subject : {&whole, &single.subject}) {
      if (holds) subject->Hold(held[0], now);
    }
    for (int steps = *Between(1, 8); steps > 0; --steps, now += Nanos{*NumberUpTo(1LL << 35)}) {
      if (steps == 2) {
        const std::int64_t cost = *NumberUpTo(held[0].hits + 2) - 1;
        for (CallSubject* subject : {&whole, &single.subject})
          subject->Settle(held[0].key, cost, now);
      }
      const RandomCall call = DrawnDistinctCall(rules);
      const CallVerdict got = whole.Decide(call, now);
      const std::vector<bool> passes = single.Decide(call, now);
      RC_ASSERT(got.over == IsCallOver(rules, call, passes));
      RC_ASSERT(got.beyond == single.beyond);
      RC_ASSERT(whole.State(now) == single.subject.State(now));
      for (std::size_t p = 0; p < call.parts.size(); ++p) {
        const PartVerdict& part = got.parts[p];
        RC_ASSERT(part.over == !passes[p]);
        CalledPart look = call.parts[p];
        look.hits = look.keep = 0;
        const Verdict behind = single.subject.limiter->Peek(single.subject.Of(look), now);
        if (!part.over && look.way != Way::kRefund)
          RC_ASSERT(part.decision.remaining == behind.remaining);
        if (!part.over || whole.limiter->has_open_holds()) continue;
        const Nanos told = std::min(part.decision.retry_after, kLongestWait);
        RC_ASSERT_FALSE(whole.Passes(call.parts[p], now + told - Nanos{1}));
        // A limit that has passed a report may not pass it once more.
        const bool is_report_of_two =
            look.way == Way::kReport && rules[look.rule].limits.size() > 1;
        if (told < part.decision.retry_after || is_report_of_two) continue;
        RC_ASSERT(whole.Passes(call.parts[p], now + told));
      }
    }
    // This looks at all partitions, which takes longer than all the rest.
    if (*Between(0, 7) == 0) RC_ASSERT(whole.Changes(now) == single.subject.Changes(now));
  });
}

TEST(CallLawTest, L28OrderDoesNotMatter) {
  CheckLaw(2'000, [] {
    const std::vector<CalledRule> rules = *Between(0, 1) == 0 ? DrawnRules() : DrawnWindowRules();
    CallSubject first(rules);
    CallSubject second(rules);
    Instant now = *AnyInstant(hours{1});
    for (int steps = *Between(1, 8); steps > 0; --steps, now += Nanos{*NumberUpTo(1LL << 35)}) {
      const RandomCall call = DrawnCall(rules, INT64_MAX, true);
      std::vector<std::size_t> order(call.parts.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[*Between<std::size_t>(0, i - 1)]);
      }
      RandomCall shuffled = call;
      for (std::size_t i = 0; i < order.size(); ++i) shuffled.parts[i] = call.parts[order[i]];
      const CallVerdict one = first.Decide(call, now);
      const CallVerdict other = second.Decide(shuffled, now);
      RC_ASSERT(one.over == other.over);
      for (std::size_t i = 0; i < order.size(); ++i) {
        RC_ASSERT(one.parts[order[i]].over == other.parts[i].over);
        RC_ASSERT(one.parts[order[i]].decision == other.parts[i].decision);
      }
      RC_ASSERT(first.State(now) == second.State(now));
    }
  });
}

TEST(CallLawTest, L29OneMoreLookThanTheCountPasses) {
  CheckLaw(200, [] {
    const std::int64_t count = *Between<std::int64_t>(1, 30);
    const std::vector<CalledRule> rules = {
        {{WindowOf(Algorithm::kFixedWindow, count, minutes{1}, true)}}};
    CallSubject subject(rules);
    std::int64_t passed = 0;
    for (std::int64_t i = 0; i < 2 * count; ++i) {
      if (subject.Decide({{{0, 0, Way::kLook, 0}}}, FakeClock::kStart).over) continue;
      ++passed;
      static_cast<void>(subject.Decide({{{0, 0, Way::kReport, 1}}}, FakeClock::kStart).over);
    }
    RC_ASSERT(passed == count + 1);
  });
}

}  // namespace
}  // namespace weir
