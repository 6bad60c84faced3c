// Goal: waiting is first come, first served and exact: a reservation is granted just when its
// tokens are there for each waiter after all earlier ones, and a waiter that leaves gives its
// tokens back unless a later request changed the bucket. Method: random reservations, decisions and
// departures on one key with one to three limits, each compared with logs of admissions (oracle.h)
// that have the tokens of a reservation at the instant at which they are there. The limits have
// whole emission intervals, so that this instant is a whole nanosecond.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "tests/support/fake_clock.h"
#include "tests/support/generators.h"
#include "tests/support/oracle.h"
#include "tests/support/property.h"

namespace weir {
namespace {

constexpr Nanos kMaxWait = std::chrono::minutes{1};

// What one limit has admitted or promised, each at the instant at which its tokens are there.
class Promises {
 public:
  explicit Promises(const Limit& limit) : limit_(limit) {}

  // How long a cost has to wait from `now`; kNever if forever.
  [[nodiscard]] Nanos Wait(Instant now, std::uint64_t cost) const {
    if (cost == 0) return Nanos{0};
    const Instant turn = entries_.empty() ? now : std::max(now, entries_.back().at);
    const Decision decision = LogUpTo(turn).Look(turn, cost);
    return decision.retry_after == kNever ? kNever : turn + decision.retry_after - now;
  }

  // Returns the number of the promise.
  std::size_t Promise(Instant now, std::uint64_t cost) {
    entries_.push_back({now + Wait(now, cost), cost, ++last_});
    return last_;
  }

  // Only the last promise has no later request behind it.
  void TakeBack(std::size_t promise) {
    if (!entries_.empty() && entries_.back().promise == promise) entries_.pop_back();
  }

  // At an instant that no promise lies behind.
  [[nodiscard]] std::optional<Decision> Look(Instant now) const {
    if (!entries_.empty() && entries_.back().at > now) return std::nullopt;
    return LogUpTo(now).Look(now, 0);
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t cost;
    std::size_t promise;
  };

  LogOracle LogUpTo(Instant now) const {
    LogOracle log(limit_);
    for (const Entry& entry : entries_) {
      if (entry.at <= now) log.Ask(entry.at, entry.cost);
    }
    return log;
  }

  Limit limit_;
  std::vector<Entry> entries_;
  std::size_t last_ = 0;
};

struct WaitTurn {
  enum class What { kReserve, kDecide, kLeave, kSettle };

  What what = What::kReserve;
  std::int64_t wait_ms = 0;
  std::int64_t patience_ms = 0;
  std::int64_t cost = 1;
  std::size_t pick = 0;

  friend std::ostream& operator<<(std::ostream& out, const WaitTurn& turn) {
    constexpr const char* kNames[] = {"reserve", "decide", "leave", "settle"};
    return out << "\n"
               << turn.wait_ms << " ms later " << kNames[static_cast<int>(turn.what)] << " cost "
               << turn.cost << " patience " << turn.patience_ms << " ms, pick " << turn.pick;
  }
};

rc::Gen<WaitTurn> AnyWaitTurn() {
  using What = WaitTurn::What;
  const auto any_ms = rc::gen::oneOf(rc::gen::just(std::int64_t{0}), Between<std::int64_t>(0, 50),
                                     Between<std::int64_t>(0, 3000));
  return rc::gen::build<WaitTurn>(
      rc::gen::set(
          &WaitTurn::what,
          rc::gen::weightedElement<What>(
              {{6, What::kReserve}, {3, What::kDecide}, {2, What::kLeave}, {2, What::kSettle}})),
      rc::gen::set(&WaitTurn::wait_ms, any_ms), rc::gen::set(&WaitTurn::patience_ms, any_ms),
      rc::gen::set(&WaitTurn::cost, Between<std::int64_t>(0, 6)),
      rc::gen::set(&WaitTurn::pick, Between<std::size_t>(0, 9)));
}

class Waiters {
 public:
  explicit Waiters(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) limits_.push_back(LimitOf(text));
    for (const Limit& limit : limits_) promises_.emplace_back(limit);
  }

  void Take(const WaitTurn& turn) {
    now_ += std::chrono::milliseconds{turn.wait_ms};
    switch (turn.what) {
      case WaitTurn::What::kReserve:
        return Reserve(turn.cost, std::chrono::milliseconds{turn.patience_ms});
      case WaitTurn::What::kDecide:
        return Reserve(turn.cost, Nanos{0});
      case WaitTurn::What::kLeave:
        return Leave(turn.pick);
      case WaitTurn::What::kSettle:
        return Settle(turn.pick);
    }
  }

 private:
  struct Waiter {
    Reservation reservation;
    std::vector<std::size_t> promises;  // one a limit
  };

  void Reserve(std::int64_t cost, Nanos patience) {
    Request request;
    for (const Limit& limit : limits_) {
      request.push_back({"k", &limit, cost, nullptr, limiter_->Hash("k")});
    }
    Nanos longest{0};
    for (const Promises& promises : promises_) {
      longest = std::max(longest, promises.Wait(now_, static_cast<std::uint64_t>(cost)));
    }
    // Without patience it is Decide's answer, too; asked of one or the other in turn.
    const bool decide = patience == Nanos{0} && (++asked_ % 2 == 0);
    Admission got;
    if (decide) {
      got.verdict = *limiter_->Decide(request, now_);
    } else {
      got = *limiter_->Reserve(request, patience, now_);
    }
    RC_ASSERT(got.verdict.allowed == (longest <= patience));
    RC_ASSERT(got.verdict.retry_after == longest);
    RC_ASSERT(got.reservation.has_value() == (got.verdict.allowed && longest > Nanos{0}));
    if (!got.verdict.allowed || cost == 0) return;
    Waiter waiter;
    for (Promises& promises : promises_) {
      waiter.promises.push_back(promises.Promise(now_, static_cast<std::uint64_t>(cost)));
    }
    if (!got.reservation) return;
    RC_ASSERT(got.reservation->ready == now_ + longest);
    waiter.reservation = *std::move(got.reservation);
    waiters_.push_back(std::move(waiter));
  }

  void Leave(std::size_t pick) {
    if (waiters_.empty()) return;
    const auto waiter = waiters_.begin() + static_cast<std::ptrdiff_t>(pick % waiters_.size());
    limiter_->GiveBack(waiter->reservation);
    for (std::size_t i = 0; i < promises_.size(); ++i) promises_[i].TakeBack(waiter->promises[i]);
    waiters_.erase(waiter);
  }

  void Settle(std::size_t pick) {
    if (waiters_.empty()) return;
    const auto waiter = waiters_.begin() + static_cast<std::ptrdiff_t>(pick % waiters_.size());
    now_ = std::max(now_, waiter->reservation.ready);
    const Verdict verdict = limiter_->Settle(waiter->reservation, now_);
    RC_ASSERT(verdict.allowed);
    RC_ASSERT(verdict.retry_after == Nanos{0});
    for (std::size_t i = 0; i < promises_.size(); ++i) {
      if (const auto look = promises_[i].Look(now_)) RC_ASSERT(verdict.decisions[i] == *look);
    }
    waiters_.erase(waiter);
  }

  std::vector<Limit> limits_;
  std::vector<Promises> promises_;
  std::vector<Waiter> waiters_;
  const std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(LimiterOptions{.max_wait = kMaxWait});
  Instant now_ = FakeClock::kStart;
  int asked_ = 0;
};

TEST(ReservationModelTest, RandomWaiters) {
  const std::vector<std::string> choices = {"10/s",        "1/s,burst=3", "1000/s,burst=5",
                                            "4/s,burst=9", "1/m,burst=6", "5/5ms"};
  CheckLaw(4000, [&choices] {
    const auto count = *Between<std::size_t>(1, 3);
    const auto texts =
        *rc::gen::unique<std::vector<std::string>>(count, rc::gen::elementOf(choices));
    Waiters waiters(texts);
    const auto turns = rc::gen::container<std::vector<WaitTurn>>(AnyWaitTurn());
    for (const WaitTurn& turn : *rc::gen::resize(rc::kNominalSize, turns)) waiters.Take(turn);
  });
}

}  // namespace
}  // namespace weir
