#include "server/os/service_manager.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

namespace weir {

ServiceManager ServiceManager::FromEnvironment() {
  ServiceManager manager;
  // No thread changes the environment.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  manager.is_there_ = socket != nullptr && *socket != '\0';
  std::uint64_t micros = 0;
  if (manager.is_there_ && sd_watchdog_enabled(/*unset_environment=*/0, &micros) > 0) {
    manager.watchdog_time_ = std::chrono::microseconds{micros};
  }
  return manager;
}

void ServiceManager::Notify(const std::string& message) {
  if (!is_there_) return;
  const int sent = sd_notify(/*unset_environment=*/0, message.c_str());
  if (sent >= 0 || has_failed_) return;
  has_failed_ = true;
  spdlog::warn("cannot tell the service manager about the state of the server: {}",
               std::generic_category().message(-sent));
}

}  // namespace weir
