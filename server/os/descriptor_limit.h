// How many clients the system's limit on open files (RLIMIT_NOFILE) leaves room for.
#pragma once

#include <cstdint>

namespace weir {

// Descriptors that are not for clients: standard streams, log, listeners, lingering refusals; and
// those of a thread's event loop.
inline constexpr std::int64_t kDescriptorsReserved = 64;
inline constexpr std::int64_t kDescriptorsPerThread = 3;
inline constexpr std::int64_t kDescriptorsForState = 64;  // RocksDB's, where there is a --data-dir
inline constexpr std::int64_t kThreadsInReserve =
    8;  // whose loops are counted in kDescriptorsReserved

// The limit that so many clients need, besides the state on disk where some is kept.
[[nodiscard]] std::int64_t DescriptorsFor(std::int64_t clients, std::int64_t threads,
                                          bool keeps_state = false) noexcept;

// The part of `limit` descriptors that is left for clients, at most `wanted`; 0 or less if it is
// too low for any.
[[nodiscard]] std::int64_t ClientsWithin(std::int64_t limit, std::int64_t wanted,
                                         std::int64_t threads) noexcept;

// Raises the process' soft limit as far as `wanted` clients need it and the hard limit allows, and
// returns it.
std::int64_t RaiseDescriptorLimit(std::int64_t wanted, std::int64_t threads);

// What RaiseDescriptorLimit and ClientsWithin make of a number of clients, where the state on disk
// may need its share, too.
struct DescriptorBudget {
  std::int64_t clients = 0;  // of those wanted; 0 or less: the limit is too low for any
  std::int64_t limit = 0;
};
DescriptorBudget FitClientsToDescriptors(std::int64_t wanted, std::int64_t threads,
                                         bool keeps_state);

}  // namespace weir
