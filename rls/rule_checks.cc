#include "rls/rule_checks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

constexpr RuleUnitRow UnitOf(std::string_view name, RuleUnit unit, std::int64_t factor,
                             std::string_view period_unit, Nanos length) {
  return {name, unit, factor, period_unit, kPeriodMax / (length * factor)};
}
constexpr std::array<RuleUnitRow, 7> kUnits = {
    UnitOf("second", RuleUnit::kSecond, 1, "s", std::chrono::seconds{1}),
    UnitOf("minute", RuleUnit::kMinute, 1, "m", std::chrono::minutes{1}),
    UnitOf("hour", RuleUnit::kHour, 1, "h", std::chrono::hours{1}),
    UnitOf("day", RuleUnit::kDay, 1, "d", std::chrono::days{1}),
    UnitOf("week", RuleUnit::kWeek, 1, "w", std::chrono::weeks{1}),
    UnitOf("month", RuleUnit::kMonth, 30, "d", std::chrono::days{1}),
    UnitOf("year", RuleUnit::kYear, 365, "d", std::chrono::days{1}),
};

absl::Status WrongValue(absl::string_view what) { return absl::InvalidArgumentError(what); }

}  // namespace

absl::StatusOr<const RuleUnitRow*> FindRuleUnit(std::string_view name) {
  const auto* const unit = std::ranges::find_if(
      kUnits, [name](const RuleUnitRow& row) { return EqualsIgnoreCase(row.name, name); });
  if (unit != kUnits.end()) return unit;
  const std::string names = absl::StrJoin(
      kUnits, ", ",
      [](std::string* out, const RuleUnitRow& row) { absl::StrAppend(out, AbslView(row.name)); });
  return WrongValue(absl::StrCat("unknown unit ", Quote(name), " (", names, ")"));
}

absl::Status SetRate(const RuleRate& rate, RuleLimit& limit) {
  limit.unit = rate.unit.unit;
  limit.unit_multiplier = static_cast<std::uint32_t>(rate.multiplier);
  limit.requests_per_unit = rate.requests;
  if (rate.requests == 0) return AddLimitWord("none", limit);
  const std::int64_t count = std::min<std::int64_t>(rate.requests, kWindowCountMax);
  return AddLimitWord(absl::StrCat(count, "/", rate.multiplier * rate.unit.factor,
                                   AbslView(rate.unit.period_unit), AbslView(rate.options)),
                      limit);
}

void SetUnlimited(RuleLimit& limit) {
  limit.limits = {{.limit = Limit::Unlimited(), .cost = {}, .keep = {}, .label = {}}};
}

absl::Status StandsBeside(std::string_view key, std::string_view other) {
  return WrongValue(absl::StrCat(AbslView(key), " stands beside ", AbslView(other)));
}

absl::Status AddLimitWord(std::string_view word, RuleLimit& limit) {
  absl::StatusOr<PolicyLimits> read = ParsePolicyLimits({&word, 1});
  if (!read.ok()) return WrongValue(read.status().message());
  limit.limits.push_back(std::move(read->front()));
  return absl::OkStatus();
}

absl::Status AddReplaced(std::string name, RuleLimit& limit) {
  if (name.empty()) return WrongValue("replaces has an entry without a name");
  if (name == limit.name) {
    return WrongValue(absl::StrCat("replaces names its own limit ", Quote(name)));
  }
  limit.replaces.push_back(std::move(name));
  return absl::OkStatus();
}

absl::Status CheckRuleText(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return absl::OkStatus();
  return WrongValue(absl::StrCat(Quote(text), " has more than ", bytes_max, " bytes"));
}

absl::Status CheckDomain(std::string_view domain) {
  if (domain.empty()) return WrongValue("domain is missing or empty");
  return CheckRuleText(domain, kDomainBytesMax);
}

absl::Status CheckRuleKey(std::string_view key) {
  return key.empty() ? WrongValue("a descriptor has no key") : absl::OkStatus();
}

absl::Status CheckRuleLevel(int level) {
  if (level <= kRuleLevelsMax) return absl::OkStatus();
  return WrongValue(absl::StrCat("more than ", kRuleLevelsMax, " levels"));
}

absl::Status CheckRuleCount(std::size_t rules) {
  if (rules < kRulesMax) return absl::OkStatus();
  return WrongValue(absl::StrCat("more than ", kRulesMax, " rules"));
}

absl::Status MetadataBound::AddValue(std::size_t text_bytes) {
  bytes_ += sizeof(double) + text_bytes;
  if (bytes_ <= kMetadataBytesMax) return absl::OkStatus();
  return WrongValue(absl::StrCat("metadata has more than ", kMetadataBytesMax, " bytes"));
}

absl::Status MetadataBound::CheckLevel(int level) {
  if (level <= kMetadataLevelsMax) return absl::OkStatus();
  return WrongValue(absl::StrCat("metadata is more than ", kMetadataLevelsMax, " deep"));
}

}  // namespace weir
