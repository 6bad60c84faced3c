// Goal: roles go from one server to another by T6 to T8 and T12 of role.h, so that at no moment
// both may admit, whatever the disk does. Method: short scripts, one event after the other.
#include <string>

#include <gtest/gtest.h>

#include "tests/replication/role_script.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// T6 and T8.
TEST(RoleSwitchTest, AYieldLeavesAfterItsRecordIsOnDisk) {
  RoleScript role = PrimaryScript();
  EXPECT_EQ(role.On(FailoverAsked{.replicas = TwoReplicas()}), "ok");
  EXPECT_EQ(role.Pass(Nanos{0}), "look");
  ReplicaList behind = TwoReplicas();
  behind.head = 100 + 256 * 1024 + 1;
  EXPECT_EQ(role.On(ReplicasSeen{behind}), "");
  EXPECT_EQ(role.Pass(milliseconds{5}), "look");
  EXPECT_EQ(role.On(ReplicasSeen{TwoReplicas()}), "pause save barrier end-waits end-history>r");
  EXPECT_EQ(role.record().yielded_in, 1U);
  EXPECT_EQ(role.record().primary, kOther);
  EXPECT_EQ(role.SaveAll(), "let-yield");
  EXPECT_EQ(role.On(HistoryEnded{.head = 110, .has_yielded = true}), "save open-link:1>other");
  EXPECT_EQ(role.state(), RoleState::kFollowing);
  // Until its YIELD counts no more, it takes no role.
  role.On(NoOneAsked{});
  EXPECT_EQ(role.EndLink(), "");
  EXPECT_EQ(role.Pass(seconds{2}), "");
  EXPECT_EQ(role.Pass(milliseconds{3}), "begin-history+ save");
}

TEST(RoleSwitchTest, ADiskThatFailsDelaysAYieldAndOneThatHangsPreventsIt) {
  for (const bool fails : {true, false}) {
    RoleScript role = PrimaryScript();
    role.On(FailoverAsked{.replicas = TwoReplicas()});
    role.On(ReplicasSeen{TwoReplicas()});
    if (fails) {
      EXPECT_EQ(role.FailSave(), "");
    }
    EXPECT_EQ(role.Pass(milliseconds{300}), fails ? "let-yield" : "");
    EXPECT_EQ(role.On(HistoryEnded{.head = 110}), "begin-history+ save");
    EXPECT_EQ(role.FailSave(), "resume");
    EXPECT_EQ(role.record().term, 2U) << "it goes back, in a term above";
    EXPECT_EQ(role.record().yielded_in, 0U);
  }
}

TEST(RoleSwitchTest, ASwitchTakesAReplicaThatCanSaveUnlessItIsForced) {
  ReplicaList full = TwoReplicas();
  for (ReplicaView& replica : full.all) replica.cannot_save = true;
  RoleScript role = PrimaryScript();
  role.On(FailoverAsked{.request = {.timeout = seconds{1}}, .replicas = full});
  EXPECT_EQ(role.On(ReplicasSeen{full}), "");
  EXPECT_EQ(role.On(FailoverAsked{.replicas = full}), "ERR FAILOVER already in progress.");
  role.Pass(seconds{1});
  EXPECT_EQ(role.On(ReplicasSeen{full}), "");
  EXPECT_FALSE(role.view().is_switching) << "given up";
  role.On(FailoverAsked{.request = {.to = kThird, .force = true, .timeout = seconds{1}},
                        .replicas = full});
  role.Pass(seconds{1});
  EXPECT_EQ(role.On(ReplicasSeen{full}), "pause save barrier end-waits end-history>s");
}

TEST(RoleSwitchTest, ACommandWhileItYieldsIsCarriedOutAtItsEnd) {
  RoleScript role = PrimaryScript();
  role.On(FailoverAsked{.replicas = TwoReplicas()});
  role.On(ReplicasSeen{TwoReplicas()});
  role.SaveAll();
  EXPECT_EQ(role.On(NoOneAsked{}), "");
  EXPECT_EQ(role.On(FollowAsked{kThird}), "");
  EXPECT_EQ(role.On(SyncOf("s", 0, "")), "loading");
  role.On(HistoryEnded{.head = 110, .has_yielded = true});
  EXPECT_EQ(role.record().primary, kThird);
  EXPECT_EQ(role.record().yielded_in, 0U);
}

TEST(RoleSwitchTest, AHelloWhileItYieldsIsHeededAtItsEnd) {
  for (const bool has_yielded : {true, false}) {
    RoleScript role = PrimaryScript();
    role.On(HelloHeard{.epoch = 4, .names_us = true});
    role.On(FailoverAsked{.replicas = TwoReplicas()});
    role.On(ReplicasSeen{TwoReplicas()});
    role.On(HelloHeard{.epoch = 5, .primary = kThird});
    EXPECT_EQ(role.state(), RoleState::kYielding);
    role.On(HistoryEnded{.head = 110, .has_yielded = has_yielded});
    EXPECT_EQ(role.state(), RoleState::kFollowing);
    EXPECT_EQ(role.record().primary, kThird);
  }
}

// The refusal of PING after a switch ends no other state, and no other deadline ends it.
TEST(RoleSwitchTest, ARefusalOfPingHasADeadlineOfItsOwn) {
  RoleScript role({.is_watched = true});
  role.On(StateLoaded{.record = RecordOfPrimary()});
  role.On(NoOneAsked{});
  role.On(SyncOf("r", 0, ""));
  role.SaveAll();
  role.On(FailoverAsked{.replicas = TwoReplicas()});
  role.On(ReplicasSeen{TwoReplicas()});
  role.SaveAll();
  role.On(HistoryEnded{.head = 110, .has_yielded = true});
  EXPECT_EQ(role.view().ping_refusal, PingRefusal::kHandedOver);
  role.JoinLink(5, kIdB);
  role.Pass(seconds{30});
  EXPECT_EQ(role.view().ping_refusal, PingRefusal::kHandedOver);
  RoleScript late = role;
  EXPECT_EQ(role.On(PromoteAsked{}), "ask");
  EXPECT_EQ(role.wakes_at(), role.now() + seconds{1});
  role.Pass(seconds{1});
  EXPECT_EQ(role.state(), RoleState::kWaiting);
  EXPECT_EQ(role.view().ping_refusal, PingRefusal::kHandedOver);
  role.EndLink();
  EXPECT_EQ(role.state(), RoleState::kSaving);
  EXPECT_EQ(role.wakes_at(), role.now() + seconds{1});
  role.Pass(seconds{1});
  EXPECT_EQ(role.state(), RoleState::kServing);

  late.Pass(seconds{29});
  EXPECT_EQ(late.On(PromoteAsked{}), "ask");
  late.Pass(seconds{1} - Nanos{1});
  EXPECT_EQ(late.view().ping_refusal, PingRefusal::kHandedOver);
  late.On(RefuseCame{late.link()});
  late.Pass(Nanos{1});
  EXPECT_EQ(late.view().ping_refusal, PingRefusal::kNone);
  EXPECT_EQ(late.state(), RoleState::kFollowing);
}

// T7.
TEST(RoleSwitchTest, ATakeoverIsAnsweredByAYieldOrARefusal) {
  const auto asked = [](Nanos age, const ReplicaList& replicas) {
    return TakeoverAsked{.run_id = "r", .age = age, .replicas = replicas};
  };
  ReplicaList unsynced = TwoReplicas();
  unsynced.all[0].is_synced = false;
  ReplicaList full = TwoReplicas();
  full.all[0].cannot_save = true;
  ReplicaList gone = {.all = {GoodReplica("s", kThird)}, .head = 100};
  RoleScript role = PrimaryScript();
  EXPECT_EQ(role.On(asked(seconds{2} + Nanos{1}, TwoReplicas())), "refuse");
  for (const ReplicaList& replicas : {unsynced, full, gone}) {
    EXPECT_EQ(role.On(asked({}, replicas)), "refuse");
  }
  EXPECT_EQ(role.On(asked(seconds{2}, TwoReplicas())),
            "pause save barrier end-waits end-history>r");
  EXPECT_EQ(role.On(asked({}, TwoReplicas())), "refuse") << "one switch at a time";
  role.On(HistoryEnded{.head = 110});
  EXPECT_EQ(role.state(), RoleState::kFollowing) << "the replica may be a primary by now";
}

// T12.
TEST(RoleSwitchTest, ASuccessorThatAsksToFollowHasNotTakenOver) {
  const auto yielded = [] {
    RoleScript role = PrimaryScript();
    role.On(FailoverAsked{.replicas = TwoReplicas()});
    role.On(ReplicasSeen{TwoReplicas()});
    role.SaveAll();
    role.On(HistoryEnded{.head = 110, .has_yielded = true});
    return role;
  };
  RoleScript role = yielded();
  EXPECT_EQ(role.On(SyncOf("s", 1, role.record().id)), "referral") << "another replica";
  EXPECT_EQ(role.On(SyncOf("r", 2, kIdB)), "referral") << "in a later term";
  EXPECT_EQ(role.On(SyncOf("r", 1, role.record().id)), "close-link:1 loading");
  EXPECT_EQ(role.EndLink(), "begin-history+ save") << "at once: it has not taken the YIELD";
  EXPECT_EQ(role.record().term, 3U) << "above the term that it has heard of";

  // It has begun its history, and then crashed before its term was on disk.
  RoleScript joined = yielded();
  const std::string before = joined.record().id;
  joined.JoinLink(2, kIdB);
  EXPECT_EQ(joined.On(SyncOf("r", 2, "")), "referral") << "in the later term";
  EXPECT_EQ(joined.On(SyncOf("r", 1, before)), "close-link:1 loading");

  RoleScript restarted = yielded();
  SyncAsked from_its_address = SyncOf("new", 0, "");
  EXPECT_EQ(restarted.On(from_its_address), "referral");
  from_its_address.is_at_primary = true;
  EXPECT_EQ(restarted.On(from_its_address), "close-link:1 loading");
}

}  // namespace
}  // namespace weir
