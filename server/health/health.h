// The health of the server: whether it is well and, if it is not, the reasons.
//
//     Health health = Judge(facts, previous);   // once a second, health_watch.h
//     health.state                              // that of its worst reason
//     health.reasons                            // the worst first
//
// A reason has a code for programs and a text for people. Two codes with one cause never stand
// together: `disk_refuses` takes the place of `save_failing`, `memory_full` that of `evicting`, and
// this that of `memory_high`. docs/operations.md says for each code what to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "server/state/replication.h"

namespace weir {

enum class HealthState : std::uint8_t { kWell, kWarn, kBad };
[[nodiscard]] std::string_view WordOf(HealthState state) noexcept;  // "ok", "warn", "bad"

// The bounds beyond which a number is a reason.
inline constexpr std::uint64_t kMemoryHighPermille = 800;  // of max-memory
inline constexpr std::uint64_t kErrorsPercent = 1;         // of the commands of the last minute
inline constexpr std::uint64_t kErrorsMin = 10;            // fewer are a user's typing mistakes
inline constexpr std::uint64_t kSlowCallsMin = 100;        // fewer have no 99th percentile
inline constexpr Nanos kSlow = std::chrono::milliseconds{10};
inline constexpr Nanos kClockOff = std::chrono::seconds{1};
inline constexpr Nanos kPlaneAway = std::chrono::seconds{15};  // a control plane ends connections

// The numbers of the last minute (last_minute.h).
struct MinuteFacts {
  std::uint64_t evicted = 0;       // buckets in use
  std::uint64_t evicted_full = 0;  // full ones, before they were swept
  std::uint64_t rejected = 0;      // clients
  std::uint64_t commands = 0;
  std::uint64_t errors = 0;  // answered to commands
  std::uint64_t calls = 0;   // of commands that ask for tokens
  Nanos p50{0};              // of these calls; of no meaning if there were none
  Nanos p99{0};
  Nanos length{0};  // at most 70 s
};

// One moment of the server. A default-constructed one is that of a primary that is well.
struct HealthFacts {
  HostInstant now{};
  ServerRole role = ServerRole::kPrimary;
  bool loading = false;         // from disk
  bool complete = true;         // false: a replica that waits for its first state
  bool link_up = true;          // of a replica
  std::string primary{};        // of a replica: the address that it follows
  std::string save_error{};     // of the last save; empty: it succeeded, or there was none
  bool cannot_save = false;     // changes must be saved, and are refused
  bool lacks_replicas = false;  // of a primary: it admits nothing
  std::uint64_t replicas_good = 0;
  std::uint64_t replicas_needed = 0;
  std::vector<std::string> away{};  // replicas that were in sync and are gone: "10.0.0.3:7379"
  std::optional<std::uint64_t> memory_permille{};  // in use of max-memory; none: no bound
  MinuteFacts minute{};
  Nanos clock_offset{0};      // by which the wall clock is ahead
  std::string rules_error{};  // why the rules of Envoy's service are not in force; empty: they are
  std::string plane_away{};   // the control plane that has not been connected for long
  std::string open_place{};   // an address that other hosts reach without a login; empty: none
};

struct HealthReason {
  std::string_view code;  // of HealthCodes()
  std::string text;       // one line, without its time: "saving fails (No space left on device)"
  HostInstant since;      // it holds at each look since then

  friend bool operator==(const HealthReason&, const HealthReason&) = default;
};

struct Health {
  HealthState state = HealthState::kWell;
  std::vector<HealthReason> reasons{};  // in the order of HealthCodes()

  friend bool operator==(const Health&, const Health&) = default;
};

// Judges one moment. A reason that `previous` has, too, keeps its `since`. Pure. Cost: a string for
// each reason.
[[nodiscard]] Health Judge(const HealthFacts& facts, const Health& previous);

// The codes separated by commas: "save_failing,replica_away".
[[nodiscard]] std::string CodesOf(const Health& health);

struct HealthCode {
  std::string_view code;
  HealthState state;  // never kWell
};

// All codes: those that are bad, then those that warn.
[[nodiscard]] std::vector<HealthCode> HealthCodes();

}  // namespace weir
