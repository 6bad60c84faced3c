// Goal: a backup is the state at one save, complete under its name or absent, and neither a backup
// that fails nor what lies beside it does any harm. Method: backups of a kept server, restored by a
// start on a copy or on the backup itself; and a file system whose calls fail or whose power is cut
// (faulty_file_system.h).
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "persistence/backup_directory.h"
#include "tests/persistence/faulty_file_system.h"
#include "tests/persistence/kept_server.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

constexpr int kManyKeys = 4200;  // keys that make a tick a large write

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    EXPECT_TRUE(server_.Start().ok());
    OpenBackups();
  }

  void OpenBackups() {
    backups_.reset();
    auto opened = BackupDirectory::Open(PathOf(""), data_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    backups_ = *std::move(opened);
  }
  std::string PathOf(const std::string& name) const {
    return directory_.path() + "/backups" + (name.empty() ? "" : "/" + name);
  }
  absl::StatusOr<Backup> TryMake(std::string_view name) {
    if (absl::Status saved = server_.Save(); !saved.ok()) return saved;
    return backups_->Make(name, [&](const std::string& to) { return server_.saver().LinkTo(to); });
  }
  void Make(std::string_view name) {
    const auto made = TryMake(name);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->name, name);
    EXPECT_GT(made->bytes, 0U);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto listed = backups_->List();
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const Backup& backup : *listed) names.push_back(backup.name);
    return names;
  }
  // The entries of the directory, backups or not.
  std::vector<std::string> Entries(const std::string& name = "") const {
    std::vector<std::string> entries;
    for (const auto& entry : fs::directory_iterator(PathOf(name))) {
      entries.push_back(entry.path().filename());
    }
    std::ranges::sort(entries);
    return entries;
  }
  // A server on a copy of the backup, as a restore makes one.
  std::unique_ptr<KeptServer> Restore(const std::string& name) {
    const std::string copy = directory_.path() + "/restored";
    fs::remove_all(copy);
    fs::copy(PathOf(name), copy, fs::copy_options::recursive);
    auto server = std::make_unique<KeptServer>(clock_, DatabaseOptions{.directory = copy});
    const absl::Status started = server->Start();
    EXPECT_TRUE(started.ok()) << started;
    return server;
  }

  // Makes a directory; empty if there is none on another file system.
  std::string DirectoryOnAnotherFileSystem() const {
    for (std::string path : {"/dev/shm/weir_test_XXXXXX", "/var/tmp/weir_test_XXXXXX"}) {
      struct stat here = {};
      struct stat there = {};
      if (mkdtemp(path.data()) == nullptr) continue;
      EXPECT_EQ(stat(directory_.path().c_str(), &here), 0);
      EXPECT_EQ(stat(path.c_str(), &there), 0);
      if (here.st_dev != there.st_dev) return path;
      fs::remove(path);
    }
    return {};
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_.path() + "/data";
  FaultyFileSystem files_;
  FakeClock clock_;
  KeptServer server_{clock_, {.directory = data_, .env = files_.env()}};
  std::unique_ptr<BackupDirectory> backups_;
};

TEST_F(BackupTest, ARestoreHasEveryKindOfStateAndNothingLater) {
  server_.SetPolicy("free", "10/d");
  ASSERT_TRUE(server_.policies().Override("free", "vip", KeptServer::LimitsOf("50/d")).ok());
  server_.DecideBy("free", "user:1", 4);
  server_.Decide("user:2", "10/d,fixed", 3);
  const Limit held = LimitOf("20/d,fixed");
  EXPECT_TRUE(server_.Hold("user:2", held, "id", std::chrono::hours{1}, 5));
  clock_.Advance(std::chrono::minutes{1});
  Make("one");
  const Instant made = clock_.Now();
  clock_.Advance(std::chrono::minutes{1});
  server_.Decide("user:2", "10/d,fixed", 3);
  server_.SetPolicy("later", "1/d");
  EXPECT_TRUE(server_.Commit("user:2", "id", 1));
  ASSERT_TRUE(server_.Save().ok());
  const auto restored = Restore("one");
  EXPECT_EQ(restored->found().clock_mark, made);
  EXPECT_EQ(restored->found().loaded, 3U);
  EXPECT_EQ(restored->found().holds, 1U);
  EXPECT_EQ(restored->found().bad, 0U);
  EXPECT_EQ(restored->Remaining("user:2", "10/d,fixed"), 7);
  EXPECT_EQ(restored->Remaining("user:2", "20/d,fixed"), 15);
  EXPECT_TRUE(restored->Commit("user:2", "id", 0));
  EXPECT_EQ(restored->Remaining("user:2", "20/d,fixed"), 20);
  EXPECT_FALSE(restored->policies().Find("later"));
  ASSERT_TRUE(restored->policies().Find("free"));
  EXPECT_EQ(restored->policies().Find("free")->overrides->size(), 1U);
  EXPECT_FALSE(restored->DecideBy("free", "user:1", 7));
  EXPECT_TRUE(restored->DecideBy("free", "user:1", 6));
}

// Goal: the mark of the clock is that of the backup even if nothing has changed for long.
TEST_F(BackupTest, ABackupWithoutChangesHasTheTimeOfTheBackup) {
  server_.Decide("user", "10/d");
  ASSERT_TRUE(server_.Save().ok());
  clock_.Advance(std::chrono::hours{1});
  Make("late");
  EXPECT_EQ(Restore("late")->found().clock_mark, clock_.Now());
}

TEST_F(BackupTest, ABackupOutlivesTheServersFilesAndTheServerOutlivesIt) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kManyKeys; ++i) server_.Decide("bulk:" + std::to_string(i), "1000/d");
    Make("round-" + std::to_string(round));
  }
  EXPECT_TRUE(backups_->Remove("round-1").ok());
  EXPECT_EQ(Restore("round-0")->Remaining("bulk:7", "1000/d"), 999);
  EXPECT_EQ(Restore("round-2")->Remaining("bulk:7", "1000/d"), 997);
  {
    // A server that works in the backup itself changes no file of the other one.
    KeptServer in_place(clock_, {.directory = PathOf("round-2")});
    ASSERT_TRUE(in_place.Start().ok());
    for (int i = 0; i < kManyKeys; ++i) in_place.Decide("bulk:" + std::to_string(i), "1000/d", 100);
    ASSERT_TRUE(in_place.Stop().ok());
  }
  EXPECT_THAT(Names(), ElementsAre("round-0")) << "a server has run in round-2";
  fs::remove_all(PathOf("round-0"));
  ASSERT_TRUE(server_.Stop().ok());
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.Remaining("bulk:7", "1000/d"), 997);
}

TEST_F(BackupTest, HoldsOnlyTheDatabaseForItsOwnerAlone) {
  for (int i = 0; i < kManyKeys; ++i) server_.Decide("bulk:" + std::to_string(i), "1000/d");
  Make("a");
  for (const std::string& name : Entries("a")) {
    if (name.ends_with(".log") && fs::is_empty(PathOf("a/" + name))) continue;  // RocksDB 9 has one
    EXPECT_THAT(name,
                MatchesRegex("BACKUP|CURRENT|STOPPED|MANIFEST-[0-9]+|OPTIONS-[0-9]+|[0-9]+\\.sst"));
  }
  for (const std::string& name : {std::string(), std::string("a")}) {
    struct stat made = {};
    ASSERT_EQ(stat(PathOf(name).c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0700U) << name;
  }
  EXPECT_THAT(Entries(), ElementsAre("a"));
  EXPECT_FALSE(fs::exists(data_ + "/STOPPED")) << "the server has not stopped";
}

// Goal: a copy that lost records is refused, as a directory after a clean stop is. Method: each
// file is left out, or cut by a byte or to some sixteenths.
TEST_F(BackupTest, ABackupThatIsNotCompleteIsRefused) {
  for (int i = 0; i < kManyKeys; ++i) server_.Decide("bulk:" + std::to_string(i), "1000/d");
  ASSERT_TRUE(server_.Save().ok());
  server_.Decide("in the log", "1000/d");
  Make("a");
  int files = 0;
  for (const std::string& name : Entries("a")) {
    const std::uintmax_t size = fs::file_size(PathOf("a/" + name));
    if (size == 0 || name == "STOPPED" || name.starts_with("OPTIONS")) continue;  // no records
    ++files;
    std::vector<std::optional<std::uintmax_t>> lengths = {std::nullopt, size - 1};
    for (std::uintmax_t part = 0; part < 16; ++part) lengths.push_back(size * part / 16);
    for (const std::optional<std::uintmax_t>& length : lengths) {
      const std::string copy = directory_.path() + "/damaged";
      fs::remove_all(copy);
      fs::copy(PathOf("a"), copy, fs::copy_options::recursive);
      const std::string path = copy + "/" + name;
      if (length) {
        fs::resize_file(path, *length);
      } else {
        fs::remove(path);
      }
      KeptServer server(clock_, {.directory = copy});
      if (!server.Start().ok()) continue;
      // The end of MANIFEST may say nothing about the records.
      EXPECT_TRUE(length && name.starts_with("MANIFEST")) << name;
      EXPECT_EQ(server.found().loaded, std::uint64_t{kManyKeys + 1}) << name << " " << *length;
    }
  }
  EXPECT_GE(files, 3);
}

TEST_F(BackupTest, NamesThatClimbOrAreNoNamesAreRefused) {
  for (const std::string& bad :
       {std::string("../x"), std::string("a/b"), std::string("."), std::string(".."), std::string(),
        std::string("A"), std::string("a b"), std::string("a\0b", 3), std::string(65, 'a'),
        std::string("x.weir-tmp")}) {
    const absl::Status refused = TryMake(bad).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("must be 1 to 64 of a-z, 0-9 and -"));
    EXPECT_EQ(backups_->Remove(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_FALSE(fs::exists(directory_.path() + "/x"));
  Make(std::string(64, 'z'));
  Make("0-9");
}

TEST_F(BackupTest, ANameIsGivenOnce) {
  server_.Decide("user", "10/d", 3);
  Make("a");
  server_.Decide("user", "10/d", 3);
  const absl::Status again = TryMake("a").status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("there is already a backup 'a'"));
  EXPECT_EQ(Restore("a")->Remaining("user", "10/d"), 7);
  EXPECT_TRUE(backups_->Remove("a").ok());
  EXPECT_EQ(backups_->Remove("a").code(), absl::StatusCode::kNotFound);
  Make("a");
  EXPECT_EQ(Restore("a")->Remaining("user", "10/d"), 4);
}

TEST_F(BackupTest, SixtyFourBackupsAreKept) {
  for (std::size_t i = 0; i < kBackupsMax; ++i) Make("b" + std::to_string(i));
  const absl::Status one_more = TryMake("one-more").status();
  EXPECT_EQ(one_more.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(one_more.message()), HasSubstr("there are 64 backups already"));
  EXPECT_EQ(Names().size(), kBackupsMax);
  EXPECT_TRUE(backups_->Remove("b7").ok());
  Make("one-more");
}

// Goal: files that are no backups are neither listed, removed nor overwritten. Method: a file, an
// empty directory, a link to a backup, and a directory in which a server has run.
TEST_F(BackupTest, LeavesOtherFilesAlone) {
  Make("mine");
  directory_.Write("backups/file", "text");
  fs::create_directory(PathOf("empty"));
  fs::create_directory_symlink(PathOf("mine"), PathOf("link"));
  {
    KeptServer other(clock_, {.directory = PathOf("other")});
    ASSERT_TRUE(other.Start().ok());
  }
  OpenBackups();
  EXPECT_THAT(Names(), ElementsAre("mine"));
  for (const char* name : {"file", "empty", "link", "other"}) {
    EXPECT_EQ(backups_->Remove(name).code(), absl::StatusCode::kNotFound) << name;
    EXPECT_EQ(TryMake(name).status().code(), absl::StatusCode::kAlreadyExists) << name;
  }
  EXPECT_THAT(Entries(), ElementsAre("empty", "file", "link", "mine", "other"));
}

TEST_F(BackupTest, TheRestOfAnInterruptedBackupIsRemovedAndOtherDirectoriesAreNot) {
  const std::vector<std::string> others = {"Foreign.weir-tmp", "a.tmp", "weir-tmp"};
  for (const std::string& name : others) fs::create_directory(PathOf(name));
  const auto leave_rest = [&] {
    fs::create_directories(PathOf("a.weir-tmp/data"));
    directory_.Write("backups/a.weir-tmp/data/CURRENT", "half");
  };
  leave_rest();
  OpenBackups();
  EXPECT_EQ(Entries(), others);
  leave_rest();
  EXPECT_THAT(Names(), IsEmpty());
  Make("a");
  EXPECT_THAT(Entries(), ElementsAre("Foreign.weir-tmp", "a", "a.tmp", "weir-tmp"));
}

TEST_F(BackupTest, OneServerUsesADirectoryAndNotTheDataDirectory) {
  const absl::Status second = BackupDirectory::Open(PathOf(""), data_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another server uses it"));
  for (const std::string& path : {data_, data_ + "/", data_ + "/../data"}) {
    const absl::Status same = BackupDirectory::Open(path, data_).status();
    EXPECT_EQ(same.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(same.message()), HasSubstr("it is the data directory"));
  }
  const absl::Status nowhere = BackupDirectory::Open(PathOf("no/where"), data_).status();
  EXPECT_THAT(std::string(nowhere.message()), HasSubstr("No such file or directory"));
  directory_.Write("file", "");
  const absl::Status file = BackupDirectory::Open(directory_.path() + "/file", data_).status();
  EXPECT_THAT(std::string(file.message()), HasSubstr("Not a directory"));
}

// The directory may lie in the data directory, which the packages use.
TEST_F(BackupTest, ADirectoryInTheDataDirectoryIsNoPartOfTheDatabase) {
  auto opened = BackupDirectory::Open(data_ + "/backups", data_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  backups_ = *std::move(opened);
  server_.Decide("user", "10/d", 3);
  ASSERT_TRUE(TryMake("a").ok());
  EXPECT_FALSE(fs::exists(data_ + "/backups/a/backups"));
  ASSERT_TRUE(server_.Stop().ok());
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.Remaining("user", "10/d"), 7);
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(BackupTest, ADirectoryThatIsGoneIsAnError) {
  fs::remove_all(PathOf(""));
  EXPECT_THAT(std::string(TryMake("a").status().message()), HasSubstr("No such file or directory"));
  EXPECT_THAT(std::string(backups_->List().status().message()), HasSubstr("No such file"));
  EXPECT_FALSE(fs::exists(PathOf(""))) << "it may be a disk that is not mounted";
}

// A copy to another file system would hold up the saves.
TEST_F(BackupTest, AnotherFileSystemIsRefused) {
  const std::string other = DirectoryOnAnotherFileSystem();
  if (other.empty()) GTEST_SKIP() << "there is one file system";
  {
    auto opened = BackupDirectory::Open(other, data_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    backups_ = *std::move(opened);
    const absl::Status made = TryMake("a").status();
    EXPECT_EQ(made.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(made.message()), HasSubstr("must be on the same file system"));
    EXPECT_TRUE(fs::is_empty(other));
  }
  fs::remove_all(other);
  OpenBackups();
  Make("a");
}

// Goal: whichever call to the file system fails during a backup, there is a complete backup or
// none, and the server continues. Method: the n-th call fails, for each n.
TEST_F(BackupTest, AFailureLeavesACompleteBackupOrNone) {
  std::int64_t calls = 0;
  std::int64_t used = 0;
  for (std::int64_t n = 1; n == 1 || n <= calls + 1; ++n) {
    for (int i = 0; i < 12; ++i, ++used) server_.Decide("user", "100000/d,fixed");
    ASSERT_TRUE(server_.Save().ok()) << n;
    const std::int64_t before = files_.calls();
    files_.FailFrom(n, 1, rocksdb::IOStatus::NoSpace("injected"));
    const auto made =
        backups_->Make("a", [&](const std::string& to) { return server_.saver().LinkTo(to); });
    calls = files_.calls() - before;
    files_.StopFailing();
    EXPECT_EQ(fs::exists(PathOf("a")), made.ok()) << n;
    if (made.ok()) {
      EXPECT_EQ(Restore("a")->Remaining("user", "100000/d,fixed"), 100'000 - used) << n;
      EXPECT_TRUE(backups_->Remove("a").ok());
    } else {
      EXPECT_THAT(Entries(), IsEmpty()) << n;
    }
    server_.Decide("user", "100000/d,fixed");
    ++used;
    // RocksDB may have taken the failure for one of its own; then the database is reopened.
    if (!server_.Save().ok()) clock_.Advance(Saver::kRetryMax);
    EXPECT_TRUE(server_.Save().ok()) << n;
  }
  EXPECT_GT(calls, 10);
  server_.End();
  ASSERT_TRUE(server_.Start().ok());
  EXPECT_EQ(server_.Remaining("user", "100000/d,fixed"), 100'000 - used);
}

// Goal: a backup that has its name is complete after a power cut. Method: the power is cut as soon
// as the call has returned, so unsynced bytes are gone.
TEST_F(BackupTest, ABackupSurvivesAPowerCut) {
  for (int i = 0; i < kManyKeys; ++i) server_.Decide("bulk:" + std::to_string(i), "1000/d");
  ASSERT_TRUE(server_.Save().ok());
  server_.Decide("user", "10/d", 3);
  Make("a");
  files_.Crash();
  server_.End();
  files_.Restart();
  EXPECT_EQ(Restore("a")->Remaining("user", "10/d"), 7);
  EXPECT_EQ(Restore("a")->Remaining("bulk:7", "1000/d"), 999);
}

}  // namespace
}  // namespace weir
