// Lets one log line a minute and address through, for lines that anybody on the network can cause.
// It keeps 256 addresses, so that a line of one is neither delayed nor hidden by those of others.
// Beyond that an address takes the place of one that has had no line for a minute; if there is
// none, all further ones share a minute. So there are at most 257 lines a minute, and 40 KiB.
//
//     if (const auto suppressed = throttle_.Admit(address)) {
//       spdlog::warn("refused {} ({} similar lines suppressed)", address, *suppressed);
//     }
//
// Thread-safe. Cost: a look-up; a scan of all addresses where they are full and this one is new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

class AddressThrottle {
 public:
  static constexpr Nanos kInterval = std::chrono::minutes{1};
  static constexpr std::size_t kAddressesMax = 256;
  static constexpr std::size_t kAddressBytesMax =
      108;  // that of a Unix socket; the rest is cut off

  explicit AddressThrottle(const Clock& clock) : clock_(clock) {}

  // Returns the number of this address's lines suppressed since its last one that passed, or
  // nothing if this line must be suppressed, too.
  [[nodiscard]] std::optional<std::uint64_t> Admit(std::string_view address);

 private:
  struct Lines {
    std::optional<HostInstant> last;  // that passed
    std::uint64_t suppressed = 0;     // since then
  };

  // True if the last line of `lines` is a minute old, or there is none.
  static bool IsDue(const Lines& lines, HostInstant now);
  Lines& LinesOf(std::string_view address, HostInstant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  absl::flat_hash_map<std::string, Lines> addresses_ ABSL_GUARDED_BY(mutex_);
  Lines others_ ABSL_GUARDED_BY(mutex_);  // of all addresses that have no place
};

}  // namespace weir
