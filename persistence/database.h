// A database of sorted records in a directory, over RocksDB. A write happens as a whole or not at
// all.
//
//     absl::StatusOr<std::unique_ptr<Database>> database = Database::Open({.directory = "data"});
//     absl::Status written = (*database)->Write(2, [](Database::Writer& writer) {
//       writer.Put("a", "1");                 // in ascending order of the keys, each once
//       writer.Erase("b");
//     });
//
// When Write returns ok, the records are on disk, synced. A small write goes through RocksDB's log.
// A large one becomes a sorted file of its own, which costs less CPU (measured: 1.2 us instead of 4
// us a record, compactions included).
//
// After a failed write nothing more can be written: destroy the object and open the directory
// again. (After a failed sync the system may report success although the bytes are lost.)
//
// Not thread-safe. Only the files of this folder include RocksDB.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/table/table_generation.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace weir {

// The rule by which compactions drop buckets: those that were full before `mark`, which must be no
// later than the clock mark on disk, and those of a generation before `generation`.
struct DropRule {
  std::atomic<Instant> mark{Instant{}};
  std::atomic<TableGeneration> generation{};
};

// An empty file in a database that LinkTo has made. It stays until the server that runs on the
// database has a role of its own; until then the role in the records is an outdated one. Older
// servers pass over it.
inline constexpr std::string_view kBackupFile = "BACKUP";

struct DatabaseOptions {
  std::string directory;  // is made with mode 0700 if it does not exist
  bool create = true;     // false: Open fails with kNotFound if there is no database
  // Opens a database although damage has lost synced writes; accepted_losses() describes them.
  bool accept_damage = false;
  // Writes nothing into the directory, and takes no lock: the files must not change meanwhile. Open
  // fails with kNotFound if there is no database, and with kFailedPrecondition if a server uses it.
  bool read_only = false;
  rocksdb::Env* env = nullptr;  // for tests: a file system whose calls fail
};

class Database {
 public:
  // The records of one write. Requires: Put and Erase with ascending keys, each once.
  class Writer {
   public:
    virtual void Put(std::string_view key, std::string_view value) = 0;
    virtual void Erase(std::string_view key) = 0;
    // Erases all records from `first` on and before `end` that earlier writes have made. Requires:
    // first < end, and no Put or Erase before it in this write.
    virtual void EraseRange(std::string_view first, std::string_view end) = 0;

   protected:
    ~Writer() = default;
  };

  // The number of records from which on a write is a large one.
  static constexpr std::size_t kLargeWriteMin = 4096;

  // kOwnFile makes even a small write a sorted file. RocksDB's manifest names such a file, so its
  // loss is noticed; the loss of the end of a log is not.
  enum class WriteMode { kBySize, kOwnFile };

  // Fails with one line that names the directory: it cannot be used (kUnavailable), another process
  // uses it or it holds other files (kFailedPrecondition), or the database is damaged (kDataLoss).
  // A torn end of RocksDB's log is not damage: a crash leaves it.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Writes the records that `write` hands to the Writer, `records` of them at most. Fails with
  // kUnavailable or kDataLoss, and RocksDB's words. Requires: no write has failed before, and the
  // database is not read-only.
  absl::Status Write(std::size_t records, absl::FunctionRef<void(Writer&)> write,
                     WriteMode mode = WriteMode::kBySize);

  // Returns the record's value. Fails with kNotFound if there is no such record.
  [[nodiscard]] absl::StatusOr<std::string> Get(std::string_view key) const;

  // Calls visit(key, value) for the records from `first` on, until it returns false. Verifies the
  // checksums of what it reads: fails with kDataLoss, or with kUnavailable if it cannot be read.
  absl::Status Scan(std::string_view first,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) const;

  // Moves all records from the log into table files, where a checksum covers each byte. Fails as
  // Write does.
  absl::Status Flush();

  // Flushes, and writes the stop file (stop_file.h). To be called after the last write. Fails as
  // Write does.
  absl::Status Finish();

  // Makes a database with the same records in `directory`, which must not exist, with a stop file
  // of its own and a kBackupFile. The table files of both are the same, under hard links, so it
  // takes milliseconds and hardly any room. (A copy of the log instead of a flush would be quicker,
  // but then the stop file would not show that MANIFEST is cut short: the log has the last sequence
  // number.) Fails with kFailedPrecondition if the file system of `directory` is another one, else
  // with kUnavailable, and may leave files behind. This database is as before, unless RocksDB takes
  // the failure for one of its own: then the next Write fails. Requires: Flush has succeeded after
  // the last write.
  absl::Status LinkTo(const std::string& directory);

  // Returns whether LinkTo has made this database and RemoveBackupFile was not called since.
  [[nodiscard]] bool is_backup() const noexcept { return is_backup_; }
  // Fails with kUnavailable; then the file is still there.
  absl::Status RemoveBackupFile();

  // A sentence for each loss that DatabaseOptions::accept_damage has accepted.
  [[nodiscard]] const std::vector<std::string>& accepted_losses() const noexcept {
    return accepted_losses_;
  }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] bool is_read_only() const noexcept { return is_read_only_; }
  [[nodiscard]] DropRule& drop_rule() noexcept { return *drop_rule_; }

 private:
  Database(const DatabaseOptions& options, std::shared_ptr<DropRule> drop_rule,
           std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db);
  [[nodiscard]] std::string PathOf(std::string_view file) const;
  absl::Status CheckStopFile(bool accept_damage);
  absl::Status RemoveStopFile();
  absl::Status RemoveMark(std::string_view file, bool& may_be_there);
  absl::Status WriteStopFile(const std::string& directory);
  absl::Status WriteThroughLog(std::size_t records, absl::FunctionRef<void(Writer&)> write);
  absl::Status WriteSortedFile(std::size_t records, absl::FunctionRef<void(Writer&)> write);

  const std::string directory_;
  const bool is_read_only_;
  const std::shared_ptr<DropRule> drop_rule_;  // RocksDB's threads share it
  const std::unique_ptr<rocksdb::Env> env_;
  const std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::string> accepted_losses_;
  bool may_have_stop_file_ = true;
  bool is_backup_ = false;
  bool write_failed_ = false;
};

}  // namespace weir
