// The service manager that started the server: systemd, which waits for messages on a socket.
//
//     ServiceManager manager = ServiceManager::FromEnvironment();
//     manager.Notify("READY=1\nSTATUS=Serving");
//
// The messages are those of sd_notify(3): READY=1, RELOADING=1, STOPPING=1, STATUS=..., WATCHDOG=1
// and EXTEND_TIMEOUT_USEC=.... libsystemd sends them.
#pragma once

#include <optional>
#include <string>

#include "core/base/instant.h"

namespace weir {

class ServiceManager {
 public:
  // No manager: Notify() does nothing.
  ServiceManager() = default;
  // The manager that listens on the socket that NOTIFY_SOCKET names, if that is set.
  [[nodiscard]] static ServiceManager FromEnvironment();

  [[nodiscard]] bool is_there() const noexcept { return is_there_; }
  // The time within which the manager expects WATCHDOG=1 again and again, if it does
  // (WATCHDOG_USEC, and WATCHDOG_PID is this process).
  [[nodiscard]] std::optional<Nanos> watchdog_time() const noexcept { return watchdog_time_; }

  // Sends one message, whose assignments are separated by "\n". Never waits for the manager for
  // long: it reads all that arrives. A failure is logged, the first time. Cost: a few system calls.
  void Notify(const std::string& message);

 private:
  bool is_there_ = false;
  bool has_failed_ = false;
  std::optional<Nanos> watchdog_time_;
};

}  // namespace weir
