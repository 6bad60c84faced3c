// A client in RL.POLICY SET with TRIM: its session cuts what the policy's buckets owe, a part in
// each turn, so that other clients have their turns meanwhile, and answers OK after the last one.
// Belongs to its worker's thread.
//
// A client that leaves before, CLIENT UNBLOCK, a shutdown and a change of the role end the work:
// some buckets are cut, which the log tells, and the command may be given again.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/limiter/policy_trim.h"
#include "protocol/resp_writer.h"
#include "server/session/waiter.h"

namespace weir {

struct Worker;

// Logs that a policy's buckets were cut.
void LogTrimmed(std::string_view policy, std::size_t buckets);

class TrimWaiter final : public Waiter {
 public:
  TrimWaiter(Worker& worker, Limiter::PolicyTrim trim);
  ~TrimWaiter() override;

  // The end of a pause, or a time that is past: as soon as other clients had a turn.
  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& at) const override;
  // Cuts nothing while changes are paused.
  [[nodiscard]] bool HasMoreWork(const Clock::Reading& at) override;
  [[nodiscard]] std::size_t held_bytes() const override { return sizeof(*this); }
  [[nodiscard]] bool has_changed() const override { return true; }
  [[nodiscard]] bool Serve(RespWriter& reply, Instant now) override;
  void Withdraw(RespWriter& reply, Instant now) override;

 private:
  Worker& worker_;
  Limiter::PolicyTrim trim_;
  bool done_ = false;
};

}  // namespace weir
