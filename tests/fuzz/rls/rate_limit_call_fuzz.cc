// Property: any bytes are either a call within its bounds, or get an error of one short line. A
// call is read the same, whatever the reader has read before.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/base/check.h"
#include "core/base/status.h"
#include "rls/call.h"

namespace weir {
namespace {

void CheckDescriptor(const CallDescriptor& descriptor) {
  WEIR_CHECK(descriptor.entries.size() <= static_cast<std::size_t>(kDescriptorEntriesMax));
  WEIR_CHECK(descriptor.hits.value_or(0) <= std::numeric_limits<std::int64_t>::max());
  if (!descriptor.limit) return;
  WEIR_CHECK(descriptor.limit->unit != RuleUnit::kNone);
  WEIR_CHECK(descriptor.limit->unit_multiplier > 0);
}

void FuzzOne(std::string_view message) {
  static RateLimitCall kept;
  RateLimitCall fresh;
  const absl::Status read = kept.Read(message);
  WEIR_CHECK(read == fresh.Read(message));
  if (!read.ok()) {
    const std::string_view error = StdView(read.message());
    WEIR_CHECK(!error.empty() && error.size() < 128);
    return;
  }
  WEIR_CHECK(!kept.domain().empty() && kept.domain().size() <= kDomainBytesMax);
  WEIR_CHECK(!kept.descriptors().empty());
  WEIR_CHECK(kept.descriptors().size() <= static_cast<std::size_t>(kCallDescriptorsMax));
  WEIR_CHECK(kept.descriptors().size() == fresh.descriptors().size());
  for (const CallDescriptor& descriptor : kept.descriptors()) CheckDescriptor(descriptor);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
