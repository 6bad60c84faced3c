// A client in WAIT: it is answered with the number of replicas that have its last change, when that
// is the number that it has asked for, or at a deadline. Belongs to its worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/instant.h"
#include "protocol/resp_writer.h"
#include "server/session/waiter.h"
#include "server/state/ack_waits.h"

namespace weir {

class AckWaiter final : public Waiter {
 public:
  AckWaiter(std::shared_ptr<AckWait> wait, HostInstant deadline)
      : wait_(std::move(wait)), deadline_(deadline) {}
  ~AckWaiter() override { wait_->GiveUp(); }

  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& /*at*/) const override {
    return wait_->is_over() ? HostInstant{} : deadline_;
  }
  [[nodiscard]] std::size_t held_bytes() const override { return sizeof(*this) + sizeof(AckWait); }
  [[nodiscard]] bool has_changed() const override { return false; }
  [[nodiscard]] bool Serve(RespWriter& reply, Instant /*now*/) override {
    reply.Integer(static_cast<std::int64_t>(wait_->count()));
    return true;
  }
  void Withdraw(RespWriter& reply, Instant now) override { static_cast<void>(Serve(reply, now)); }

 private:
  const std::shared_ptr<AckWait> wait_;
  const HostInstant deadline_;
};

}  // namespace weir
