// A call of Envoy's rate limit service: its message, read and checked.
//
//     RateLimitCall call;  // a thread keeps one, as the memory of a small call is used again
//     if (absl::Status bad = call.Read(message); !bad.ok()) ... INVALID_ARGUMENT with its text
//     for (const CallDescriptor& descriptor : call.descriptors()) ...
//
// Not thread safe. Cost: O(bytes). Keys and values have any length and any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "rls/rls.pb.h"
#include "rls/rule.h"
#include "rls/rule_tree.h"

namespace weir {

inline constexpr int kCallDescriptorsMax = 64;
inline constexpr int kDescriptorEntriesMax = 16;
// The longest period of a limit in a call.
inline constexpr std::uint64_t kCallPeriodSecondsMax = std::uint64_t{9} * 365 * 24 * 60 * 60;

// A limit that stands in the call, in the place of a rule's.
struct CallLimit {
  RuleUnit unit = RuleUnit::kNone;    // never that
  std::uint32_t unit_multiplier = 1;  // not 0; the period is at most kCallPeriodSecondsMax
  std::uint32_t requests_per_unit = 0;
};

struct CallDescriptor {
  absl::InlinedVector<DescriptorEntry, 4> entries;  // at most kDescriptorEntriesMax; may be none
  std::optional<CallLimit> limit;
  std::optional<std::uint64_t> hits;  // that it states itself; at most 2^63-1
  bool gives_back = false;            // its hits are negative
};

class RateLimitCall {
 public:
  // Fails with kInvalidArgument for bytes that are no request, no domain or a long one, no
  // descriptors or too many, too many entries, and a number out of range. Then nothing is to be
  // used. What it returns is valid until the next call.
  [[nodiscard]] absl::Status Read(std::string_view message);

  // 1 to kDomainBytesMax bytes.
  [[nodiscard]] std::string_view domain() const noexcept { return request_.domain(); }
  // Those of the call, for descriptors that state none.
  [[nodiscard]] std::uint32_t hits() const noexcept { return request_.hits_addend(); }
  // 1 to kCallDescriptorsMax, in their order.
  [[nodiscard]] std::span<const CallDescriptor> descriptors() const noexcept {
    return descriptors_;
  }

 private:
  rls::RateLimitRequest request_;
  bool is_small_ = true;  // request_ may be used again
  std::vector<CallDescriptor> descriptors_;
};

}  // namespace weir
