// A server in RL.SYNC, which is answered when the control thread has decided. Belongs to its
// worker's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/base/instant.h"
#include "server/session/waiter.h"
#include "server/state/replication.h"

namespace weir {

class Session;

// The answer to RL.SYNC, once it is there.
struct LateSyncAnswer {
  SyncAnswer answer{};  // set before is_there
  std::atomic<bool> is_there{false};
};

class SyncWaiter final : public Waiter {
 public:
  // `session`: the one that waits.
  SyncWaiter(Session& session, SyncRequest request, std::shared_ptr<LateSyncAnswer> late)
      : session_(session), request_(std::move(request)), late_(std::move(late)) {}

  [[nodiscard]] bool is_there() const { return late_->is_there.load(std::memory_order_acquire); }
  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& /*at*/) const override {
    return is_there() ? HostInstant{} : kHostInstantMax;
  }
  [[nodiscard]] bool is_of_primary() const override { return false; }
  [[nodiscard]] std::size_t held_bytes() const override {
    return sizeof(*this) + sizeof(LateSyncAnswer);
  }
  [[nodiscard]] bool has_changed() const override { return false; }
  // Answers. If the request is accepted, the session gives its connection to replication.
  [[nodiscard]] bool Serve(RespWriter& reply, Instant now) override;
  void Withdraw(RespWriter& reply, Instant now) override;

 private:
  Session& session_;
  SyncRequest request_;
  const std::shared_ptr<LateSyncAnswer> late_;
};

}  // namespace weir
