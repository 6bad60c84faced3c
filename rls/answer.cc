#include "rls/answer.h"

#include <algorithm>
#include <chrono>

#include "rls/rls.pb.h"
#include "rls/units.h"

namespace weir {
namespace {

constexpr int kCodeOk = 1;
constexpr int kCodeOverLimit = 2;

int CodeOf(bool is_over) { return is_over ? kCodeOverLimit : kCodeOk; }

std::uint32_t Shown(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kRemainingMax));
}

std::uint32_t WholeSeconds(Nanos span) {
  return Shown(std::chrono::ceil<std::chrono::seconds>(span).count());
}

Nanos ResetOf(const Limit& limit, const AnsweredLimit& shown, const Decision& decision,
              bool is_over, Instant now) {
  const Algorithm algorithm = limit.shape().algorithm;
  if (algorithm == Algorithm::kNone) {
    const Nanos period = UnitPeriod(shown.unit) * shown.unit_multiplier;
    return period > Nanos{0} ? period - now.time_since_epoch() % period : period;
  }
  const bool waits = is_over && algorithm != Algorithm::kFixedWindow;
  return waits && decision.retry_after != kNever ? decision.retry_after : decision.reset_after;
}

}  // namespace

AnsweredLimit ShownLimit(const Limit& limit) {
  const LimitShape& shape = limit.shape();
  AnsweredLimit shown{.requests_per_unit = Shown(shape.count)};
  Nanos longest{0};
  for (const auto& [unit, period] : kServiceUnits) {
    if (unit == RuleUnit::kNone || shape.period < period || shape.period % period != Nanos{0} ||
        period < longest) {
      continue;
    }
    longest = period;
    shown.unit = unit;
    shown.unit_multiplier = Shown(shape.period / period);
  }
  return shown;
}

AnsweredLimit ShownLimit(const RuleLimit& rule) {
  return {.requests_per_unit = rule.requests_per_unit,
          .unit = rule.unit,
          .unit_multiplier = rule.unit_multiplier,
          .name = rule.name};
}

AnsweredLimit ShownLimit(const CallLimit& inline_limit) {
  return {.requests_per_unit = inline_limit.requests_per_unit,
          .unit = inline_limit.unit,
          .unit_multiplier = inline_limit.unit_multiplier};
}

DescriptorStatus StatusOf(const Limit& limit, const AnsweredLimit& shown, const Decision& decision,
                          bool is_over, Instant now) {
  return {.is_over = is_over,
          .limit = shown,
          .remaining = is_over ? 0 : Shown(decision.remaining),
          .reset_seconds = WholeSeconds(ResetOf(limit, shown, decision, is_over, now))};
}

std::string MessageOf(const RateLimitAnswer& answer) {
  rls::RateLimitResponse message;
  message.set_overall_code(CodeOf(answer.is_over));
  message.mutable_statuses()->Reserve(static_cast<int>(answer.statuses.size()));
  for (const DescriptorStatus& status : answer.statuses) {
    rls::DescriptorStatus& sent = *message.add_statuses();
    sent.set_code(CodeOf(status.is_over));
    sent.set_limit_remaining(status.remaining);
    if (!status.limit) continue;
    rls::CurrentLimit& limit = *sent.mutable_current_limit();
    limit.set_requests_per_unit(status.limit->requests_per_unit);
    limit.set_unit(UnitNumber(status.limit->unit));
    limit.set_name(status.limit->name.data(), status.limit->name.size());
    if (status.limit->unit_multiplier != 1) {
      limit.mutable_unit_multiplier()->set_value(status.limit->unit_multiplier);
    }
    sent.mutable_duration_until_reset()->set_seconds(status.reset_seconds);
  }
  return message.SerializeAsString();
}

}  // namespace weir
