// Reports to systemd what the server does: it is ready once the state is loaded, reloads, stops,
// and each second a line of numbers that `systemctl status` shows.
//
//     reporter.Start();      // while it loads: the number of buckets, and that it needs more time
//     reporter.Ready();
//     reporter.Reloading();  // ... then Reloaded()
//     reporter.Stopping();
//
// With a watchdog (WatchdogSec=), a report says WATCHDOG=1 if all threads that serve connections
// have run since the previous one: systemd restarts a server whose threads hang.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/instant.h"
#include "server/net/io_thread.h"
#include "server/os/service_manager.h"
#include "server/session/services.h"

namespace weir {

// The time between two reports; with a short watchdog, half of its time if that is less.
inline constexpr std::chrono::seconds kReportInterval{1};
// The additional time that each report asks for while the state is loaded.
inline constexpr std::chrono::seconds kLoadExtension{60};

// Not thread-safe: used on the thread of its context. Without a service manager all calls do
// nothing.
class ServiceReporter {
 public:
  using Threads = std::vector<std::unique_ptr<IoThread>>;

  // The arguments must outlive it, and `threads` must be complete before Start().
  ServiceReporter(asio::io_context& context, ServiceManager manager, Services& services,
                  const Threads& threads)
      : timer_(context), manager_(manager), services_(services), threads_(threads) {}

  // Sends the first report, and each later one by a timer until Stopping().
  void Start();
  // Each is called once, in this order.
  void Ready();
  void Stopping();
  // Bracket a reload. They do nothing before Ready() and after Stopping(), as systemd would take
  // the end of a reload for the end of the start.
  void Reloading();
  void Reloaded();

  // Sends one report; the timer calls it.
  void Report(HostInstant now);

 private:
  enum class Phase : std::uint8_t { kLoading, kServing, kStopping };

  void AwaitNext();
  [[nodiscard]] std::string StatusText(HostInstant now);
  // True if all threads have run since the last call that returned true.
  [[nodiscard]] bool AllThreadsHaveRun();

  asio::steady_timer timer_;
  ServiceManager manager_;
  Services& services_;
  const Threads& threads_;
  Phase phase_ = Phase::kLoading;
  HostInstant reported_at_{};
  std::uint64_t decisions_reported_ = 0;
  // The threads that have not run since they were asked to.
  std::atomic<std::size_t> threads_silent_{0};
};

}  // namespace weir
