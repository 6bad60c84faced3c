#include "replay/log_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

constexpr std::size_t kAheadBytes = 64 * 1024;

absl::Status CannotRead(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot read ", Quote(path), ": ", std::generic_category().message(error)));
}

// The first bytes of a file that is compressed by another program than gzip, the name of that
// program and the one that unpacks it.
struct Compression {
  std::string_view begin;
  std::string_view name;
  std::string_view reader;
};
constexpr auto kCompressions = std::to_array<Compression>({{"\x28\xB5\x2F\xFD", "zstd", "zstdcat"},
                                                           {"\xFD\x37zXZ", "xz", "xzcat"},
                                                           {"BZh", "bzip2", "bzcat"},
                                                           {"PK\x03\x04", "zip", "unzip -p"}});
constexpr std::size_t kBeginBytes =
    std::ranges::max_element(kCompressions, {}, [](const Compression& c) {
      return c.begin.size();
    })->begin.size();

absl::Status CheckKnown(const std::string& path, std::string_view begin) {
  for (const Compression& compression : kCompressions) {
    if (!begin.starts_with(compression.begin)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(Quote(path), " is compressed by ", AbslView(compression.name), ": ",
                     AbslView(compression.reader), " it, and give weir-replay '-' as the log"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogBytes>> LogBytes::Open(const std::string& path) {
  const int descriptor =
      path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT: variadic
  if (descriptor < 0) return CannotRead(path, errno);
  struct stat known = {};
  const bool has_size = fstat(descriptor, &known) == 0 && S_ISREG(known.st_mode);
  return std::unique_ptr<LogBytes>(
      new LogBytes(path, descriptor, has_size ? static_cast<std::uint64_t>(known.st_size) : 0));
}

LogBytes::LogBytes(std::string path, int descriptor, std::uint64_t file_bytes)
    : path_(std::move(path)),
      descriptor_(descriptor),
      file_bytes_(file_bytes),
      ahead_(kAheadBytes) {}

LogBytes::~LogBytes() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

absl::StatusOr<std::size_t> LogBytes::Read(std::span<char> room) {
  WEIR_CHECK(!room.empty());
  if (!is_told_) WEIR_RETURN_IF_ERROR(TellCompression());
  if (gunzip_) return ReadPacked(room);
  if (begin_ == end_) return ReadStored(room);
  const std::size_t bytes = std::min(Ahead().size(), room.size());
  std::ranges::copy(Ahead().substr(0, bytes), room.begin());
  begin_ += bytes;
  return bytes;
}

// A pipe may give its first bytes one by one.
absl::Status LogBytes::TellCompression() {
  while (end_ < kBeginBytes) {
    const absl::StatusOr<std::size_t> got = ReadStored(std::span(ahead_).subspan(end_));
    if (!got.ok()) return got.status();
    if (*got == 0) break;
    end_ += *got;
  }
  WEIR_RETURN_IF_ERROR(CheckKnown(path_, Ahead()));
  if (Ahead().starts_with(Gunzip::kBegin)) gunzip_.emplace();
  is_told_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> LogBytes::ReadPacked(std::span<char> room) {
  for (;;) {
    const absl::StatusOr<Gunzip::Moved> moved = gunzip_->Unpack(Ahead(), room);
    if (!moved.ok()) return moved.status();
    begin_ += moved->taken;
    if (moved->given > 0) return moved->given;
    WEIR_CHECK(begin_ == end_);
    const absl::StatusOr<std::size_t> got = ReadStored(ahead_);
    if (!got.ok()) return got.status();
    if (*got == 0 && !gunzip_->may_end()) {
      return absl::DataLossError("the file is cut: its gzip data end here");
    }
    if (*got == 0) return 0;
    begin_ = 0;
    end_ = *got;
  }
}

absl::StatusOr<std::size_t> LogBytes::ReadStored(std::span<char> room) {
  ssize_t got = 0;
  do {
    got = read(descriptor_, room.data(), room.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return CannotRead(path_, errno);
  bytes_read_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

}  // namespace weir
