#include "core/policies/policy_bytes.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/record_bytes.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

// The flags of a policy.
constexpr std::uint8_t kFromFile = 1;
constexpr std::uint8_t kHasCapacities = 2;
constexpr std::uint8_t kHasBans = 4;
constexpr std::uint8_t kAllFlags = kFromFile | kHasCapacities | kHasBans;

// Each count fits into its byte.
static_assert(kLabelBytesMax <= UINT8_MAX);
static_assert(kPolicyLimitsMax <= UINT8_MAX);

// One of the numbers of each position: the capacities, or the bans.
using GreatestNumber = Nanos GreatestNumbers::*;

void AppendGreatest(const Policy& policy, GreatestNumber number, std::string& out) {
  WEIR_CHECK(policy.greatest.size() >= policy.limits.size());
  WEIR_CHECK(policy.greatest.size() <= kPolicyLimitsMax);
  AppendNumber(static_cast<std::uint8_t>(policy.greatest.size()), out);
  for (const GreatestNumbers& greatest : policy.greatest) {
    AppendNumber(static_cast<std::uint64_t>((greatest.*number).count()), out);
  }
}

bool TakeNumbers(RecordReader& reader, GreatestNumber number, Nanos most,
                 std::vector<GreatestNumbers>& greatest) {
  const auto count = reader.Take<std::uint8_t>();
  if (greatest.empty()) greatest.resize(count);
  if (count > kPolicyLimitsMax || greatest.size() != count) return false;
  for (GreatestNumbers& numbers : greatest) {
    const auto nanos = reader.Take<std::uint64_t>();
    if (nanos > static_cast<std::uint64_t>(most.count())) return false;
    numbers.*number = Nanos{static_cast<Nanos::rep>(nanos)};
  }
  return true;
}

// Takes the lists that the flags of a policy announce.
bool TakeGreatest(RecordReader& reader, unsigned flags, std::vector<GreatestNumbers>& greatest) {
  const bool has_capacities = (flags & kHasCapacities) != 0;
  const bool has_bans = (flags & kHasBans) != 0;
  return (!has_capacities ||
          TakeNumbers(reader, &GreatestNumbers::capacity, kCapacityMax, greatest)) &&
         (!has_bans || TakeNumbers(reader, &GreatestNumbers::ban, kPeriodMax, greatest));
}

// True if each limit has a position among the greatest numbers, and if those of the kinds that were
// saved are no less than its own.
bool CoversLimits(const Policy& policy, bool has_capacities, bool has_bans) {
  if (!has_capacities && !has_bans) return true;
  if (policy.greatest.size() < policy.limits.size()) return false;
  return std::ranges::equal(
      policy.limits, std::span(policy.greatest).first(policy.limits.size()),
      [=](const PolicyLimit& limit, const GreatestNumbers& greatest) {
        return (!has_capacities || limit.limit.capacity() <= greatest.capacity) &&
               (!has_bans || limit.limit.shape().ban <= greatest.ban);
      });
}

}  // namespace

void AppendPolicyLimits(const PolicyLimits& limits, std::string& out) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (i > 0) out.push_back(' ');
    out += PolicyLimitText(limits[i]);
  }
}

absl::StatusOr<PolicyLimits> ReadPolicyLimits(std::string_view text) {
  const std::vector<absl::string_view> split = absl::StrSplit(AbslView(text), ' ');
  std::vector<std::string_view> words;
  words.reserve(split.size());
  for (const absl::string_view word : split) words.push_back(StdView(word));
  return ParsePolicyLimits(words);
}

// Capacities and bans are kept only where they exceed those of the limits.
std::string PolicyValue(const Policy& policy) {
  WEIR_CHECK(IsLabel(policy.name));
  WEIR_CHECK(!policy.limits.empty());
  WEIR_CHECK(policy.limits.size() <= kPolicyLimitsMax);
  std::string value;
  const bool has_capacities = HasHeldMore(policy);
  const bool has_bans = HasBannedLonger(policy);
  WEIR_CHECK(CoversLimits(policy, has_capacities, has_bans));
  const unsigned flags = (policy.from_file ? kFromFile : 0U) |
                         (has_capacities ? kHasCapacities : 0U) | (has_bans ? kHasBans : 0U);
  AppendNumber(static_cast<std::uint8_t>(flags), value);
  AppendNumber(static_cast<std::uint8_t>(policy.name.size()), value);
  value += policy.name;
  if (has_capacities) AppendGreatest(policy, &GreatestNumbers::capacity, value);
  if (has_bans) AppendGreatest(policy, &GreatestNumbers::ban, value);
  AppendPolicyLimits(policy.limits, value);
  return value;
}

std::optional<Policy> ReadPolicyValue(PolicyId id, std::string_view bytes) {
  if (!IsPolicyId(id)) return std::nullopt;
  Policy policy;
  policy.id = id;
  RecordReader reader(bytes);
  const auto flags = reader.Take<std::uint8_t>();
  policy.from_file = (flags & kFromFile) != 0;
  policy.name = reader.TakeBytes(reader.Take<std::uint8_t>());
  const bool has_capacities = (flags & kHasCapacities) != 0;
  const bool has_bans = (flags & kHasBans) != 0;
  if (!TakeGreatest(reader, flags, policy.greatest)) return std::nullopt;
  absl::StatusOr<PolicyLimits> limits = ReadPolicyLimits(reader.TakeRest());
  if (!reader.Complete() || flags > kAllFlags || !limits.ok()) return std::nullopt;
  policy.limits = *std::move(limits);
  if (!IsLabel(policy.name)) return std::nullopt;
  if (has_capacities != HasHeldMore(policy) || has_bans != HasBannedLonger(policy)) {
    return std::nullopt;
  }
  if (!CoversLimits(policy, has_capacities, has_bans)) return std::nullopt;
  return policy;
}

std::string OverrideValue(const PolicyLimits& limits) {
  WEIR_CHECK(!limits.empty());
  std::string value;
  AppendPolicyLimits(limits, value);
  return value;
}

std::optional<PolicyLimits> ReadOverrideValue(std::string_view bytes) {
  absl::StatusOr<PolicyLimits> limits = ReadPolicyLimits(bytes);
  if (!limits.ok()) return std::nullopt;
  return *std::move(limits);
}

std::optional<std::string_view> WordsInPolicyValue(std::string_view bytes) {
  RecordReader reader(bytes);
  const auto flags = reader.Take<std::uint8_t>();
  reader.TakeBytes(reader.Take<std::uint8_t>());
  std::vector<GreatestNumbers> greatest;
  if (!TakeGreatest(reader, flags, greatest)) return std::nullopt;
  return reader.TakeRest();
}

}  // namespace weir
