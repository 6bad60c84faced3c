#include "rls/call.h"

#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/base/status.h"
#include "rls/units.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The longest message whose memory is used again: all its texts and elements, over many calls, may
// take some 2 MB.
constexpr std::size_t kSmallBytesMax = 1024;

absl::Status BadCall(std::string_view text) { return absl::InvalidArgumentError(AbslView(text)); }

absl::Status BadMessage() { return BadCall("not a RateLimitRequest"); }

absl::Status TooMany(std::string_view what, int most) {
  return absl::InvalidArgumentError(absl::StrCat("at most ", most, " ", AbslView(what)));
}

absl::StatusOr<CallLimit> LimitOf(const rls::Limit& limit) {
  if (limit.unit() <= 0 || limit.unit() >= static_cast<int>(kServiceUnits.size())) {
    return BadCall("rate limit unit is unknown");
  }
  const ServiceUnit& unit = kServiceUnits[static_cast<std::size_t>(limit.unit())];
  const std::uint64_t multiplier =
      limit.has_unit_multiplier() ? limit.unit_multiplier().value() : 1;
  const auto seconds = static_cast<std::uint64_t>(unit.period.count());
  if (multiplier == 0 || multiplier * seconds > kCallPeriodSecondsMax) {
    return BadCall("rate limit unit_multiplier is out of range");
  }
  return CallLimit{unit.unit, static_cast<std::uint32_t>(multiplier), limit.requests_per_unit()};
}

absl::StatusOr<CallDescriptor> DescriptorOf(const rls::Descriptor& sent) {
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

// Calls `found` for each field `number` of the message that `input` has up to its limit, with the
// limit at the end of the field, and skips the others. Stops at the first error. A field that ends
// behind the message is one that is found: the parse finds the error.
template <typename Found>
absl::Status ForEachField(CodedInputStream& input, int number, const Found& found) {
  const std::uint32_t wanted =
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const std::uint32_t tag = input.ReadTag()) {
    int length = 0;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&input, tag)) return BadMessage();
      continue;
    }
    if (!input.ReadVarintSizeAsInt(&length)) return BadMessage();
    const CodedInputStream::Limit outer = input.PushLimit(length);
    if (absl::Status bad = found(); !bad.ok()) return bad;
    input.PopLimit(outer);
  }
  return input.ConsumedEntireMessage() ? absl::OkStatus() : BadMessage();
}

// Counts before protobuf makes an object of each descriptor and entry.
absl::Status CheckCounts(std::string_view message) {
  const int size = static_cast<int>(message.size());
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(message.data()), size);
  input.PushLimit(size);
  int descriptors = 0;
  return ForEachField(input, rls::RateLimitRequest::kDescriptorsFieldNumber, [&]() -> absl::Status {
    if (++descriptors > kCallDescriptorsMax) return TooMany("descriptors", kCallDescriptorsMax);
    int entries = 0;
    return ForEachField(input, rls::Descriptor::kEntriesFieldNumber, [&]() -> absl::Status {
      if (++entries > kDescriptorEntriesMax) {
        return TooMany("entries in a descriptor", kDescriptorEntriesMax);
      }
      return input.Skip(input.BytesUntilLimit()) ? absl::OkStatus() : BadMessage();
    });
  });
}

}  // namespace

absl::Status RateLimitCall::Read(std::string_view message) {
  descriptors_.clear();
  if (!std::exchange(is_small_, false)) request_ = rls::RateLimitRequest();
  if (absl::Status bad = CheckCounts(message); !bad.ok()) return bad;
  if (!request_.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return BadMessage();
  }
  if (domain().empty()) return BadCall("rate limit domain must not be empty");
  if (domain().size() > kDomainBytesMax) {
    return TooMany("bytes in the domain", static_cast<int>(kDomainBytesMax));
  }
  if (request_.descriptors_size() == 0)
    return BadCall("rate limit descriptor list must not be empty");
  for (const rls::Descriptor& sent : request_.descriptors()) {
    absl::StatusOr<CallDescriptor> descriptor = DescriptorOf(sent);
    if (!descriptor.ok()) return descriptor.status();
    descriptors_.push_back(*std::move(descriptor));
  }
  is_small_ = message.size() <= kSmallBytesMax;
  return absl::OkStatus();
}

}  // namespace weir
