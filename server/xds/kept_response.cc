#include "server/xds/kept_response.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/file_text.h"
#include "core/base/status.h"
#include "persistence/crc32c.h"
#include "server/xds/xds_client.h"

namespace weir {
namespace {

constexpr std::size_t kHeadBytesMax = 64;

std::string PathIn(const std::string& directory) {
  return absl::StrCat(directory, "/", AbslView(kKeptResponseFile));
}

absl::Status FailureAt(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", std::generic_category().message(errno)));
}

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Opens, does the work, and closes; errno has the first error.
template <typename Work>
bool WithOpened(const std::string& path, int flags, const Work& work) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return false;
  const bool worked = work(descriptor);
  const int error = errno;
  close(descriptor);
  errno = error;
  return worked;
}

}  // namespace

std::string KeptResponseText(std::string_view message) {
  return absl::StrFormat("weir rls-xds 1 %d crc32c %08x\n%s", message.size(), Crc32c(message),
                         AbslView(message));
}

std::optional<std::string> ReadKeptResponseText(std::string_view text) {
  const std::string_view message = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  if (KeptResponseText(message) != text) return std::nullopt;
  return std::string(message);
}

absl::Status KeepResponse(const std::string& directory, std::string_view message) {
  const std::string path = PathIn(directory);
  const std::string aside = path + ".new";
  const std::string text = KeptResponseText(message);
  const bool is_written = WithOpened(aside, O_WRONLY | O_CREAT | O_TRUNC, [&](int descriptor) {
    return WriteAll(descriptor, text) && fsync(descriptor) == 0;
  });
  if (!is_written || rename(aside.c_str(), path.c_str()) != 0) {
    absl::Status failure = FailureAt(path);
    unlink(aside.c_str());  // The disk may be full.
    return failure;
  }
  const bool is_durable = WithOpened(directory, O_RDONLY | O_DIRECTORY,
                                     [](int descriptor) { return fsync(descriptor) == 0; });
  return is_durable ? absl::OkStatus() : FailureAt(path);
}

absl::StatusOr<std::optional<std::string>> ReadKeptResponse(const std::string& directory) {
  const std::string path = PathIn(directory);
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::nullopt;
  const absl::StatusOr<std::string> text =
      ReadFileText(path, "kept response", kHeadBytesMax + kXdsMessageBytesMax);
  if (!text.ok()) return text.status();
  std::optional<std::string> message = ReadKeptResponseText(*text);
  if (!message) return absl::DataLossError(absl::StrCat(path, " is damaged"));
  return message;
}

}  // namespace weir
