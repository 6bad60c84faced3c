#include "rls/answer.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "absl/strings/str_cat.h"

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

void Store(const Metadata::Map& map, rls::Struct& sent);

void Store(const Metadata& metadata, rls::Value& sent) {
  if (const auto* const flag = std::get_if<bool>(&metadata.value)) {
    sent.set_bool_value(*flag);
  } else if (const auto* const number = std::get_if<double>(&metadata.value)) {
    sent.set_number_value(*number);
  } else if (const auto* const text = std::get_if<std::string>(&metadata.value)) {
    sent.set_string_value(*text);
  } else if (const auto* const list = std::get_if<Metadata::List>(&metadata.value)) {
    rls::List& values = *sent.mutable_list_value();
    for (const Metadata& element : *list) Store(element, *values.add_values());
  } else if (const auto* const map = std::get_if<Metadata::Map>(&metadata.value)) {
    Store(*map, *sent.mutable_struct_value());
  } else {
    sent.set_null_value(0);
  }
}

void Store(const Metadata::Map& map, rls::Struct& sent) {
  for (const auto& [key, metadata] : map) {
    rls::Field& field = *sent.add_fields();
    field.set_key(key);
    Store(metadata, *field.mutable_value());
  }
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
          .reset_seconds = WholeSeconds(ResetOf(limit, shown, decision, is_over, now)),
          .retry_after = is_over ? std::optional(decision.retry_after) : std::nullopt};
}

std::optional<std::size_t> StatusOfHeaders(const RateLimitAnswer& answer) {
  std::optional<std::size_t> over;
  std::optional<std::size_t> fewest;
  for (std::size_t i = 0; i < answer.statuses.size(); ++i) {
    const DescriptorStatus& status = answer.statuses[i];
    if (!status.limit) continue;
    if (status.is_over && !status.is_quota) over = i;
    if (!fewest || status.remaining < answer.statuses[*fewest].remaining) fewest = i;
  }
  return over ? over : fewest;
}

std::vector<AnsweredHeader> ReferenceHeaders(const DescriptorStatus& status) {
  return {{"RateLimit-Limit", absl::StrCat(status.limit->requests_per_unit)},
          {"RateLimit-Remaining", absl::StrCat(status.remaining)},
          {"RateLimit-Reset", absl::StrCat(status.reset_seconds)}};
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
  for (const auto& [name, value] : answer.headers) {
    rls::Header& header = *message.add_response_headers_to_add();
    header.set_key(name);
    header.set_value(value);
  }
  if (!answer.metadata.empty()) Store(answer.metadata, *message.mutable_dynamic_metadata());
  return message.SerializeAsString();
}

}  // namespace weir
