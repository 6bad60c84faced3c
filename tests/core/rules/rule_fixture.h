// A fixture that asks a rule about one bucket, row by row of a table, and compares its answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/printing.h"

namespace weir {

// A Thursday, 0:00 UTC: a window of every unit starts then.
inline constexpr Instant kNow = FakeClock::kStart;

[[nodiscard]] inline Decision Allowed(std::int64_t remaining, Nanos reset_after) {
  return {true, remaining, Nanos{0}, reset_after};
}
[[nodiscard]] inline Decision Denied(std::int64_t remaining, Nanos retry_after, Nanos reset_after) {
  return {false, remaining, retry_after, reset_after};
}

class RuleFixture : public testing::Test {
 protected:
  struct Row {
    Nanos at;  // after kNow
    std::uint64_t cost;
    Decision decision;
  };

  explicit RuleFixture(std::string_view limit) : limit_(LimitOf(limit)) {}

  // Uses another limit and a full bucket.
  void Use(std::string_view limit) { Use(LimitOf(limit)); }
  void Use(const Limit& limit) {
    limit_ = limit;
    bucket_ = {};
  }

  // Uses another limit for the same bucket.
  void Change(std::string_view limit) { limit_ = LimitOf(limit); }

  Decision Ask(Instant now, std::uint64_t cost) {
    const Step step = DecideLimit(limit_, bucket_, now, cost, max_wait_);
    bucket_ = step.bucket;
    return step.decision;
  }

  void Expect(const std::vector<Row>& table) {
    for (const Row& row : table) {
      EXPECT_EQ(Ask(kNow + row.at, row.cost), row.decision)
          << "at " << row.at.count() << " ns, cost " << row.cost;
    }
  }

  void Refund(Nanos at, std::uint64_t cost) {
    bucket_ = RefundLimit(limit_, bucket_, kNow + at, cost, max_wait_);
  }

  Limit limit_;
  Bucket bucket_;
  Nanos max_wait_ = std::chrono::seconds{60};
};

}  // namespace weir
