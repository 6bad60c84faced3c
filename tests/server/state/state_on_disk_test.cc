#include "server/state/state_on_disk.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// A server without sockets whose state is kept in a directory of the test.
class StateOnDiskTest : public ::testing::Test {
 protected:
  Options With(Durability durability) {
    Options options = DefaultOptions();
    options.data_dir = directory_.path() + "/data";
    options.durability = durability;
    options.snapshot_interval = std::chrono::hours{1};
    return options;
  }

  std::unique_ptr<StateOnDisk> Opened(const Options& options) {
    auto state = StateOnDisk::Open(options);
    EXPECT_TRUE(state.ok()) << state.status();
    return *std::move(state);
  }

  // A server whose state is opened, but not loaded yet.
  void Open(const Options& options) {
    state_ = Opened(options);
    server_ = std::make_unique<TestServer>(
        options, LimiterOptions{.secret = state_->secret(), .logs_changes = true});
    server_->services.state = state_.get();
    server_->services.policies.StartLogging();
  }

  void Load() {
    state_->StartLoading(server_->hub,
                         [](const absl::Status& loaded) { EXPECT_TRUE(loaded.ok()) << loaded; });
    state_->StartSaving(server_->services.settings,
                        [this](std::uint64_t ticket, const absl::Status& saved) {
                          EXPECT_TRUE(saved.ok()) << saved;
                          const std::lock_guard lock(mutex_);
                          saved_ = ticket;
                          changed_.notify_all();
                        });
  }

  void AwaitSave(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return saved_ >= ticket; });
  }

  // Runs one turn with these lines.
  Session::Turn Execute(Session& session, const std::vector<std::vector<std::string>>& requests,
                        std::string& replies) {
    std::string bytes;
    for (const auto& words : requests) bytes += RespRequest(words);
    return session.Execute(bytes, replies);
  }

  std::uint64_t CallsFailed(std::string_view name) {
    return server_->worker.command_counters.Of(*FindCommand(name)).failed.value();
  }

  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t saved_ = 0;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<StateOnDisk> state_;  // its thread uses all of the above
};

TEST_F(StateOnDiskTest, IsNotKeptWithoutADirectory) {
  EXPECT_EQ(Opened(With(Durability::kNone)), nullptr);
  Options options = With(Durability::kSnapshot);
  options.data_dir.clear();
  EXPECT_EQ(Opened(options), nullptr);
}

TEST_F(StateOnDiskTest, UntilItIsLoadedCommandsThatNeedItAreRefused) {
  Open(With(Durability::kSnapshot));
  Conversation client(*server_);
  EXPECT_THAT(client.Run("RL.ALLOW u 10/s"), StartsWith("-LOADING "));
  EXPECT_THAT(client.Run("LASTSAVE"), StartsWith("-LOADING "));
  EXPECT_THAT(client.Run("PING"), StartsWith("-LOADING ")) << "or a probe takes it for ready";
  EXPECT_EQ(client.Run("ECHO x"), "$1\r\nx\r\n");
  EXPECT_THAT(client.Run("INFO"), HasSubstr("loading:1\r\n"));
  Load();
  EXPECT_EQ(client.Ask("RL.ALLOW u 10/s").elements.size(), 5U);
  EXPECT_THAT(client.Run("INFO"), HasSubstr("loading:0\r\n"));
}

TEST_F(StateOnDiskTest, SnapshotDelaysOnlyTheReplyOfSave) {
  Open(With(Durability::kSnapshot));
  Load();
  Session session(server_->worker, server_->services.clients.Add("a", "b", 7, HostInstant{}));
  std::string replies;
  EXPECT_FALSE(
      Execute(session, {{"RL.ALLOW", "u", "10/s"}, {"RL.RESET", "u"}}, replies).delayed_from);
  EXPECT_TRUE(Execute(session, {{"PING"}, {"SAVE"}}, replies).delayed_from);
}

// Goal: with `always`, the reply of a request that changed something waits, and no other does.
// Method: a turn with one of each.
TEST_F(StateOnDiskTest, AlwaysDelaysRepliesToChanges) {
  Open(With(Durability::kAlways));
  Load();
  Session session(server_->worker, server_->services.clients.Add("a", "b", 7, HostInstant{}));
  const auto waits = [&](const std::vector<std::string>& words) {
    std::string replies;
    return Execute(session, {words}, replies).delayed_from.has_value();
  };
  EXPECT_TRUE(waits({"RL.ALLOW", "u", "1/h"}));
  EXPECT_FALSE(waits({"RL.ALLOW", "u", "1/h"}));  // denied
  EXPECT_TRUE(waits({"RL.ALLOW", "b", "1/h,ban=1d"}));
  EXPECT_TRUE(waits({"RL.ALLOW", "b", "1/h,ban=1d"}));   // banned
  EXPECT_FALSE(waits({"RL.ALLOW", "b", "1/h,ban=1d"}));  // denied in the ban
  EXPECT_FALSE(waits({"RL.ALLOW", "u", "1/h", "OR", "b", "1/h,ban=1d"}));
  EXPECT_TRUE(waits({"RL.ALLOW", "u", "1/h", "OR", "c", "1/h,ban=1d"}));
  EXPECT_FALSE(waits({"RL.PEEK", "v", "1/h"}));
  EXPECT_FALSE(waits({"RL.TAKE", "u", "1/h", "UPTO", "5"}));
  EXPECT_TRUE(waits({"RL.TAKE", "v", "9/h", "UPTO", "5"}));
  EXPECT_TRUE(waits({"RL.WAIT", "w", "1/h", "TIMEOUT", "0"}));
  EXPECT_TRUE(waits({"RL.CHARGE", "u", "1/h"}));  // beyond what is there
  EXPECT_TRUE(waits({"RL.REFUND", "u", "1/h"}));
  EXPECT_TRUE(waits({"RL.RESET", "u"}));
  EXPECT_TRUE(waits({"CL.THROTTLE", "t", "0", "1", "3600"}));
  EXPECT_FALSE(waits({"CL.THROTTLE", "t", "0", "1", "3600"}));
  EXPECT_TRUE(waits({"RL.POLICY", "SET", "free", "1/h"}));
  EXPECT_FALSE(waits({"RL.POLICY", "GET", "free"}));
  EXPECT_TRUE(waits({"RL.POLICY", "OVERRIDE", "free", "k", "2/h"}));
  EXPECT_TRUE(waits({"RL.POLICY", "UNOVERRIDE", "free", "k"}));
  EXPECT_TRUE(waits({"RL.POLICY", "DEL", "free"}));
  EXPECT_FALSE(waits({"RL.POLICY", "DEL", "free"}));  // an error
  EXPECT_TRUE(waits({"DEL", "u"}));
  EXPECT_TRUE(waits({"FLUSHALL"}));
  EXPECT_FALSE(waits({"PING"}));
}

// Goal: replies before the first change leave at once. When the save fails, an error replaces the
// replies that waited for it, and no others.
TEST_F(StateOnDiskTest, AFailedSaveReplacesTheRepliesThatWaitedForIt) {
  Open(With(Durability::kAlways));
  Load();
  Session session(server_->worker, server_->services.clients.Add("a", "b", 7, HostInstant{}));
  std::string replies;
  const Session::Turn turn = Execute(
      session, {{"PING"}, {"RL.RESET", "u"}, {"ECHO", "x"}, {"RL.RESET", "v"}, {"ECHO", "y"}},
      replies);
  ASSERT_EQ(replies, "+PONG\r\n:0\r\n$1\r\nx\r\n:0\r\n$1\r\ny\r\n");
  ASSERT_EQ(turn.delayed_from, std::string("+PONG\r\n").size());
  std::string unsaved = replies.substr(*turn.delayed_from);
  std::string served = unsaved;
  session.FinishDelayed(served, {.saved = absl::UnavailableError("full"), .fails_changes = false});
  EXPECT_EQ(served, unsaved);
  session.FinishDelayed(unsaved, {.saved = absl::UnavailableError("full"), .fails_changes = true});
  EXPECT_EQ(unsaved,
            "-MISCONF cannot save to disk: full\r\n$1\r\nx\r\n"
            "-MISCONF cannot save to disk: full\r\n$1\r\ny\r\n");
  EXPECT_EQ(CallsFailed("RL.RESET"), 2U);
  EXPECT_EQ(CallsFailed("ECHO") + CallsFailed("PING"), 0U);
}

// Giving a reservation back is a change, and the reply of an ended wait is an error already.
TEST_F(StateOnDiskTest, AnErrorThatWaitedForAFailedSaveFailsOnce) {
  Open(With(Durability::kAlways));
  Load();
  const auto record = server_->services.clients.Add("a", "b", 7, HostInstant{});
  Session session(server_->worker, record);
  std::string replies;
  const Session::Turn waiting = Execute(
      session, {{"RL.ALLOW", "u", "1/m"}, {"RL.WAIT", "u", "1/m", "TIMEOUT", "60000"}}, replies);
  ASSERT_EQ(waiting.next, Session::Next::kWait);
  record->blocked = ClientRecord::Blocked::kEndedAsError;
  replies.clear();
  const Session::Turn ended = session.Execute("", replies);
  ASSERT_EQ(replies, "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
  ASSERT_EQ(ended.delayed_from, 0U);
  session.FinishDelayed(replies, {.saved = absl::UnavailableError("full"), .fails_changes = true});
  EXPECT_EQ(CallsFailed("RL.WAIT"), 1U);
}

// Goal: the reply of RL.BACKUP is that of the thread of saves, whatever becomes of the save that
// the connection waits for, which may be a later one.
TEST_F(StateOnDiskTest, ABackupIsAnsweredAfterItsSave) {
  Options options = With(Durability::kSnapshot);
  options.backup_dir = directory_.path() + "/backups";
  Open(options);
  Load();
  Session session(server_->worker, server_->services.clients.Add("a", "b", 7, HostInstant{}));
  std::string replies;
  const Session::Turn turn =
      Execute(session, {{"PING"}, {"RL.BACKUP", "a"}, {"ECHO", "x"}, {"RL.BACKUP", "a"}}, replies);
  ASSERT_EQ(turn.delayed_from, std::string("+PONG\r\n").size());
  EXPECT_EQ(turn.awaited.save, Awaited::Save::kLateReply);
  AwaitSave(state_->RequestSave());
  replies.erase(0, *turn.delayed_from);
  session.FinishDelayed(replies, {.saved = absl::UnavailableError("full"), .fails_changes = true});
  EXPECT_THAT(replies, MatchesRegex("\\*2\r\n:[0-9]+\r\n:0\r\n\\$1\r\nx\r\n"
                                    "-ERR there is already a backup 'a' in .*\r\n"));
  EXPECT_EQ(CallsFailed("RL.BACKUP"), 1U);
  EXPECT_FALSE(Execute(session, {{"PING"}}, replies).awaited.any());
}

// Goal: when the save of a ticket has ended, all changes made before the ticket are on disk.
TEST_F(StateOnDiskTest, ATicketsSaveContainsAllEarlierChanges) {
  Open(With(Durability::kAlways));
  Load();
  {
    Conversation client(*server_);
    client.Run("RL.ALLOW u 10/d COST 3");
    AwaitSave(state_->RequestSave());
  }
  state_.reset();  // without a stop
  Open(With(Durability::kAlways));
  Load();
  Conversation later(*server_);
  EXPECT_EQ(later.Ask("RL.PEEK u 10/d COST 0").elements.at(1).number, 7);
}

// Goal: a new interval counts from the next save on. Method: an interval of an hour is replaced
// while the thread waits; a requested save is followed by one that was not requested.
TEST_F(StateOnDiskTest, ANewIntervalCountsFromTheNextSaveOn) {
  Open(With(Durability::kSnapshot));
  Load();
  Conversation client(*server_);
  EXPECT_EQ(client.Run("CONFIG SET snapshot-interval 10ms"), "+OK\r\n");
  AwaitSave(state_->RequestSave());
  client.Run("RL.ALLOW u 10/d");
  while (server_->services.upkeep.size().changes > 0) std::this_thread::yield();
}

TEST_F(StateOnDiskTest, AStopSavesTheRestAndTheNextStartHasIt) {
  Open(With(Durability::kSnapshot));
  Load();
  {
    Conversation client(*server_);
    client.Run("RL.ALLOW u 10/d COST 3");
    client.Run("RL.POLICY SET free 5/d");
  }
  EXPECT_TRUE(state_->Stop().ok());
  state_.reset();
  Open(With(Durability::kSnapshot));
  EXPECT_FALSE(state_->unclean_restart());
  Load();
  Conversation later(*server_);
  EXPECT_THAT(later.Show("RL.INSPECT u"), HasSubstr("7"));
  EXPECT_THAT(later.Show("RL.POLICY GET free"), HasSubstr("5/d"));
}

// Method: the files of an earlier stop, beside the mark of a later one.
TEST_F(StateOnDiskTest, SaysThatLossesWereAccepted) {
  namespace fs = std::filesystem;
  Options options = With(Durability::kAlways);
  const std::string earlier = directory_.path() + "/earlier";
  for (const char* const request : {"RL.ALLOW u 10/d", "RL.ALLOW v 10/d"}) {
    Open(options);
    EXPECT_FALSE(state_->has_losses());
    EXPECT_FALSE(state_->may_lack());
    Load();
    Conversation(*server_).Run(request);
    EXPECT_TRUE(state_->Stop().ok());
    state_.reset();
    if (!fs::exists(earlier)) fs::copy(options.data_dir, earlier, fs::copy_options::recursive);
  }
  fs::copy_file(options.data_dir + "/STOPPED", earlier + "/STOPPED",
                fs::copy_options::overwrite_existing);
  options.data_dir = earlier;
  EXPECT_FALSE(StateOnDisk::Open(options).ok());
  options.accept_damaged_state = true;
  const auto state = Opened(options);
  EXPECT_TRUE(state->has_losses());
  EXPECT_TRUE(state->may_lack());
}

TEST_F(StateOnDiskTest, TheClockStartsAtItsMarkAndLaterAfterACrash) {
  Options options = With(Durability::kSnapshot);
  Open(options);
  EXPECT_EQ(state_->previous_run().last_time, Instant{});
  Load();
  const Instant mark = server_->clock.Now();
  state_.reset();  // without a stop
  const SystemClock::PreviousRun past = Opened(options)->previous_run();
  EXPECT_EQ(past.last_time, mark);
  EXPECT_EQ(past.uncertainty, 2 * Nanos{options.snapshot_interval});
  Options always = options;
  always.durability = Durability::kAlways;
  EXPECT_EQ(Opened(always)->previous_run().uncertainty, Nanos{0});
  options.reset_clock = true;
  EXPECT_EQ(Opened(options)->previous_run().last_time, Instant{});
}

// Goal: crashes in a row while the wall clock is behind move the clock on by one allowance
// together, and a save ends that. Method: runs that end without a stop; each begins with the
// clock's stored past.
TEST_F(StateOnDiskTest, CrashesInARowAddUpToOneAllowance) {
  const Options options = With(Durability::kSnapshot);
  const Nanos allowance = 2 * Nanos{options.snapshot_interval};
  Open(options);
  Load();
  ASSERT_TRUE(state_->Stop().ok());
  const Instant mark = server_->clock.Now();
  state_.reset();
  const auto crash = [&] {
    Open(options);
    const SystemClock::PreviousRun past = state_->previous_run();
    server_->clock.Set(past.last_time + past.uncertainty);
    state_->KeepClockPast();
    Load();
  };
  crash();
  EXPECT_EQ(server_->clock.Now(), mark) << "the stop was clean";
  for (int i = 0; i < 5; ++i) {
    state_.reset();
    crash();
    EXPECT_EQ(server_->clock.Now(), mark + allowance) << i;
  }
  {
    Conversation client(*server_);
    client.Run("RL.ALLOW u 10/d");
  }
  AwaitSave(state_->RequestSave());
  state_.reset();
  Open(options);
  EXPECT_EQ(state_->previous_run().last_time, mark + allowance);
  EXPECT_EQ(state_->previous_run().uncertainty, allowance);
}

// Goal: a step that comes too early or twice ends the process, which would else lose the record of
// its role or wait forever.
TEST_F(StateOnDiskTest, ItsStepsComeOnceAndInOrder) {
  class NoHistory final : public HistoryRecord {
    void BeginSave() override {}
    [[nodiscard]] std::string UrgentRecord() override { return {}; }
    void OnUrgentSaved() override {}
    [[nodiscard]] std::string Record(bool) override { return {}; }
    void EndSave() override {}
  } history;
  Options options = With(Durability::kSnapshot);
  options.backup_dir = directory_.path() + "/backups";
  Open(options);
  EXPECT_DEATH(static_cast<void>(state_->RequestSave()), "!loading");
  EXPECT_DEATH(static_cast<void>(state_->status()), "!loading");
  EXPECT_DEATH(state_->RunAfterSave({}), "!loading");
  Load();
  EXPECT_DEATH(state_->KeepClockPast(), "has_begun_to_load");
  EXPECT_DEATH(state_->KeepHistory(history), "has_begun_to_load");
  EXPECT_DEATH(state_->StartLoading(server_->hub, {}), "has_begun_to_load");
  EXPECT_DEATH(state_->StartSaving(server_->services.settings, {}), "loading");
  state_.reset();
  Open(With(Durability::kSnapshot));
  EXPECT_DEATH(state_->RunAfterSave({}), "has_backups");
}

}  // namespace
}  // namespace weir
