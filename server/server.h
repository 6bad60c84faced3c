// The whole server: the limiter, its clock, the threads that serve connections, the listener, the
// sweeper and the state on disk.
//
//     Server server(options);
//     absl::Status started = server.Start();   // listens
//     server.Run();                            // until RequestShutdown() or a signal; then drains
//
// Threads: the one that calls Run() accepts connections and handles signals, N I/O threads serve
// connections, one sweeps, and with a data directory one loads and then one saves.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"

#include "server/config/options.h"
#include "server/os/system_clock.h"
#include "server/session/worker.h"

namespace weir {

// The time that a shutdown waits for replies to be sent. Then it cuts connections, so that the
// process ends within 5 s.
inline constexpr std::chrono::seconds kDrainTime{4};

class Server {
 public:
  // Asio throws std::system_error if the system has no descriptor left.
  explicit Server(const Options& options);
  // Reads other clocks, for tests.
  Server(const Options& options, SystemClock::Source clocks);
  // Cuts the connections that are still open.
  ~Server();

  // Listens and starts the threads. Fails with one line that says what is not possible and why; the
  // server must not be used then. Throws std::system_error if the system cannot start a thread.
  absl::Status Start();

  // Makes SIGTERM and SIGINT end the server as RequestShutdown() does, and SIGHUP read the policy
  // file, the routes of checks and the TLS files again. While the server drains, SIGTERM has no
  // effect, because process managers send several, and SIGINT ends the process at once. Fails if
  // the system has no descriptor left. Requires: BlockSignals() was called before the server was
  // made.
  absl::Status HandleSignals();

  // Serves until a shutdown is requested, then drains: it accepts no client, and every connection
  // executes the requests received, sends its replies and closes; connections that are left after
  // kDrainTime are cut. Then saves what is not saved yet. Fails if that is not possible, or if the
  // state could not be loaded. Requires: Start() returned OK.
  absl::Status Run();

  // Ends Run(). Thread-safe; returns at once. Without `saves`, the next start finds the state of
  // the last save, as after a crash.
  void RequestShutdown(bool saves = true);

  // The port in use, after Start().
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] Services& services() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
