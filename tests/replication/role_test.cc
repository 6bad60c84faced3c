// Goal: each rule T1 to T18 of role.h does what it says, with the actions in the order that keeps
// the promises: a record before a YIELD, a term before an admission, the promise to the last
// primary before a term. Method: short scripts, one event after the other.
#include "replication/role.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/replication/role_script.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RoleScript ReplicaInSyncWith(const HostAndPort& primary, RoleSettings settings = {}) {
  settings.replicaof = primary;
  RoleScript role(settings);
  role.On(StateLoaded{});
  role.JoinLink(3, kIdA);
  return role;
}

// --- Starts --------------------------------------------------------------------------------------

TEST(RoleStartTest, AnEmptyServerServesUnlessSentinelWatchesIt) {
  RoleScript alone;
  EXPECT_EQ(alone.On(StateLoaded{}), "save");
  EXPECT_EQ(alone.state(), RoleState::kServing);
  EXPECT_TRUE(alone.view().is_complete);

  RoleScript watched({.is_watched = true, .sentinel_wait = kSentinelWait});
  watched.On(StateLoaded{});
  EXPECT_EQ(watched.state(), RoleState::kGated);
  EXPECT_EQ(watched.view().ping_refusal, PingRefusal::kRestarted) << "it may have lost its state";
  EXPECT_TRUE(watched.view().has_priority_zero);
  watched.On(HelloHeard{.epoch = 1, .names_us = true});
  watched.Pass(seconds{2});
  watched.On(HelloHeard{.epoch = 1, .names_us = true});
  EXPECT_EQ(watched.state(), RoleState::kGated) << "only the wait opens";
  watched.Pass(kSentinelWait);
  EXPECT_EQ(watched.state(), RoleState::kServing);
}

TEST(RoleStartTest, TheGateOpensAfterTwoConfirmations) {
  RoleScript role({.is_watched = true});
  role.On(StateLoaded{.record = RecordOfPrimary()});
  EXPECT_EQ(role.view().ping_refusal, PingRefusal::kNone);
  role.On(HelloHeard{.epoch = 1, .names_us = true});
  EXPECT_EQ(role.state(), RoleState::kGated);
  role.Pass(milliseconds{1900});
  role.On(HelloHeard{.epoch = 1, .names_us = true});
  EXPECT_EQ(role.state(), RoleState::kServing);
  EXPECT_EQ(role.record().term, 3U);
  EXPECT_EQ(role.record().id, "") << "replicas may have more of that history";
}

TEST(RoleStartTest, AfterACrashSentinelTakesAPrimaryForDeadThatMayHaveForgotten) {
  History record = RecordOfPrimary();
  record.had_replicas = true;
  for (const bool is_always : {false, true}) {
    RoleScript role({.is_always = is_always, .is_watched = true});
    role.On(StateLoaded{.record = record, .is_clean = false});
    EXPECT_EQ(role.view().ping_refusal == PingRefusal::kRestarted, !is_always);
    EXPECT_EQ(role.record().lacks, !is_always);
  }
}

TEST(RoleStartTest, ALackOutlivesACleanStop) {
  History record = RecordOfReplica();
  record.lacks = true;
  RoleScript role({.ack_replicas = 1});
  EXPECT_EQ(role.On(StateLoaded{.record = record}), "open-link:1>other");
  EXPECT_TRUE(role.view().is_distrusted);
  EXPECT_TRUE(role.view().has_priority_zero);
  EXPECT_EQ(role.On(PromoteAsked{}), "") << "refused";
  role.JoinLink(3, kIdA);
  EXPECT_FALSE(role.view().is_distrusted);
}

TEST(RoleStartTest, ARoleThatWasToldWinsOverTheOptionAndAnOptionOverABackup) {
  RoleScript told({.replicaof = kThird});
  EXPECT_EQ(told.On(StateLoaded{.record = RecordOfReplica()}), "open-link:1>other");
  RoleScript restored({.replicaof = kThird});
  EXPECT_EQ(restored.On(StateLoaded{.record = RecordOfReplica(), .is_backup = true}),
            "open-link:1>third");
  RoleScript alone;
  alone.On(StateLoaded{.record = RecordOfReplica(), .is_backup = true, .has_buckets = true});
  EXPECT_EQ(alone.state(), RoleState::kServing);
}

TEST(RoleStartTest, AServerThatWasToldToFollowSaysSoAfterARestartToo) {
  History record = RecordOfReplica();
  record.joins_any = true;
  RoleScript role;
  EXPECT_EQ(role.On(StateLoaded{.record = record}), "open-link:1>other!");
  role.JoinLink(1, kIdB);
  EXPECT_EQ(role.record().term, 1U) << "of an earlier primary";
}

TEST(RoleStartTest, AServerAtTheGateFollowsWhomAHelloNamesWithItsState) {
  RoleScript role({.is_watched = true});
  role.On(StateLoaded{.record = RecordOfPrimary(), .has_buckets = true});
  EXPECT_EQ(role.state(), RoleState::kGated);
  role.On(HelloHeard{.epoch = 3, .primary = kThird});
  EXPECT_EQ(role.state(), RoleState::kFollowing);
  EXPECT_EQ(role.record().primary, kThird);
  EXPECT_TRUE(role.view().is_complete) << "the server that is named may be dead";
}

TEST(RoleStartTest, TheLastCommandOfALoadingServerWins) {
  RoleScript role({.replicaof = kOther});
  EXPECT_EQ(role.On(FollowAsked{kThird}), "");
  EXPECT_EQ(role.On(NoOneAsked{}), "");
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "loading");
  role.On(StateLoaded{.record = RecordOfReplica()});
  EXPECT_EQ(role.state(), RoleState::kSaving) << "a replica that is promoted begins a term";
  role.SaveAll();
  EXPECT_EQ(role.state(), RoleState::kServing);
  EXPECT_EQ(role.record().term, 4U);
  EXPECT_TRUE(role.record().was_told);
  RoleScript follows;
  follows.On(NoOneAsked{});
  follows.On(FollowAsked{kThird});
  EXPECT_EQ(follows.On(StateLoaded{}), "open-link:1>third!");
}

TEST(RoleStartTest, ADeposedServerStaysDeposedUntilACommand) {
  History record = RecordOfPrimary();
  record.is_deposed = true;
  record.seen_term = 5;
  record.term = 5;
  RoleScript role;
  role.On(StateLoaded{.record = record});
  EXPECT_EQ(role.state(), RoleState::kDeposed);
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "no-primary");
  EXPECT_EQ(role.On(NoOneAsked{}), "end-history save");
  EXPECT_EQ(role.state(), RoleState::kServing) << "its term is on disk already";
  EXPECT_EQ(role.record().id, "");
}

// --- Following -----------------------------------------------------------------------------------

TEST(RoleTest, APrimaryRefusesBeforeItTakesTheLastChangesAndOpensItsLinkAfterThem) {
  RoleScript role = PrimaryScript();
  EXPECT_EQ(role.On(FollowAsked{kOther}), "barrier end-waits end-history save");
  EXPECT_EQ(role.state(), RoleState::kFollowing);
  EXPECT_EQ(role.On(HistoryEnded{.head = 120}), "open-link:1>other!");
  EXPECT_EQ(role.record().offset, 120U);
}

TEST(RoleTest, ALinkIsOpenedWhenTheOneBeforeHasEnded) {
  RoleScript role = ReplicaInSyncWith(kOther);
  EXPECT_EQ(role.On(FollowAsked{kThird}), "close-link:1 save");
  EXPECT_FALSE(role.view().is_link_up);
  EXPECT_EQ(role.On(LinkSynced{LinkNumber{1}}), "") << "of an old link";
  EXPECT_FALSE(role.view().is_synced);
  EXPECT_EQ(role.EndLink(70), "open-link:2>third!");
  EXPECT_EQ(role.record().offset, 70U);
}

TEST(RoleTest, LostLinksAreOpenedAgainAfterARestThatGrows) {
  RoleScript role = ReplicaInSyncWith(kOther);
  role.On(LinkLost{role.link()});
  role.EndLink();
  EXPECT_EQ(role.wakes_at(), role.now() + milliseconds{100});
  EXPECT_EQ(role.Pass(milliseconds{100}), "open-link:2>other");
  EXPECT_EQ(role.On(SyncAnswered{.link = role.link()}), "close-link:2");
  role.EndLink();
  EXPECT_EQ(role.Pass(milliseconds{199}), "");
  EXPECT_EQ(role.Pass(milliseconds{1}), "open-link:3>other");
}

TEST(RoleTest, AReferralIsFollowedOnceAndKeptWhenItIsJoined) {
  RoleScript role({.replicaof = kOther});
  role.On(StateLoaded{});
  const auto refer = [&](const HostAndPort& to) {
    return role.On(
        SyncAnswered{.link = role.link(), .what = SyncAnswered::What::kReferral, .address = to});
  };
  EXPECT_EQ(refer(kThird), "close-link:1");
  EXPECT_EQ(role.EndLink(), "open-link:2>third");
  EXPECT_EQ(refer(kOther), "close-link:2");
  role.EndLink();
  EXPECT_EQ(role.Pass(milliseconds{100}), "open-link:3>other") << "no ring of referrals";
  refer(kThird);
  role.EndLink();
  role.JoinLink(3, kIdA);
  EXPECT_EQ(role.record().primary, kThird);
  EXPECT_TRUE(role.record().was_told);
}

// T13.
TEST(RoleTest, AServerJoinsItsOwnHistoryALaterOneOrWhatItWasToldTo) {
  const auto answer = [](RoleScript& role, std::uint64_t term, const std::string& id,
                         bool has_our_secret = true) {
    return role.On(SyncAnswered{.link = role.link(),
                                .what = SyncAnswered::What::kAccepted,
                                .term = term,
                                .id = id,
                                .has_our_secret = has_our_secret,
                                .has_buckets = true});
  };
  for (const auto& [term, id, joins] :
       {std::tuple(3, kIdA, true), std::tuple(2, kIdA, true), std::tuple(4, kIdB, true),
        std::tuple(3, kIdB, true), std::tuple(2, kIdB, false),
        std::tuple(3, std::string(kHistoryIdBytes, '0'), false)}) {
    RoleScript role;
    role.On(StateLoaded{.record = RecordOfReplica()});
    EXPECT_EQ(answer(role, static_cast<std::uint64_t>(term), id),
              joins ? "join save" : "close-link:1")
        << term << id;
  }
  RoleScript stranger;
  stranger.On(StateLoaded{.record = RecordOfReplica()});
  EXPECT_EQ(answer(stranger, 9, kIdB, false), "close-link:1");
  RoleScript told;
  told.On(StateLoaded{.record = RecordOfReplica()});
  told.On(FollowAsked{kThird});
  told.EndLink();
  EXPECT_EQ(answer(told, 1, kIdB, false), "join save");
  EXPECT_EQ(told.record().term, 1U);
  EXPECT_FALSE(told.record().joins_any) << "the next one is by its term";
  EXPECT_EQ(told.record().seen_term, 3U) << "its next term is above all that it has seen";
}

TEST(RoleTest, AServerThatWasToldSaysSoToAnotherGroupOnce) {
  RoleScript role;
  role.On(StateLoaded{.record = RecordOfReplica()});
  role.On(FollowAsked{kThird});
  role.EndLink();
  const auto refuse = [&] {
    return role.On(SyncAnswered{.link = role.link(), .what = SyncAnswered::What::kOtherGroup});
  };
  EXPECT_EQ(refuse(), "close-link:2");
  EXPECT_EQ(role.EndLink(), "open-link:3>third!!");
  EXPECT_EQ(refuse(), "close-link:3");
  EXPECT_EQ(role.EndLink(), "") << "after a rest";
}

// --- Promotions ----------------------------------------------------------------------------------

// T3 and T17.
TEST(RoleTest, APromotionWaitsForTheEndOfTheLinkThenForItsPromiseThenForItsTerm) {
  RoleScript role = ReplicaInSyncWith(kOther);
  EXPECT_EQ(role.On(NoOneAsked{}), "close-link:1");
  EXPECT_EQ(role.state(), RoleState::kWaiting);
  const HostInstant promise = role.now() + seconds{2};
  EXPECT_EQ(role.EndLink(100, promise), "");
  EXPECT_EQ(role.wakes_at(), promise);
  EXPECT_EQ(role.Pass(seconds{2} - Nanos{1}), "");
  EXPECT_EQ(role.Pass(Nanos{1}), "begin-history+ save");
  EXPECT_EQ(role.state(), RoleState::kSaving);
  EXPECT_EQ(role.record().term, 4U);
  EXPECT_EQ(role.record().previous, kIdA);
  EXPECT_EQ(role.record().until, 100U);
  EXPECT_EQ(role.On(RecordSaved{.save = SaveNumber{1}, .term = 3}), "");
  EXPECT_EQ(role.state(), RoleState::kSaving) << "a save that began before";
  role.SaveAll();
  EXPECT_EQ(role.state(), RoleState::kServing);
}

TEST(RoleTest, ATermThatDoesNotGetOnDiskBeginsWithoutIt) {
  for (const bool fails : {true, false}) {
    RoleScript role = ReplicaInSyncWith(kOther);
    role.On(NoOneAsked{});
    role.EndLink();
    EXPECT_EQ(role.state(), RoleState::kSaving);
    fails ? role.FailSave() : role.Pass(seconds{1});
    EXPECT_EQ(role.state(), RoleState::kServing);
  }
}

TEST(RoleTest, AServerWithoutTheWholeStateHasNoHistoryToGoOnFrom) {
  RoleScript role({.replicaof = kOther});
  role.On(StateLoaded{.record = RecordOfReplica()});
  role.JoinLink(3, kIdA);
  role.On(LinkUp{.link = role.link(), .is_exact = false});
  EXPECT_EQ(role.record().id, "");
  role.On(NoOneAsked{});
  role.On(LinkEnded{.link = role.link(), .offset = 0, .is_exact = false});
  EXPECT_EQ(role.record().previous, "");
  EXPECT_EQ(role.record().until, 0U);
}

// It still has all of its history as of an earlier offset, which the end of the link says.
TEST(RoleTest, AReplicaThatGetsPartitionsAgainKeepsItsHistory) {
  RoleScript role({.replicaof = kOther});
  role.On(StateLoaded{.record = RecordOfReplica()});
  role.JoinLink(3, kIdA);
  role.On(LinkLacks{role.link()});
  EXPECT_FALSE(role.view().is_synced);
  EXPECT_EQ(role.record().id, kIdA);
  role.EndLink(40);
  EXPECT_EQ(role.record().offset, 40U);
}

// Each link ends before the first frame: the state is still that of the history before.
TEST(RoleTest, LinksThatBringNothingOfAHistoryDoNotMakeTheStateOneOfIt) {
  RoleScript role({.replicaof = kOther});
  role.On(StateLoaded{.record = RecordOfReplica()});
  for (int link = 1; link <= 3; ++link) {
    role.On(SyncAnswered{
        .link = role.link(), .what = SyncAnswered::What::kAccepted, .term = 4, .id = kIdB});
    role.EndLink(60);
    EXPECT_EQ(role.record().id, "") << link;
    role.Pass(seconds{3});
  }
  role.On(NoOneAsked{});
  role.EndLink(60);
  EXPECT_EQ(role.record().previous, "");
}

// T5.
TEST(RoleTest, APromotedReplicaAsksItsPrimaryForASecond) {
  RoleScript role = ReplicaInSyncWith(kOther);
  EXPECT_EQ(role.On(PromoteAsked{}), "ask");
  EXPECT_EQ(role.Pass(milliseconds{999}), "");
  EXPECT_EQ(role.Pass(milliseconds{1}), "close-link:1");
  EXPECT_EQ(role.state(), RoleState::kWaiting);

  RoleScript refused = ReplicaInSyncWith(kOther);
  refused.On(PromoteAsked{});
  refused.On(RefuseCame{refused.link()});
  EXPECT_EQ(refused.state(), RoleState::kFollowing) << "its primary is alive";

  RoleScript cut = ReplicaInSyncWith(kOther);
  cut.On(PromoteAsked{});
  cut.On(LinkLost{cut.link()});
  EXPECT_EQ(cut.EndLink(), "") << "not opened again";
  EXPECT_EQ(cut.Pass(seconds{1}), "begin-history+ save");

  RoleScript lacking = ReplicaInSyncWith(kOther);
  lacking.On(PromoteAsked{});
  lacking.On(LinkLacks{lacking.link()});
  EXPECT_EQ(lacking.state(), RoleState::kFollowing);
}

// T9.
TEST(RoleTest, AYieldMakesItThePrimaryUnlessItIsOld) {
  RoleScript role = ReplicaInSyncWith(kOther);
  const auto yield = [](RoleScript& to, Nanos age) {
    return to.On(
        YieldCame{.link = to.link(), .term = 7, .age = age, .offset = 130, .is_exact = true});
  };
  EXPECT_EQ(yield(role, seconds{2}), "close-link:1 begin-history+ save");
  EXPECT_EQ(role.record().term, 8U);
  EXPECT_EQ(role.record().until, 130U);
  EXPECT_EQ(role.EndLink(5), "") << "what the link says later";
  EXPECT_EQ(role.record().offset, 130U);
  RoleScript late = ReplicaInSyncWith(kOther);
  EXPECT_EQ(yield(late, seconds{2} + Nanos{1}), "close-link:1");
  EXPECT_EQ(late.state(), RoleState::kFollowing);
}

// --- Other servers -------------------------------------------------------------------------------

// T11.
TEST(RoleTest, TheFirstReplicaJoinsWhenTheTermIsOnDisk) {
  RoleScript role;
  role.On(StateLoaded{});
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "begin-history save loading");
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "loading");
  role.SaveAll();
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "accepted");
  EXPECT_EQ(role.On(SyncOf("r", 1, role.record().id)), "accepted@90");
  EXPECT_EQ(role.record().term, 1U);
}

// T10.
TEST(RoleTest, ALaterHistoryOfTheSameGroupDeposesAPrimary) {
  RoleScript role = PrimaryScript();
  SyncAsked stranger = SyncOf("x", 9, kIdB);
  stranger.has_our_secret = false;
  EXPECT_EQ(role.On(stranger), "other-group");
  EXPECT_EQ(role.state(), RoleState::kServing);
  EXPECT_EQ(role.On(SyncOf("x", 9, kIdB)), "barrier end-waits end-replicas save later-term");
  EXPECT_EQ(role.state(), RoleState::kDeposed);
  EXPECT_EQ(role.record().seen_term, 9U);
  EXPECT_EQ(role.record().term, 1U);
  EXPECT_EQ(role.On(NoOneAsked{}), "end-history save");
  EXPECT_EQ(role.state(), RoleState::kSaving);
  role.SaveAll();
  EXPECT_EQ(role.state(), RoleState::kServing);
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "loading") << "the old history has not ended yet";
  role.On(HistoryEnded{.head = 100});
  EXPECT_EQ(role.On(SyncOf("r", 0, "")), "begin-history save loading");
  EXPECT_EQ(role.record().term, 10U);
}

TEST(RoleTest, AStrangerWithAStateMustBeTold) {
  RoleScript role = PrimaryScript();
  SyncAsked stranger = SyncOf("x", 0, kIdB);
  stranger.has_our_secret = false;
  EXPECT_EQ(role.On(stranger), "other-group");
  stranger.was_told = true;
  EXPECT_EQ(role.On(stranger), "accepted");
}

TEST(RoleTest, ARestoredServerIsDeposedByNothingUntilItsTermIsOnDisk) {
  RoleScript role;
  role.On(StateLoaded{.record = RecordOfPrimary(), .is_backup = true, .has_buckets = true});
  EXPECT_EQ(role.On(SyncOf("r", 9, kIdB)), "begin-history save loading");
  EXPECT_EQ(role.record().term, 10U);
  EXPECT_EQ(role.On(SyncOf("s", 12, kIdB)), "end-replicas begin-history save loading");
  EXPECT_EQ(role.record().term, 13U);
  EXPECT_EQ(role.SaveAll(), "remove-mark");
  EXPECT_EQ(role.On(SyncOf("s", 20, kIdB)), "barrier end-waits end-replicas save later-term");
}

// --- Sentinel ------------------------------------------------------------------------------------

TEST(RoleTest, AHelloOfANewerEpochMakesAPrimaryFollow) {
  RoleScript role = PrimaryScript();
  role.On(HelloHeard{.epoch = 4, .names_us = true});
  EXPECT_EQ(role.On(HelloHeard{.epoch = 5, .primary = kThird}),
            "barrier end-waits end-history save close-clients");
  EXPECT_EQ(role.record().primary, kThird);
  EXPECT_EQ(role.record().sentinel_floor, 5U);
}

// T15.
TEST(RoleTest, AServerThatAllHellosNameServesWhenItsPrimaryIsNotThere) {
  RoleScript role = ReplicaInSyncWith(kOther);
  role.On(LinkLost{role.link()});
  role.EndLink();
  for (int second = 0; second < 10; second += 2) {
    role.On(HelloHeard{.epoch = 1, .names_us = true});
    EXPECT_EQ(role.state(), RoleState::kFollowing);
    role.Pass(seconds{2});
    if (second == 0) role.On(SyncAnswered{.link = role.link()});
  }
  role.On(HelloHeard{.epoch = 1, .names_us = true});
  EXPECT_EQ(role.state(), RoleState::kWaiting);
}

TEST(RoleTest, ADeposedServerThatAllHellosNameServesMuchLater) {
  RoleScript role({.sentinel_wait = kSentinelWait});
  History record = RecordOfPrimary();
  record.is_deposed = true;
  role.On(StateLoaded{.record = record});
  role.On(HelloHeard{.epoch = 1, .names_us = true});
  for (Nanos passed{0}; passed < 2 * kSentinelWait; passed += seconds{2}) {
    EXPECT_EQ(role.state(), RoleState::kDeposed);
    role.Pass(seconds{2});
    role.On(HelloHeard{.epoch = 1, .names_us = true});
  }
  EXPECT_EQ(role.state(), RoleState::kServing);
}

// T16.
TEST(RoleTest, DistrustEndsWithoutALinkAfterTheWait) {
  History record = RecordOfReplica();
  RoleScript role({.sentinel_wait = kSentinelWait, .ack_replicas = 1});
  role.On(StateLoaded{.record = record, .is_clean = false});
  EXPECT_TRUE(role.view().is_distrusted);
  EXPECT_LE(role.wakes_at(), role.now() + kSentinelWait);
  role.Pass(kSentinelWait);
  EXPECT_FALSE(role.view().is_distrusted);
  EXPECT_FALSE(role.record().lacks);
}

// T18.
TEST(RoleTest, ASwitchThatAStopCutsLeavesTheRecordOnDisk) {
  RoleScript role = PrimaryScript();
  EXPECT_EQ(role.On(StopAsked{}), "end-history");
  EXPECT_FALSE(role.record().had_replicas);
  EXPECT_FALSE(role.view().keeps_record);
  RoleScript yielding = PrimaryScript();
  yielding.On(FailoverAsked{.replicas = TwoReplicas()});
  yielding.On(ReplicasSeen{TwoReplicas()});
  yielding.On(StopAsked{});
  EXPECT_TRUE(yielding.view().keeps_record);
}

}  // namespace
}  // namespace weir
