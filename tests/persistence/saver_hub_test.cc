// Goal: a save in several parts, a new secret of the key hashes, and changes that come while a save
// takes its own survive failures and crashes at every moment. Method: consumers of the saver's hub
// that act between its steps, and a file system whose calls fail.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_restore.h"
#include "persistence/saver.h"
#include "tests/persistence/faulty_file_system.h"
#include "tests/persistence/kept_server.h"
#include "tests/support/table_contents.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::hours;
using testing::IsEmpty;

constexpr HashSecret kOther = {1, 2, 3};
constexpr HashSecret kThird = {4, 5, 6};

// Calls a function at its n-th batch, from 1.
class AtBatch final : public ChangeConsumer {
 public:
  AtBatch(ChangeHub& hub, int n, std::function<void()> act)
      : hub_(hub), left_(n), act_(std::move(act)) {
    hub_.Attach(*this);
  }
  ~AtBatch() override { hub_.Detach(*this); }
  void Consume(const ChangeBatch& /*batch*/) override {
    if (--left_ == 0) act_();
  }

 private:
  ChangeHub& hub_;
  int left_;
  const std::function<void()> act_;
};

class SaverHubTest : public testing::Test {
 protected:
  SaverHubTest() { Start(); }
  void Start() {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  // All calls of the file system from the n-th on fail.
  void FailFrom(std::int64_t n) {
    files_.FailFrom(n, 1'000'000'000, rocksdb::IOStatus::IOError("injected"));
  }
  // A try after a failure, when its time has come.
  absl::Status Retry() {
    files_.StopFailing();
    clock_.Advance(Saver::kRetryMax);
    return server_.Save();
  }
  // The same if calls could fail during a save, or after it. A compaction of RocksDB that fails
  // after a save fails the next one, too.
  absl::Status SaveAgain(bool saved) {
    const absl::Status next = Retry();
    return saved && !next.ok() ? Retry() : next;
  }
  // Ends as if the power was cut, and starts again.
  void CutPower() {
    files_.Crash();
    server_.End();
    files_.Restart();
    files_.StopFailing();
    Start();
  }

  TemporaryDirectory directory_;
  FaultyFileSystem files_;
  FakeClock clock_;
  KeptServer server_{clock_, {.directory = directory_.path(), .env = files_.env()}};
};

// --- The record of the history ---

// A record that is urgent until it is on disk.
class UrgentHistory final : public HistoryRecord {
 public:
  void BeginSave() override {}
  [[nodiscard]] std::string UrgentRecord() override { return is_urgent_ ? "urgent" : ""; }
  void OnUrgentSaved() override { is_urgent_ = false; }
  [[nodiscard]] std::string Record(bool /*is_last*/) override { return "complete"; }
  void EndSave() override {}
  [[nodiscard]] bool HasOwnRole() const override { return has_own_role_; }

  void GiveRole() { has_own_role_ = true; }
  [[nodiscard]] bool is_urgent() const noexcept { return is_urgent_; }

 private:
  bool is_urgent_ = true;
  bool has_own_role_ = false;
};

class SaverHistoryTest : public SaverHubTest {
 protected:
  // With the history from now on.
  void Restart() {
    server_.options().history = &history_;
    Start();
  }
  std::string OnDisk() {
    auto storage = Storage::Open(server_.options().database);
    EXPECT_TRUE(storage.ok());
    return (*storage)->history();
  }

  UrgentHistory history_;
};

TEST_F(SaverHistoryTest, AnUrgentRecordIsOnDiskBeforeTheChanges) {
  Restart();
  server_.Decide("a", "10/h");
  {
    const AtBatch fails(server_.hub(), 1, [&] { FailFrom(1); });
    EXPECT_FALSE(server_.Save().ok());
  }
  EXPECT_FALSE(history_.is_urgent());
  CutPower();
  EXPECT_EQ(server_.found().loaded, 0U);
  server_.End();
  EXPECT_EQ(OnDisk(), "urgent");
}

// A backup carries no role, until the server that was restored from it has one of its own.
TEST_F(SaverHistoryTest, ABackupCountsAsOneUntilItsServerHasARole) {
  directory_.Write(kBackupFile, "");
  const auto is_backup = [this] {
    auto storage = Storage::Open(server_.options().database);
    return storage.ok() && (*storage)->is_backup();
  };
  Restart();
  server_.Decide("a", "10/h");
  EXPECT_TRUE(server_.Stop().ok());
  server_.End();
  EXPECT_TRUE(is_backup());
  Restart();
  history_.GiveRole();
  EXPECT_TRUE(server_.Save().ok());
  server_.End();
  EXPECT_FALSE(is_backup());
}

TEST_F(SaverHistoryTest, AnUrgentRecordStaysUrgentUntilItIsWritten) {
  Restart();
  FailFrom(1);
  EXPECT_FALSE(server_.Save().ok());
  EXPECT_TRUE(history_.is_urgent());
  EXPECT_TRUE(Retry().ok());
  EXPECT_FALSE(history_.is_urgent());
  server_.End();
  EXPECT_EQ(OnDisk(), "complete");
}

// --- Parts ---

class SaverPartsTest : public SaverHubTest {
 protected:
  static constexpr std::size_t kKeys = ChangeReader::kTakenMax + ChangeReader::kTakenMax / 2;

  // Saves in two parts, of which the second fails.
  void FailInTheSecondPart() {
    for (std::size_t i = 0; i < kKeys; ++i) server_.Decide(std::to_string(i), "10/h");
    const AtBatch fails(server_.hub(), 2, [&] { FailFrom(1); });
    EXPECT_FALSE(server_.Save().ok());
    EXPECT_GT(server_.saver().status().unsaved, 0U);
    EXPECT_LT(server_.saver().status().unsaved, kKeys / 2);
  }
  // Compares the table with what a restart finds.
  void RestartAndCompare() {
    LimitNumbers numbers;
    const TableContents before = ContentsOf(server_.limiter(), clock_.Now(), numbers);
    CutPower();
    EXPECT_EQ(server_.found().bad, 0U);
    EXPECT_EQ(DifferenceOf(before, ContentsOf(server_.limiter(), clock_.Now(), numbers)), "");
  }
};

TEST_F(SaverPartsTest, ChangesSinceAFailedPartAreSavedByTheRetry) {
  FailInTheSecondPart();
  for (std::size_t i = 0; i < kKeys; i += 7) server_.Decide(std::to_string(i), "10/h", 2);
  for (std::size_t i = 0; i < kKeys; i += 11) {
    server_.limiter().Reset(std::to_string(i), {}, clock_.Now());
  }
  for (std::size_t i = 1; i < kKeys; i += 1001) {
    EXPECT_TRUE(server_.Hold(std::to_string(i), LimitOf("20/d"), "id", hours{1}));
  }
  server_.hub().TakeAll();  // by another taker
  for (std::size_t i = 0; i < kKeys; i += 13) server_.Decide(std::to_string(i), "10/h");
  EXPECT_TRUE(Retry().ok());
  EXPECT_EQ(server_.saver().status().unsaved, 0U);
  RestartAndCompare();
}

TEST_F(SaverPartsTest, AFlushSinceAFailedPartIsSavedByTheRetry) {
  FailInTheSecondPart();
  server_.upkeep().Clear();
  server_.Decide("new", "10/h", 3);
  EXPECT_TRUE(Retry().ok());
  RestartAndCompare();
  EXPECT_EQ(server_.upkeep().size().buckets, 1U);
  EXPECT_EQ(server_.Remaining("new", "10/h"), 7);
}

TEST_F(SaverPartsTest, AFlushBetweenPartsForgetsTheFirst) {
  for (std::size_t i = 0; i < kKeys; ++i) server_.Decide(std::to_string(i), "10/h");
  {
    const AtBatch clears(server_.hub(), 1, [&] {
      server_.upkeep().Clear();
      server_.Decide("new", "10/h", 3);
    });
    EXPECT_TRUE(server_.Save().ok());
  }
  EXPECT_TRUE(server_.Save().ok());
  RestartAndCompare();
  EXPECT_EQ(server_.upkeep().size().buckets, 1U);
}

// --- Changes while a save takes its own ---

// The bucket may be on disk before its policy. A crash then loses both, and nothing else.
TEST_F(SaverHubTest, APolicyThatIsMadeWhileASaveTakesItsChangesMayBeLost) {
  for (const int saves : {1, 2}) {
    server_.Decide("kept", "10/h", 3);
    for (int i = 0; i < 60; ++i) {  // the partition is copied
      server_.Decide("a", std::to_string(i + 1) + "/d");
      server_.limiter().Reset("a", {}, clock_.Now());
    }
    {
      const AtBatch sets(server_.hub(), 1, [&] {
        server_.SetPolicy("free", "100/h");
        EXPECT_TRUE(server_.DecideBy("free", "a", 40));
        const Limit limit = server_.policies().Find("free")->limits.front().limit;
        EXPECT_TRUE(server_.Hold("a", limit, "id", hours{1}, 10));
      });
      for (int i = 0; i < saves; ++i) EXPECT_TRUE(server_.Save().ok());
    }
    CutPower();
    EXPECT_EQ(server_.found().bad, 0U);
    EXPECT_THAT(server_.found().errors, IsEmpty());
    EXPECT_EQ(server_.policies().size().policies, saves == 2 ? 1U : 0U);
    EXPECT_EQ(server_.upkeep().counts().open_holds, saves == 2 ? 1U : 0U);
    EXPECT_EQ(server_.Remaining("kept", "10/h"), saves == 2 ? 4 : 7);
    if (saves == 1) continue;
    EXPECT_FALSE(server_.DecideBy("free", "a", 51));
  }
}

// --- Another secret ---

TEST_F(SaverHubTest, TheNewSecretIsSaved) {
  server_.Decide("old", "10/h", 3);
  EXPECT_TRUE(server_.Save().ok());
  LimiterRestore(server_.limiter().table()).StartOver(kOther);
  server_.Decide("new", "10/h", 4);
  EXPECT_TRUE(server_.Save().ok());
  server_.Decide("newer", "10/h", 5);
  EXPECT_TRUE(server_.Save().ok());
  CutPower();
  EXPECT_EQ(server_.limiter().hasher().secret(), kOther);
  EXPECT_EQ(server_.found().loaded, 2U);
  EXPECT_EQ(server_.Remaining("old", "10/h"), 10);
  EXPECT_EQ(server_.Remaining("new", "10/h"), 6);
  EXPECT_EQ(server_.Remaining("newer", "10/h"), 5);
}

// The secret and the buckets that were hashed with it are on disk together, or neither is.
TEST_F(SaverHubTest, ACrashAtAnyMomentKeepsTheSecretOfTheBuckets) {
  int before = 0;
  int after = 0;
  bool saved = false;
  for (std::int64_t n = 1; !saved; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_LT(n, 1000);
    const HashSecret old_secret = server_.limiter().hasher().secret();
    const HashSecret new_secret = {static_cast<unsigned char>(n), 9};
    server_.upkeep().Clear();
    server_.Decide("old", "10/h", 3);
    ASSERT_TRUE(server_.Save().ok());
    LimiterRestore(server_.limiter().table()).StartOver(new_secret);
    server_.Decide("new", "10/h", 4);
    FailFrom(n);
    saved = server_.Save().ok();
    CutPower();
    const bool is_new = server_.limiter().hasher().secret() == new_secret;
    ASSERT_TRUE(is_new || (!saved && server_.limiter().hasher().secret() == old_secret));
    ASSERT_EQ(server_.found().loaded, 1U);
    ASSERT_EQ(server_.Remaining("old", "10/h"), is_new ? 10 : 7);
    ASSERT_EQ(server_.Remaining("new", "10/h"), is_new ? 6 : 10);
    ++(is_new ? after : before);
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

TEST_F(SaverHubTest, ARetryAtAnyMomentWritesTheSecret) {
  bool saved = false;
  for (std::int64_t n = 1; !saved; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_LT(n, 1000);
    const HashSecret new_secret = {static_cast<unsigned char>(n), 9};
    LimiterRestore(server_.limiter().table()).StartOver(new_secret);
    server_.Decide("new", "10/h", 4);
    FailFrom(n);
    saved = server_.Save().ok();
    server_.Decide("newer", "10/h", 5);
    const absl::Status retried = SaveAgain(saved);
    ASSERT_TRUE(retried.ok()) << retried;
    CutPower();
    ASSERT_EQ(server_.limiter().hasher().secret(), new_secret);
    ASSERT_EQ(server_.Remaining("new", "10/h"), 6);
    ASSERT_EQ(server_.Remaining("newer", "10/h"), 5);
  }
}

// The save of one secret fails, perhaps after it was written; then comes the next secret.
TEST_F(SaverHubTest, TheDatabaseIsKnownByASecretThatIsGoneAlready) {
  bool saved = false;
  for (std::int64_t n = 1; !saved; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_LT(n, 1000);
    LimiterRestore(server_.limiter().table()).StartOver(kOther);
    server_.Decide("old", "10/h", 4);
    FailFrom(n);
    saved = server_.Save().ok();
    LimiterRestore(server_.limiter().table()).StartOver(kThird);
    server_.Decide("new", "10/h", 5);
    const absl::Status retried = SaveAgain(saved);
    ASSERT_TRUE(retried.ok()) << retried;
    CutPower();
    ASSERT_EQ(server_.limiter().hasher().secret(), kThird);
    ASSERT_EQ(server_.found().loaded, 1U);
    ASSERT_EQ(server_.Remaining("old", "10/h"), 10);
    ASSERT_EQ(server_.Remaining("new", "10/h"), 5);
  }
}

}  // namespace
}  // namespace weir
