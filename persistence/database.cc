#include "persistence/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/universal_compaction.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "persistence/full_bucket_filter.h"
#include "persistence/keeping_env.h"
#include "persistence/log_check.h"
#include "persistence/stop_file.h"
#include "persistence/table_check.h"

namespace weir {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr std::string_view kSortedFile = "/next.sst";  // a large write before RocksDB has it

rocksdb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// RocksDB's words, after the name of the directory.
absl::Status Translate(const std::string& directory, const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = absl::StrCat("data directory ", directory, ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(text);
  if (status.IsCorruption()) return absl::DataLossError(text);
  return absl::UnavailableError(text);
}

absl::Status TranslateOpen(const std::string& directory, const rocksdb::Status& status) {
  const std::string words = status.ToString();
  // The words of a lock that another process holds, and of one that this process holds. RocksDB
  // gives both the code and subcode of every other failure of a file, so only words tell them
  // apart.
  if (status.IsIOError() &&
      (absl::StrContains(words, "While lock file") || absl::StrContains(words, "lock hold by"))) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory ", directory, ": another server uses it"));
  }
  return Translate(directory, status);
}

// Removes the file if it exists.
rocksdb::Status RemoveFile(rocksdb::Env& env, const std::string& path) {
  if (env.FileExists(path).IsNotFound()) return rocksdb::Status::OK();
  return env.DeleteFile(path);
}

// Makes the names of a directory's files durable.
rocksdb::Status SyncDirectory(rocksdb::Env& env, const std::string& directory) {
  std::unique_ptr<rocksdb::Directory> opened;
  const rocksdb::Status status = env.NewDirectory(directory, &opened);
  return status.ok() ? opened->Fsync() : status;
}

// True for a file that RocksDB leaves if its first open stops before it has made CURRENT. A
// database that was ever open has other files, too; in this one was no record yet.
bool IsOfFirstOpen(std::string_view name) {
  return name == "LOCK" || name == "IDENTITY" || name == "MANIFEST-000001" ||
         name == "000000.dbtmp" || name == "000001.dbtmp";
}

// True if the directory has a database, false if a server may begin one there. RocksDB would begin
// one beside any files, and so forget one whose file CURRENT is lost: such a directory is an error.
absl::StatusOr<bool> HasDatabase(const std::string& directory) {
  using Files = std::filesystem::directory_iterator;
  std::error_code error;
  if (std::filesystem::exists(directory + "/CURRENT", error)) return true;
  for (Files file(directory, error); !error && file != Files(); file.increment(error)) {
    const std::string name = file->path().filename();
    if (!IsOfFirstOpen(name)) {
      return absl::FailedPreconditionError(absl::StrCat("data directory ", directory,
                                                        ": it holds '", name,
                                                        "' and no database (no file CURRENT)"));
    }
  }
  if (!error) return false;
  return absl::UnavailableError(
      absl::StrCat("cannot read the data directory ", directory, ": ", error.message()));
}

// Makes the directory, or checks that a server can use an existing one.
absl::Status PrepareDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // "data/"
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (mkdir(directory.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  if (errno == EEXIST) return HasDatabase(directory).status();
  return absl::UnavailableError(absl::StrCat("cannot make the data directory ", directory, ": ",
                                             std::generic_category().message(errno)));
}

// True if another process has the lock that RocksDB takes of a database that it may change.
bool IsInUse(const std::string& directory) {
  const int file = open((directory + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_in_use = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return is_in_use;
}

// Checks that there is a database, and no server that changes it.
absl::Status CheckReadable(const std::string& directory) {
  const absl::StatusOr<bool> has_database = HasDatabase(directory);
  if (!has_database.ok()) return has_database.status();
  if (!*has_database) {
    return absl::NotFoundError(
        absl::StrCat("data directory ", directory, ": there is no database in it"));
  }
  if (!IsInUse(directory)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("data directory ", directory,
                   ": a server uses it, and changes its files while they are read"));
}

// A sentence for each log whose damage would make RocksDB forget synced writes. A torn end is no
// damage.
absl::StatusOr<std::vector<std::string>> FindDamagedLogs(rocksdb::Env& env,
                                                         const std::string& directory) {
  std::vector<std::string> names;
  std::vector<std::string> damages;
  if (!env.GetChildren(directory, &names).ok()) return damages;  // There is no database yet.
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (!name.ends_with(".log")) continue;
    std::string log;
    const rocksdb::Status read =
        rocksdb::ReadFileToString(&env, absl::StrCat(directory, "/", name), &log);
    if (!read.ok()) return Translate(directory, read);
    if (const std::optional<std::size_t> damage = FindLogDamage(log)) {
      damages.push_back(absl::StrCat(name, " is damaged at byte ", *damage, " of ", log.size(),
                                     ", and the writes behind it are lost"));
    }
  }
  return damages;
}

absl::Status RefuseDamage(const std::string& directory, std::string_view damage) {
  return absl::DataLossError(absl::StrCat("data directory ", directory, ": ", AbslView(damage),
                                          "; --accept-damaged-state starts without them"));
}

// A log of RocksDB's messages that drops them. As a file in the directory it would end the process
// when the disk is full: RocksDB 7.8 asserts that a file is not written after a failed write, and
// its logger does that.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// A factory of the filters of compactions.
class FilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit FilterFactory(std::shared_ptr<const DropRule> rule) : rule_(std::move(rule)) {}
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<FullBucketFilter>(rule_);
  }
  [[nodiscard]] const char* Name() const override { return "weir.FilterFactory"; }

 private:
  const std::shared_ptr<const DropRule> rule_;
};

rocksdb::Options RocksOptions(rocksdb::Env* env, std::shared_ptr<const DropRule> rule) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.compaction_filter_factory = std::make_shared<FilterFactory>(std::move(rule));
  options.compression = rocksdb::kNoCompression;  // Hashes and times do not compress.
  // Each save is a sorted run over all keys. Universal compaction merges runs of similar size,
  // which writes each record a few times; levels would rewrite the whole database for every few
  // saves.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.size_ratio = 10;
  // Where no bucket refills, merges cost as much as saving itself. To wait for 8 runs in place of 4
  // saves a third of them; 16 would save more, but start later, and take half as much disk again.
  options.level0_file_num_compaction_trigger = 8;
  options.write_buffer_size = 16 * kMegabyte;
  options.max_write_buffer_number = 2;
  // Records are read only after a restart, so the memtable appends them and sorts them when they go
  // to a file. (A skip list took a third of the CPU of a save for 25 waiting clients.)
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;  // A vector cannot; there is one writer.
  options.max_total_wal_size = 64 * kMegabyte;
  options.track_and_verify_wals_in_manifest = true;
  options.max_bgerror_resume_count = 0;  // After an error only a new open may write: see Saver.
  options.max_open_files = 32;
  options.info_log = std::make_shared<NoLog>();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 * kMegabyte);
  table.block_size = 16 * 1024;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// A writer to a WriteBatch or an SstFileWriter, which keeps its first failure. The order of the
// keys matters to sorted files only; it is required of all writes because any may become large.
template <typename Sink>
class SinkWriter final : public Database::Writer {
 public:
  SinkWriter(Sink& sink, std::size_t records_max) : sink_(sink), records_left_(records_max) {}
  void Put(std::string_view key, std::string_view value) override {
    AddKey(key);
    if (status_.ok()) status_ = sink_.Put(SliceOf(key), SliceOf(value));
  }
  void Erase(std::string_view key) override {
    AddKey(key);
    if (status_.ok()) status_ = sink_.Delete(SliceOf(key));
  }
  void EraseRange(std::string_view first, std::string_view end) override {
    WEIR_CHECK(first < end);
    WEIR_CHECK(last_key_.empty());
    AddRecord();
    if (status_.ok()) status_ = sink_.DeleteRange(SliceOf(first), SliceOf(end));
  }
  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  void AddKey(std::string_view key) {
    WEIR_CHECK(std::string_view(last_key_) < key);
    last_key_.assign(key);
    AddRecord();
  }
  void AddRecord() {
    WEIR_CHECK(records_left_ > 0);
    --records_left_;
  }

  Sink& sink_;
  std::size_t records_left_;
  std::string last_key_;
  rocksdb::Status status_;
};

}  // namespace

Database::Database(const DatabaseOptions& options, std::shared_ptr<DropRule> drop_rule,
                   std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db)
    : directory_(options.directory),
      is_read_only_(options.read_only),
      drop_rule_(std::move(drop_rule)),
      env_(std::move(env)),
      db_(std::move(db)) {
  WEIR_CHECK(db_ != nullptr);
}

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const DatabaseOptions& options) {
  if (options.directory.empty()) {
    return absl::InvalidArgumentError("the data directory has no name");
  }
  if (options.read_only) {
    WEIR_RETURN_IF_ERROR(CheckReadable(options.directory));
  } else if (options.create) {
    WEIR_RETURN_IF_ERROR(PrepareDirectory(options.directory));
  } else if (std::error_code error;
             !std::filesystem::exists(options.directory + "/CURRENT", error)) {
    return absl::NotFoundError(
        absl::StrCat("data directory ", options.directory, ": the database is gone"));
  }
  WEIR_RETURN_IF_ERROR(CheckTables(options.directory));
  auto rule = std::make_shared<DropRule>();
  auto env = std::make_unique<KeepingEnv>(options.env ? *options.env : *rocksdb::Env::Default());
  absl::StatusOr<std::vector<std::string>> damages = FindDamagedLogs(*env, options.directory);
  if (!damages.ok()) return damages.status();
  if (!damages->empty() && !options.accept_damage) {
    return RefuseDamage(options.directory, damages->front());
  }
  const rocksdb::Options rocks = RocksOptions(env.get(), rule);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = options.read_only
                                     ? rocksdb::DB::OpenForReadOnly(rocks, options.directory, &db)
                                     : rocksdb::DB::Open(rocks, options.directory, &db);
  if (!opened.ok()) return TranslateOpen(options.directory, opened);
  std::unique_ptr<Database> database(
      new Database(options, std::move(rule), std::move(env), std::unique_ptr<rocksdb::DB>(db)));
  if (!options.read_only) {
    // The rest of an interrupted write only takes space; if it stays, the next write removes it.
    RemoveFile(*rocks.env, options.directory + std::string(kSortedFile)).PermitUncheckedError();
  }
  database->is_backup_ = rocks.env->FileExists(database->PathOf(kBackupFile)).ok();
  database->accepted_losses_ = *std::move(damages);
  WEIR_RETURN_IF_ERROR(database->CheckStopFile(options.accept_damage));
  return database;
}

std::string Database::PathOf(std::string_view file) const {
  return absl::StrCat(directory_, "/", AbslView(file));
}

absl::Status Database::CheckStopFile(bool accept_damage) {
  std::string text;
  const std::string path = PathOf(kStopFile);
  const rocksdb::Status read = rocksdb::ReadFileToString(db_->GetEnv(), path, &text);
  if (read.IsPathNotFound()) return absl::OkStatus();
  if (!read.ok()) return Translate(directory_, read);
  const std::optional<std::uint64_t> stopped_at = ReadStopFile(text);
  const std::uint64_t found = db_->GetLatestSequenceNumber();
  if (!stopped_at || found >= *stopped_at) return absl::OkStatus();
  const std::string damage =
      absl::StrCat("files are missing or cut short, and the last ", *stopped_at - found, " of ",
                   *stopped_at, " records written before the clean stop are lost");
  if (!accept_damage) return RefuseDamage(directory_, damage);
  accepted_losses_.push_back(damage);
  return absl::OkStatus();
}

absl::Status Database::Flush() {
  WEIR_CHECK(!write_failed_);
  const rocksdb::Status flushed = db_->Flush(rocksdb::FlushOptions());
  write_failed_ = !flushed.ok();
  return Translate(directory_, flushed);
}

absl::Status Database::Finish() {
  WEIR_RETURN_IF_ERROR(Flush());
  may_have_stop_file_ = true;
  return WriteStopFile(directory_);
}

absl::Status Database::WriteStopFile(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", AbslView(kStopFile));
  const std::string text = StopFileText(db_->GetLatestSequenceNumber());
  WEIR_CHECK(ReadStopFile(text) == db_->GetLatestSequenceNumber());
  rocksdb::Status written = rocksdb::WriteStringToFile(db_->GetEnv(), text, path, true);
  if (written.ok()) written = SyncDirectory(*db_->GetEnv(), directory);
  return Translate(directory_, written);
}

absl::Status Database::LinkTo(const std::string& directory) {
  WEIR_CHECK(!write_failed_);
  // RocksDB would copy the table files to another file system, for as long as that takes.
  rocksdb::Env& env = *db_->GetEnv();
  const std::string probe = directory + ".probe";
  rocksdb::Status made = env.LinkFile(directory_ + "/CURRENT", probe);
  if (made.IsNotSupported()) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory ", directory_, ": a backup must be on the same file system"));
  }
  if (made.ok()) made = env.DeleteFile(probe);
  rocksdb::Checkpoint* checkpoint = nullptr;
  if (made.ok()) made = rocksdb::Checkpoint::Create(db_.get(), &checkpoint);
  const std::unique_ptr<rocksdb::Checkpoint> owner(checkpoint);
  if (made.ok()) made = checkpoint->CreateCheckpoint(directory);
  const std::string backup_file = absl::StrCat(directory, "/", AbslView(kBackupFile));
  if (made.ok()) made = rocksdb::WriteStringToFile(&env, "", backup_file, true);
  if (!made.ok()) return Translate(directory_, made);
  return WriteStopFile(directory);  // also makes the names durable
}

absl::Status Database::Write(std::size_t records, absl::FunctionRef<void(Writer&)> write,
                             WriteMode mode) {
  WEIR_CHECK(!is_read_only_);
  WEIR_CHECK(!write_failed_);
  absl::Status written = RemoveStopFile();
  if (written.ok()) {
    const bool is_small = records < kLargeWriteMin && mode == WriteMode::kBySize;
    written = is_small ? WriteThroughLog(records, write) : WriteSortedFile(records, write);
  }
  write_failed_ = !written.ok();
  return written;
}

absl::Status Database::RemoveStopFile() { return RemoveMark(kStopFile, may_have_stop_file_); }
absl::Status Database::RemoveBackupFile() { return RemoveMark(kBackupFile, is_backup_); }

// Removes a file beside those of RocksDB, if it may be there.
absl::Status Database::RemoveMark(std::string_view file, bool& may_be_there) {
  if (!may_be_there) return absl::OkStatus();
  rocksdb::Env& env = *db_->GetEnv();
  rocksdb::Status removed = RemoveFile(env, PathOf(file));
  if (removed.ok()) removed = SyncDirectory(env, directory_);
  may_be_there = !removed.ok();
  return Translate(directory_, removed);
}

absl::Status Database::WriteThroughLog(std::size_t records,
                                       absl::FunctionRef<void(Writer&)> write) {
  rocksdb::WriteBatch batch;
  SinkWriter writer(batch, records);
  write(writer);
  if (!writer.status().ok()) return Translate(directory_, writer.status());
  rocksdb::WriteOptions options;
  options.sync = true;
  return Translate(directory_, db_->Write(options, &batch));
}

absl::Status Database::WriteSortedFile(std::size_t records,
                                       absl::FunctionRef<void(Writer&)> write) {
  const std::string path = directory_ + std::string(kSortedFile);
  // A file that an earlier write has left may be a second name of a table file, as RocksDB takes
  // files over by a link. So it is removed and never overwritten.
  const rocksdb::Status removed = RemoveFile(*db_->GetEnv(), path);
  if (!removed.ok()) return Translate(directory_, removed);
  rocksdb::SstFileWriter file(rocksdb::EnvOptions(), db_->GetOptions());
  WEIR_RETURN_IF_ERROR(Translate(directory_, file.Open(path)));
  SinkWriter writer(file, records);
  write(writer);
  WEIR_RETURN_IF_ERROR(Translate(directory_, writer.status()));
  WEIR_RETURN_IF_ERROR(Translate(directory_, file.Finish()));  // synced
  // RocksDB 7.8 orders files by their last record, and may merge a sorted file with older ones
  // while records of other keys, written before it, are still in the log. A later flush would put
  // them behind the merged file, and no open would succeed again. So they are flushed first.
  WEIR_RETURN_IF_ERROR(Translate(directory_, db_->Flush(rocksdb::FlushOptions())));
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  const KeepingFileSystem::Keep until_done;
  return Translate(directory_, db_->IngestExternalFile({path}, options));
}

absl::StatusOr<std::string> Database::Get(std::string_view key) const {
  std::string value;
  const rocksdb::Status found = db_->Get(rocksdb::ReadOptions(), SliceOf(key), &value);
  if (!found.ok()) return Translate(directory_, found);
  return value;
}

absl::Status Database::Scan(
    std::string_view first,
    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) const {
  rocksdb::ReadOptions options;
  options.readahead_size = 2 * kMegabyte;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> record(db_->NewIterator(options));
  for (record->Seek(SliceOf(first)); record->Valid(); record->Next()) {
    const rocksdb::Slice key = record->key();
    const rocksdb::Slice value = record->value();
    if (!visit({key.data(), key.size()}, {value.data(), value.size()})) break;
  }
  return Translate(directory_, record->status());
}

}  // namespace weir
