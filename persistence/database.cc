#include "persistence/database.h"

#include <sys/stat.h>

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
#include <rocksdb/file_system.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/universal_compaction.h>
#include <rocksdb/write_batch.h>

#include "core/base/status.h"
#include "persistence/full_bucket_filter.h"
#include "persistence/log_check.h"
#include "persistence/stop_file.h"
#include "persistence/table_check.h"

namespace weir {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;
constexpr std::string_view kSortedFile = "/next.sst";  // a large write on its way

rocksdb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// RocksDB's words, with what they are about.
absl::Status Translate(const std::string& directory, const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = absl::StrCat("data directory ", directory, ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(text);
  if (status.IsCorruption()) return absl::DataLossError(text);
  return absl::UnavailableError(text);
}

absl::Status TranslateOpen(const std::string& directory, const rocksdb::Status& status) {
  const std::string words = status.ToString();
  // Of another process, and of this one.
  if (status.IsIOError() &&
      (absl::StrContains(words, "While lock file") || absl::StrContains(words, "lock hold by"))) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory ", directory, ": another server uses it"));
  }
  return Translate(directory, status);
}

// Fails where the file is still there afterwards.
rocksdb::Status RemoveFile(rocksdb::Env& env, const std::string& path) {
  if (env.FileExists(path).IsNotFound()) return rocksdb::Status::OK();
  return env.DeleteFile(path);
}

// Makes it certain which files a directory has.
rocksdb::Status SyncDirectory(rocksdb::Env& env, const std::string& directory) {
  std::unique_ptr<rocksdb::Directory> opened;
  const rocksdb::Status status = env.NewDirectory(directory, &opened);
  return status.ok() ? opened->Fsync() : status;
}

// Whether a file may be there that RocksDB left when its first open was cut short, before it made
// CURRENT: then nothing of ours was in there yet. Of a database that was ever open there are
// others.
bool IsOfFirstOpen(std::string_view name) {
  return name == "LOCK" || name == "IDENTITY" || name == "MANIFEST-000001" ||
         name == "000000.dbtmp" || name == "000001.dbtmp";
}

// Makes the directory, or sees that what is there is a database: RocksDB would begin a new one
// beside any files, and so forget a database whose file CURRENT is lost.
absl::Status PrepareDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // "data/"
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (mkdir(directory.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  if (errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat("cannot make the data directory ", directory, ": ",
                                               std::generic_category().message(errno)));
  }
  const bool is_empty = std::filesystem::is_empty(path, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read the data directory ", directory, ": ", error.message()));
  }
  if (is_empty || std::filesystem::exists(path / "CURRENT", error)) return absl::OkStatus();
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (!IsOfFirstOpen(name)) {
      return absl::FailedPreconditionError(absl::StrCat("data directory ", directory,
                                                        ": it holds '", name,
                                                        "' and no database (no file CURRENT)"));
    }
  }
  return absl::OkStatus();
}

// Damage that would make RocksDB forget synced writes, as a sentence, in each log. A torn end is
// none.
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

// RocksDB's own log goes nowhere. As a file in the directory it would end the process when the disk
// is full: RocksDB 7.8 asserts that a file whose write has failed is not written again, and its
// logger does so.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// Files that are not deleted while a sorted file is being moved in.
//
// RocksDB deletes the file when that fails, even if only the sync of the manifest did, which may
// name the file all the same; then no open would succeed any more (7.8, IngestExternalFile). As it
// is, an open deletes what its manifest does not name.
class KeepingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // While one of these is there, this thread deletes nothing.
  class Keep {
   public:
    Keep() { keeping_ = true; }
    ~Keep() { keeping_ = false; }
    Keep(const Keep&) = delete;
    Keep& operator=(const Keep&) = delete;
  };

  using FileSystemWrapper::FileSystemWrapper;
  [[nodiscard]] const char* Name() const override { return "weir.KeepingFileSystem"; }
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    return keeping_ ? rocksdb::IOStatus::OK() : target()->DeleteFile(path, options, context);
  }

 private:
  static thread_local bool keeping_;
};

thread_local bool KeepingFileSystem::keeping_ = false;

// An environment with the files of a KeepingFileSystem over those of `base`, and the clock of
// `base`.
class KeepingEnv final : public rocksdb::EnvWrapper {
 public:
  explicit KeepingEnv(const rocksdb::Env& base)
      : KeepingEnv(std::make_shared<KeepingFileSystem>(base.GetFileSystem()),
                   base.GetSystemClock()) {}

 private:
  KeepingEnv(const std::shared_ptr<rocksdb::FileSystem>& files,
             const std::shared_ptr<rocksdb::SystemClock>& clock)
      : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    file_system_ = files;
    system_clock_ = clock;
  }
};

// Hands every compaction a filter of its own.
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
  // Each save is a sorted run over all keys; merging runs of like size writes each record a few
  // times, while levels would rewrite the whole database for every few saves.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.size_ratio = 10;
  options.write_buffer_size = 16 * kMegabyte;
  options.max_write_buffer_number = 2;
  // What is written is read again only after a restart: so it is appended, and sorted when it goes
  // to a file. (A third of the CPU of a save for 25 waiting clients was a skip list's.)
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;  // It cannot, and there is one writer.
  options.max_total_wal_size = 64 * kMegabyte;
  options.track_and_verify_wals_in_manifest = true;
  options.max_bgerror_resume_count = 0;  // The saver reopens it; nothing else may go on.
  options.max_open_files = 32;
  options.info_log = std::make_shared<NoLog>();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 * kMegabyte);
  table.block_size = 16 * 1024;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Writes to a WriteBatch or an SstFileWriter, and keeps the first failure.
template <typename Sink>
class SinkWriter final : public Database::Writer {
 public:
  explicit SinkWriter(Sink& sink) : sink_(sink) {}
  void Put(std::string_view key, std::string_view value) override {
    if (status_.ok()) status_ = sink_.Put(SliceOf(key), SliceOf(value));
  }
  void Erase(std::string_view key) override {
    if (status_.ok()) status_ = sink_.Delete(SliceOf(key));
  }
  void EraseRange(std::string_view first, std::string_view end) override {
    if (status_.ok()) status_ = sink_.DeleteRange(SliceOf(first), SliceOf(end));
  }
  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  Sink& sink_;
  rocksdb::Status status_;
};

}  // namespace

Database::Database(std::string directory, std::shared_ptr<DropRule> drop_rule,
                   std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db)
    : directory_(std::move(directory)),
      drop_rule_(std::move(drop_rule)),
      env_(std::move(env)),
      db_(std::move(db)) {}

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const DatabaseOptions& options) {
  if (options.directory.empty()) {
    return absl::InvalidArgumentError("the data directory has no name");
  }
  if (options.create) {
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
  const rocksdb::Status opened = rocksdb::DB::Open(rocks, options.directory, &db);
  if (!opened.ok()) return TranslateOpen(options.directory, opened);
  // Of a write that was cut short, to give its space back; the next write tries again.
  RemoveFile(*rocks.env, options.directory + std::string(kSortedFile)).PermitUncheckedError();
  std::unique_ptr<Database> database(new Database(
      options.directory, std::move(rule), std::move(env), std::unique_ptr<rocksdb::DB>(db)));
  database->accepted_losses_ = *std::move(damages);
  WEIR_RETURN_IF_ERROR(database->CheckStopFile(options.accept_damage));
  return database;
}

absl::Status Database::CheckStopFile(bool accept_damage) {
  std::string text;
  const std::string path = absl::StrCat(directory_, "/", AbslView(kStopFile));
  if (!rocksdb::ReadFileToString(db_->GetEnv(), path, &text).ok()) return absl::OkStatus();
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

absl::Status Database::Finish() {
  const rocksdb::Status flushed = db_->Flush(rocksdb::FlushOptions());
  if (!flushed.ok()) return Translate(directory_, flushed);
  const std::string path = absl::StrCat(directory_, "/", AbslView(kStopFile));
  may_have_stop_file_ = true;
  rocksdb::Status written = rocksdb::WriteStringToFile(
      db_->GetEnv(), StopFileText(db_->GetLatestSequenceNumber()), path, true);
  if (written.ok()) written = SyncDirectory(*db_->GetEnv(), directory_);
  return Translate(directory_, written);
}

absl::Status Database::Write(std::size_t records, absl::FunctionRef<void(Writer&)> write,
                             WriteMode mode) {
  if (may_have_stop_file_) {
    rocksdb::Env& env = *db_->GetEnv();
    rocksdb::Status removed = RemoveFile(env, absl::StrCat(directory_, "/", AbslView(kStopFile)));
    if (removed.ok()) removed = SyncDirectory(env, directory_);
    if (!removed.ok()) return Translate(directory_, removed);
    may_have_stop_file_ = false;
  }
  const bool is_small = records < kLargeWriteMin && mode == WriteMode::kBySize;
  return is_small ? WriteThroughLog(write) : WriteSortedFile(write);
}

absl::Status Database::WriteThroughLog(absl::FunctionRef<void(Writer&)> write) {
  rocksdb::WriteBatch batch;
  SinkWriter writer(batch);
  write(writer);
  if (!writer.status().ok()) return Translate(directory_, writer.status());
  rocksdb::WriteOptions options;
  options.sync = true;
  return Translate(directory_, db_->Write(options, &batch));
}

absl::Status Database::WriteSortedFile(absl::FunctionRef<void(Writer&)> write) {
  const std::string path = directory_ + std::string(kSortedFile);
  // What is left of an earlier one may be a file of the database by another name (it is moved in by
  // a link), so it must go and not be written over.
  const rocksdb::Status removed = RemoveFile(*db_->GetEnv(), path);
  if (!removed.ok()) return Translate(directory_, removed);
  rocksdb::SstFileWriter file(rocksdb::EnvOptions(), db_->GetOptions());
  WEIR_RETURN_IF_ERROR(Translate(directory_, file.Open(path)));
  SinkWriter writer(file);
  write(writer);
  WEIR_RETURN_IF_ERROR(Translate(directory_, writer.status()));
  WEIR_RETURN_IF_ERROR(Translate(directory_, file.Finish()));  // synced
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
