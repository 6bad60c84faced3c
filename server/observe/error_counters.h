// Counts the errors that one thread has answered, by their prefix: "ERR", "NOAUTH", ...
//
// The prefixes are ours, so they are few; whatever goes wrong they are bounded, and what comes
// after kPrefixesMax of them is counted together, as Redis does. The thread that owns it counts,
// any thread may read. Cost of counting: an uncontended lock and a look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

// By prefix, of one thread or summed over all.
using ErrorTotals = std::map<std::string, std::uint64_t, std::less<>>;

class ErrorCounters {
 public:
  static constexpr std::size_t kPrefixesMax = 128;
  static constexpr std::string_view kOverflow = "ERRORSTATS_OVERFLOW";

  // Counts the error with this text: "NOAUTH Authentication required."
  void Count(std::string_view error);
  [[nodiscard]] ErrorTotals totals() const;

 private:
  mutable Mutex mutex_;
  ErrorTotals counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
