#include "tests/replication/role_coverage.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "tests/replication/role_branches.h"

namespace weir {
namespace role_branches {
namespace {

constexpr std::uint8_t kNoAnswer = 7;

// From the lowest bit: 4 before, 4 after, 5 event, 21 actions, 20 remarks, 3 answer, 7 detail.
static_assert(std::variant_size_v<RoleEvent> <= 32);
static_assert(std::variant_size_v<RoleAction> <= 21);
static_assert(static_cast<int>(Remark::What::kEpochsFell) < 20);

std::uint64_t Pack(const Step& step) {
  return static_cast<std::uint64_t>(step.before) | static_cast<std::uint64_t>(step.after) << 4 |
         static_cast<std::uint64_t>(step.event) << 8 |
         static_cast<std::uint64_t>(step.actions) << 13 |
         static_cast<std::uint64_t>(step.remarks) << 34 |
         static_cast<std::uint64_t>(step.answer) << 54 |
         static_cast<std::uint64_t>(step.detail) << 57;
}

Step Unpack(std::uint64_t key) {
  return {.before = static_cast<RoleState>(key & 15),
          .after = static_cast<RoleState>(key >> 4 & 15),
          .event = static_cast<std::size_t>(key >> 8 & 31),
          .actions = static_cast<std::uint32_t>(key >> 13 & 0x1FFFFF),
          .remarks = static_cast<std::uint32_t>(key >> 34 & 0xFFFFF),
          .answer = static_cast<std::uint8_t>(key >> 54 & 7),
          .detail = static_cast<std::uint8_t>(key >> 57)};
}

struct DetailOf {
  const RoleView& before;
  const RoleView& after;
  const std::vector<RoleAction>& actions;

  [[nodiscard]] unsigned IsError() const {
    for (const RoleAction& action : actions) {
      const auto* const answer = std::get_if<AnswerFailover>(&action);
      if (answer != nullptr && !answer->status.ok()) return kIsError;
    }
    return kNoDetail;
  }
  [[nodiscard]] unsigned IsOtherPrimary() const {
    const bool is_other = !before.record.primary.host.empty() &&
                          !after.record.primary.host.empty() &&
                          before.record.primary != after.record.primary;
    return is_other ? kIsOtherPrimary : kNoDetail;
  }

  unsigned operator()(const StateLoaded& loaded) const {
    return (loaded.is_backup ? kIsBackup : 0U) | (loaded.is_clean ? 0U : kIsUnclean) |
           (loaded.record ? kHasRecord : 0U);
  }
  unsigned operator()(const FailoverAsked&) const { return IsError(); }
  unsigned operator()(const FailoverAbortAsked&) const { return IsError(); }
  unsigned operator()(const HelloHeard& hello) const { return hello.names_us ? kNamesUs : 0U; }
  unsigned operator()(const HistoryEnded& ended) const {
    return (ended.has_yielded ? kHasYielded : 0U) | IsOtherPrimary();
  }
  unsigned operator()(const PromoteAsked&) const { return before.is_link_up ? kIsUp : 0U; }
  unsigned operator()(const ReplicasSeen& seen) const {
    if (after.state != RoleState::kYielding) return kNoDetail;
    for (const ReplicaView& replica : seen.replicas.all) {
      if (replica.address != after.record.primary) continue;
      const std::uint64_t lag = seen.replicas.head - replica.offset;
      return replica.cannot_save || !replica.is_there || lag > 256 * 1024 ? kIsForced : kNoDetail;
    }
    return kNoDetail;
  }
  unsigned operator()(const SyncAsked& asked) const {
    unsigned detail = (asked.has_our_secret ? kHasOurSecret : 0U) |
                      (asked.id.empty() ? 0U : kHasId) | (asked.was_told ? kWasTold : 0U);
    for (const RoleAction& action : actions) {
      const auto* const answer = std::get_if<AnswerSync>(&action);
      if (answer != nullptr && answer->common) detail |= kIsCommon;
    }
    return detail;
  }
  unsigned operator()(const SyncAnswered& answered) const {
    return static_cast<unsigned>(answered.what) | IsOtherPrimary() |
           (before.record.joins_any ? kWasTold : 0U) |
           (before.record.id == answered.id ? 0U : kIsOtherId);
  }
  unsigned operator()(const DeadlineCame&) const {
    const bool is_again =
        before.ping_refusal == PingRefusal::kHandedOver && after.ping_refusal == PingRefusal::kNone;
    return is_again ? kIsPingAgain : kNoDetail;
  }
  unsigned operator()(const SettingsChanged&) const {
    return before.is_distrusted != after.is_distrusted ? kIsTrusted : kNoDetail;
  }
  template <typename Event>
  unsigned operator()(const Event&) const {
    return kNoDetail;
  }
};

std::uint64_t Count(const std::unordered_map<std::uint64_t, std::uint64_t>& steps,
                    const Branch& branch) {
  std::uint64_t count = 0;
  for (const auto& [key, times] : steps) count += branch.is_taken(Unpack(key)) ? times : 0;
  return count;
}

}  // namespace
}  // namespace role_branches

std::vector<RoleTableRow> ReadRoleTable() {
  std::ifstream file(WEIR_SOURCE_DIR "/replication/role.h");
  std::vector<RoleTableRow> rows;
  bool is_table = false;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "//     ") || !absl::StrContains(line, " | ")) {
      if (is_table) break;
      continue;
    }
    const std::vector<std::string> parts = absl::StrSplit(line.substr(7), absl::MaxSplits('|', 1));
    const std::string name(absl::StripAsciiWhitespace(parts[0]));
    if (std::exchange(is_table, true)) {
      // A cell may have a blank after a comma.
      const std::string cells = absl::StrReplaceAll(parts[1], {{", ", ","}});
      rows.push_back({name, absl::StrSplit(cells, ' ', absl::SkipEmpty())});
    }
  }
  return rows;
}

void RoleCoverage::Note(const RoleView& before, const RoleEvent& event, const RoleView& after,
                        const std::vector<RoleAction>& actions) {
  role_branches::Step step = {.before = before.state,
                              .after = after.state,
                              .event = event.index(),
                              .actions = 0,
                              .remarks = 0,
                              .answer = role_branches::kNoAnswer,
                              .detail = static_cast<std::uint8_t>(std::visit(
                                  role_branches::DetailOf{before, after, actions}, event))};
  for (const RoleAction& action : actions) {
    step.actions |= 1U << action.index();
    if (const auto* const remark = std::get_if<Remark>(&action)) {
      step.remarks |= 1U << static_cast<unsigned>(remark->what);
    } else if (const auto* const answer = std::get_if<AnswerSync>(&action)) {
      step.answer = static_cast<std::uint8_t>(answer->what);
    }
  }
  ++steps_[role_branches::Pack(step)];
}

void RoleCoverage::Add(const RoleCoverage& other) {
  for (const auto& [key, times] : other.steps_) steps_[key] += times;
}

std::uint64_t RoleCoverage::entered(RoleState state, std::size_t event) const {
  std::uint64_t count = 0;
  for (const auto& [key, times] : steps_) {
    const role_branches::Step step = role_branches::Unpack(key);
    count += step.before == state && step.event == event ? times : 0;
  }
  return count;
}

std::string RoleCoverage::Branches() const {
  std::string text;
  for (const role_branches::Branch& branch : role_branches::All()) {
    absl::StrAppend(&text, absl::Dec(role_branches::Count(steps_, branch), absl::kSpacePad8), " ",
                    branch.name, "\n");
  }
  return text;
}

std::string RoleCoverage::BranchesNotTaken(std::uint64_t at_least) const {
  std::string text;
  for (const role_branches::Branch& branch : role_branches::All()) {
    if (role_branches::Count(steps_, branch) < at_least) absl::StrAppend(&text, branch.name, "\n");
  }
  return text;
}

std::vector<std::pair<std::string, std::uint64_t>> RoleCoverage::Promotions() const {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const role_branches::Branch& way : role_branches::Promotions())
    counts.emplace_back(way.name, role_branches::Count(steps_, way));
  return counts;
}

}  // namespace weir
