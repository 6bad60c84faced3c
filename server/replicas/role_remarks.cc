// The lines of the log about the role.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "core/base/status.h"
#include "server/os/log.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

std::string NameOf(const HostAndPort& address) {
  return absl::StrCat(EscapedForLog(address.host), ":", address.port);
}

std::string TextOfService(const RoleView& before, const RoleView& now) {
  if (before.state == RoleState::kLoading) return {};
  if (before.state == RoleState::kGated) return "this server serves as a primary now";
  const bool has_whole = now.record.id.empty() || !now.record.previous.empty();
  return absl::StrCat("this server is a primary now, of term ", now.record.term,
                      has_whole ? "" : "; it has not had the whole state of its last primary");
}

std::string TextOfDeposition(const History& record) {
  return absl::StrCat(
      "a replica is in a history of term ", record.seen_term,
      ", which wins over this primary's: another server has become the primary, or this one has "
      "lost its state or was restored. It admits nothing until REPLICAOF NO ONE makes it the "
      "primary again, which the others follow, or REPLICAOF HOST PORT a replica");
}

}  // namespace

// Empty: nothing is logged.
std::string ReplicationControl::TextOf(const Remark& remark) const {
  using What = Remark::What;
  const std::shared_ptr<const RoleView> published = view();
  const RoleView& before = *published;
  const RoleView& now = *role_machine_.view();
  const std::string primary = NameOf(now.record.primary);
  const std::string why(remark.why);
  switch (remark.what) {
    case What::kCommandWins:
      return absl::StrCat("a command has made this server ",
                          now.record.primary.host.empty() ? "a primary" : "a replica",
                          ", which wins over the option replicaof");
    case What::kMayLack:
      return "this server was not stopped cleanly, and may lack what it has acknowledged: it shows "
             "Sentinel the priority 0 until it is in sync";
    case What::kWaitsForSentinel:
      return absl::StrCat("this server waits for Sentinel, which monitors it as '",
                          EscapedForLog(services_.options.sentinel), "'");
    case What::kServes:
      return TextOfService(before, now);
    case What::kFollows:
      return absl::StrCat("this server is a replica of ", primary, " now");
    case What::kTermUnsaved:
      return absl::StrCat("term ", now.record.term,
                          " begins before it is on disk: a crash now would forget it");
    case What::kDeposed:
      return TextOfDeposition(now.record);
    case What::kNamedByHellos:
      return "Sentinel takes this server for the primary, and the one that it follows is not there";
    case What::kNobodyHadAState:
      return "Sentinel takes this server for the primary, and no other one has a state";
    case What::kTrustedAgain:
      return "this server was not in sync with a primary for sentinel-wait: Sentinel may promote "
             "it, although it may lack what it has acknowledged";
    case What::kWaitsForLease:
      return absl::StrCat("this server becomes a primary in ",
                          CeilMillis(role_machine_.wakes_at() - now_),
                          " ms: until then another one may admit");
    case What::kRefusesPromotion:
      return absl::StrCat("Sentinel asks this server to become a primary, and it refuses: ", why);
    case What::kNotYielded:
      return "the primary has not yielded in time";
    case What::kTooOld:
      return absl::StrCat("no link to the primary ", NameOf(dialed_),
                          ": it has yielded to this server too long ago");
    case What::kSwitchFailed:
    case What::kTakesBack:
      return "the replica has not taken over";
    case What::kSwitchGivenUp:
      return absl::StrCat("the failover ends without a switch: ", why);
    case What::kDoesNotJoin:
      return absl::StrCat("no link to the primary ", NameOf(dialed_),
                          ": its term is not newer than ours (", now.record.term,
                          "), so it may have lost its state; use REPLICAOF to follow it anyway");
    case What::kOtherGroup:
      return {};  // Both ends log the error.
    case What::kEpochsFell:
      return absl::StrCat("the Sentinels were set up again: their epochs are below ",
                          before.record.sentinel_floor.value_or(0));
    case What::kSentinelNames:
      return absl::StrCat("Sentinel names ", primary, " as the primary since epoch ", last_epoch_);
    case What::kYields:
      return absl::StrCat("failing over to ", primary);
    case What::kMayHaveForgotten:
      return "this server was not in sync since an unclean stop: it may have forgotten changes "
             "that it had acknowledged";
  }
  return {};
}

}  // namespace weir
