#include "server/handlers/trim_waiter.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "server/session/worker.h"

namespace weir {

void LogTrimmed(std::string_view policy, std::size_t buckets) {
  spdlog::info("policy '{}': cut what {} buckets owe", policy, buckets);
}

TrimWaiter::TrimWaiter(Worker& worker, Limiter::PolicyTrim trim)
    : worker_(worker), trim_(std::move(trim)) {}

TrimWaiter::~TrimWaiter() {
  if (is_done()) return;
  spdlog::warn("policy '{}': stopped after {} buckets were cut: {}", trim_.policy().name,
               trim_.trimmed(),
               trim_.is_outdated() ? "it has other limits now, or is deleted"
                                   : "give RL.POLICY SET ... TRIM again");
}

HostInstant TrimWaiter::ReadyAt(const Clock::Reading& /*at*/) const {
  return worker_.services.pause.until();
}

bool TrimWaiter::HasMoreWork(const Clock::Reading& at) {
  if (at.host_now < ReadyAt(at)) return true;
  is_over_ = trim_.Step(worker_.services.explicit_time.View(at.now));
  return !is_over_;
}

bool TrimWaiter::Serve(RespWriter& reply, Instant /*now*/) {
  if (trim_.is_outdated()) {
    worker_.Fail(reply, kOutdatedTrim);
    return false;
  }
  LogTrimmed(trim_.policy().name, trim_.trimmed());
  reply.SimpleString("OK");
  return true;
}

void TrimWaiter::Withdraw(RespWriter& reply, Instant /*now*/) {
  worker_.Fail(reply, "ERR stopped before all buckets were cut");
}

}  // namespace weir
