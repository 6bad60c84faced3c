// An oracle for any limit: the log of a token bucket (oracle.h) or of a window (window_oracle.h),
// or no log for a limit without buckets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "tests/support/oracle.h"
#include "tests/support/window_oracle.h"

namespace weir {

class AnyOracle {
 public:
  explicit AnyOracle(const Limit& limit) : limit_(limit), log_(EmptyLog(limit)) {}

  // The answer to `cost` tokens at `now`.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost) const {
    if (const auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->Look(now, cost);
    if (const auto* window = std::get_if<WindowOracle>(&log_)) return window->Look(now, cost);
    if (limit_.shape().algorithm == Algorithm::kNone) return {false, 0, kNever, Nanos{0}};
    return {true, std::numeric_limits<std::int64_t>::max(), Nanos{0}, Nanos{0}};
  }

  // The answer to `cost` tokens if `keep` more must be left.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost, std::uint64_t keep) const {
    const Decision both = Look(now, cost + std::min(keep, UINT64_MAX - cost));
    return both.allowed ? Look(now, cost) : both;
  }

  // Like Look(), but an admission is logged.
  void Charge(Instant now, std::uint64_t cost) {
    if (auto* bucket = std::get_if<LogOracle>(&log_)) bucket->Ask(now, cost);
    if (auto* window = std::get_if<WindowOracle>(&log_)) window->Ask(now, cost);
  }

  // Charges `cost` tokens, whether they are there or not.
  void ChargeAnyway(Instant now, std::uint64_t cost, Nanos max_wait) {
    if (auto* bucket = std::get_if<LogOracle>(&log_)) bucket->Charge(now, cost, max_wait);
    if (auto* window = std::get_if<WindowOracle>(&log_)) window->Charge(now, cost);
  }

  // The tokens that are charged, rounded up; during a ban as many as there can be.
  [[nodiscard]] std::int64_t Used(Instant now) const {
    if (BanLeft(now) > Nanos{0}) return limit_.capacity_tokens();
    if (const auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->Used(now);
    if (const auto* window = std::get_if<WindowOracle>(&log_)) return window->Used(now);
    return 0;
  }

  // For limits with token buckets and limits without buckets: how long to wait, and what is then
  // reserved.
  [[nodiscard]] Nanos Wait(Instant now, std::uint64_t cost) const {
    if (const auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->Wait(now, cost);
    return Look(now, cost).retry_after;
  }
  LogOracle::Promise Reserve(Instant now, std::uint64_t cost) {
    if (auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->Reserve(now, cost);
    return {};
  }
  void ReturnTokens(const LogOracle::Promise& promise) {
    if (auto* bucket = std::get_if<LogOracle>(&log_)) bucket->ReturnTokens(promise);
  }

  // Bans the limit, after it has denied, if it says ban=. Returns whether that changed anything.
  bool Ban(Instant now) {
    if (limit_.shape().ban == Nanos{0}) return false;
    if (auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->Ban(now);
    return std::get<WindowOracle>(log_).Ban(now);
  }
  [[nodiscard]] Nanos BanLeft(Instant now) const {
    if (const auto* bucket = std::get_if<LogOracle>(&log_)) return bucket->BanLeft(now);
    if (const auto* window = std::get_if<WindowOracle>(&log_)) return window->BanLeft(now);
    return Nanos{0};
  }

  void Refund(Instant now, std::uint64_t cost) {
    if (auto* bucket = std::get_if<LogOracle>(&log_)) bucket->Refund(now, cost);
    if (auto* window = std::get_if<WindowOracle>(&log_)) window->Refund(now, cost);
  }

  void Forget() { log_ = EmptyLog(limit_); }

 private:
  using AnyLog = std::variant<std::monostate, LogOracle, WindowOracle>;

  static AnyLog EmptyLog(const Limit& limit) {
    if (!limit.has_bucket()) return std::monostate{};
    if (limit.shape().algorithm == Algorithm::kTokenBucket) return LogOracle(limit);
    return WindowOracle(limit);
  }

  Limit limit_;
  AnyLog log_;
};

}  // namespace weir
