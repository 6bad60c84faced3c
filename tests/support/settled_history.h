// A bucket that is reserved from, settled, asked, charged, refunded and banned, beside the log of
// what happened, from which a log of admissions (any_oracle.h) of the true costs can be made at any
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/rules/rule.h"
#include "core/rules/settlement.h"
#include "tests/support/any_oracle.h"
#include "tests/support/decide_or_ban.h"

namespace weir {

class SettledHistory {
 public:
  SettledHistory(const Limit& limit, Nanos max_wait) : limit_(limit), max_wait_(max_wait) {}

  // Takes `cost` tokens, and a hold on them if `reserves`. Returns false if the limit denies.
  bool Take(Instant now, std::uint64_t cost, bool reserves) {
    const Step step = DecideOrBan(limit_, bucket_, now, cost, max_wait_);
    if (!step.decision.allowed) {
      if (step.bucket != bucket_) {
        ForbidGivingBack(limit_, max_wait_, sums_);
        events_.push_back({Event::kBan, now});
        bucket_ = step.bucket;
      }
      return false;
    }
    bucket_ = step.bucket;
    if (reserves) {
      open_.push_back({events_.size(), EstimateOf(limit_, bucket_, cost, sums_)});
    }
    events_.push_back({Event::kTake, now, cost});
    return true;
  }
  void Charge(Instant now, std::uint64_t cost) {
    const Bucket charged = ChargeLimit(limit_, bucket_, now, cost, max_wait_);
    CountCharge(limit_, bucket_, charged, now, cost, max_wait_, sums_);
    bucket_ = charged;
    events_.push_back({Event::kCharge, now, cost});
  }
  void Refund(Instant now, std::uint64_t cost) {
    const Bucket refunded = RefundLimit(limit_, bucket_, now, cost, max_wait_);
    CountRefund(limit_, bucket_, refunded, now, max_wait_, sums_);
    bucket_ = refunded;
    events_.push_back({Event::kRefund, now, cost});
  }

  // An open reservation, about to become its true cost.
  struct Hold {
    std::size_t event;  // the number of its reservation among all events
    Estimate estimate;
  };
  [[nodiscard]] std::size_t PlaceOf(std::size_t event) const {
    const auto found = std::ranges::find(open_, event, &Hold::event);
    WEIR_CHECK(found != open_.end());
    return static_cast<std::size_t>(found - open_.begin());
  }
  [[nodiscard]] const std::vector<Hold>& open() const { return open_; }
  void Settle(Instant now, std::size_t place, std::uint64_t cost) {
    const Hold hold = Remove(place, now, cost);
    bucket_ = SettleLimit(limit_, bucket_, now, hold.estimate, cost, max_wait_, sums_);
  }
  // Like Settle, but the bucket stays as it is.
  Hold Remove(std::size_t place, Instant now, std::uint64_t cost) {
    const Hold hold = open_[place];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(place));
    if (cost > hold.estimate.cost) {
      events_.push_back({Event::kCharge, now, cost - hold.estimate.cost});
    } else {
      events_[hold.event].cost = cost;
    }
    return hold;
  }

  // A log in which the settled reservations had their true costs from the beginning. (What is above
  // an estimate was charged when it became known.)
  [[nodiscard]] AnyOracle Truth() const {
    AnyOracle truth(limit_);
    for (const Event& event : events_) {
      switch (event.what) {
        case Event::kTake:
          WEIR_CHECK(truth.Look(event.at, event.cost).allowed);
          truth.Charge(event.at, event.cost);
          break;
        case Event::kCharge:
          truth.ChargeAnyway(event.at, event.cost, max_wait_);
          break;
        case Event::kRefund:
          truth.Refund(event.at, event.cost);
          break;
        case Event::kBan:
          truth.Ban(event.at);
          break;
      }
    }
    return truth;
  }

  [[nodiscard]] const Limit& limit() const { return limit_; }
  [[nodiscard]] Nanos max_wait() const { return max_wait_; }
  [[nodiscard]] Bucket bucket() const { return bucket_; }
  void set_bucket(Bucket bucket) { bucket_ = bucket; }
  SettlementSums& sums() { return sums_; }
  [[nodiscard]] Decision Look(Instant now) const {
    return DecideLimit(limit_, bucket_, now, 0, max_wait_).decision;
  }

 private:
  struct Event {
    enum What { kTake, kCharge, kRefund, kBan } what;
    Instant at;
    std::uint64_t cost = 0;
  };

  const Limit limit_;
  const Nanos max_wait_;
  Bucket bucket_;
  SettlementSums sums_;
  std::vector<Hold> open_;
  std::vector<Event> events_;
};

}  // namespace weir
