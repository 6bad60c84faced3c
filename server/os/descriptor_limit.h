// The number of clients that the system's limit on open files (RLIMIT_NOFILE) leaves room for.
#pragma once

#include <cstdint>

namespace weir {

// Descriptors that are not for clients: standard streams, the log, listeners, refused connections
// that linger, and the event loops of kThreadsInReserve threads.
inline constexpr std::int64_t kDescriptorsReserved = 64;
inline constexpr std::int64_t kThreadsInReserve = 8;
// Descriptors of the event loop of each further thread.
inline constexpr std::int64_t kDescriptorsPerThread = 3;
// Descriptors of RocksDB, with a --data-dir.
inline constexpr std::int64_t kDescriptorsForState = 64;

// The limit that this many clients and threads need. `keeps_state`: the server has a --data-dir.
[[nodiscard]] std::int64_t DescriptorsFor(std::int64_t clients, std::int64_t threads,
                                          bool keeps_state = false) noexcept;

// The part of `limit` descriptors that is left for clients, at most `wanted`; 0 or less if it is
// too low for any.
[[nodiscard]] std::int64_t ClientsWithin(std::int64_t limit, std::int64_t wanted,
                                         std::int64_t threads) noexcept;

// Raises the process' soft limit as far as `wanted` clients need it and the hard limit allows, and
// returns it.
std::int64_t RaiseDescriptorLimit(std::int64_t wanted, std::int64_t threads);

// The number of clients that can be served, and the limit on open files behind it.
struct DescriptorBudget {
  std::int64_t clients = 0;  // at most as many as wanted; 0 or less: the limit is too low for any
  std::int64_t limit = 0;
};
// Raises the limit for `wanted` clients and the state on disk, and says how many clients fit.
DescriptorBudget FitClientsToDescriptors(std::int64_t wanted, std::int64_t threads,
                                         bool keeps_state);

}  // namespace weir
