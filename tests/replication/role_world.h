// The world of the role simulation: time, the order of events, links that are cut or late, and what
// all servers together may have done. See role_simulation.h.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "replication/role.h"
#include "tests/replication/role_coverage.h"
#include "tests/replication/role_words.h"

namespace weir {

// A mistake that the simulation must find. Each is made by the harness at the edge of the machine:
// it tells the machine what is not so, or does not do what the machine asks for.
enum class RoleBug : std::uint8_t {
  kNone,
  kTermUnsaved,        // a term counts as saved at once
  kAckMemory,          // with `always`, what is in memory is acknowledged
  kGateRefusesAlways,  // a crash counts with `always`, too
  kUntrustedPromotes,  // a replica that may lack something shows its priority
  kStrangerDeposes,    // every server has our secret
  kRestoredRole,       // a backup counts as a directory of this server
  kSwitchToFullDisk,   // replicas do not say that they cannot save
  kSilentRefusal,      // a primary that does not yield says nothing
  kNoLeaseWait,        // promises are forgotten
  kLeaseFromReceipt,   // an ACK counts from its receipt
  kOldYield,           // a YIELD counts whatever its age
  kShiftLost,          // a clean restart continues from the wall clock, not from the primary's time
  kShiftDisk,          // a promotion without a frame continues from the time on disk
  kEmptyGate,          // a server without a state counts as one with a state
  kDeclinesAny,        // every server is at the successor's address
  kLacksForgotten,     // a clean stop mends an unclean start
  kPartialHistory,     // half a copy counts as a state
  kYieldUnsaved,       // a YIELD leaves before its record is on disk
  kFloorGe,            // a hello of the floor's epoch deposes, also after a promotion
  kAskerReconnects,    // a server that asks for the role opens a link again
  kEmptyPromotes,      // a replica without a whole state can be promoted
  kClaimWithoutState,  // a server without a whole state names its term
  kSharedDeadline,     // the end of a refusal of PING takes the deadline of another state away
};

// The options of the servers of one run.
struct RoleProfile {
  enum class Kind : std::uint8_t { kWatched, kAlone, kQuick };  // kQuick: restarts, with `always`
  Kind kind = Kind::kWatched;
  bool is_always = false;
  bool has_disk = true;
  std::size_t lease_replicas = 0;
  std::size_t ack_replicas = 0;
};

using Admissions = std::bitset<2048>;

inline constexpr std::size_t kRoleServers = 3;
inline constexpr std::size_t kRoleHosts = 2 * kRoleServers;  // each Sentinel has a host

// The address of a server, and back.
inline HostAndPort SimAddress(std::size_t server) { return {absl::StrCat("s", server), 7379}; }
inline std::size_t ServerAt(const HostAndPort& address) {
  return static_cast<std::size_t>(address.host.at(1) - '0');
}

inline Nanos NanosOf(double ms) { return Nanos{static_cast<std::int64_t>(ms * 1e6)}; }
inline HostInstant HostOf(double ms) { return HostInstant{NanosOf(ms)}; }

inline constexpr double kSimLeaseMs = 2000;
// Two admissions are still close to the end of a history, three are not.
inline constexpr std::uint64_t kSimAdmissionBytes = 128 * 1024;

// The partition of an admission.
inline bool IsOfPart(std::size_t admission, int part) {
  return admission % 2 == static_cast<std::size_t>(part);
}

// Times are milliseconds.
class RoleWorld {
 public:
  RoleWorld(std::uint64_t seed, RoleBug planted) : bug(planted), random_(seed) {}

  void At(double ms, std::function<void()> happens) {
    events_.push({now + ms, ++last_event_, std::move(happens)});
  }
  // Requires: events are left.
  void Step() {
    Event event = events_.top();
    events_.pop();
    now = event.at;
    ++steps;
    event.happens();
  }

  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(Below(values.size())));
  }
  std::size_t Below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  bool Chance(double p) { return Between(0, 1) < p; }
  double Delay() { return Pick({1.0, 1.0, 1.0, 2.0, 2.0, 5.0, 30.0, 150.0}); }

  // Nothing comes from one host to the other until that time.
  [[nodiscard]] bool IsBlocked(std::size_t from, std::size_t to) const {
    return BlockedUntil(from, to) > now;
  }
  [[nodiscard]] bool WasBlocked(std::size_t a, std::size_t b, double ms) const {
    return std::max(BlockedUntil(a, b), BlockedUntil(b, a)) > now - ms;
  }
  void Block(std::size_t from, std::size_t to, double ms) { blocked_[{from, to}] = now + ms; }
  void HealLinks() {
    for (auto& [way, until] : blocked_) until = std::min(until, now);
  }

  [[nodiscard]] bool Has(RoleBug planted) const { return bug == planted; }
  // Notes what a server does. A failure prints the last of them.
  void Note(std::size_t server, const RoleView& view, RoleAction action) {
    if (notes_.size() == kNotes) notes_.pop_front();
    notes_.push_back({now, server, view.state, view.record.term, std::move(action)});
  }
  // Notes the first law that was broken; the run ends soon.
  void Fail(const std::string& what) {
    if (!violation.empty()) return;
    std::string& text = violation;
    text = absl::StrCat(what, " at ", now, " ms");
    for (const Noted& note : notes_) {
      absl::StrAppend(&text, "\n  ",
                      absl::Dec(static_cast<std::int64_t>(note.at), absl::kSpacePad9), " s",
                      note.server, " ", kStateWords.at(static_cast<std::size_t>(note.state)), " t",
                      note.term, " ", std::visit(WordsOfAction{}, note.action));
    }
  }

  const RoleBug bug;
  RoleProfile profile;
  double now = 1e6;
  std::uint64_t steps = 0;
  bool is_calm = false;
  std::string violation;  // empty: none
  RoleCoverage coverage;

  // --- The laws ---
  std::size_t admitted = 0;  // ids of admissions
  Admissions answered;       // that some client knows of
  Admissions kept;           // that no failover may forget
  std::uint64_t reigns = 0;
  std::uint64_t last_reign = 0;
  std::set<std::uint64_t> old_reigns;  // another server has admitted since
  bool is_excused = false;             // a gate or distrust has ended by time, which may forget
  double jumped_at = -1;               // a clock began without a frame

 private:
  struct Event {
    double at;
    std::uint64_t number;
    std::function<void()> happens;
    bool operator<(const Event& other) const {
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };
  [[nodiscard]] double BlockedUntil(std::size_t from, std::size_t to) const {
    const auto found = blocked_.find({from, to});
    return found == blocked_.end() ? -1e9 : found->second;
  }

  struct Noted {
    double at;
    std::size_t server;
    RoleState state;
    std::uint64_t term;
    RoleAction action;
  };
  static constexpr std::size_t kNotes = 40;

  std::deque<Noted> notes_;
  std::priority_queue<Event> events_;
  std::uint64_t last_event_ = 0;
  std::mt19937_64 random_;
  std::map<std::pair<std::size_t, std::size_t>, double> blocked_;
};

}  // namespace weir
