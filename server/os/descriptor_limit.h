// The number of clients that the system's limit on open files (RLIMIT_NOFILE) leaves room for.
#pragma once

#include <cstdint>

namespace weir {

// Descriptors of every server that are not for clients: standard streams, the log, signals, the
// event loop of the main thread, the reserve of its listeners, and files and sockets that are open
// for a moment.
inline constexpr std::int64_t kDescriptorsReserved = 32;
// The descriptors of an event loop; each thread that serves clients has one.
inline constexpr std::int64_t kDescriptorsPerLoop = 3;
// The descriptors of replication: two loops, 16 replicas, and the link to a primary.
inline constexpr std::int64_t kDescriptorsForReplication = 2 * kDescriptorsPerLoop + 16 + 2;
// The descriptors of clients that are being refused.
inline constexpr std::int64_t kDescriptorsForRefusals = 33;
// Descriptors of RocksDB, with a --data-dir.
inline constexpr std::int64_t kDescriptorsForState = 64;

// The parts of a server, by its options, that need descriptors besides its clients.
struct DescriptorUse {
  std::int64_t threads = 1;  // that serve clients
  std::int64_t listeners = 1;
  bool keeps_state = false;  // it has a --data-dir
};

// Returns the limit that this many clients need.
[[nodiscard]] std::int64_t DescriptorsFor(std::int64_t clients, const DescriptorUse& use) noexcept;

// The part of `limit` descriptors that is left for clients, at most `wanted`; 0 or less if it is
// too low for any.
[[nodiscard]] std::int64_t ClientsWithin(std::int64_t limit, std::int64_t wanted,
                                         const DescriptorUse& use) noexcept;

// Raises the process' soft limit as far as `wanted` clients need it and the hard limit allows, and
// returns it.
std::int64_t RaiseDescriptorLimit(std::int64_t wanted, const DescriptorUse& use);

// The number of clients that can be served, and the limit on open files behind it.
struct DescriptorBudget {
  std::int64_t clients = 0;  // at most as many as wanted; 0 or less: the limit is too low for any
  std::int64_t limit = 0;
};
// Raises the limit for `wanted` clients and all else, and says how many clients fit.
DescriptorBudget FitClientsToDescriptors(std::int64_t wanted, const DescriptorUse& use);

}  // namespace weir
