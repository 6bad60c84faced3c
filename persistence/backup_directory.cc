#include "persistence/backup_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".weir-tmp";

std::error_code LastError() { return {errno, std::generic_category()}; }

absl::Status FailureOf(const std::string& directory, std::string_view reason) {
  return absl::UnavailableError(
      absl::StrCat("backup directory ", directory, ": ", AbslView(reason)));
}

absl::Status CheckName(std::string_view name) {
  if (IsBackupName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("invalid backup name ", Quote(name),
                                                 ": must be 1 to ", kBackupNameBytesMax,
                                                 " of a-z, 0-9 and -"));
}

bool IsBackup(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error)) && fs::exists(path / "CURRENT", error) &&
         !fs::exists(path / "LOCK", error);
}

// Reads the size and the time of a backup. Fails if it is removed meanwhile.
std::optional<Backup> Describe(const fs::path& path) {
  struct stat attributes {};
  if (stat(path.c_str(), &attributes) != 0) return std::nullopt;
  Backup backup{.name = path.filename(),
                .made = Instant{std::chrono::seconds{attributes.st_mtim.tv_sec}}};
  std::error_code error;
  for (fs::directory_iterator file(path, error); !error && file != fs::directory_iterator();
       file.increment(error)) {
    backup.bytes += file->file_size(error);
    if (error) return std::nullopt;
  }
  return error ? std::nullopt : std::optional(std::move(backup));
}

// Calls visit(path) for each entry of the directory.
template <typename Visit>
std::error_code ForEachEntry(const std::string& directory, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    visit(entry->path());
  }
  return error;
}

}  // namespace

bool IsBackupName(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kBackupNameBytesMax &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

BackupDirectory::BackupDirectory(std::string directory, int descriptor)
    : directory_(std::move(directory)), descriptor_(descriptor) {
  WEIR_CHECK(descriptor_ >= 0);
}

BackupDirectory::~BackupDirectory() { close(descriptor_); }

absl::StatusOr<std::unique_ptr<BackupDirectory>> BackupDirectory::Open(
    const std::string& directory, const std::string& data_directory) {
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return FailureOf(directory, LastError().message());
  }
  std::error_code error;
  if (fs::equivalent(directory, data_directory, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("backup directory ", directory, ": it is the data directory"));
  }
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FailureOf(directory, LastError().message());
  std::unique_ptr<BackupDirectory> opened(new BackupDirectory(directory, descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return opened->Failure(LastError());
    return absl::FailedPreconditionError(
        absl::StrCat("backup directory ", directory, ": another server uses it"));
  }
  WEIR_RETURN_IF_ERROR(opened->RemoveLeftovers());
  return opened;
}

absl::Status BackupDirectory::Failure(const std::error_code& error) const {
  return FailureOf(directory_, error.message());
}

std::string BackupDirectory::PathOf(std::string_view name) const {
  return absl::StrCat(directory_, "/", AbslView(name));
}

absl::Status BackupDirectory::RemoveLeftovers() const {
  std::vector<fs::path> leftovers;
  std::error_code error = ForEachEntry(directory_, [&](const fs::path& path) {
    const std::string name = path.filename();
    const std::string_view stem = std::string_view(name).substr(0, name.rfind(kUnfinished));
    if (name.ends_with(kUnfinished) && IsBackupName(stem)) leftovers.push_back(path);
  });
  for (const fs::path& path : leftovers) {
    if (!error) fs::remove_all(path, error);
  }
  return error ? Failure(error) : absl::OkStatus();
}

// Makes the names in the directory durable.
absl::Status BackupDirectory::Sync() const {
  const int descriptor = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Failure(LastError());
  const std::error_code error = fsync(descriptor) == 0 ? std::error_code() : LastError();
  close(descriptor);
  return error ? Failure(error) : absl::OkStatus();
}

// Gives a backup its name.
absl::Status BackupDirectory::Publish(const std::string& from, const std::string& to) const {
  if (chmod(from.c_str(), S_IRWXU) != 0 || rename(from.c_str(), to.c_str()) != 0) {
    return Failure(LastError());
  }
  absl::Status synced = Sync();
  std::error_code error;
  if (!synced.ok()) fs::remove_all(to, error);
  return synced;
}

absl::StatusOr<Backup> BackupDirectory::Make(
    std::string_view name, absl::FunctionRef<absl::Status(const std::string&)> link_to) {
  WEIR_RETURN_IF_ERROR(CheckName(name));
  const absl::StatusOr<std::vector<Backup>> present = List();
  if (!present.ok()) return present.status();
  std::error_code error;
  const fs::path path = PathOf(name);
  if (fs::exists(fs::symlink_status(path, error))) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is already a backup ", Quote(name), " in ", directory_));
  }
  if (present->size() >= kBackupsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kBackupsMax, " backups already: RL.BACKUP DEL removes one"));
  }
  WEIR_RETURN_IF_ERROR(RemoveLeftovers());
  // Other users may not look into the outer directory while the inner one has another mode.
  const std::string unfinished = absl::StrCat(path.string(), AbslView(kUnfinished));
  const std::string inner = unfinished + "/data";
  if (mkdir(unfinished.c_str(), S_IRWXU) != 0) return Failure(LastError());
  absl::Status made = link_to(inner);
  if (made.ok()) made = Publish(inner, path);
  fs::remove_all(unfinished, error);  // If it stays, the next call removes it.
  if (!made.ok()) return made;
  std::optional<Backup> backup = Describe(path);
  if (!backup) return FailureOf(directory_, absl::StrCat("the backup ", Quote(name), " is gone"));
  return *std::move(backup);
}

absl::StatusOr<std::vector<Backup>> BackupDirectory::List() const {
  std::vector<Backup> backups;
  const std::error_code error = ForEachEntry(directory_, [&](const fs::path& path) {
    if (!IsBackupName(path.filename().native()) || !IsBackup(path)) return;
    if (std::optional<Backup> backup = Describe(path)) backups.push_back(*std::move(backup));
  });
  if (error) return Failure(error);
  std::ranges::sort(backups, {}, &Backup::name);
  return backups;
}

absl::Status BackupDirectory::Remove(std::string_view name) {
  WEIR_RETURN_IF_ERROR(CheckName(name));
  const std::string path = PathOf(name);
  if (!IsBackup(path)) {
    return absl::NotFoundError(absl::StrCat("there is no backup ", Quote(name)));
  }
  WEIR_RETURN_IF_ERROR(RemoveLeftovers());
  if (rename(path.c_str(), absl::StrCat(path, AbslView(kUnfinished)).c_str()) != 0) {
    return Failure(LastError());
  }
  WEIR_RETURN_IF_ERROR(Sync());
  return RemoveLeftovers();
}

}  // namespace weir
