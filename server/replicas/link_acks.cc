// The acknowledgements of a link, and the saves that they wait for.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <asio/post.hpp>

#include "server/replicas/primary_link.h"

namespace weir {

void PrimaryLink::AppendAck(std::string& out) {
  OnDisk disk = {.is_awaited = acks_from_disk_, .fails = owner_.is_save_failing()};
  {
    MutexLock lock(mutex_);
    disk.offset = saved_;
  }
  const HostInstant acked = clock_.HostNow();
  sink_.AppendAck(clock_.Now(), disk, out);
  promise_.Acked(std::chrono::milliseconds{sink_.heartbeat().lease_ms}, acked);
}

void PrimaryLink::NoteSaveBegun() {
  MutexLock lock(mutex_);
  saving_ = shown_;
}

void PrimaryLink::NoteSaved() {
  {
    MutexLock lock(mutex_);
    if (!acks_from_disk_ || !saving_) return;
    saved_ = std::exchange(saving_, std::nullopt);
  }
  asio::post(context_, [this] { owes_ack_ = applies_; });
}

// Requests a save of new changes, because their acknowledgement waits for the disk.
void PrimaryLink::SaveWhatIsNew() {
  const std::optional<std::uint64_t> shown = sink_.shown();
  if (!acks_from_disk_ || !shown || asked_to_save_ == shown) return;
  asked_to_save_ = shown;
  owner_.SaveSoon();
}

}  // namespace weir
