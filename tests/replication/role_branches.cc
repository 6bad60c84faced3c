#include "tests/replication/role_branches.h"

namespace weir::role_branches {
namespace {

using enum RoleState;
using Said = Remark::What;
using Sync = AnswerSync::What;
using Answered = SyncAnswered::What;

bool Is(const Step& step, Answered what) {
  return step.Is<SyncAnswered>() && (step.detail & 3) == static_cast<unsigned>(what);
}

// As the rules of role.h are numbered.
constexpr Branch kBranches[] = {
    {"T1 a primary that is to follow ends its history",
     [](const Step& s) {
       return s.Is<FollowAsked>() && s.before == kServing && s.Does<Barrier>();
     }},
    {"T1 a replica that is to follow another ends its link",
     [](const Step& s) {
       return s.Is<FollowAsked>() && s.before == kFollowing && s.Does<CloseLink>();
     }},
    {"T1 a hello deposes a primary",
     [](const Step& s) { return s.Is<HelloHeard>() && s.Goes(kServing, kFollowing); }},
    {"T1 a hello deposes a server at the gate",
     [](const Step& s) { return s.Is<HelloHeard>() && s.Goes(kGated, kFollowing); }},
    {"T1 a hello makes a deposed server follow",
     [](const Step& s) { return s.Is<HelloHeard>() && s.Goes(kDeposed, kFollowing); }},
    {"T2 an operator opens the gate",
     [](const Step& s) { return s.Is<NoOneAsked>() && s.Goes(kGated, kServing); }},
    {"T2 a Sentinel opens the gate",
     [](const Step& s) { return s.Is<PromoteAsked>() && s.Goes(kGated, kServing); }},
    {"T2 a Sentinel is refused at the gate",
     [](const Step& s) { return s.Is<PromoteAsked>() && s.Goes(kGated, kGated); }},
    {"T3 a command waits for the end of the link",
     [](const Step& s) { return s.Is<NoOneAsked>() && s.Does<CloseLink>(); }},
    {"T3 a command waits for the promise",
     [](const Step& s) { return s.Is<NoOneAsked>() && s.Says(Said::kWaitsForLease); }},
    {"T3 a command has nothing to wait for",
     [](const Step& s) {
       return s.Is<NoOneAsked>() && s.before == kFollowing && s.Does<BeginHistory>();
     }},
    {"T3 a command overtakes a question",
     [](const Step& s) { return s.Is<NoOneAsked>() && s.before == kAsking; }},
    {"T4 a command restores a deposed server",
     [](const Step& s) { return s.Is<NoOneAsked>() && s.before == kDeposed; }},
    {"T4 a restored term gets on disk first",
     [](const Step& s) { return s.Goes(kDeposed, kSaving); }},
    {"T5 a Sentinel's promotion asks the primary",
     [](const Step& s) { return s.Is<PromoteAsked>() && s.Does<AskTakeover>(); }},
    {"T5 without a link T3",
     [](const Step& s) {
       return s.Is<PromoteAsked>() && s.before == kFollowing && s.after != kFollowing &&
              !s.Has(kIsUp);
     }},
    {"T5 refused with a link",
     [](const Step& s) {
       return s.Is<PromoteAsked>() && s.Goes(kFollowing, kFollowing) && s.Has(kIsUp);
     }},
    {"T5 refused without a link",
     [](const Step& s) {
       return s.Is<PromoteAsked>() && s.Goes(kFollowing, kFollowing) && !s.Has(kIsUp);
     }},
    {"T5 the primary has not answered", [](const Step& s) { return s.Says(Said::kNotYielded); }},
    {"T5 the primary has refused",
     [](const Step& s) { return s.Is<RefuseCame>() && s.Goes(kAsking, kFollowing); }},
    {"T5 the link of a question is lost",
     [](const Step& s) { return s.Is<LinkLost>() && s.before == kAsking; }},
    {"T6 a switch is accepted",
     [](const Step& s) {
       return s.Is<FailoverAsked>() && s.before == kServing && !s.Has(kIsError);
     }},
    {"T6 a switch is refused",
     [](const Step& s) {
       return s.Is<FailoverAsked>() && s.before == kServing && s.Has(kIsError);
     }},
    {"T6 a replica is close",
     [](const Step& s) {
       return s.Is<ReplicasSeen>() && s.Goes(kServing, kYielding) && !s.Has(kIsForced);
     }},
    {"T6 no replica is close yet",
     [](const Step& s) {
       return s.Is<ReplicasSeen>() && s.Goes(kServing, kServing) && !s.Says(Said::kSwitchGivenUp);
     }},
    {"T6 a switch is forced",
     [](const Step& s) { return s.Is<ReplicasSeen>() && s.Has(kIsForced); }},
    {"T6 a switch is given up", [](const Step& s) { return s.Says(Said::kSwitchGivenUp); }},
    {"T6 a switch is ended by a command",
     [](const Step& s) { return s.Is<FailoverAbortAsked>() && !s.Has(kIsError); }},
    {"T6 no switch is there to be ended",
     [](const Step& s) {
       return s.Is<FailoverAbortAsked>() && s.before == kServing && s.Has(kIsError);
     }},
    {"T7 a request is refused",
     [](const Step& s) {
       return s.Is<TakeoverAsked>() && s.before == kServing && s.Does<RefuseTakeover>();
     }},
    {"T7 a request is met",
     [](const Step& s) {
       return s.Is<TakeoverAsked>() && s.after == kYielding && s.before == kServing;
     }},
    {"T8 the record of a YIELD is on disk",
     [](const Step& s) { return s.Is<RecordSaved>() && s.Does<LetYieldLeave>(); }},
    {"T8 the record of a YIELD fails early",
     [](const Step& s) {
       return s.Is<RecordSaveFailed>() && s.before == kYielding && !s.Does<LetYieldLeave>();
     }},
    {"T8 a YIELD leaves without its record",
     [](const Step& s) {
       return !s.Is<RecordSaved>() && s.before == kYielding && s.Does<LetYieldLeave>();
     }},
    {"T8 a YIELD needs no disk",
     [](const Step& s) { return s.before == kServing && s.Does<LetYieldLeave>(); }},
    {"T8 a YIELD has left",
     [](const Step& s) {
       return s.Is<HistoryEnded>() && s.before == kYielding && s.Has(kHasYielded);
     }},
    {"T8 no YIELD has left for a replica that asked",
     [](const Step& s) {
       return s.Is<HistoryEnded>() && s.before == kYielding && !s.Has(kHasYielded) &&
              !s.Says(Said::kSwitchFailed);
     }},
    {"T8 no YIELD has left of a planned switch",
     [](const Step& s) { return s.Says(Said::kSwitchFailed); }},
    {"T8 a command that came meanwhile: follow another",
     [](const Step& s) {
       return s.Is<HistoryEnded>() && s.Goes(kYielding, kFollowing) && s.Has(kIsOtherPrimary);
     }},
    {"T8 a command that came meanwhile: follow no one",
     [](const Step& s) {
       return s.Is<HistoryEnded>() && s.before == kYielding && s.Has(kHasYielded) &&
              s.after != kFollowing;
     }},
    {"T8 a refusal of PING ends by time",
     [](const Step& s) { return s.Is<DeadlineCame>() && s.Has(kIsPingAgain); }},
    {"T9 a YIELD comes of a planned switch",
     [](const Step& s) {
       return s.Is<YieldCame>() && s.before == kFollowing && s.Does<BeginHistory>();
     }},
    {"T9 a YIELD comes of a question",
     [](const Step& s) {
       return s.Is<YieldCame>() && s.before == kAsking && s.Does<BeginHistory>();
     }},
    {"T9 a YIELD is too old",
     [](const Step& s) { return s.Is<YieldCame>() && s.Says(Said::kTooOld); }},
    {"T10 a later history deposes a primary",
     [](const Step& s) { return s.Is<SyncAsked>() && s.Goes(kServing, kDeposed); }},
    {"T10 a later history deposes a server at the gate",
     [](const Step& s) { return s.Is<SyncAsked>() && s.Goes(kGated, kDeposed); }},
    {"T10 a later history meets a deposed server",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.Goes(kDeposed, kDeposed) && s.Answers(Sync::kLaterTerm);
     }},
    {"T10 a deposed server has no primary to name",
     [](const Step& s) { return s.Answers(Sync::kNoPrimary); }},
    {"T10 the gate is still closed",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.Goes(kGated, kGated) && s.Answers(Sync::kLoading);
     }},
    {"T10 a stranger deposes nobody",
     [](const Step& s) { return s.Answers(Sync::kOtherGroup) && !s.Has(kWasTold); }},
    {"T11 the first replica begins the history",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.before == kServing && s.Does<BeginHistory>() &&
              s.Answers(Sync::kLoading);
     }},
    {"T11 a replica waits until the term is on disk",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.Goes(kServing, kServing) && !s.Does<BeginHistory>() &&
              s.Answers(Sync::kLoading);
     }},
    {"T11 a replica gets a copy",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.Answers(Sync::kAccepted) && !s.Has(kIsCommon);
     }},
    {"T11 a replica continues from what it has",
     [](const Step& s) { return s.Answers(Sync::kAccepted) && s.Has(kIsCommon); }},
    {"T11 a stranger that was told joins",
     [](const Step& s) { return s.Answers(Sync::kAccepted) && !s.Has(kHasOurSecret); }},
    {"T12 a successor has not taken over", [](const Step& s) { return s.Says(Said::kTakesBack); }},
    {"T12 a successor asks again meanwhile",
     [](const Step& s) {
       return s.Is<SyncAsked>() && s.before == kWaiting && s.Answers(Sync::kLoading);
     }},
    {"T12 a replica names its primary",
     [](const Step& s) { return s.before == kFollowing && s.Answers(Sync::kReferral); }},
    {"T12 a server that waits names its last primary",
     [](const Step& s) { return s.before == kWaiting && s.Answers(Sync::kReferral); }},
    {"T12 a server that asks names its primary",
     [](const Step& s) { return s.before == kAsking && s.Answers(Sync::kReferral); }},
    {"T13 it was told to join",
     [](const Step& s) {
       return Is(s, Answered::kAccepted) && s.Does<JoinHistory>() && s.Has(kWasTold);
     }},
    {"T13 its own history",
     [](const Step& s) {
       return Is(s, Answered::kAccepted) && s.Does<JoinHistory>() && !s.Has(kWasTold) &&
              !s.Has(kIsOtherId);
     }},
    {"T13 a later history",
     [](const Step& s) {
       return Is(s, Answered::kAccepted) && s.Does<JoinHistory>() && !s.Has(kWasTold) &&
              s.Has(kIsOtherId);
     }},
    {"T13 a referral is joined",
     [](const Step& s) {
       return Is(s, Answered::kAccepted) && s.Does<JoinHistory>() && s.Has(kIsOtherPrimary);
     }},
    {"T13 an earlier history is not joined",
     [](const Step& s) { return s.Says(Said::kDoesNotJoin); }},
    {"T13 a referral",
     [](const Step& s) { return Is(s, Answered::kReferral) && s.Does<CloseLink>(); }},
    {"T13 refused", [](const Step& s) { return Is(s, Answered::kRefused); }},
    {"T14 a hello that names it",
     [](const Step& s) { return s.Is<HelloHeard>() && s.Goes(kGated, kGated) && s.Has(kNamesUs); }},
    {"T14 two hellos open the gate",
     [](const Step& s) { return s.Is<HelloHeard>() && s.Goes(kGated, kServing); }},
    {"T14 the wait opens the gate",
     [](const Step& s) { return s.Is<DeadlineCame>() && s.Goes(kGated, kServing); }},
    {"T15 hellos name a replica without a primary",
     [](const Step& s) { return s.Says(Said::kNamedByHellos); }},
    {"T15 hellos name a replica without a state",
     [](const Step& s) { return s.before == kFollowing && s.Says(Said::kNobodyHadAState); }},
    {"T16 a distrust ends by time", [](const Step& s) { return s.Says(Said::kTrustedAgain); }},
    {"T17 after the end of the link",
     [](const Step& s) {
       return s.Is<LinkEnded>() && s.before == kWaiting && s.Does<BeginHistory>();
     }},
    {"T17 after the promise",
     [](const Step& s) {
       return s.Is<DeadlineCame>() && s.before == kWaiting && s.Does<BeginHistory>();
     }},
    {"T17 after the end of a history",
     [](const Step& s) {
       return s.Is<HistoryEnded>() && s.before == kWaiting && s.Does<BeginHistory>();
     }},
    {"T17 its term is on disk",
     [](const Step& s) { return s.Is<RecordSaved>() && s.Goes(kSaving, kServing); }},
    {"T17 its term cannot be saved",
     [](const Step& s) { return s.Is<RecordSaveFailed>() && s.Says(Said::kTermUnsaved); }},
    {"T17 its term is not saved in a second",
     [](const Step& s) { return s.Is<DeadlineCame>() && s.Says(Said::kTermUnsaved); }},
    {"T17 without a disk",
     [](const Step& s) {
       return s.Does<BeginHistory>() && s.after == kServing && s.before != kServing;
     }},
    {"T18 a primary gives its replicas the last changes",
     [](const Step& s) {
       return s.Is<StopAsked>() && s.before == kServing && s.Does<EndHistory>();
     }},
    {"T18 a switch is cut",
     [](const Step& s) { return s.Is<StopAsked>() && s.before == kYielding; }},
    {"T18 a promotion is cut",
     [](const Step& s) {
       return s.Is<StopAsked>() && s.before == kSaving && s.Does<EndHistory>();
     }},
    {"T18 a replica ends its link",
     [](const Step& s) {
       return s.Is<StopAsked>() && s.before == kFollowing && s.Does<CloseLink>();
     }},
    {"start: a backup", [](const Step& s) { return s.Is<StateLoaded>() && s.Has(kIsBackup); }},
    {"start: an empty directory at the gate",
     [](const Step& s) { return s.Is<StateLoaded>() && !s.Has(kHasRecord) && s.after == kGated; }},
    {"start: a primary at the gate",
     [](const Step& s) { return s.Is<StateLoaded>() && s.Has(kHasRecord) && s.after == kGated; }},
    {"start: a primary without Sentinel",
     [](const Step& s) { return s.Is<StateLoaded>() && s.Has(kHasRecord) && s.after == kServing; }},
    {"start: a deposed server",
     [](const Step& s) { return s.Is<StateLoaded>() && s.after == kDeposed; }},
    {"start: a replica that may lack something",
     [](const Step& s) { return s.Is<StateLoaded>() && s.Says(Said::kMayLack); }},
    {"start: a replica that a command promotes",
     [](const Step& s) {
       return s.Is<StateLoaded>() && (s.after == kWaiting || s.Does<BeginHistory>());
     }},
    {"settings begin or end a distrust",
     [](const Step& s) { return s.Is<SettingsChanged>() && s.Has(kIsTrusted); }},
    {"epochs of hellos have fallen", [](const Step& s) { return s.Says(Said::kEpochsFell); }},
};

// The last step before it saves its term, or serves.
constexpr Branch kPromotions[] = {
    {"the gate", [](const Step& s) { return s.before == kGated && s.after == kServing; }},
    {"a planned switch",
     [](const Step& s) {
       return s.Is<YieldCame>() && s.before == kFollowing && s.Does<BeginHistory>();
     }},
    {"a question to the primary",
     [](const Step& s) {
       return s.Is<YieldCame>() && s.before == kAsking && s.Does<BeginHistory>();
     }},
    {"the end of the link",
     [](const Step& s) { return s.before == kWaiting && s.Does<BeginHistory>(); }},
    {"a command without a link",
     [](const Step& s) {
       return (s.Is<NoOneAsked>() || s.Is<PromoteAsked>()) && s.Does<BeginHistory>();
     }},
};

}  // namespace

std::span<const Branch> All() { return kBranches; }
std::span<const Branch> Promotions() { return kPromotions; }

}  // namespace weir::role_branches
