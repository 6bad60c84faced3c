#include "replay/trial.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/check.h"

namespace weir {

Trial::Trial(std::unique_ptr<Question> question, const HashSecret& secret, Nanos max_wait,
             std::optional<std::int64_t> fit)
    : question_(std::move(question)),
      fit_(fit),
      limiter_(std::make_unique<Limiter>(LimiterOptions{.secret = secret, .max_wait = max_wait})) {
  report_.ask = question_->text();
  if (question_->alternatives() > 1) report_.by_alternative.resize(question_->alternatives());
  for (std::size_t i = 0; i < question_->names().size(); ++i) {
    report_.limits.push_back({.name = question_->names()[i]});
    const Check& check = question_->check(i);
    if (fit_ && check.limit->shape().algorithm == Algorithm::kTokenBucket) {
      fits_.push_back({i, BurstFit(check, max_wait)});
    }
  }
}

std::optional<bool> Trial::Replay(const LoggedRequest& logged) {
  SweepAgeing(logged.at);
  SweepSome(logged.at);
  if (logged.action == LoggedAction::kReset) {
    Reset(logged);
    return std::nullopt;
  }
  if (logged.action == LoggedAction::kClear) {
    Clear();
    return std::nullopt;
  }
  const Request& request = question_->RequestFor(logged, limiter_->hasher());
  for (LimitFit& fit : fits_) {
    for (std::size_t i = 0; i < request.size(); ++i) {
      if (question_->PlaceOf(i).limit != fit.limit) continue;
      fit.fit.Add(logged, request[i].hash, request[i].cost);
    }
  }
  if (logged.action == LoggedAction::kRefund) {
    static_cast<void>(limiter_->Refund(request, logged.at));
    return std::nullopt;
  }
  const Verdict verdict = Ask(logged, request);
  Count(logged, request, verdict);
  return verdict.allowed;
}

Verdict Trial::Ask(const LoggedRequest& logged, const Request& request) {
  switch (logged.action) {
    case LoggedAction::kTake: {
      absl::StatusOr<Grant> grant = limiter_->Take(request, logged.number, logged.at);
      WEIR_CHECK(grant.ok());
      return std::move(grant->verdict);
    }
    case LoggedAction::kWait: {
      absl::StatusOr<Admission> admission =
          limiter_->Reserve(request, std::chrono::milliseconds{logged.number}, logged.at);
      WEIR_CHECK(admission.ok());
      return std::move(admission->verdict);
    }
    case LoggedAction::kCharge: {
      absl::StatusOr<Charged> charged = limiter_->Charge(request, logged.at);
      WEIR_CHECK(charged.ok());
      return std::move(charged->verdict);
    }
    default: {
      WEIR_CHECK(logged.action == LoggedAction::kAllow);
      absl::StatusOr<Verdict> verdict = limiter_->Decide(request, logged.at);
      // It fails only for a key or a limiter with more limits than a question has.
      WEIR_CHECK(verdict.ok());
      return *std::move(verdict);
    }
  }
}

void Trial::Reset(const LoggedRequest& logged) {
  for (const LoggedKey& key : logged.keys) {
    question_->VisitKeys(key.key, [&](const std::string& text) {
      limiter_->Reset(text, {}, logged.at);
      for (LimitFit& fit : fits_) fit.fit.Add(logged, limiter_->Hash(text), 0);
    });
  }
}

void Trial::Clear() {
  upkeep_.Clear();
  while (upkeep_.FreeDiscarded()) {
  }
  for (LimitFit& fit : fits_) fit.fit.AddClear();
}

void Trial::Count(const LoggedRequest& logged, const Request& request, const Verdict& verdict) {
  ++report_.requests;
  // Limits behind the alternative that was admitted were not needed.
  const std::size_t end =
      verdict.allowed ? request.AlternativeWith(verdict.limit_index).end : request.size();
  for (std::size_t i = 0; i < end; ++i) {
    if (verdict.decisions[i].allowed || (verdict.repeated >> i & 1U) != 0) continue;
    ++report_.limits[question_->PlaceOf(i).limit].denials;
  }
  if (verdict.allowed) {
    ++report_.admitted;
    if (request.has_alternatives()) {
      ++report_.by_alternative[request.AlternativeOf(verdict.limit_index)];
    }
    if (denied_keys_.size() == 0) return;
    for (const LoggedKey& key : logged.keys) denied_keys_.CountAdmission(key.hash);
    return;
  }
  const Question::Place place = question_->PlaceOf(verdict.limit_index);
  ++report_.limits[place.limit].decided;
  const LoggedKey& key = logged.keys[place.key];
  denied_keys_.CountDenial(key.key, key.hash, logged.at);
}

// A sliding window knows its age for 2^31 windows (sliding_window.h), of which the shortest is 1
// ms. Before a request that comes long after the last one, buckets that have become full are
// dropped as of a time at which their age is still known. The buckets that are left have windows of
// days.
void Trial::SweepAgeing(Instant now) {
  constexpr Nanos kSweepInterval = (std::int64_t{1} << 29) * kSlidingPeriodMin;
  const Instant last = std::exchange(last_call_, now);
  if (now - swept_at_ < kSweepInterval) return;
  swept_at_ = now;
  const Instant as_of = std::min(now, last + kSweepInterval);
  for (std::size_t i = 0; i < kPartitionCount; ++i) static_cast<void>(upkeep_.Sweep(i, as_of));
}

// Drops full buckets, so that a long log with ever new keys needs no more memory than a server.
void Trial::SweepSome(Instant now) {
  constexpr std::uint64_t kCallsPerSweep = 1024;
  if (++calls_ % kCallsPerSweep != 0) return;
  static_cast<void>(upkeep_.Sweep(calls_ / kCallsPerSweep % kPartitionCount, now));
}

AskReport Trial::MakeReport() {
  AskReport report = report_;
  report.keys_denied = denied_keys_.size();
  report.worst_keys = denied_keys_.Worst(kWorstKeysShown);
  for (LimitFit& fit : fits_) {
    report.fits.push_back({report.limits[fit.limit].name, fit.fit.Find(*fit_)});
  }
  return report;
}

}  // namespace weir
