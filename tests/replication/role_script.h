// A role machine that a test drives by hand: events in, and the actions as words.
//
//     RoleScript role({.replicaof = kOther});
//     EXPECT_EQ(role.On(StateLoaded{}), "open-link:1");
//
// Publish is left out, as almost every event has one. A test gives the answers of links, saves and
// histories, too.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"

#include "core/base/id_type.h"
#include "replication/role.h"
#include "tests/replication/role_words.h"
#include "tests/support/fake_clock.h"

namespace weir {

inline constexpr Nanos kSentinelWait = std::chrono::seconds{30};
inline const HostAndPort kOther = {"other", 7379};
inline const HostAndPort kThird = {"third", 7379};
inline const std::string kIdA(kHistoryIdBytes, 'a');
inline const std::string kIdB(kHistoryIdBytes, 'b');

class RoleScript {
 public:
  explicit RoleScript(RoleSettings settings = {}) : role_(With(settings), NewId()) {}

  // Carries out the event, and returns the actions without those that are a line of the log.
  std::string On(const RoleEvent& event) {
    std::vector<RoleAction> actions;
    role_.On(event, now_, actions);
    if (role_.needs_id()) role_.set_next_id(NewId());
    std::vector<std::string> words;
    for (const RoleAction& action : actions) {
      if (const auto* open = std::get_if<OpenLink>(&action)) link_ = open->link;
      if (const auto* save = std::get_if<SaveRecord>(&action)) save_ = save->save;
      if (std::holds_alternative<PublishView>(action) || std::holds_alternative<Remark>(action)) {
        continue;
      }
      words.push_back(std::visit(WordsOfAction{}, action));
    }
    return absl::StrJoin(words, " ");
  }

  std::string Pass(Nanos time) {
    now_ += time;
    return On(DeadlineCame{});
  }
  std::string FailSave() { return On(RecordSaveFailed{save_}); }
  // All that was asked for is on disk.
  std::string SaveAll() { return On(RecordSaved{.save = save_, .term = record().term}); }
  // The link is accepted, and everything has come.
  void JoinLink(std::uint64_t term, const std::string& id) {
    On(SyncAnswered{.link = link_, .what = SyncAnswered::What::kAccepted, .term = term, .id = id});
    On(LinkUp{.link = link_, .is_exact = false});
    On(LinkSynced{link_});
  }
  std::string EndLink(std::uint64_t offset = 100, HostInstant promised_until = {}) {
    return On(LinkEnded{
        .link = link_, .offset = offset, .is_exact = true, .promised_until = promised_until});
  }

  [[nodiscard]] const RoleView& view() const { return *role_.view(); }
  [[nodiscard]] const History& record() const { return view().record; }
  [[nodiscard]] RoleState state() const { return view().state; }
  [[nodiscard]] HostInstant now() const { return now_; }
  [[nodiscard]] HostInstant wakes_at() const { return role_.wakes_at(); }
  [[nodiscard]] LinkNumber link() const { return link_; }

 private:
  static RoleSettings With(RoleSettings settings) {
    settings.has_disk = true;
    return settings;
  }
  std::string NewId() {
    static constexpr std::string_view kDigits = "0123456789";
    return std::string(kHistoryIdBytes, kDigits.at(ids_++ % kDigits.size()));
  }

  HostInstant now_ = FakeClock::kHostStart;
  std::size_t ids_ = 0;
  LinkNumber link_{};
  SaveNumber save_{};
  Role role_;
};

// A record on disk, of term 3.
inline History RecordOfPrimary() { return {.term = 3, .seen_term = 3, .id = kIdA, .offset = 50}; }
inline History RecordOfReplica() {
  History record = RecordOfPrimary();
  record.was_told = true;
  record.is_replica = true;
  record.primary = kOther;
  return record;
}

inline ReplicaView GoodReplica(std::string run_id, HostAndPort address) {
  return {.run_id = std::move(run_id),
          .address = std::move(address),
          .is_online = true,
          .is_synced = true,
          .is_there = true,
          .offset = 100};
}

inline ReplicaList TwoReplicas() {
  return {.all = {GoodReplica("r", kOther), GoodReplica("s", kThird)}, .head = 100};
}

// An RL.SYNC of a server of our group.
inline SyncAsked SyncOf(std::string run_id, std::uint64_t term, std::string id) {
  return {.run_id = std::move(run_id),
          .term = term,
          .id = std::move(id),
          .offset = 90,
          .has_our_secret = true,
          .connected_at = kHostInstantMax,
          .head = 100,
          .has_state = true};
}

// A primary with a replica in sync, in term 1.
inline RoleScript PrimaryScript() {
  RoleScript role;
  role.On(StateLoaded{});
  role.On(SyncOf("r", 0, ""));
  role.SaveAll();
  role.On(ReplicaInSync{});
  return role;
}

}  // namespace weir
