// Goal: the table of transitions in role.h is what the machine does, in every state, for every
// event: law R20. Method: the table is read from the header; a machine is brought into the state by
// the shortest script and gets the event. What the table calls `!` cannot come, as a link's event
// with another number is dropped; wrong numbers of the caller's own actions end the process.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include <gtest/gtest.h>

#include "tests/replication/role_coverage.h"
#include "tests/replication/role_script.h"

namespace weir {
namespace {

using std::chrono::seconds;

ReplicaList OneReplica() { return {.all = {GoodReplica("r", kOther)}, .head = 100}; }

// The shortest way into each state of the table.
RoleScript In(RoleState state) {
  RoleSettings settings;
  settings.sentinel_wait = kSentinelWait;
  settings.is_watched = state == RoleState::kGated;
  const bool follows = IsReplica(state);
  if (follows) settings.replicaof = kOther;
  RoleScript role(settings);
  if (state == RoleState::kLoading) return role;
  role.On(StateLoaded{.record = state == RoleState::kGated ? std::optional(RecordOfPrimary())
                                                           : std::nullopt});
  if (follows) {
    role.JoinLink(3, kIdA);
    if (state == RoleState::kAsking) role.On(PromoteAsked{});
    if (state == RoleState::kWaiting || state == RoleState::kSaving) role.On(NoOneAsked{});
    if (state == RoleState::kSaving) role.EndLink();
    return role;
  }
  if (state == RoleState::kGated) return role;
  role.On(SyncOf("r", 0, ""));
  role.SaveAll();
  if (state == RoleState::kYielding) {
    role.On(FailoverAsked{.replicas = OneReplica()});
    role.On(ReplicasSeen{OneReplica()});
  }
  if (state == RoleState::kDeposed) role.On(SyncOf("x", 9, kIdB));
  if (state == RoleState::kStopping) role.On(StopAsked{});
  return role;
}

// The rows that are one event each; those of several have a line for each in On().
std::vector<RoleEvent> EventsOf(const std::string& row, const RoleScript& role) {
  const LinkNumber link = role.link();
  const std::map<std::string, std::vector<RoleEvent>> events = {
      {"FollowAsked", {FollowAsked{kThird}}},
      {"NoOneAsked", {NoOneAsked{}}},
      {"PromoteAsked", {PromoteAsked{}}},
      {"FailoverAsked", {FailoverAsked{.replicas = OneReplica()}}},
      {"TakeoverAsked", {TakeoverAsked{.run_id = "r", .replicas = OneReplica()}}},
      {"YieldCame", {YieldCame{.link = link, .term = 3, .offset = 9, .is_exact = true}}},
      {"RefuseCame", {RefuseCame{link}}},
      {"SyncAsked", {SyncOf("y", 0, "")}},
      {"SyncAnswered", {SyncAnswered{.link = link}}},
      {"LinkUp, Synced", {LinkUp{.link = link, .is_exact = true}, LinkSynced{link}}},
      {"LinkLacks", {LinkLacks{link}}},
      {"LinkLost", {LinkLost{link}}},
      {"ReplicaInSync", {ReplicaInSync{}}},
      {"hello confirms", {HelloHeard{.epoch = 7, .names_us = true}}},
      {"hello deposes", {HelloHeard{.epoch = 9, .primary = kThird}}},
      {"SaveFailed", {RecordSaveFailed{SaveNumber{1000}}}},
      {"StopAsked", {StopAsked{}}},
  };
  const auto found = events.find(row);
  return found == events.end() ? std::vector<RoleEvent>{} : found->second;
}

// The state in which a cell leaves the machine; none: in the same one.
std::optional<RoleState> StateAfter(const std::string& cell) {
  static const std::map<std::string, RoleState> kAfter = {
      {"T1", RoleState::kFollowing},  {"T2", RoleState::kServing},
      {"T2,no", RoleState::kServing}, {"T3", RoleState::kWaiting},
      {"T4", RoleState::kSaving},     {"T5", RoleState::kAsking},
      {"T7", RoleState::kYielding},   {"T9", RoleState::kSaving},
      {"T17", RoleState::kSaving},    {"Following", RoleState::kFollowing},
      {"serves", RoleState::kServing}};
  const auto found = kAfter.find(cell);
  return found == kAfter.end() ? std::nullopt : std::optional(found->second);
}

// The words that a cell makes the machine say; none: any.
std::optional<std::string> WordsOf(const std::string& cell) {
  static const std::map<std::string, std::string> kWords = {
      {"=", ""},           {"later", ""},          {"-", ""},
      {"no", "refuse"},    {"loading", "loading"}, {"referral", "referral"},
      {"T12", "referral"}, {"T12's", "referral"},  {"T10", "loading"},
      {"T6", "ok"},        {"T11", "accepted"},    {"facts", ""}};
  const auto found = kWords.find(cell);
  return found == kWords.end() ? std::nullopt : std::optional(found->second);
}

class RoleTableTest : public testing::TestWithParam<RoleState> {
 protected:
  static std::string CellOf(const RoleTableRow& row) {
    const auto column = std::ranges::find(kTableStates, GetParam()) - kTableStates.begin();
    return row.cells.at(static_cast<std::size_t>(column));
  }
  static const RoleTableRow& RowOf(const std::vector<RoleTableRow>& rows, const std::string& name) {
    const auto found = std::ranges::find(rows, name, &RoleTableRow::name);
    EXPECT_NE(found, rows.end()) << name;
    return *found;
  }
};

TEST_P(RoleTableTest, EveryEventDoesWhatTheTableSays) {
  int tried = 0;
  for (const RoleTableRow& row : ReadRoleTable()) {
    if (row.name == "StopAsked") continue;
    ASSERT_EQ(row.cells.size(), kTableStates.size()) << row.name;
    const std::string cell = CellOf(row);
    const RoleScript before = In(GetParam());
    ASSERT_EQ(before.state(), GetParam());
    for (const RoleEvent& event : EventsOf(row.name, before)) {
      RoleScript role = In(GetParam());
      ++tried;
      if (cell == "!" && GetParam() == RoleState::kAsking) {
        EXPECT_DEATH(role.On(event), "kFollowing") << row.name;
        continue;
      }
      std::string words = role.On(event);
      const std::string where = row.name + ", " + cell + ": " + words;
      if (cell == "!") {
        EXPECT_EQ(words, "") << where << ": no link has this number";
        EXPECT_EQ(role.state(), GetParam()) << where;
        continue;
      }
      EXPECT_EQ(role.state(), StateAfter(cell).value_or(GetParam())) << where;
      if (cell == "error") {
        EXPECT_TRUE(absl::StartsWith(words, "ERR ")) << where;
      }
      // A Sentinel's promotion that is refused says nothing, and a deposed server no more than
      // that.
      if (row.name == "PromoteAsked" && cell == "no") continue;
      if (row.name == "SyncAsked" && GetParam() == RoleState::kDeposed) {
        EXPECT_EQ(words, "no-primary") << where;
      } else if (const auto wanted = WordsOf(cell); wanted && StateAfter(cell) == std::nullopt) {
        // The floor of the hellos is saved.
        if (absl::StartsWith(row.name, "hello")) words = absl::StrReplaceAll(words, {{"save", ""}});
        EXPECT_EQ(words, *wanted) << where;
      }
    }
  }
  EXPECT_GE(tried, 17);
}

TEST_P(RoleTableTest, ResultsOfItsOwnActionsAndDeadlinesDoWhatTheTableSays) {
  const std::vector<RoleTableRow> rows = ReadRoleTable();
  {
    RoleScript role = In(GetParam());
    role.SaveAll();
    EXPECT_EQ(role.state(), StateAfter(CellOf(RowOf(rows, "RecordSaved"))).value_or(GetParam()));
  }
  {
    // Past every deadline of a state, but for those of the tests of T15 and T16.
    RoleScript role = In(GetParam());
    if (GetParam() == RoleState::kWaiting) role.EndLink(100, role.now() + seconds{1});
    role.Pass(GetParam() == RoleState::kGated ? kSentinelWait : seconds{1});
    EXPECT_EQ(role.state(), StateAfter(CellOf(RowOf(rows, "deadline"))).value_or(GetParam()));
  }
  if (GetParam() == RoleState::kYielding) {
    RoleScript role = In(GetParam());
    role.On(HistoryEnded{.head = 100, .has_yielded = true});
    EXPECT_EQ(role.state(), RoleState::kFollowing);
  }
  if (GetParam() == RoleState::kFollowing || GetParam() == RoleState::kAsking ||
      GetParam() == RoleState::kWaiting) {
    RoleScript role = In(GetParam());
    role.EndLink();
    EXPECT_EQ(role.state(), StateAfter(CellOf(RowOf(rows, "LinkEnded"))).value_or(GetParam()));
  }
}

// A stopping server, and one that loads, answer everything and change nothing.
TEST_P(RoleTableTest, AStoppingServerChangesNothing) {
  RoleScript role = In(GetParam());
  role.On(StopAsked{});
  ASSERT_EQ(role.state(), RoleState::kStopping);
  const History record = role.record();
  for (const RoleTableRow& row : ReadRoleTable()) {
    for (const RoleEvent& event : EventsOf(row.name, role)) {
      const std::string words = role.On(event);
      EXPECT_TRUE(words.empty() || words == "loading" || absl::StartsWith(words, "ERR "))
          << row.name << ": " << words;
      EXPECT_EQ(role.state(), RoleState::kStopping) << row.name;
    }
  }
  EXPECT_EQ(role.record(), record);
}

INSTANTIATE_TEST_SUITE_P(All, RoleTableTest, testing::ValuesIn(kTableStates));

TEST(RoleTableDeathTest, ResultsOfWhatWasNotAskedForEndTheProcess) {
  RoleScript serving = In(RoleState::kServing);
  EXPECT_DEATH(serving.On(HistoryEnded{}), "endings_ > 0");
  EXPECT_DEATH(serving.On(LinkEnded{.link = LinkNumber{1}}), "open_link_");
  EXPECT_DEATH(serving.On(StateLoaded{}), "kLoading");
  EXPECT_DEATH(serving.Pass(Nanos{-1}), "now >= now_");
  EXPECT_DEATH(Role({}, "no id"), "IsHistoryId");
}

}  // namespace
}  // namespace weir
