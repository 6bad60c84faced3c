// A fixture that asks a limiter in words: Decide({{"user:1", "10/s"}, {"all", "100/s", 5}}), at an
// instant that the test sets.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/printing.h"

namespace weir {

struct Asked {
  std::string_view key;
  std::string_view limit;
  std::int64_t cost = 1;
};

class LimiterFixture : public testing::Test {
 protected:
  // The five numbers of a reply, as the tests compare them.
  struct Told {
    bool allowed;
    std::int64_t remaining;
    Nanos retry_after;
    Nanos reset_after;
    std::size_t limit_index;

    friend bool operator==(const Told&, const Told&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Told& told) {
      return out << Decision{told.allowed, told.remaining, told.retry_after, told.reset_after}
                 << ", by limit " << told.limit_index;
    }
  };

  // The instant of the next request; a test may also move it back.
  explicit LimiterFixture(const LimiterOptions& options = {.time_is_ordered = false})
      : limiter_(std::make_unique<Limiter>(options)) {}

  const Limit& Named(std::string_view text) {
    return limits_.try_emplace(std::string(text), LimitOf(text)).first->second;
  }

  Request Of(const std::vector<Asked>& asked) {
    Request request;
    for (const Asked& check : asked) {
      request.push_back({.key = check.key,
                         .limit = &Named(check.limit),
                         .cost = check.cost,
                         .hash = limiter_->Hash(check.key)});
    }
    return request;
  }

  Verdict Verdicts(const std::vector<Asked>& asked) {
    absl::StatusOr<Verdict> verdict = limiter_->Decide(Of(asked), now_);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    if (!verdict.ok()) return {};
    return *std::move(verdict);
  }

  Told Decide(const std::vector<Asked>& asked) { return TellOf(Verdicts(asked)); }
  Told Peek(const std::vector<Asked>& asked) { return TellOf(limiter_->Peek(Of(asked), now_)); }
  std::int64_t Remaining(std::string_view key, std::string_view limit) {
    return Peek({{key, limit, 0}}).remaining;
  }

  std::size_t Reset(std::string_view key, const std::vector<std::string_view>& texts = {}) {
    std::vector<Limit> limits;
    for (const std::string_view text : texts) limits.push_back(LimitOf(text));
    return limiter_->Reset(key, limits, now_);
  }

  std::size_t SweepAll() {
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < kPartitionCount; ++i) dropped += upkeep_.Sweep(i, now_);
    return dropped;
  }

  std::size_t buckets() { return upkeep_.size().buckets; }
  std::size_t limits() { return upkeep_.size().limits; }

  const std::unique_ptr<Limiter> limiter_;
  LimiterUpkeep upkeep_{limiter_->table()};
  Instant now_ = FakeClock::kStart;

 private:
  static Told TellOf(const Verdict& verdict) {
    return {verdict.allowed, verdict.remaining, verdict.retry_after, verdict.reset_after,
            verdict.limit_index};
  }

  std::map<std::string, Limit, std::less<>> limits_;
};

}  // namespace weir
