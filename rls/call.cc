#include "rls/call.h"

#include <array>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {
namespace {

constexpr std::uint64_t kDaySeconds = 24 * 60 * 60;

struct CallUnit {
  RuleUnit unit;
  std::uint64_t seconds;
};

// By the number of the protocol.
constexpr auto kCallUnits = std::to_array<CallUnit>({
    {RuleUnit::kNone, 0},
    {RuleUnit::kSecond, 1},
    {RuleUnit::kMinute, 60},
    {RuleUnit::kHour, 3600},
    {RuleUnit::kDay, kDaySeconds},
    {RuleUnit::kMonth, 30 * kDaySeconds},
    {RuleUnit::kYear, 365 * kDaySeconds},
    {RuleUnit::kWeek, 7 * kDaySeconds},
});

absl::Status BadCall(std::string_view text) { return absl::InvalidArgumentError(AbslView(text)); }

absl::Status TooMany(std::string_view what, int most) {
  return absl::InvalidArgumentError(absl::StrCat("at most ", most, " ", AbslView(what)));
}

absl::StatusOr<CallLimit> LimitOf(const rls::Limit& limit) {
  if (limit.unit() <= 0 || limit.unit() >= static_cast<int>(kCallUnits.size())) {
    return BadCall("rate limit unit is unknown");
  }
  const CallUnit& unit = kCallUnits[static_cast<std::size_t>(limit.unit())];
  const std::uint64_t multiplier =
      limit.has_unit_multiplier() ? limit.unit_multiplier().value() : 1;
  if (multiplier == 0 || multiplier * unit.seconds > kCallPeriodSecondsMax) {
    return BadCall("rate limit unit_multiplier is out of range");
  }
  return CallLimit{unit.unit, static_cast<std::uint32_t>(multiplier), limit.requests_per_unit()};
}

absl::StatusOr<CallDescriptor> DescriptorOf(const rls::Descriptor& sent) {
  if (sent.entries_size() > kDescriptorEntriesMax) {
    return TooMany("entries in a descriptor", kDescriptorEntriesMax);
  }
  CallDescriptor descriptor = {.entries = {}, .limit = {}, .hits = {}};
  for (const rls::Entry& entry : sent.entries()) {
    descriptor.entries.push_back({entry.key(), entry.value()});
  }
  if (sent.has_limit()) {
    absl::StatusOr<CallLimit> limit = LimitOf(sent.limit());
    if (!limit.ok()) return limit.status();
    descriptor.limit = *limit;
  }
  if (sent.has_hits_addend()) {
    descriptor.hits = sent.hits_addend().value();
    if (*descriptor.hits > std::numeric_limits<std::int64_t>::max()) {
      return BadCall("hits_addend is out of range");
    }
  }
  descriptor.gives_back = sent.is_negative_hits();
  return descriptor;
}

}  // namespace

absl::Status RateLimitCall::Read(std::string_view message) {
  descriptors_.clear();
  if (!request_.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return BadCall("not a RateLimitRequest");
  }
  if (domain().empty()) return BadCall("rate limit domain must not be empty");
  if (domain().size() > kDomainBytesMax) {
    return TooMany("bytes in the domain", static_cast<int>(kDomainBytesMax));
  }
  if (request_.descriptors_size() == 0)
    return BadCall("rate limit descriptor list must not be empty");
  if (request_.descriptors_size() > kCallDescriptorsMax) {
    return TooMany("descriptors", kCallDescriptorsMax);
  }
  for (const rls::Descriptor& sent : request_.descriptors()) {
    absl::StatusOr<CallDescriptor> descriptor = DescriptorOf(sent);
    if (!descriptor.ok()) return descriptor.status();
    descriptors_.push_back(*std::move(descriptor));
  }
  return absl::OkStatus();
}

}  // namespace weir
