#include "replay/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/byte_order_mark.h"
#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot read ", Quote(path), ": ", std::generic_category().message(error)));
}

// The first bytes of a compressed file, the program that makes it and the one that reads it.
struct Compression {
  std::string_view begin;
  std::string_view name;
  std::string_view reader;
};
constexpr auto kCompressions = std::to_array<Compression>({{"\x1F\x8B", "gzip", "zcat"},
                                                           {"\x28\xB5\x2F\xFD", "zstd", "zstdcat"},
                                                           {"\xFD\x37zXZ", "xz", "xzcat"},
                                                           {"BZh", "bzip2", "bzcat"}});

absl::Status CheckPlain(const std::string& path, std::string_view begin) {
  for (const Compression& compression : kCompressions) {
    if (!begin.starts_with(compression.begin)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(Quote(path), " is compressed by ", AbslView(compression.name), ": ",
                     AbslView(compression.reader), " it, and give weir-replay '-' as the log"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path) {
  const int descriptor =
      path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT: variadic
  if (descriptor < 0) return CannotRead(path, errno);
  struct stat known = {};
  const bool has_size = fstat(descriptor, &known) == 0 && S_ISREG(known.st_mode);
  return std::unique_ptr<LineReader>(
      new LineReader(path, descriptor, has_size ? static_cast<std::uint64_t>(known.st_size) : 0));
}

LineReader::LineReader(std::string path, int descriptor, std::uint64_t file_bytes)
    : path_(std::move(path)),
      descriptor_(descriptor),
      file_bytes_(file_bytes),
      buffer_(2 * kLineBytesMax) {}

LineReader::~LineReader() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

bool LineReader::Next() {
  std::size_t searched = 0;  // bytes from begin_ on without a newline
  is_too_long_ = false;
  for (;;) {
    const char* const begin = buffer_.data() + begin_;
    const std::size_t size = end_ - begin_;
    const void* const newline = std::memchr(begin + searched, '\n', size - searched);
    if (newline) {
      const auto bytes = static_cast<std::size_t>(static_cast<const char*>(newline) - begin);
      begin_ += bytes + 1;
      SetLine({begin, bytes});
      return true;
    }
    searched = size;
    if (size > kLineBytesMax) {
      is_too_long_ = true;
      begin_ = end_;
      searched = 0;
    }
    if (Fill()) continue;
    if (!status_.ok() || (begin_ == end_ && !is_too_long_)) return false;
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    SetLine(rest);
    return true;
  }
}

void LineReader::SetLine(std::string_view line) {
  ++number_;
  if (number_ == 1) line = WithoutByteOrderMark(line);
  if (line.size() > kLineBytesMax) is_too_long_ = true;
  if (is_too_long_) line = {};
  if (line.ends_with('\r')) line.remove_suffix(1);
  line_ = line;
}

bool LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  WEIR_CHECK(end_ < buffer_.size());
  ssize_t got = 0;
  do {
    got = read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) status_ = CannotRead(path_, errno);
  if (got <= 0) return false;
  if (bytes_read_ == 0) {
    status_ = CheckPlain(path_, {buffer_.data(), static_cast<std::size_t>(got)});
    if (!status_.ok()) return false;
  }
  end_ += static_cast<std::size_t>(got);
  bytes_read_ += static_cast<std::uint64_t>(got);
  return true;
}

}  // namespace weir
