#include "server/service_reporter.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>

#include "server/session/worker.h"

namespace weir {
namespace {

using std::chrono::microseconds;

std::uint64_t DecisionsOf(const Services& services) {
  std::uint64_t sum = 0;
  for (const Worker* worker : services.workers) {
    sum += worker->request_counters.allowed.value() + worker->request_counters.denied.value();
  }
  return sum;
}

// The events a second, rounded to the nearest. Requires: span > 0.
std::uint64_t RateOf(std::uint64_t events, Nanos span) {
  const auto micros =
      std::max<std::int64_t>(1, std::chrono::duration_cast<microseconds>(span).count());
  const auto divisor = static_cast<std::uint64_t>(micros);
  return (events * microseconds::period::den + divisor / 2) / divisor;
}

}  // namespace

void ServiceReporter::Start() {
  if (!manager_.is_there()) return;
  reported_at_ = services_.clock.HostNow();
  decisions_reported_ = DecisionsOf(services_);
  Report(reported_at_);
  AwaitNext();
}

void ServiceReporter::AwaitNext() {
  const Nanos watchdog_share = manager_.watchdog_time().value_or(Nanos::max()) / 2;
  timer_.expires_after(std::min<Nanos>(kReportInterval, watchdog_share));
  timer_.async_wait([this](std::error_code error) {
    if (error || phase_ == Phase::kStopping) return;
    Report(services_.clock.HostNow());
    AwaitNext();
  });
}

void ServiceReporter::Report(HostInstant now) {
  std::string message = absl::StrCat("STATUS=", StatusText(now));
  if (phase_ == Phase::kLoading) {
    absl::StrAppend(&message, "\nEXTEND_TIMEOUT_USEC=", microseconds{kLoadExtension}.count());
  }
  if (manager_.watchdog_time() && AllThreadsHaveRun()) absl::StrAppend(&message, "\nWATCHDOG=1");
  manager_.Notify(message);
}

std::string ServiceReporter::StatusText(HostInstant now) {
  const std::size_t buckets = services_.upkeep.size().buckets;
  if (phase_ == Phase::kLoading) return absl::StrCat("Loading the state: ", buckets, " buckets");
  const std::uint64_t decisions = DecisionsOf(services_);
  // If the clock has not advanced, the count waits for the next report. It goes back when the
  // server begins to follow a primary.
  std::uint64_t rate = 0;
  if (now != reported_at_) {
    const std::uint64_t count = decisions - std::exchange(decisions_reported_, decisions);
    const Nanos span = now - std::exchange(reported_at_, now);
    if (span > Nanos{0}) rate = RateOf(count, span);
  }
  return absl::StrCat(rate, " decisions a second, ", services_.clients.size(), " clients, ",
                      buckets, " buckets");
}

bool ServiceReporter::AllThreadsHaveRun() {
  if (threads_silent_.load(std::memory_order_relaxed) > 0) return false;
  threads_silent_.store(threads_.size(), std::memory_order_relaxed);
  for (const std::unique_ptr<IoThread>& thread : threads_) {
    asio::post(thread->context(),
               [this] { threads_silent_.fetch_sub(1, std::memory_order_relaxed); });
  }
  return true;
}

void ServiceReporter::Ready() {
  phase_ = Phase::kServing;
  manager_.Notify("READY=1");
}

void ServiceReporter::Reloading() {
  if (phase_ == Phase::kServing) manager_.Notify("RELOADING=1");
}

void ServiceReporter::Reloaded() {
  if (phase_ == Phase::kServing) manager_.Notify("READY=1");
}

void ServiceReporter::Stopping() {
  phase_ = Phase::kStopping;
  timer_.cancel();
  manager_.Notify("STOPPING=1\nSTATUS=Answering the last requests and saving");
}

}  // namespace weir
