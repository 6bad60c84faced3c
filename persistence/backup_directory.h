// A directory of backups. A backup is a data directory of its own, under its name: a server starts
// on it once it is moved or copied to another place.
//
//     auto backups = BackupDirectory::Open("backups", "data");
//     (*backups)->Make("monday", [&](const std::string& to) { return saver.LinkTo(to); });
//     (*backups)->List();
//     (*backups)->Remove("monday");
//
// A backup is made and removed in a directory "<name>.weir-tmp" beside it, so its own name stands
// for all of it or does not exist, even after a crash. Backups have mode 0700.
//
// An entry of the directory that is not such a database, or in which a server has run (it has a
// file LOCK), is no backup: it is neither listed nor removed.
//
// Not thread-safe. One server uses a directory at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"

namespace weir {

inline constexpr std::size_t kBackupsMax = 64;
inline constexpr std::size_t kBackupNameBytesMax = 64;

// True for 1 to kBackupNameBytesMax of a-z, 0-9 and '-'.
[[nodiscard]] bool IsBackupName(std::string_view name) noexcept;

struct Backup {
  std::string name;
  std::uint64_t bytes = 0;  // of its files, those included that other backups or the server share
  Instant made{};           // by the file system's clock
};

class BackupDirectory {
 public:
  // Makes the directory with mode 0700 if it does not exist, and removes what interrupted calls
  // have left. Fails with one line that names the directory: it cannot be used (kUnavailable),
  // another server uses it or it is the data directory (kFailedPrecondition).
  static absl::StatusOr<std::unique_ptr<BackupDirectory>> Open(const std::string& directory,
                                                               const std::string& data_directory);
  ~BackupDirectory();
  BackupDirectory(const BackupDirectory&) = delete;
  BackupDirectory& operator=(const BackupDirectory&) = delete;

  // Makes a backup. `link_to` makes a database in the directory that it is given, which does not
  // exist, and syncs it. Fails with kInvalidArgument (the name), kAlreadyExists, kResourceExhausted
  // (there are kBackupsMax), kUnavailable, or as `link_to` does; then there is no such backup.
  absl::StatusOr<Backup> Make(std::string_view name,
                              absl::FunctionRef<absl::Status(const std::string&)> link_to);

  // Returns the backups, sorted by name. Fails with kUnavailable. Cost: a system call a file.
  [[nodiscard]] absl::StatusOr<std::vector<Backup>> List() const;

  // Removes a backup. Fails with kInvalidArgument, kNotFound or kUnavailable.
  absl::Status Remove(std::string_view name);

 private:
  BackupDirectory(std::string directory, int descriptor);
  [[nodiscard]] absl::Status Failure(const std::error_code& error) const;
  [[nodiscard]] std::string PathOf(std::string_view name) const;
  absl::Status RemoveLeftovers() const;
  [[nodiscard]] absl::Status Publish(const std::string& from, const std::string& to) const;
  [[nodiscard]] absl::Status Sync() const;

  const std::string directory_;
  const int descriptor_;  // holds the lock that keeps other servers out
};

}  // namespace weir
