// The file of a Unix socket. It has its mode before a client can connect. A file that a dead server
// left is replaced, that of a running server never; the destructor removes the file.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

#include "server/config/options.h"

namespace weir {

// The mode of a file: 0700 of UnixSocketPerm::kOwner.
[[nodiscard]] mode_t ModeOf(UnixSocketPerm perm) noexcept;

class UnixSocketFile {
 public:
  UnixSocketFile() = default;
  ~UnixSocketFile() { Remove(); }
  UnixSocketFile(const UnixSocketFile&) = delete;
  UnixSocketFile& operator=(const UnixSocketFile&) = delete;

  // Binds a Unix socket, which must not listen yet. Fails with the reason alone: "Address already
  // in use". Requires: this object has no file yet.
  absl::Status Bind(int descriptor, const std::string& path, mode_t mode);

  // Removes the file, unless another file has taken its name.
  void Remove();

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace weir
