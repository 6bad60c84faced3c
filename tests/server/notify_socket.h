// A service manager for tests: the socket that NOTIFY_SOCKET names while the object lives, and what
// arrives there.
//
//     NotifySocket socket;
//     ServiceManager::FromEnvironment().Notify("READY=1");
//     EXPECT_EQ(socket.Next(), "READY=1");
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "tests/support/temporary_directory.h"

namespace weir {

// It changes the environment, so no thread of the test may run when it is made or destroyed.
class NotifySocket {
 public:
  // With `watchdog_usec`, the manager expects WATCHDOG=1 that often.
  explicit NotifySocket(const std::string& watchdog_usec = "")
      : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string path = directory_.path() + "/notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    WEIR_CHECK(path.size() < sizeof address.sun_path);
    std::ranges::copy(path, address.sun_path);
    WEIR_CHECK(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (!watchdog_usec.empty()) setenv("WATCHDOG_USEC", watchdog_usec.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    if (socket_ >= 0) close(socket_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // The next message; "" if none has arrived.
  [[nodiscard]] std::string Next() const { return Receive(MSG_DONTWAIT); }
  // Waits for the next message.
  [[nodiscard]] std::string Await() const { return Receive(0); }
  // Waits for this assignment in a message, passing over others.
  void AwaitAssignment(const std::string& assignment) const {
    while (("\n" + Await() + "\n").find("\n" + assignment + "\n") == std::string::npos) {
    }
  }

  // The manager is gone: messages can no longer be sent.
  void Close() { close(std::exchange(socket_, -1)); }

 private:
  [[nodiscard]] std::string Receive(int flags) const {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), flags);
    return count < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(count));
  }

  TemporaryDirectory directory_;
  int socket_;
};

}  // namespace weir
