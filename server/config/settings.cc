#include "server/config/settings.h"

#include <utility>

#include "core/base/status.h"
#include "server/os/log.h"

namespace weir {

Settings::Settings(Options options) : options_(std::move(options)) {
  MutexLock lock(mutex_);
  Publish();
}

void Settings::Publish() {
  max_clients.value_ = options_.max_clients;
  max_clients_memory.value_ = options_.max_clients_memory.bytes;
  max_memory.value_ = options_.max_memory.bytes;
  protected_mode.value_ = options_.protected_mode;
  serves_unsaved.value_ = options_.on_persist_error == OnPersistError::kServe;
  snapshot_interval.value_ = options_.snapshot_interval;
  timeout.value_ = options_.timeout;
}

Options Settings::All() const {
  MutexLock lock(mutex_);
  return options_;
}

absl::Status Settings::Change(absl::FunctionRef<absl::Status(Options& options)> change) {
  MutexLock lock(mutex_);
  Options changed = options_;
  WEIR_RETURN_IF_ERROR(change(changed));
  std::swap(options_, changed);
  Publish();
  if (options_.log_level != changed.log_level) SetLogLevel(options_.log_level);
  on_change_();
  return absl::OkStatus();
}

void Settings::set_on_change(std::function<void()> on_change) {
  MutexLock lock(mutex_);
  on_change_ = std::move(on_change);
}

}  // namespace weir
