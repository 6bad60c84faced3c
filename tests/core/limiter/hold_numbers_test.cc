// Goal: a hold is settled whether or not its key, or its policy, has numbers for its limits at that
// moment. Method: random reservations that are settled with the numbers there, and with them gone
// for the key or for all; what is left must be the same.
#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/limiter/limiter.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using std::chrono::seconds;

// Where the limit is gone when the hold is settled.
enum class Gone { kNowhere, kForTheKey, kForAll };

// A limit of a policy, a reservation of it, and its settlement by a cost, or by its expiry.
struct History {
  Limit limit;
  std::int64_t reserved;
  std::int64_t other;
  std::optional<std::int64_t> cost;
  Nanos wait;
};

Verdict Play(const History& history, Gone gone) {
  bool is_gone = false;
  Limiter limiter({.present = [&](const Limit& interned) {
    return is_gone && gone == Gone::kForAll ? std::nullopt : std::optional(interned);
  }});
  Instant now = FakeClock::kStart;
  const auto request = [&](std::int64_t cost) {
    return Request{{.key = "k", .limit = &history.limit, .cost = cost, .hash = limiter.Hash("k")}};
  };
  constexpr Nanos kTtl = seconds{100};
  const auto held = limiter.DecideAndHold(request(history.reserved), {.id = "a", .ttl = kTtl}, now);
  RC_PRE(held.ok() && held->verdict.allowed);
  RC_ASSERT(limiter.DecideAndHold(request(1), {.id = "b", .ttl = kHoldMax}, now).ok());
  now += history.wait;
  static_cast<void>(limiter.Decide(request(history.other), now));
  is_gone = gone != Gone::kNowhere;
  if (history.cost) {
    const SettledKey key[] = {{{"k", limiter.Hash("k")}, history.cost}};
    const auto settled = limiter.SettleHold(
        {.id = "a", .keys = key, .named = {}}, now, [&](const Limit& interned, std::string_view) {
          return is_gone ? std::nullopt : std::optional(interned);
        });
    RC_ASSERT(settled.ok() && settled->settled);
  } else {
    now = FakeClock::kStart + kTtl;
    static_cast<void>(limiter.ResetAfter("k", now));
  }
  is_gone = false;
  return limiter.Peek(request(0), now);
}

TEST(HoldNumbersTest, SettlementNeedsNoNumbersButTheHolds) {
  int moved = 0;
  CheckLaw(400, [&] {
    const char* const word =
        *rc::gen::element("100/30d", "7/h", "9/m,burst=40", "3/s", "50/d,fixed", "50/d,sliding",
                          "1000000/ms,burst=1000000", "20/h,ban=10s");
    const History history = {
        .limit = LimitOf(word).OwnedBy({PolicyId{7}, *Between<std::uint32_t>(0, 3)}),
        .reserved = *Between<std::int64_t>(1, 30),
        .other = *Between<std::int64_t>(0, 5),
        .cost = *Between(0, 3) == 0 ? std::nullopt : std::optional(*Between<std::int64_t>(0, 90)),
        .wait = Nanos{*NumberUpTo(99'000'000'000)}};
    const Verdict want = Play(history, Gone::kNowhere);
    RC_ASSERT(Play(history, Gone::kForTheKey).decisions == want.decisions);
    RC_ASSERT(Play(history, Gone::kForAll).decisions == want.decisions);
    moved += want.decisions.front().remaining > 0 ? 1 : 0;
  });
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace weir
