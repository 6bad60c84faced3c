// Goal: only an authorised and compatible program opens a directory; small and large writes are
// kept; and merging files drops only what the rule says. Method: databases by hand; files beside
// them; RocksDB itself, opened on the directory, for a compaction.
#include "persistence/database.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "persistence/format.h"
#include "persistence/full_bucket_filter.h"
#include "tests/persistence/directory_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Records = std::map<std::string, std::string>;

class DatabaseTest : public testing::Test {
 protected:
  std::unique_ptr<Database> Open() {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Open({.directory = path_});
    EXPECT_TRUE(database.ok()) << database.status();
    return database.ok() ? *std::move(database) : nullptr;
  }
  absl::Status Refused() { return Database::Open({.directory = path_}).status(); }

  // Puts these records, or erases those without a value, in a write that is announced as one of at
  // least `as_many` records.
  static void Write(Database& database, const Records& records, std::size_t as_many) {
    const std::size_t announced = std::max(as_many, records.size());
    const absl::Status written = database.Write(announced, [&](Database::Writer& to) {
      for (const auto& [key, value] : records) {
        value.empty() ? to.Erase(key) : to.Put(key, value);
      }
    });
    EXPECT_TRUE(written.ok()) << written;
  }
  static Records ReadAll(const Database& database) {
    Records all;
    EXPECT_TRUE(database
                    .Scan("",
                          [&](std::string_view key, std::string_view value) {
                            all.emplace(key, value);
                            return true;
                          })
                    .ok());
    return all;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/data";
};

TEST_F(DatabaseTest, MakesItsDirectoryForItsOwnerAlone) {
  for (const std::string_view name : {"/a", "/b/c", "/d/"}) {
    path_ = directory_.path() + std::string(name);
    ASSERT_TRUE(Open());
    struct stat made = {};
    ASSERT_EQ(stat(path_.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0700U) << name;
  }
}

// Goal: a database that is opened to be read is read whole and not changed. Method: one with
// records in tables and in the log, with the rest of a write, and with and without a clean stop.
TEST_F(DatabaseTest, ReadOnlyItChangesNothing) {
  const Records records = {{"a", "1"}, {"b", "2"}};
  Write(*Open(), records, Database::kLargeWriteMin);
  Write(*Open(), {{"c", "3"}}, 1);
  std::ofstream(path_ + "/next.sst") << "the rest of a write";
  for (const bool is_stopped : {false, true}) {
    if (is_stopped) {
      EXPECT_TRUE(Open()->Finish().ok());
    }
    const auto before = FilesOf(path_);
    {
      const auto database = Database::Open({.directory = path_, .read_only = true});
      ASSERT_TRUE(database.ok()) << database.status();
      EXPECT_EQ(ReadAll(**database), (Records{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
    }
    EXPECT_TRUE(FilesOf(path_) == before);
  }
}

TEST_F(DatabaseTest, ReadOnlyItNeedsADatabase) {
  const auto refused = [this] {
    const absl::Status status = Database::Open({.directory = path_, .read_only = true}).status();
    EXPECT_THAT(status.message(), HasSubstr(path_));
    return std::string(status.message());
  };
  EXPECT_THAT(refused(), HasSubstr("No such file or directory"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::filesystem::create_directory(path_);
  EXPECT_THAT(refused(), HasSubstr("there is no database in it"));
  EXPECT_TRUE(std::filesystem::is_empty(path_));
  std::ofstream(path_ + "/notes.txt") << "mine";
  EXPECT_THAT(refused(), HasSubstr("it holds 'notes.txt' and no database"));
  path_ += "/notes.txt";
  EXPECT_THAT(refused(), HasSubstr("Not a directory"));
}

TEST_F(DatabaseTest, KeepsWhatIsWrittenSmallOrLarge) {
  for (const std::size_t as_many : {std::size_t{1}, Database::kLargeWriteMin}) {
    path_ = directory_.path() + "/" + std::to_string(as_many);
    auto database = Open();
    Write(*database, {{"a", "1"}, {"b", "2"}, {"c", "3"}}, as_many);
    Write(*database, {{"a", ""}, {"b", "4"}, {"d", "5"}, {"gone", ""}}, as_many);
    const Records expected = {{"b", "4"}, {"c", "3"}, {"d", "5"}};
    EXPECT_EQ(ReadAll(*database), expected);
    EXPECT_EQ(database->Get("b").value(), "4");
    EXPECT_EQ(database->Get("a").status().code(), absl::StatusCode::kNotFound);
    database.reset();
    EXPECT_EQ(ReadAll(*Open()), expected);
  }
}

// The last write counts, small or large.
TEST_F(DatabaseTest, SmallAndLargeWritesAreInOrder) {
  auto database = Open();
  for (int i = 0; i < 40; ++i) {
    const std::size_t as_many = i % 3 == 0 ? Database::kLargeWriteMin : 1;
    Write(*database, {{"a", std::to_string(i)}, {"b" + std::to_string(i), "x"}}, as_many);
    EXPECT_EQ(database->Get("a").value(), std::to_string(i));
    if (i % 7 == 0) {
      database.reset();
      database = Open();
    }
    EXPECT_EQ(database->Get("a").value(), std::to_string(i));
  }
  EXPECT_EQ(ReadAll(*database).size(), 41U);
}

// Goal: files are merged while small writes wait in the log, and a directory can be opened after
// that, with the last values. Method: lives that begin with a small write and a large one of later
// keys, as a server does that erases records at its start; half of them end there.
TEST_F(DatabaseTest, LargeWritesAreMergedWhileSmallOnesWait) {
  Records expected;
  for (int i = 0; i < 1000; ++i) expected["m" + std::to_string(i)] = std::string(100, 'x');
  Write(*Open(), expected, Database::kLargeWriteMin);
  for (int life = 0; life < 40 && !HasFailure(); ++life) {
    const auto database = Open();
    ASSERT_NE(database, nullptr) << life;
    EXPECT_EQ(ReadAll(*database), expected) << life;
    const auto write = [&](const Records& records, std::size_t as_many) {
      Write(*database, records, as_many);
      for (const auto& [key, value] : records) expected[key] = value;
      EXPECT_EQ(ReadAll(*database), expected) << life;
    };
    const std::string value = std::to_string(life);
    write({{"a", value}, {"b", value}}, 1);
    write({{"z", value}}, Database::kLargeWriteMin);
    if (life % 4 < 2) write({{"c", value}, {"z", value + "+"}}, 1);
  }
}

// A range is erased, and records that the same write puts into it stay.
TEST_F(DatabaseTest, ErasesRecordsOfEarlierWritesInARange) {
  for (const std::size_t as_many : {std::size_t{3}, Database::kLargeWriteMin}) {
    auto database = Open();
    Write(*database, {{"a", "1"}, {"b", "1"}, {"bb", "1"}, {"c", "1"}, {"d", "1"}}, 1);
    Write(*database, {{"ba", "1"}}, Database::kLargeWriteMin);
    const absl::Status written = database->Write(as_many, [](Database::Writer& to) {
      to.EraseRange("b", "c");
      to.Put("bb", "2");
      to.Put("bc", "2");
    });
    ASSERT_TRUE(written.ok()) << written;
    const Records left = {{"a", "1"}, {"bb", "2"}, {"bc", "2"}, {"c", "1"}, {"d", "1"}};
    EXPECT_EQ(ReadAll(*database), left);
    database.reset();
    EXPECT_EQ(ReadAll(*Open()), left);
  }
}

TEST_F(DatabaseTest, ScansFromTheGivenKeyUntilItIsStopped) {
  auto database = Open();
  Write(*database, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, 1);
  std::string seen;
  EXPECT_TRUE(database
                  ->Scan("b",
                         [&](std::string_view key, std::string_view) {
                           seen += key;
                           return key != "c";
                         })
                  .ok());
  EXPECT_EQ(seen, "bc");
}

TEST_F(DatabaseTest, RefusesADirectoryThatIsInUse) {
  const auto database = Open();
  const absl::Status refused = Refused();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "data directory " + path_ + ": another server uses it");
}

TEST_F(DatabaseTest, RefusesADirectoryOfSomethingElse) {
  path_ = directory_.path();
  directory_.Write("thesis.tex", "years of work");
  const absl::Status refused = Refused();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("it holds 'thesis.tex' and no database"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/thesis.tex"));
}

TEST_F(DatabaseTest, RefusesADatabaseWhoseCurrentIsLost) {
  Write(*Open(), {{"a", "1"}}, 1);
  std::filesystem::remove(path_ + "/CURRENT");
  EXPECT_EQ(Refused().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DatabaseTest, RefusesAnUnusablePath) {
  path_ = directory_.Write("file", "");
  EXPECT_EQ(Refused().code(), absl::StatusCode::kUnavailable);
  path_ += "/data";
  EXPECT_EQ(Refused().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Refused().message(), HasSubstr(path_));
  path_ = "";
  EXPECT_EQ(Refused().code(), absl::StatusCode::kInvalidArgument);
  path_ = "/proc/weir";
  EXPECT_EQ(Refused().code(), absl::StatusCode::kUnavailable);
}

// --- What merging files drops ---

constexpr Instant kMark = FakeClock::kStart;

std::string KeyOf(std::uint32_t generation, std::uint64_t hash, Algorithm algorithm) {
  std::string key;
  AppendBucketKey({TableGeneration{generation}, 1, hash, algorithm, LimitId{}}, key);
  return key;
}

std::string FullAt(Instant full) {
  const auto nanos = static_cast<std::uint64_t>(full.time_since_epoch().count());
  std::string value;
  AppendBucketValue({static_cast<std::uint32_t>(nanos), static_cast<std::uint32_t>(nanos >> 32), 1},
                    value);
  return value;
}

TEST_F(DatabaseTest, MergingDropsByTheMarkAndTheGenerationOnly) {
  using enum Algorithm;
  const Records kept = {
      {KeyOf(2, 1, kTokenBucket), FullAt(kMark)},
      {KeyOf(2, 2, kFixedWindow), FullAt(kMark + Nanos{1})},
      {KeyOf(2, 3, kSlidingWindow), FullAt(Instant{})},
      {KeyOf(3, 4, kTokenBucket), FullAt(kMark)},
      {KeyOf(2, 5, kTokenBucket) + "x", FullAt(Instant{})},
      {KeyOf(2, 6, kTokenBucket), "no value"},
      {LimitKey(LimitId{}), "x"},
      {MetaKey(kMetaClock), "x"},
      {OverrideKey(PolicyId{1}, ""), "x"},
      {PolicyKey(PolicyId{1}), "x"},
      {"Bus", "x"},
  };
  Records all = kept;
  all[KeyOf(2, 11, kTokenBucket)] = FullAt(kMark - Nanos{1});
  all[KeyOf(2, 12, kFixedWindow)] = FullAt(kMark - Nanos{1});
  all[KeyOf(1, 13, kTokenBucket)] = FullAt(kInstantMax);
  all[KeyOf(1, 14, kSlidingWindow)] = FullAt(kInstantMax);
  Write(*Open(), all, 1);
  const auto merge = [&](const std::shared_ptr<const DropRule>& rule) {
    const FullBucketFilter filter(rule);
    rocksdb::Options options;
    options.compaction_filter = &filter;
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, path_, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    rocksdb::CompactRangeOptions whole;
    whole.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db->CompactRange(whole, nullptr, nullptr).ok());
  };
  const auto rule = std::make_shared<DropRule>();
  merge(rule);
  EXPECT_EQ(ReadAll(*Open()), all) << "nothing is known, nothing is dropped";
  rule->mark = kMark;
  rule->generation = TableGeneration{2};
  merge(rule);
  EXPECT_EQ(ReadAll(*Open()), kept);
}

}  // namespace
}  // namespace weir
