// The file of a Unix socket: there with its mode before anybody can connect, taken over from a
// server that has died, never from one that lives, and removed at the end.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace weir {

class UnixSocketFile {
 public:
  UnixSocketFile() = default;
  ~UnixSocketFile() { Remove(); }
  UnixSocketFile(const UnixSocketFile&) = delete;
  UnixSocketFile& operator=(const UnixSocketFile&) = delete;

  // Binds a Unix socket, which must not listen yet. Fails with the reason alone: "Address already
  // in use". Requires: holds no file.
  absl::Status Bind(int descriptor, const std::string& path, mode_t mode);

  // Unless another file has its name by now.
  void Remove();

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace weir
