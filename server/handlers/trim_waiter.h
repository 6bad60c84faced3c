// A client in RL.POLICY SET with TRIM: its session cuts what the policy's buckets owe, a part in
// each turn, so that other clients have their turns meanwhile, and answers OK after the last one.
// Belongs to its worker's thread.
//
// The work ends early if the client leaves, after CLIENT UNBLOCK, and when the server shuts down,
// its role changes, or the policy gets other limits. Then some buckets are cut, and the log tells
// how many.
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

  // Returns the end of a pause, or a past time: then the next part comes as soon as other clients
  // had a turn.
  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& at) const override;
  // Cuts nothing while changes are paused.
  [[nodiscard]] bool HasMoreWork(const Clock::Reading& at) override;
  [[nodiscard]] bool is_done() const override { return is_over_ && !trim_.is_outdated(); }
  [[nodiscard]] std::size_t held_bytes() const override {
    return sizeof(*this) + trim_.held_bytes();
  }
  [[nodiscard]] bool has_changed() const override { return true; }
  [[nodiscard]] bool Serve(RespWriter& reply, Instant now) override;
  void Withdraw(RespWriter& reply, Instant now) override;

 private:
  Worker& worker_;
  Limiter::PolicyTrim trim_;
  bool is_over_ = false;  // done, or outdated
};

}  // namespace weir
