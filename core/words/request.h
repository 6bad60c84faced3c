// A request: the checks of one command, in one or more alternatives. A check is one limit on one
// key.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

// The most checks of one request, after policies are expanded. (Verdict has a bit for each check.)
inline constexpr std::size_t kChecksMax = 64;

// The most limits of a policy, so that a request can ask for all.
inline constexpr std::size_t kPolicyLimitsMax = kChecksMax;

struct Check {
  std::string_view key;       // any bytes; viewed, not owned
  const Limit* limit;         // not null; not owned
  std::int64_t cost = 1;      // tokens; >= 0
  LimitHint* hint = nullptr;  // where the limit's id is remembered between requests; may be null
  KeyHash hash = {};          // of the key, by the hasher of the limiter that decides
  std::int64_t keep = 0;      // tokens that must be left after the request; >= 0
};

// 1 to kChecksMax checks. Several may share a key. Most requests have one alternative, which is
// decided all or nothing; checks of it that name the same bucket are decided as one check with the
// sum of their costs and the greatest of their keeps. Of several alternatives (choice.h) the first
// that passes is charged.
class Request : public absl::InlinedVector<Check, 4> {
 public:
  using InlinedVector::InlinedVector;

  // The checks from `begin` to before `end`.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };

  [[nodiscard]] bool has_alternatives() const noexcept { return begins_alternative_ != 0; }
  void clear() noexcept {
    InlinedVector::clear();
    begins_alternative_ = 0;
  }
  // The next check that is added begins another alternative. Requires: there is a check.
  void BeginAlternative() noexcept {
    WEIR_DCHECK(!empty());
    if (size() < kChecksMax) begins_alternative_ |= std::uint64_t{1} << size();
  }
  // The index of the check's alternative.
  [[nodiscard]] std::size_t AlternativeOf(std::size_t check) const noexcept {
    return static_cast<std::size_t>(std::popcount(UpTo(check)));
  }
  // All checks of the check's alternative.
  [[nodiscard]] Range AlternativeWith(std::size_t check) const noexcept {
    const std::uint64_t up_to = UpTo(check);
    const std::uint64_t behind = begins_alternative_ & ~up_to;
    return {up_to == 0 ? 0 : static_cast<std::size_t>(std::bit_width(up_to)) - 1,
            behind == 0 ? size() : static_cast<std::size_t>(std::countr_zero(behind))};
  }

 private:
  // The alternatives that begin at the check or before it.
  [[nodiscard]] std::uint64_t UpTo(std::size_t check) const noexcept {
    WEIR_DCHECK(check < kChecksMax);
    return begins_alternative_ & ~std::uint64_t{0} >> (kChecksMax - 1 - check);
  }

  // A bit for each check with which an alternative begins, but not for the first one.
  std::uint64_t begins_alternative_ = 0;
};

}  // namespace weir
