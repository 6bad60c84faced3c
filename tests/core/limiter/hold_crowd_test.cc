// Goal: no call pays for the holds of its key that it does not touch, the holds that a call settles
// are bounded, and holds that expire together are settled as if one after the other. Method: visits
// beside few and many holds; two limiters with the same holds, one of which is swept after each
// expiry.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/limiter/isolation.h"
#include "tests/core/limiter/hold_fixture.h"
#include "tests/random/property.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const int kCrowd = static_cast<int>(std::clamp<std::int64_t>(Scaled(60'000), 6'000, 60'000));
constexpr std::string_view kWord = "1000000/h";

class HoldCrowdTest : public HoldFixture {
 protected:
  HoldCrowdTest() : slots_(HeldLimit(100'000)) {
    for (std::size_t i = 0; i < kChecksMax; ++i) {
      held_.push_back(HeldLimit(1'000 + static_cast<std::int64_t>(i)));
    }
  }

  // Opens holds of one limit, every other one of the held limit.
  void OpenMany(std::string_view key, int count, Nanos ttl) {
    const Request plain = Of({{key, kWord}});
    const Request held = {CheckOf(key, slots_, 1)};
    for (int i = 0; i < count; ++i) {
      const auto grant = Hold(i % 2 == 0 ? plain : held, "id" + std::to_string(i), ttl);
      ASSERT_TRUE(grant.ok() && grant->verdict.allowed) << i << grant.status();
    }
  }
  // A request of held limits that have ids, but that no hold of the key has.
  Request ManyHeld(std::string_view key) {
    Request request;
    for (const Limit& limit : held_) request.push_back(CheckOf(key, limit, 1));
    return request;
  }
  static std::uint64_t VisitsOf(const std::function<void()>& call) {
    const std::uint64_t before = Limiter::SlotsVisited();
    call();
    return Limiter::SlotsVisited() - before;
  }

  // The visits of every call about a key with that many holds.
  std::vector<std::uint64_t> VisitsBeside(std::string_view key, int holds) {
    OpenMany(key, holds, hours{1});
    const Request plain = Of({{key, kWord}});
    const Request held = {CheckOf(key, slots_, 1)};
    const Request many = ManyHeld(key);
    WatchedKey watched;
    return {
        VisitsOf([&] { static_cast<void>(limiter_->Peek(many, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Peek(held, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->WouldChange(plain, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Decide(plain, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Take(plain, 3, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Charge(plain, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Refund(plain, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Reserve(plain, seconds{1}, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->Inspect(key, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->ResetAfter(key, now_)); }),
        VisitsOf([&] { static_cast<void>(limiter_->CountVisits(key, now_)); }),
        VisitsOf([&] { watched = Watch(limiter_->table(), key, now_); }),
        VisitsOf([&] { static_cast<void>(IsUnchanged(limiter_->table(), watched, now_)); }),
        VisitsOf([&] { static_cast<void>(Hold(held, "new", minutes{1})); }),
        VisitsOf([&] { static_cast<void>(Hold(held, "new", hours{2})); }),
        VisitsOf([&] { static_cast<void>(Commit("new", key)); }),
        VisitsOf([&] { static_cast<void>(Commit("id0", key, 0)); }),
        VisitsOf([&] { static_cast<void>(Cancel("id1", key)); }),
    };
  }

  const Limit slots_;
  std::vector<Limit> held_;
};

TEST_F(HoldCrowdTest, CallsVisitTheSameBesideFewAndManyHolds) {
  ASSERT_TRUE(Hold(ManyHeld("other"), "a", hours{1})->verdict.allowed) << "gives them ids";
  const std::vector<std::uint64_t> few = VisitsBeside("few", 100);
  const std::vector<std::uint64_t> many = VisitsBeside("many", kCrowd);
  EXPECT_EQ(few, many);
  for (const std::uint64_t visits : many) EXPECT_LE(visits, 100U);
}

TEST_F(HoldCrowdTest, HoldsThatExpireAtOneInstantAreSettledOnceAndWithinABound) {
  OpenMany("k", kCrowd, minutes{1});
  now_ += minutes{1};
  const Request held = {CheckOf("k", slots_, 0)};
  EXPECT_LE(VisitsOf([&] { EXPECT_EQ(limiter_->Peek(held, now_).remaining, 100'000); }),
            16 * kKeyHoldsMax);
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(upkeep_.counts().hold_bytes, 0U);
  EXPECT_EQ(Remaining("k", kWord), 1'000'000);
  EXPECT_LE(VisitsOf([&] { static_cast<void>(limiter_->Peek(held, now_)); }), 10U);
}

// Holds that are not due are not visited, even if another one is due.
TEST_F(HoldCrowdTest, OneThatIsDueCostsOne) {
  OpenMany("k", kCrowd, hours{1});
  ASSERT_TRUE(Hold({CheckOf("k", slots_, 5)}, "short", minutes{1})->verdict.allowed);
  now_ += minutes{1};
  const Request held = {CheckOf("k", slots_, 0)};
  EXPECT_LE(
      VisitsOf([&] { EXPECT_EQ(limiter_->Peek(held, now_).remaining, 100'000 - kCrowd / 2); }),
      50U);
}

TEST_F(HoldCrowdTest, AKeyIsForgottenWithinABound) {
  OpenMany("k", kCrowd, hours{1});
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Commit("id" + std::to_string(2 * i), "k"));
  ASSERT_TRUE(Reserve({{"other", "10/h"}}, "a", hours{1}));
  const std::size_t other = limiter_->CountVisits("other", now_, KeyWork::kForget);
  EXPECT_GE(limiter_->CountVisits("k", now_, KeyWork::kForget), 16U * kCrowd);
  EXPECT_LE(other, 100U);
  EXPECT_LE(VisitsOf([&] { EXPECT_EQ(Reset("k"), 2U); }), 16 * kKeyHoldsMax);
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
  EXPECT_EQ(Peek({{"other", "10/h", 0}}).remaining, 9);
}

TEST_F(HoldCrowdTest, AHeldLimitIsForgottenWithItsHoldsAlone) {
  OpenMany("k", 2'000, hours{1});
  EXPECT_EQ(limiter_->Reset("k", std::vector<Limit>{slots_}, now_), 1U);
  EXPECT_EQ(upkeep_.counts().open_holds, 1'000U);
  EXPECT_EQ(limiter_->Peek({CheckOf("k", slots_, 0)}, now_).remaining, 100'000);
  EXPECT_TRUE(Cancel("id0", "k"));
  EXPECT_FALSE(Cancel("id1", "k"));
}

TEST_F(HoldCrowdTest, AHoldOfAKeyCountsAsOftenAsItHasLimits) {
  std::vector<Asked> asked;
  std::vector<std::string> words;
  for (std::size_t i = 1; i <= kChecksMax; ++i) words.push_back(std::to_string(9'999 + i) + "/s");
  for (const std::string& word : words) asked.push_back({"k", word});
  const Request request = Of(asked);
  for (std::size_t i = 0; i < kKeyHoldsMax / kChecksMax; ++i) {
    ASSERT_TRUE(Hold(request, std::to_string(i), hours{1}).ok()) << i;
  }
  EXPECT_EQ(Hold(request, "more", hours{1}).status(), TooManyHolds());
  EXPECT_EQ(ErrorOf({{"k", "10/h"}}, "more", 0), "too many holds");
  EXPECT_TRUE(Reserve({{"other", "10/h"}}, "more", hours{1}));
  // They are shown within a bound, too.
  std::size_t parts = 0;
  for (const LiveHold& hold : limiter_->InspectHolds("k", now_)) parts += hold.parts.size();
  EXPECT_EQ(parts, kInspectedPartsMax);
  EXPECT_TRUE(Cancel("0", "k"));
  EXPECT_TRUE(Reserve({{"k", "10/h"}}, "more", hours{1}));
}

TEST_F(HoldCrowdTest, SettlesAheadNoMoreThanAKeyMayHave) {
  for (const std::string_view key : {"a", "b", "c"}) OpenMany(key, 30'000, minutes{1});
  const std::vector<KeyHash> keys = {limiter_->Hash("a"), limiter_->Hash("b"), limiter_->Hash("c")};
  EXPECT_TRUE(upkeep_.ExpireAhead(keys, now_).ok()) << "nothing is due";
  now_ += minutes{1};
  EXPECT_EQ(upkeep_.ExpireAhead(keys, now_), TooManyDue());
  EXPECT_EQ(upkeep_.counts().open_holds, 30'000U);
  EXPECT_TRUE(upkeep_.ExpireAhead(keys, now_).ok());
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
}

// Without requests the sweeper settles them, in steps.
TEST_F(HoldCrowdTest, SweepsSettleACrowdInSteps) {
  OpenMany("k", 1'000, minutes{1});
  now_ += minutes{1};
  const std::size_t partition = limiter_->Hash("k").partition;
  const LimiterUpkeep::Swept first = upkeep_.SweepSome(partition, now_, 0, 8'192);
  EXPECT_TRUE(first.has_due);
  EXPECT_EQ(upkeep_.counts().open_holds, 1'000U - 8'192 / LimiterUpkeep::kSlotsPerSettled);
  for (int step = 0; step < 100; ++step) {
    if (!upkeep_.SweepSome(partition, now_, 0, 8'192).has_due) break;
  }
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
}

TEST_F(HoldCrowdTest, AHeldLimitEndsWithItsLastOpenHold) {
  const Limit two = HeldLimit(2);
  const auto wait = [&] { return limiter_->Peek({CheckOf("k", two, 2)}, now_).retry_after; };
  ASSERT_TRUE(Hold({CheckOf("k", two, 1)}, "long", seconds{1'000})->verdict.allowed);
  ASSERT_TRUE(Hold({CheckOf("k", two, 1)}, "short", seconds{100})->verdict.allowed);
  EXPECT_EQ(wait(), seconds{1'000});
  EXPECT_TRUE(Cancel("long", "k"));
  EXPECT_EQ(wait(), seconds{100});
  ASSERT_TRUE(Hold({CheckOf("k", two, 1)}, "short", seconds{50})->verdict.allowed);
  EXPECT_EQ(wait(), seconds{50}) << "renewed for less";
}

// The numbers of a history of holds do not depend on the times of looks.
TEST(HoldExpiryLawTest, HoldsThatExpiredTogetherAreSettledAsOneAfterTheOther) {
  CheckLaw(150, [] {
    const std::vector<Limit> limits = {LimitOf("100/h"),        LimitOf("7/m,burst=50"),
                                       LimitOf("60/d,fixed"),   LimitOf("70/h,sliding"),
                                       LimitOf("50/h,ban=20s"), HeldLimit(90)};
    Limiter late({.time_is_ordered = false});
    Limiter swept({.time_is_ordered = false});
    Instant now = FakeClock::kStart;
    const std::size_t partition = late.Hash("k").partition;
    const auto sweep = [&] {
      while (LimiterUpkeep(swept.table()).SweepSome(partition, now, 0, 1).has_due) {
      }
    };
    const auto request = [&](std::size_t limit, std::int64_t cost) {
      return Request{{.key = "k", .limit = &limits[limit], .cost = cost, .hash = late.Hash("k")}};
    };
    std::vector<Instant> expiries;
    const int holds = *Between(2, 60);
    for (int i = 0; i < holds; ++i) {
      now += seconds{*Between(0, 2)};
      const std::size_t limit = *Between<std::size_t>(0, limits.size() - 1);
      const Request asked = request(limit, *Between<std::int64_t>(1, 9));
      const int what = *Between(0, 9);
      for (Limiter* const limiter : {&late, &swept}) {
        if (what == 0 && limit < 5) static_cast<void>(limiter->Refund(asked, now));
        if (what == 1 && limit < 5) static_cast<void>(limiter->Charge(asked, now));
      }
      if (what < 2) continue;
      const Nanos ttl = seconds{200 + 20 * *Between(0, 5)};
      const std::string id = std::to_string(i);
      const HoldRequest hold = {.id = id, .ttl = ttl};
      RC_ASSERT(late.DecideAndHold(asked, hold, now).ok());
      RC_ASSERT(swept.DecideAndHold(asked, hold, now).ok());
      expiries.push_back(now + ttl);
    }
    std::ranges::sort(expiries);
    for (const Instant expiry : expiries) {
      now = expiry;
      sweep();
    }
    for (std::size_t limit = 0; limit < limits.size(); ++limit) {
      const Request look = request(limit, 0);
      RC_ASSERT(late.Peek(look, now).decisions == swept.Peek(look, now).decisions);
    }
    RC_ASSERT(!late.has_open_holds());
    RC_ASSERT(!swept.has_open_holds());
  });
}

}  // namespace
}  // namespace weir
