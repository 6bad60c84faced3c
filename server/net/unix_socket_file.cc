#include "server/net/unix_socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"

namespace weir {
namespace {

constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Failure(int error) {
  return absl::UnavailableError(std::generic_category().message(error));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, address.sun_path);
  return address;
}

int BindTo(int descriptor, const sockaddr_un& address) {
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  return bind(descriptor, any, sizeof address) == 0 ? 0 : errno;
}

// True if no server listens on the socket any more. A server whose queue is full still does.
bool IsAbandoned(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  const bool refused = connect(probe, any, sizeof address) != 0 && errno == ECONNREFUSED;
  close(probe);
  return refused;
}

}  // namespace

mode_t ModeOf(UnixSocketPerm perm) noexcept {
  constexpr std::array<mode_t, 3> kModes = {0700, 0770, 0777};
  return kModes[static_cast<std::size_t>(perm)];
}

absl::Status UnixSocketFile::Bind(int descriptor, const std::string& path, mode_t mode) {
  WEIR_CHECK(path_.empty());
  if (path.size() > kPathBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the path has ", path.size(), " bytes; that of a Unix socket has at most ", kPathBytesMax));
  }
  const sockaddr_un address = AddressOf(path);
  // Linux makes the file with the socket's mode without the bits of the umask; chmod() adds those
  // while no client can connect yet. So the file never has a wider mode than `mode`.
  if (fchmod(descriptor, mode) != 0) return Failure(errno);
  int error = BindTo(descriptor, address);
  struct stat file {};
  if (error == EADDRINUSE && lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode))
      return absl::UnavailableError("the file exists and is not a socket");
    if (IsAbandoned(address)) {
      if (unlink(path.c_str()) != 0) return Failure(errno);
      error = BindTo(descriptor, address);
    }
  }
  if (error != 0) return Failure(error);
  if (lstat(path.c_str(), &file) != 0) return Failure(errno);
  path_ = path;
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return chmod(path.c_str(), mode) == 0 ? absl::OkStatus() : Failure(errno);
}

void UnixSocketFile::Remove() {
  const std::string path = std::exchange(path_, {});
  struct stat file {};
  if (path.empty() || lstat(path.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == inode_) unlink(path.c_str());
}

}  // namespace weir
