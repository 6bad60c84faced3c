// The acknowledgements of a link, and the saves that they wait for.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <asio/post.hpp>

#include "server/replicas/primary_link.h"

namespace weir {

void PrimaryLink::AppendAck(std::string& out) {
  OnDisk disk = {.is_awaited = acks_from_disk(), .fails = services_.is_save_failing()};
  {
    MutexLock lock(mutex_);
    disk.offset = saved_;
  }
  // The promise counts from before the bytes leave.
  promise_.Acked(std::chrono::milliseconds{sink_.heartbeat().lease_ms}, clock_.HostNow());
  sink_.AppendAck(clock_.Now(), disk, out);
}

// A replica that is not in sync does not ask: LinkLacks tells its role machine why.
void PrimaryLink::AppendTakeover(std::string& out) {
  if (!sink_.synced()) return;
  sink_.AppendTakeover(clock_.Now(), out);
  ++requests_;
  awaits_yield_ = true;
}

void PrimaryLink::OnSaveBegun() {
  const std::optional<std::uint64_t> shown = followed_.cell().Read().shown;
  MutexLock lock(mutex_);
  saving_ = shown;
}

void PrimaryLink::OnSaved() {
  {
    MutexLock lock(mutex_);
    if (!acks_from_disk() || !saving_) return;
    saved_ = std::exchange(saving_, std::nullopt);
  }
  asio::post(context_, [this] {
    thread_.AssertHeld();
    owes_ack_ = applies_;
  });
}

// Requests a save of new changes, because their acknowledgement waits for the disk.
void PrimaryLink::SaveWhatIsNew() {
  const std::optional<std::uint64_t> shown = sink_.shown();
  if (!acks_from_disk() || services_.admission().loading() || !shown || asked_to_save_ == shown)
    return;
  asked_to_save_ = shown;
  static_cast<void>(services_.state->RequestSave());
}

}  // namespace weir
