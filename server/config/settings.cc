#include "server/config/settings.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/status.h"

namespace weir {
namespace {

template <typename T>
void Publish(T value, T& in_force) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::atomic_ref(in_force).store(value, std::memory_order_relaxed);
  }
}

}  // namespace

Options Settings::All() const {
  MutexLock lock(mutex_);
  return options_;
}

absl::Status Settings::Change(absl::FunctionRef<absl::Status(Options& options)> change) {
  MutexLock lock(mutex_);
  Options changed = options_;
  WEIR_RETURN_IF_ERROR(change(changed));
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.live) continue;
    std::visit([&](auto field) { Publish(changed.*field, in_force_.*field); }, spec.field);
  }
  for (const Listener& listener : listeners_) listener(changed);
  options_ = std::move(changed);
  return absl::OkStatus();
}

void Settings::OnChange(Listener listener) {
  MutexLock lock(mutex_);
  listeners_.push_back(std::move(listener));
}

}  // namespace weir
