// The events that the role machine (role.h) receives, and the actions that it asks for.
//
// Times are of this host's clock. Numbers of links and saves are of this process. Addresses are
// compared by the caller, who can look names up. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "core/base/host_and_port.h"
#include "core/base/instant.h"
#include "replication/failover_request.h"
#include "replication/history.h"

namespace weir {

struct RoleView;  // role.h

enum class LinkNumber : std::uint64_t {};  // of a link to a primary; 0: none
enum class SaveNumber : std::uint64_t {};  // of a request to save; a save answers all earlier ones
enum class RoleTicket : std::uint64_t {};  // of a question that an action answers

// The options of the server that its role depends on, as they are now.
struct RoleSettings {
  HostAndPort replicaof{};  // of the start; none: a primary
  bool has_disk = false;    // a data directory
  bool is_always = false;   // --durability always
  bool is_watched = false;  // by Sentinel
  Nanos sentinel_wait{0};   // 0: forever
  Nanos lease{0};           // 0: no leases
  std::uint64_t ack_replicas{0};
};

// A replica, as its primary sees it.
struct ReplicaView {
  std::string run_id{};
  HostAndPort address{};
  bool is_online = false;    // it was in sync
  bool is_synced = false;    // it has everything as of `offset`
  bool cannot_save = false;  // its last save failed
  bool is_there = false;     // it has read what was sent since the switch began
  std::uint64_t offset = 0;  // acknowledged

  friend bool operator==(const ReplicaView&, const ReplicaView&) = default;
};

// The replicas of a primary at one moment, and the end of its history.
struct ReplicaList {
  std::vector<ReplicaView> all{};
  std::uint64_t head = 0;
};

// --- Events --------------------------------------------------------------------------------------

struct StateLoaded {  // the state on disk was read; once, after all commands of a start
  std::optional<History> record{};  // none: no directory, an empty one, or a damaged record
  bool is_clean = true;             // the last process ended with a save, or there was none
  bool is_backup = false;
  bool has_buckets = false;
};
struct FollowAsked {  // REPLICAOF HOST PORT, by anyone
  HostAndPort primary{};
};
struct NoOneAsked {};    // REPLICAOF NO ONE, by an operator
struct PromoteAsked {};  // the same, by a Sentinel
struct FailoverAsked {
  RoleTicket ticket{};
  FailoverRequest request{};
  ReplicaList replicas{};
};
struct FailoverAbortAsked {
  RoleTicket ticket{};
};
struct ReplicasSeen {  // the answer to LookAtReplicas
  ReplicaList replicas{};
};
struct TakeoverAsked {  // a replica's Sentinel wants it to be the primary
  std::string run_id{};
  Nanos age{0};  // of the request, by the time of the history
  ReplicaList replicas{};
};
struct HistoryEnded {  // of EndHistory
  std::uint64_t head = 0;
  bool has_yielded = false;  // a YIELD has left for the successor
};
struct YieldCame {  // the last frame of a link; all before it is applied
  LinkNumber link{};
  std::uint64_t term = 0;
  Nanos age{0};  // by the time of the history
  std::uint64_t offset = 0;
  bool is_exact = false;
};
struct RefuseCame {  // the primary does not yield
  LinkNumber link{};
};
struct SyncAsked {  // RL.SYNC of another server
  RoleTicket ticket{};
  std::string run_id{};
  bool is_at_primary = false;  // its address is the one that this server follows
  std::uint64_t term = 0;      // that it claims
  std::string id{};            // of the history that it can go on from; empty: none
  std::uint64_t offset = 0;
  bool has_our_secret = false;
  HostInstant connected_at{};  // when its connection was accepted
  bool was_told = false;       // a command has told it to follow this server, whatever this one has
  std::uint64_t head = 0;      // of this server
  bool has_state = false;      // this server has, or had since its start, what clients rely on
};
struct SyncAnswered {  // the answer to ours
  enum class What : std::uint8_t { kAccepted, kReferral, kOtherGroup, kRefused };
  LinkNumber link{};
  What what = What::kRefused;
  HostAndPort address{};  // kAccepted: of the primary; kReferral: of the one that it names
  std::uint64_t term = 0;
  std::string id{};
  bool has_our_secret = true;
  bool has_buckets = false;  // this server
};
struct LinkUp {  // frames come; again when the link has begun a copy
  LinkNumber link{};
  bool is_exact = false;
};
struct LinkSynced {
  LinkNumber link{};
};
struct LinkLacks {  // SKIP or GAP: the primary sends partitions again
  LinkNumber link{};
};
struct LinkLost {
  LinkNumber link{};
};
struct LinkEnded {  // follows every OpenLink once; nothing more is sent or applied
  LinkNumber link{};
  std::uint64_t offset = 0;
  bool is_exact = false;
  HostInstant promised_until{};  // to the primary, by the ACKs that have left
};
struct ReplicaInSync {};
struct HelloHeard {  // of a Sentinel of our group
  std::uint64_t epoch = 0;
  bool names_us = false;
  HostAndPort primary{};
};
struct RecordSaved {
  SaveNumber save{};
  std::uint64_t term = 0;  // in the record that is on disk now
};
struct RecordSaveFailed {
  SaveNumber save{};
};
struct DeadlineCame {};  // Role::wakes_at
struct SettingsChanged {
  RoleSettings settings{};
};
struct StopAsked {};

using RoleEvent =
    std::variant<StateLoaded, FollowAsked, NoOneAsked, PromoteAsked, FailoverAsked,
                 FailoverAbortAsked, ReplicasSeen, TakeoverAsked, HistoryEnded, YieldCame,
                 RefuseCame, SyncAsked, SyncAnswered, LinkUp, LinkSynced, LinkLacks, LinkLost,
                 LinkEnded, ReplicaInSync, HelloHeard, RecordSaved, RecordSaveFailed, DeadlineCame,
                 SettingsChanged, StopAsked>;

// --- Actions, to be carried out in their order ---------------------------------------------------

struct PublishView {  // to all threads
  std::shared_ptr<const RoleView> view{};
};
struct Barrier {};       // wait until no command is under way that has seen the view before
struct EndWaits {};      // of clients, the newest first
struct PauseChanges {};  // of clients, until ResumeChanges
struct ResumeChanges {};
struct CloseClients {};     // many client libraries ask for the new primary only then
struct EndHistory {         // take the last changes, and end all links; HistoryEnded follows
  Nanos time{0};            // for the replicas to confirm them
  std::string successor{};  // gets a YIELD, once LetYieldLeave came; empty: none
};
struct LetYieldLeave {};
struct EndReplicaLinks {};
struct BeginHistory {         // that of a primary, with the record's id
  bool is_promotion = false;  // it continues what was followed, and the time of decisions is fixed
};
struct OpenLink {
  LinkNumber link{};
  HostAndPort primary{};
  bool is_told = false;  // the primary may have another secret, and be in an earlier term
  // RL.SYNC names this server's term, which deposes a primary of an earlier one.
  bool claims = false;
  bool says_told = false;
};
struct CloseLink {
  LinkNumber link{};
};
struct JoinHistory {  // the history of the primary that has accepted the link
  LinkNumber link{};
};
struct AskTakeover {
  LinkNumber link{};
};
struct RefuseTakeover {
  std::string run_id{};
  std::string_view why{};  // for the log, a phrase
};
struct LookAtReplicas {};
struct SaveRecord {
  SaveNumber save{};
};
struct RemoveBackupMark {};
struct AnswerFailover {
  RoleTicket ticket{};
  absl::Status status{};
};
struct AnswerSync {
  enum class What : std::uint8_t {
    kAccepted,
    kLoading,     // the server starts, waits for Sentinel, or saves its term
    kReferral,    // to `primary`
    kLaterTerm,   // the asker's history wins over this server's
    kOtherGroup,  // another hash secret
    kNoPrimary,   // the server is deposed
  };
  RoleTicket ticket{};
  What what = What::kLoading;
  HostAndPort primary{};
  std::optional<std::uint64_t> common{};  // kAccepted: the offset up to which the histories are one
};

// A line of the log.
struct Remark {
  enum class What : std::uint8_t {
    kCommandWins,  // over the option replicaof
    kMayLack,      // a replica that is not to be promoted
    kWaitsForSentinel,
    kServes,
    kFollows,
    kTermUnsaved,  // a crash now would forget it
    kDeposed,
    kNamedByHellos,  // as the primary, and its own is not there
    kNobodyHadAState,
    kTrustedAgain,  // although it may lack something
    kWaitsForLease,
    kRefusesPromotion,
    kNotYielded,  // the primary has not answered in time
    kTooOld,      // a YIELD, or a request for one
    kSwitchFailed,
    kSwitchGivenUp,
    kTakesBack,
    kDoesNotJoin,
    kOtherGroup,
    kEpochsFell,
    kSentinelNames,     // another server as the primary
    kYields,            // to the server that it follows from now on
    kMayHaveForgotten,  // a primary that was not in sync since an unclean stop
  };
  What what{};
  std::string_view why{};  // a phrase, of those that have several reasons
};

using RoleAction =
    std::variant<PublishView, Barrier, EndWaits, PauseChanges, ResumeChanges, CloseClients,
                 EndHistory, LetYieldLeave, EndReplicaLinks, BeginHistory, OpenLink, CloseLink,
                 JoinHistory, AskTakeover, RefuseTakeover, LookAtReplicas, SaveRecord,
                 RemoveBackupMark, AnswerFailover, AnswerSync, Remark>;

}  // namespace weir
