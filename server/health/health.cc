#include "server/health/health.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status.h"
#include "server/os/log.h"

namespace weir {
namespace {

constexpr std::size_t kErrorBytesMax = 160;
constexpr std::size_t kAwayShownMax = 3;

// --- The text of each code; empty: its reason does not hold -------------------------------------

std::string Loading(const HealthFacts& facts) {
  if (facts.loading) return "the state is loading from disk";
  const bool waits = facts.role == ServerRole::kReplica && !facts.complete;
  return waits ? "the first state is coming from the primary" : "";
}

std::string ErrorText(const HealthFacts& facts) {
  return EscapedForLog(facts.save_error, kErrorBytesMax);
}

std::string SaveFailing(const HealthFacts& facts) {
  if (facts.save_error.empty() || facts.cannot_save) return "";
  return absl::StrCat("saving fails (", ErrorText(facts), ")");
}

std::string DiskRefuses(const HealthFacts& facts) {
  if (!facts.cannot_save) return "";
  return absl::StrCat("changes are refused, as they cannot be saved (", ErrorText(facts), ")");
}

std::string LinkDown(const HealthFacts& facts) {
  // A primary that gives its role away has no primary for a moment.
  const bool follows = facts.role == ServerRole::kReplica && !facts.primary.empty();
  if (!follows || facts.link_up) return "";
  return absl::StrCat("the primary ", facts.primary, " is not heard");
}

std::string Deposed(const HealthFacts& facts) {
  return facts.role == ServerRole::kDeposed ? "another server has become the primary" : "";
}

std::string Gated(const HealthFacts& facts) {
  return facts.role == ServerRole::kGated ? "the start waits for Sentinel" : "";
}

std::string TooFewReplicas(const HealthFacts& facts) {
  if (facts.role != ServerRole::kPrimary || !facts.lacks_replicas) return "";
  return absl::StrCat(facts.replicas_good, " of ", facts.replicas_needed,
                      " needed replicas are in sync: nothing is admitted");
}

std::string MemoryFull(const HealthFacts& facts) {
  if (facts.minute.evicted == 0) return "";
  return absl::StrCat("memory is full: ", facts.minute.evicted,
                      " buckets in use were dropped within a minute");
}

bool IsEvicting(const HealthFacts& facts) {
  return facts.minute.evicted_full > 0 && facts.minute.evicted == 0;
}

std::string Evicting(const HealthFacts& facts) {
  if (!IsEvicting(facts)) return "";
  return absl::StrCat("memory is nearly full: ", facts.minute.evicted_full,
                      " full buckets were dropped early within a minute");
}

std::string MemoryHigh(const HealthFacts& facts) {
  if (facts.memory_permille.value_or(0) < kMemoryHighPermille) return "";
  if (facts.minute.evicted > 0 || IsEvicting(facts)) return "";
  return absl::StrCat("memory: ", *facts.memory_permille / 10,
                      " % of the room for buckets or holds");
}

std::string RejectingClients(const HealthFacts& facts) {
  if (facts.minute.rejected == 0) return "";
  return absl::StrCat("clients turned away within a minute: ", facts.minute.rejected);
}

std::string ReplicaAway(const HealthFacts& facts) {
  if (facts.away.empty()) return "";
  if (facts.away.size() == 1) return absl::StrCat("replica ", facts.away[0], " is away");
  std::string text = absl::StrCat(facts.away.size(), " replicas are away: ");
  for (std::size_t i = 0; i < std::min(facts.away.size(), kAwayShownMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", facts.away[i]);
  }
  if (facts.away.size() > kAwayShownMax) text += ", ...";
  return text;
}

std::string Errors(const HealthFacts& facts) {
  const MinuteFacts& minute = facts.minute;
  if (minute.errors < kErrorsMin || minute.errors * 100 <= kErrorsPercent * minute.commands) {
    return "";
  }
  return absl::StrCat(minute.errors, " errors in ", minute.commands, " commands of a minute");
}

std::string ClockOff(const HealthFacts& facts) {
  if (facts.clock_offset <= kClockOff && facts.clock_offset >= -kClockOff) return "";
  const double seconds = std::chrono::duration<double>(facts.clock_offset).count();
  return absl::StrFormat("the server's time is %.1f s %s the wall clock",
                         seconds < 0 ? -seconds : seconds, seconds < 0 ? "ahead of" : "behind");
}

std::string Slow(const HealthFacts& facts) {
  const MinuteFacts& minute = facts.minute;
  if (minute.calls < kSlowCallsMin || minute.p99 <= kSlow) return "";
  return absl::StrFormat("slow: 1 %% of the calls of a minute took over %.1f ms",
                         std::chrono::duration<double, std::milli>(minute.p99).count());
}

std::string RulesOld(const HealthFacts& facts) {
  if (facts.rules_error.empty()) return "";
  return absl::StrCat("the rules of Envoy's service are not in force (",
                      EscapedForLog(facts.rules_error, kErrorBytesMax), ")");
}

std::string ControlPlaneAway(const HealthFacts& facts) {
  if (facts.plane_away.empty()) return "";
  return absl::StrCat("the control plane ", facts.plane_away, " is not connected");
}

std::string NoLogin(const HealthFacts& facts) {
  if (facts.open_place.empty()) return "";
  return absl::StrCat("other hosts reach ", facts.open_place, " without a login");
}

struct Row {
  HealthCode code;
  std::string (*text)(const HealthFacts& facts);
};

constexpr auto kRows = std::to_array<Row>({
    {{"loading", HealthState::kBad}, Loading},
    {{"save_failing", HealthState::kBad}, SaveFailing},
    {{"disk_refuses", HealthState::kBad}, DiskRefuses},
    {{"link_down", HealthState::kBad}, LinkDown},
    {{"deposed", HealthState::kBad}, Deposed},
    {{"gated", HealthState::kBad}, Gated},
    {{"too_few_replicas", HealthState::kBad}, TooFewReplicas},
    {{"memory_full", HealthState::kBad}, MemoryFull},
    {{"memory_high", HealthState::kWarn}, MemoryHigh},
    {{"evicting", HealthState::kWarn}, Evicting},
    {{"rejecting_clients", HealthState::kWarn}, RejectingClients},
    {{"replica_away", HealthState::kWarn}, ReplicaAway},
    {{"errors", HealthState::kWarn}, Errors},
    {{"clock_off", HealthState::kWarn}, ClockOff},
    {{"slow", HealthState::kWarn}, Slow},
    {{"rules_old", HealthState::kWarn}, RulesOld},
    {{"control_plane_away", HealthState::kWarn}, ControlPlaneAway},
    {{"no_login", HealthState::kWarn}, NoLogin},
});

}  // namespace

std::string_view WordOf(HealthState state) noexcept {
  constexpr auto kWords = std::to_array<std::string_view>({"ok", "warn", "bad"});
  return kWords[static_cast<std::size_t>(state)];
}

Health Judge(const HealthFacts& facts, const Health& previous) {
  Health health;
  for (const Row& row : kRows) {
    std::string text = row.text(facts);
    if (text.empty()) continue;
    const auto before = std::ranges::find(previous.reasons, row.code.code, &HealthReason::code);
    const HostInstant since = before == previous.reasons.end() ? facts.now : before->since;
    health.reasons.push_back({row.code.code, std::move(text), since});
    health.state = std::max(health.state, row.code.state);
  }
  return health;
}

std::string CodesOf(const Health& health) {
  std::string codes;
  for (const HealthReason& reason : health.reasons) {
    absl::StrAppend(&codes, codes.empty() ? "" : ",", AbslView(reason.code));
  }
  return codes;
}

std::vector<HealthCode> HealthCodes() {
  std::vector<HealthCode> codes;
  codes.reserve(kRows.size());
  for (const Row& row : kRows) codes.push_back(row.code);
  return codes;
}

}  // namespace weir
