// Goal: a saver that fails reports it at once, retries after 1, 2, 4 and then every 8 seconds,
// resumes without help, and loses no change made in the meantime. Method: a file system whose calls
// fail (faulty_file_system.h) and a clock that the test moves.
#include "persistence/saver.h"

#include <filesystem>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/limiter_restore.h"
#include "tests/persistence/faulty_file_system.h"
#include "tests/persistence/kept_server.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;

class SaverTest : public testing::Test {
 protected:
  SaverTest() { EXPECT_TRUE(server_.Start().ok()); }
  void FailAll() { files_.FailFrom(1, 1'000'000'000, rocksdb::IOStatus::IOError("injected")); }
  Saver::Status Status() { return server_.saver().status(); }

  TemporaryDirectory directory_;
  FaultyFileSystem files_;
  FakeClock clock_;
  KeptServer server_{clock_, {.directory = directory_.path(), .env = files_.env()}};
};

TEST_F(SaverTest, CountsWhatItSaves) {
  EXPECT_FALSE(Status().last_save);
  server_.Decide("a", "10/h");
  server_.Decide("b", "10/h");
  EXPECT_TRUE(server_.Save().ok());
  EXPECT_EQ(Status().saves, 1U);
  EXPECT_EQ(Status().last_save_records, 2U);
  EXPECT_EQ(Status().last_save, clock_.HostNow());
  clock_.Advance(std::chrono::seconds{1});
  EXPECT_TRUE(server_.Save().ok());
  EXPECT_EQ(Status().saves, 1U) << "there was nothing to write";
  EXPECT_EQ(Status().last_save, clock_.HostNow());
  EXPECT_EQ(Status().failures, 0U);
}

TEST_F(SaverTest, TriesAgainAfterOneTwoFourAndThenEightSeconds) {
  FailAll();
  server_.Decide("a", "10/h", 3);
  EXPECT_FALSE(server_.Save().ok());
  EXPECT_THAT(Status().error, HasSubstr("injected"));
  EXPECT_EQ(Status().failures, 1U);
  std::uint64_t failures = 1;
  for (const int seconds : {1, 2, 4, 8, 8, 8}) {
    clock_.Advance(std::chrono::seconds{seconds} - Nanos{1});
    EXPECT_FALSE(server_.Save().ok());
    EXPECT_EQ(Status().failures, failures) << "not before " << seconds << " s";
    EXPECT_FALSE(Status().error.empty());
    server_.Decide("a", "10/h,fixed");
    clock_.Advance(Nanos{1});
    EXPECT_FALSE(server_.Save().ok());
    EXPECT_EQ(Status().failures, ++failures) << "after " << seconds << " s";
  }
  server_.limiter().Reset("a", {}, clock_.Now());
  server_.Decide("a", "20/h", 4);
  files_.StopFailing();
  EXPECT_FALSE(server_.Save().ok()) << "it is not time yet";
  clock_.Advance(Saver::kRetryMax);
  EXPECT_TRUE(server_.Save().ok());
  EXPECT_EQ(Status().error, "");
  EXPECT_EQ(Status().saves, 1U);
  FailAll();
  server_.Decide("b", "10/h", 3);
  EXPECT_FALSE(server_.Save().ok());
  files_.StopFailing();
  clock_.Advance(Saver::kRetryMin);
  EXPECT_TRUE(server_.Save().ok()) << "the first wait is short again";
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.found().loaded, 2U);
  EXPECT_EQ(server_.Remaining("a", "20/h"), 16);
  EXPECT_EQ(server_.Remaining("b", "10/h"), 7);
}

// Moves the time of decisions when a save has begun.
class JumpInASave final : public HistoryRecord {
 public:
  JumpInASave(FakeClock& clock, Nanos span) : clock_(clock), span_(span) {}

  void BeginSave() override { clock_.Jump(std::exchange(span_, Nanos{0})); }
  std::string UrgentRecord() override { return ""; }
  void OnUrgentSaved() override {}
  std::string Record(bool /*is_last*/) override { return ""; }
  void EndSave() override { clock_.Advance(std::chrono::milliseconds{7}); }

 private:
  FakeClock& clock_;
  Nanos span_;
};

// A server whose time goes back, or leaps, because it begins to follow a primary.
TEST_F(SaverTest, ItsTimesAreThoseOfTheHost) {
  for (const Nanos jump : {Nanos{-std::chrono::hours{1}}, Nanos{std::chrono::hours{1}}}) {
    JumpInASave history(clock_, jump);
    server_.options().history = &history;
    ASSERT_TRUE(server_.Start().ok());
    const HostInstant begun = clock_.HostNow();
    server_.Decide("a", "10/h");
    ASSERT_TRUE(server_.Save().ok());
    EXPECT_EQ(Status().last_save, begun);
    EXPECT_EQ(Status().last_save_duration, std::chrono::milliseconds{7});
    FailAll();
    server_.Decide("b", "10/h");  // The bucket of "a" may be used up at an earlier time.
    ASSERT_FALSE(server_.Save().ok());
    files_.StopFailing();
    clock_.Jump(jump);
    EXPECT_FALSE(server_.Save().ok()) << "the time of the next try has not come";
    clock_.Advance(Saver::kRetryMin);
    EXPECT_TRUE(server_.Save().ok());
    server_.End();
  }
}

TEST_F(SaverTest, WhatCouldNotBeWrittenComesBeforeALaterFlush) {
  server_.Decide("a", "10/h");
  FailAll();
  EXPECT_FALSE(server_.Save().ok());
  EXPECT_EQ(Status().unsaved, 1U);
  server_.upkeep().Clear();
  server_.Decide("b", "10/h");
  files_.StopFailing();
  clock_.Advance(Saver::kRetryMin);
  EXPECT_TRUE(server_.Save().ok());
  EXPECT_EQ(Status().unsaved, 0U);
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.Remaining("a", "10/h"), 10);
  EXPECT_EQ(server_.Remaining("b", "10/h"), 9);
}

TEST_F(SaverTest, SavesTheSecretThatALimiterStartsOverWith) {
  server_.Decide("a", "10/h");
  ASSERT_TRUE(server_.Save().ok());
  HashSecret secret{};
  secret.front() = 1;
  LimiterRestore(server_.limiter().table()).StartOver(secret);
  server_.Decide("b", "10/h", 3);
  ASSERT_TRUE(server_.Save().ok());
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.limiter().hasher().secret(), secret);
  EXPECT_EQ(server_.found().loaded, 1U);
}

TEST_F(SaverTest, TheLastSaveIsTriedAtOnce) {
  server_.Decide("a", "10/h");
  FailAll();
  EXPECT_FALSE(server_.Save().ok());
  files_.StopFailing();
  EXPECT_TRUE(server_.Stop().ok());
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().loaded, 1U);
}

// Goal: the saver refuses a directory that has become empty (as if its disk is not mounted), and
// the database of another server.
TEST_F(SaverTest, RefusesAnyOtherDatabase) {
  FailAll();
  server_.Decide("a", "10/h");
  EXPECT_FALSE(server_.Save().ok());
  files_.StopFailing();
  std::filesystem::remove_all(directory_.path());
  clock_.Advance(Saver::kRetryMin);
  EXPECT_THAT(server_.Save().message(), HasSubstr("the database is gone"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path()));
  EXPECT_TRUE(Storage::Open({.directory = directory_.path()}).ok());
  clock_.Advance(Saver::kRetryMax);
  const absl::Status saved = server_.Save();
  EXPECT_EQ(saved.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(saved.message(), HasSubstr("another server's database"));
}

// A file that cannot be deleted may be a file of the database under another name.
TEST_F(SaverTest, NeverOverwritesAFileThatCannotBeDeleted) {
  for (int i = 0; i < 5000; ++i) server_.Decide(std::to_string(i), "10/h");
  EXPECT_TRUE(server_.Save().ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    if (entry.path().extension() != ".sst" || entry.path().filename() == "next.sst") continue;
    std::filesystem::remove(directory_.path() + "/next.sst");
    std::filesystem::create_hard_link(entry.path(), directory_.path() + "/next.sst");
  }
  ASSERT_TRUE(std::filesystem::exists(directory_.path() + "/next.sst"));
  for (int i = 0; i < 5000; ++i) server_.Decide(std::to_string(i), "10/h");
  files_.FailFrom(1, 1, rocksdb::IOStatus::IOError("injected"));
  EXPECT_FALSE(server_.Save().ok());
  clock_.Advance(Saver::kRetryMin);
  EXPECT_TRUE(server_.Save().ok());
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.found().loaded, 5000U);
  EXPECT_EQ(server_.Remaining("77", "10/h"), 8);
}

}  // namespace
}  // namespace weir
