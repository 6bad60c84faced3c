// Goal: of a request with alternatives the first that passes alone is charged, and nothing else
// changes (L25); a denial tells exactly when one will pass (L26). Method: examples; and random
// histories that two limiters decide, one the whole request, the other its alternatives one by one.
#include "core/plans/choice.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/core/limiter/limiter_fixture.h"
#include "tests/random/windows.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

using Alternatives = std::vector<std::vector<Asked>>;

class ChoiceTest : public LimiterFixture {
 protected:
  Request OneOf(const Alternatives& alternatives) {
    Request request;
    for (const std::vector<Asked>& asked : alternatives) {
      if (!request.empty()) request.BeginAlternative();
      for (const Check& check : Of(asked)) request.push_back(check);
    }
    return request;
  }
  Verdict Choose(const Alternatives& alternatives) {
    return *limiter_->Decide(OneOf(alternatives), now_);
  }
  // "101": which limits have allowed.
  static std::string Said(const Verdict& verdict) {
    std::string said;
    for (const Decision& decision : verdict.decisions) said += decision.allowed ? "1" : "0";
    return said;
  }
};

TEST_F(ChoiceTest, RequestKnowsItsAlternatives) {
  const Request request = OneOf({{{"a", "1/s"}}, {{"b", "1/s"}, {"c", "1/s"}}, {{"d", "1/s"}}});
  EXPECT_TRUE(request.has_alternatives());
  std::vector<std::size_t> alternatives;
  for (std::size_t i = 0; i < 4; ++i) alternatives.push_back(request.AlternativeOf(i));
  EXPECT_THAT(alternatives, testing::ElementsAre(0, 1, 1, 2));
  for (const std::size_t check : {1, 2}) {
    EXPECT_EQ(request.AlternativeWith(check).begin, 1u);
    EXPECT_EQ(request.AlternativeWith(check).end, 3u);
  }
  EXPECT_EQ(request.AlternativeWith(0).end, 1u);
  EXPECT_EQ(request.AlternativeWith(3).end, 4u);
  EXPECT_FALSE(Of({{"a", "1/s"}, {"b", "1/s"}}).has_alternatives());
}

TEST_F(ChoiceTest, MostAlternatives) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kChecksMax; ++i) keys.push_back(std::to_string(i));
  Alternatives alternatives;
  for (const std::string& key : keys) alternatives.push_back({{key, "1/h"}});
  for (std::size_t i = 0; i < kChecksMax; ++i) {
    const Verdict verdict = Choose(alternatives);
    EXPECT_TRUE(verdict.allowed);
    EXPECT_EQ(verdict.limit_index, i);
  }
  EXPECT_FALSE(Choose(alternatives).allowed);
}

TEST_F(ChoiceTest, FirstThatPassesIsChargedAlone) {
  const Alternatives own_or_pool = {{{"own", "1/h"}, {"all", "10/h"}},
                                    {{"pool", "2/h"}, {"all", "10/h"}}};
  const Verdict first = Choose(own_or_pool);
  EXPECT_TRUE(first.allowed);
  EXPECT_EQ(first.limit_index, 0u);
  EXPECT_EQ(Said(first), "1111");
  EXPECT_EQ(Remaining("pool", "2/h"), 2);
  EXPECT_EQ(Remaining("all", "10/h"), 9);
  const Verdict second = Choose(own_or_pool);
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.limit_index, 2u);
  EXPECT_EQ(second.remaining, 1);
  EXPECT_EQ(Said(second), "0111");
  // A row of a loser shows the untouched bucket.
  EXPECT_EQ(second.decisions[1].remaining, 9);
  EXPECT_EQ(Remaining("all", "10/h"), 8);
  EXPECT_EQ(buckets(), 3u);
}

TEST_F(ChoiceTest, DenialHasTheNumbersOfTheSoonest) {
  Decide({{"slow", "1/h"}});
  Decide({{"fast", "2/m", 2}});
  const Verdict verdict = Choose({{{"slow", "1/h"}}, {{"a", "1/h", 2}}, {{"fast", "2/m"}}});
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.limit_index, 2u);
  EXPECT_EQ(verdict.retry_after, seconds{30});
  EXPECT_EQ(verdict.remaining, 0);
  EXPECT_EQ(buckets(), 2u);
  EXPECT_EQ(Choose({{{"a", "1/h", 2}}, {{"b", "1/h", 2}}}).retry_after, kNever);
  EXPECT_EQ(Choose({{{"a", "1/h", 2}}, {{"slow", "1/h"}}}).limit_index, 1u);
  EXPECT_EQ(Choose({{{"slow", "1/h"}}, {{"slow", "1/h"}}}).limit_index, 0u);
}

TEST_F(ChoiceTest, LosersOfAWinAreNotBanned) {
  Decide({{"a", "1/m,ban=1h"}});
  EXPECT_TRUE(Choose({{{"a", "1/m,ban=1h"}}, {{"b", "1/m"}}}).allowed);
  EXPECT_EQ(Peek({{"a", "1/m,ban=1h"}}).retry_after, seconds{60});
}

// The ban of the second alternative delays the first, which asks the same bucket for less.
TEST_F(ChoiceTest, DenialTellsOfAllBans) {
  Decide({{"b", "1/d"}});
  Decide({{"a", "2/m,ban=1h"}});
  const Verdict verdict = Choose({{{"a", "2/m,ban=1h"}, {"b", "1/d"}}, {{"a", "2/m,ban=1h", 2}}});
  EXPECT_EQ(verdict.banned, 0b100u);
  EXPECT_EQ(verdict.limit_index, 2u);
  EXPECT_EQ(verdict.retry_after, hours{1} + seconds{30});
  EXPECT_EQ(Said(verdict), "000");
  EXPECT_EQ(verdict.decisions[0].retry_after, hours{1});
}

TEST_F(ChoiceTest, ShadowsDenyNoAlternative) {
  Decide({{"a", "1/h,shadow"}});
  EXPECT_EQ(Choose({{{"a", "1/h,shadow"}}, {{"b", "1/h"}}}).limit_index, 0u);
  EXPECT_EQ(Choose({{{"n", "none"}}, {{"u", "unlimited"}}}).limit_index, 1u);
  EXPECT_EQ(Choose({{{"n", "none"}}, {{"a", "1/h", 0}}}).limit_index, 1u);
  EXPECT_FALSE(Choose({{{"n", "none"}}, {{"n", "none"}}}).allowed);
}

TEST_F(ChoiceTest, WouldChangeIfAnAlternativeWould) {
  Decide({{"a", "1/m"}});
  Decide({{"b", "1/m,ban=1h"}});
  const auto would = [&](const Alternatives& alternatives) {
    return limiter_->WouldChange(OneOf(alternatives), now_);
  };
  EXPECT_FALSE(would({{{"a", "1/m"}}, {{"a", "1/m", 2}}}));
  EXPECT_TRUE(would({{{"a", "1/m"}}, {{"c", "1/m"}}}));
  EXPECT_TRUE(would({{{"a", "1/m"}}, {{"b", "1/m,ban=1h"}}}));
}

// --- Holds --------------------------------------------------------------------------------------

class HeldChoiceTest : public ChoiceTest {
 protected:
  absl::StatusOr<Grant> Reserve(const Alternatives& alternatives, std::string_view id = "id",
                                std::uint64_t words = 1) {
    return limiter_->DecideAndHold(OneOf(alternatives),
                                   {.id = id, .ttl = seconds{10}, .words = words}, now_);
  }
  bool Cancel(const std::vector<std::string_view>& keys, std::string_view id = "id") {
    std::vector<SettledKey> settled;
    for (const std::string_view key : keys) {
      settled.push_back({.key = {key, limiter_->Hash(key)}, .cost = 0});
    }
    return limiter_->SettleHold({.id = id, .keys = settled, .named = {}}, now_)->settled;
  }
};

TEST_F(HeldChoiceTest, OnlyTheWinnersKeysHold) {
  const Alternatives request = {{{"a", "1,held"}}, {{"b", "1,held"}, {"all", "9/h"}}};
  EXPECT_EQ(Reserve(request, "1")->verdict.limit_index, 0u);
  const Grant second = *Reserve(request, "2");
  EXPECT_EQ(second.granted, 1);
  EXPECT_EQ(second.verdict.limit_index, 1u);
  const Grant third = *Reserve(request, "3");
  EXPECT_EQ(third.granted, 0);
  EXPECT_FALSE(third.verdict.allowed);
  EXPECT_FALSE(Cancel({"a", "b", "all"}, "2"));
  EXPECT_TRUE(Cancel({"b", "all"}, "2"));
  EXPECT_EQ(Reserve(request, "3")->verdict.limit_index, 1u);
}

TEST_F(HeldChoiceTest, RepeatedRequestRenewsTheWinner) {
  // The second alternative holds a key of the first, too.
  const Alternatives request = {{{"all", "9/h", 10}}, {{"all", "9/h"}, {"b", "9/h"}}};
  EXPECT_FALSE(Reserve(request)->renewed);
  now_ += seconds{9};
  const Grant again = *Reserve(request);
  EXPECT_TRUE(again.renewed);
  EXPECT_TRUE(again.verdict.allowed);
  EXPECT_EQ(again.verdict.limit_index, 1u);
  EXPECT_EQ(again.verdict.decisions.size(), 3u);
  now_ += seconds{9};
  EXPECT_TRUE(Cancel({"all", "b"}));
}

// Of alternatives about one key the hold's own limits tell which was won.
TEST_F(HeldChoiceTest, RenewsAnAlternativeOfTheSameKey) {
  const Alternatives request = {{{"k", "2/d"}}, {{"k", "5/h", 3}}, {{"k", "5/h"}}};
  for (const std::size_t winner : {0u, 0u, 1u, 2u}) {
    const std::string id = std::to_string(now_.time_since_epoch().count());
    EXPECT_EQ(Reserve(request, id)->verdict.limit_index, winner);
    const Grant again = *Reserve(request, id);
    EXPECT_TRUE(again.renewed);
    EXPECT_EQ(again.verdict.limit_index, winner);
    now_ += Nanos{1};
  }
}

TEST_F(HeldChoiceTest, RenewsNoAlternativeThatCouldNotHold) {
  const std::vector<Alternatives> requests = {
      {{{"k", "2/d", 5}}, {{"k", "2/d", 0}}},
      {{{"k", "5/h"}, {"n", "none"}}, {{"k", "5/h"}, {"n", "unlimited"}}}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string id = std::to_string(i);
    const std::size_t winner = Reserve(requests[i], id)->verdict.limit_index;
    EXPECT_GE(winner, 1u);
    const Grant again = *Reserve(requests[i], id);
    EXPECT_TRUE(again.renewed);
    EXPECT_EQ(again.verdict.limit_index, winner) << i;
  }
}

TEST_F(HeldChoiceTest, FailsIfAKeyHasTheIdOtherwise) {
  const Alternatives request = {{{"a", "1/h"}}, {{"b", "5/h"}}};
  EXPECT_EQ(Reserve(request)->verdict.limit_index, 0u);
  EXPECT_EQ(Reserve(request, "id", 2).status().code(), absl::StatusCode::kAlreadyExists);
  // Another request of the same words cannot be; but a key may have lost its hold.
  EXPECT_EQ(Reserve({{{"c", "1/h"}}, {{"a", "1/h"}, {"d", "1/h"}}}).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Cancel({"a"}));
  EXPECT_EQ(Reserve(request).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Remaining("b", "5/h"), 5);
}

// --- Laws ---------------------------------------------------------------------------------------

constexpr std::string_view kKeyNames[] = {"a", "b"};

struct RandomAsk {
  std::size_t key;
  std::size_t limit;
  std::int64_t cost;
  std::int64_t keep;
};

// A limiter whose requests draw from a few limits.
struct Subject {
  explicit Subject(const std::vector<Limit>& all) : limits(all) {}

  Request Of(const std::vector<RandomAsk>& asks) {
    Request request;
    for (const RandomAsk& ask : asks) {
      const std::string_view key = kKeyNames[ask.key];
      request.push_back({.key = key,
                         .limit = &limits[ask.limit],
                         .cost = ask.cost,
                         .hash = limiter->Hash(key),
                         .keep = ask.keep});
    }
    return request;
  }
  Request OneOf(const std::vector<std::vector<RandomAsk>>& alternatives) {
    Request request;
    for (const auto& asks : alternatives) {
      if (!request.empty()) request.BeginAlternative();
      for (const Check& check : Of(asks)) request.push_back(check);
    }
    return request;
  }
  // All that can be seen of the buckets.
  std::string State(Instant now) {
    std::string state;
    for (const std::string_view key : kKeyNames) {
      for (const LiveBucket& bucket : limiter->Inspect(key, now)) {
        absl::StrAppend(&state, LimitText(bucket.limit), " ", bucket.remaining, " ",
                        bucket.reset_after.count(), " ", bucket.used, " ", bucket.ban_left.count(),
                        "\n");
      }
    }
    const LimiterUpkeep::Size size = LimiterUpkeep(limiter->table()).size();
    return absl::StrCat(state, size.buckets, " buckets, ", size.changes, " changes");
  }

  const std::vector<Limit> limits;
  const std::unique_ptr<Limiter> limiter =
      std::make_unique<Limiter>(LimiterOptions{.time_is_ordered = false, .logs_changes = true});
};

std::vector<Limit> DrawnLimits() {
  const auto kinds = rc::gen::weightedOneOf<Limit>({{6, AnyLimit()},
                                                    {4, FixedWindows::AnyLimit()},
                                                    {4, SlidingWindows::AnyLimit()},
                                                    {1, rc::gen::just(Limit::Unlimited())},
                                                    {1, rc::gen::just(Limit::None())}});
  return *rc::gen::uniqueBy<std::vector<Limit>>(3, SometimesShadow(SometimesBan(kinds)), LimitText);
}

std::vector<std::vector<RandomAsk>> DrawnAlternatives(const std::vector<Limit>& limits) {
  std::vector<std::vector<RandomAsk>> alternatives(*Between<std::size_t>(2, 4));
  for (auto& asks : alternatives) {
    asks.resize(*Between<std::size_t>(1, 3));
    for (RandomAsk& ask : asks) {
      ask.key = *Between<std::size_t>(0, 1);
      ask.limit = *Between<std::size_t>(0, limits.size() - 1);
      const std::int64_t most = std::max<std::int64_t>(1, limits[ask.limit].capacity_tokens());
      ask.cost =
          *rc::gen::oneOf(rc::gen::just(most), Between<std::int64_t>(0, 1), NumberUpTo(most));
      ask.keep = *Between(0, 3) == 0 && limits[ask.limit].has_bucket() ? *NumberUpTo(most) : 0;
    }
  }
  return alternatives;
}

TEST(ChoiceLawTest, L25FirstThatPassesAloneIsCharged) {
  CheckLaw(4'000, [] {
    const std::vector<Limit> limits = DrawnLimits();
    Subject whole(limits);
    Subject single(limits);
    Instant now = *AnyInstant(hours{1});
    for (int steps = *Between(1, 8); steps > 0; --steps, now += Nanos{*NumberUpTo(1'000'000'000)}) {
      const auto alternatives = DrawnAlternatives(limits);
      const Verdict got = *whole.limiter->Decide(whole.OneOf(alternatives), now);
      std::optional<Verdict> want;
      std::size_t checks_before = 0;
      for (const auto& asks : alternatives) {
        if (single.limiter->Peek(single.Of(asks), now).allowed) {
          want = *single.limiter->Decide(single.Of(asks), now);
          break;
        }
        checks_before += asks.size();
      }
      RC_ASSERT(got.allowed == want.has_value());
      if (want) {
        RC_ASSERT(got.remaining == want->remaining);
        RC_ASSERT(got.reset_after == want->reset_after);
        RC_ASSERT(got.limit_index == checks_before + want->limit_index);
        RC_ASSERT(got.banned == want->banned << checks_before);
      } else {
        std::uint64_t banned = 0;
        std::size_t before = 0;
        for (const auto& asks : alternatives) {
          const Verdict denied = *single.limiter->Decide(single.Of(asks), now);
          RC_ASSERT_FALSE(denied.allowed);
          banned |= denied.banned << before;
          before += asks.size();
        }
        RC_ASSERT(got.banned == banned);
      }
      RC_ASSERT(whole.State(now) == single.State(now));
    }
  });
}

// A sliding window forgets its age in 2^31 periods, of a ms at least.
constexpr Nanos kLongest = hours{7 * 24};

TEST(ChoiceLawTest, L26RetryAfterOfADenialIsTight) {
  CheckLaw(4'000, [] {
    const std::vector<Limit> limits = DrawnLimits();
    Subject subject(limits);
    Instant now = *AnyInstant(2 * kLongest);
    for (int steps = *Between(2, 8); steps > 0; --steps, now += Nanos{*NumberUpTo(1'000'000'000)}) {
      const Request request = subject.OneOf(DrawnAlternatives(limits));
      const Verdict verdict = *subject.limiter->Decide(request, now);
      if (verdict.allowed) continue;
      const Nanos told = std::min(verdict.retry_after, kLongest);
      RC_ASSERT_FALSE(subject.limiter->Peek(request, now + told - Nanos{1}).allowed);
      if (told < verdict.retry_after) continue;
      const Verdict then = subject.limiter->Peek(request, now + told);
      RC_ASSERT(then.allowed);
      RC_ASSERT(request.AlternativeOf(then.limit_index) ==
                request.AlternativeOf(verdict.limit_index));
    }
  });
}

}  // namespace
}  // namespace weir
