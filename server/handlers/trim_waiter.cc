#include "server/handlers/trim_waiter.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "server/session/worker.h"

namespace weir {

void LogTrimmed(std::string_view policy, std::size_t buckets) {
  spdlog::info("policy '{}': cut what {} buckets owe", policy, buckets);
}

TrimWaiter::TrimWaiter(Worker& worker, Limiter::PolicyTrim trim)
    : worker_(worker), trim_(std::move(trim)) {
  worker_.services.waiters.fetch_add(1, std::memory_order_relaxed);
}

TrimWaiter::~TrimWaiter() {
  worker_.services.waiters.fetch_sub(1, std::memory_order_relaxed);
  if (done_) return;
  spdlog::warn("policy '{}': stopped after {} buckets were cut: give RL.POLICY SET ... TRIM again",
               trim_.policy().name, trim_.trimmed());
}

HostInstant TrimWaiter::ReadyAt(const Clock::Reading& /*at*/) const {
  return worker_.services.pause.until();
}

bool TrimWaiter::HasMoreWork(const Clock::Reading& at) {
  if (at.host_now < ReadyAt(at)) return true;
  done_ = trim_.Step(worker_.services.explicit_time.View(at.now));
  return !done_;
}

bool TrimWaiter::Serve(RespWriter& reply, Instant /*now*/) {
  LogTrimmed(trim_.policy().name, trim_.trimmed());
  reply.SimpleString("OK");
  return true;
}

void TrimWaiter::Withdraw(RespWriter& reply, Instant /*now*/) {
  worker_.Fail(reply, "ERR stopped before all buckets were cut");
}

}  // namespace weir
