// RocksDB, as far as weir needs it: sorted records in a directory, written all or nothing.
//
//     absl::StatusOr<std::unique_ptr<Database>> database = Database::Open({.directory = "data"});
//     absl::Status written = (*database)->Write(2, [](Database::Writer& writer) {
//       writer.Put("a", "1");                 // in ascending order of the keys, each once
//       writer.Erase("b");
//     });
//
// A write is on disk, synced, when Write returns ok. A small one goes through RocksDB's log; a
// large one becomes a sorted file of its own, which costs a quarter of the CPU (measured: 1.2 us
// against 4 us a record, compactions included). When one fails nothing more can be written: the
// object has to go, and the directory to be opened again (a failed sync must never be believed
// later).
//
// Not thread-safe. The only files of weir's that know RocksDB are in this folder.
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

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace weir {

// What compactions may leave out: buckets that were full before `mark`, which must be no later than
// the clock mark on disk, and those of generations before `generation`.
struct DropRule {
  std::atomic<Instant> mark{Instant{}};
  std::atomic<std::uint32_t> generation{0};
};

struct DatabaseOptions {
  std::string directory;  // made with mode 0700 if it is not there
  bool create = true;     // false: fails with kNotFound where there is no database
  // Opens files with damage that would forget what was synced: accepted_losses() says what.
  bool accept_damage = false;
  rocksdb::Env* env = nullptr;  // of tests: files that fail
};

class Database {
 public:
  class Writer {
   public:
    virtual void Put(std::string_view key, std::string_view value) = 0;
    virtual void Erase(std::string_view key) = 0;
    // All records from `first` on and before `end` that earlier writes have made. Before the other
    // calls of this write.
    virtual void EraseRange(std::string_view first, std::string_view end) = 0;

   protected:
    ~Writer() = default;
  };

  // So many records make a write a large one.
  static constexpr std::size_t kLargeWriteMin = 4096;

  // A file of its own is named in RocksDB's manifest, so that it is missed when it is lost. The end
  // of a log is not: where a log is damaged, RocksDB takes it to end there.
  enum class WriteMode { kBySize, kOwnFile };

  // Fails with one line that names the directory: it cannot be used, another process uses it
  // (kFailedPrecondition), it holds something else, or its files are damaged (kDataLoss). A torn
  // end of RocksDB's log is no damage: a crash leaves it.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `records`: how many will be written. Fails with kUnavailable or kDataLoss, and RocksDB's words.
  absl::Status Write(std::size_t records, absl::FunctionRef<void(Writer&)> write,
                     WriteMode mode = WriteMode::kBySize);

  // kNotFound where there is no such record.
  [[nodiscard]] absl::StatusOr<std::string> Get(std::string_view key) const;

  // Calls visit(key, value) for the records from `first` on, until it returns false. Checksums are
  // verified on the way: fails with kDataLoss, or kUnavailable where the files cannot be read.
  absl::Status Scan(std::string_view first,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) const;

  // Moves everything from the log into table files, where each byte is under a checksum, and notes
  // how far the writes go in the stop file (stop_file.h). After the last write. Fails as Write
  // does.
  absl::Status Finish();

  // A sentence for each damage that DatabaseOptions::accept_damage let pass.
  [[nodiscard]] const std::vector<std::string>& accepted_losses() const noexcept {
    return accepted_losses_;
  }

  [[nodiscard]] DropRule& drop_rule() noexcept { return *drop_rule_; }

 private:
  Database(std::string directory, std::shared_ptr<DropRule> drop_rule,
           std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db);
  absl::Status CheckStopFile(bool accept_damage);
  absl::Status WriteThroughLog(absl::FunctionRef<void(Writer&)> write);
  absl::Status WriteSortedFile(absl::FunctionRef<void(Writer&)> write);

  const std::string directory_;
  const std::shared_ptr<DropRule> drop_rule_;  // RocksDB's threads share it
  const std::unique_ptr<rocksdb::Env> env_;
  const std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::string> accepted_losses_;
  bool may_have_stop_file_ = true;
};

}  // namespace weir
