// The whole server: the limiter, its clock, the threads that serve connections, the listener, the
// sweeper.
//
//     Server server(options);
//     absl::Status started = server.Start();       // listens
//     server.Run();                                // until RequestShutdown() or a signal, then
//     drains
//
// Threads: the one that calls Run() accepts and handles signals, N I/O threads serve connections,
// one sweeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"

#include "server/config/options.h"
#include "server/session/worker.h"

namespace weir {

// A shutdown waits so long for replies to be sent; then it cuts, so that the process ends within 5
// s.
inline constexpr std::chrono::seconds kDrainTime{4};

class Server {
 public:
  // Throws what the system's refusal of a descriptor makes Asio throw (std::system_error).
  explicit Server(const Options& options);
  // Cuts what is still connected.
  ~Server();

  // Listens and starts the threads. Fails with one line that says what is not possible and why; the
  // server is then of no use. Throws std::system_error if the system has no thread to give.
  absl::Status Start();

  // Lets SIGTERM and SIGINT end the server as RequestShutdown() does, and SIGHUP read the policy
  // file again. While it drains SIGTERM does nothing, since those who manage processes send
  // several, and SIGINT ends the process at once. Fails if the system has no descriptor for it.
  // Requires: BlockSignals() before this was made.
  absl::Status HandleSignals();

  // Serves until it is asked to stop, then drains: no client is accepted; every connection executes
  // the requests received, sends its replies and closes; those left after kDrainTime are cut. Then
  // saves what is not saved yet. Fails if that is not possible, or if the state could not be
  // loaded. Requires: Start() was fine.
  absl::Status Run();

  // Thread-safe, returns at once. Unless it `saves`, the next start finds what the last save left,
  // as after a crash.
  void RequestShutdown(bool saves = true);

  // The port in use, after Start().
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] Services& services() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
