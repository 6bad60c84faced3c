// A thread that serves connections: an event loop, its Worker, its connections, and the two buffers
// that they share.
//
// A connection stays on its thread for life, so nothing of it needs a lock. One buffer to read into
// and one to collect replies in are enough for all of them, since a connection uses them only
// within one step of the loop.
//
// Connections that wait in the middle of something are watched: while there is one, a timer looks
// every kStallTick whether it has waited too long. Nothing ticks for idle connections, unless the
// option timeout bounds how long they may be so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "server/net/transport.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"
#include "server/session/worker.h"

namespace weir {

class Connection;

// Read at a time. More is no faster, and would make others wait longer for their turn, and us keep
// more for a client that does not read.
inline constexpr std::size_t kInputBytes = 16 * 1024;
inline constexpr std::size_t kInputHeadroomBytes =
    4 * 1024;  // before them: the beginning of a request
inline constexpr std::size_t kOutputBytesKept =
    256 * 1024;  // memory of the replies' buffer; more is given back
inline constexpr std::chrono::milliseconds kStallTick{500};

class IoThread {
 public:
  explicit IoThread(Services& services);
  // Cuts what is left.
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // --- From any thread ---

  // `on_end` is called on this thread at its end: after Drain() when the last connection is closed,
  // or after Stop().
  void Start(const std::string& name, std::function<void()> on_end);

  // Sockets made with it belong to this thread.
  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

  // Serves a connection that was accepted with context().
  void Adopt(Transport transport, ClientArrival arrival);

  // Closes a connection whose farewell has been written; `owner` is let go when that is done.
  void Dismiss(StreamSocket socket, std::shared_ptr<const void> owner);

  // Every connection executes the requests received, sends its replies and closes; then the thread
  // ends.
  void Drain();

  // The saves up to this ticket have ended so: sends the replies that wait for them.
  void OnSaved(std::uint64_t ticket, const absl::Status& saved);

  // The option timeout was set: looks at those that are idle, too.
  void WatchIdle();

  // Ends the thread after the present step; open connections are cut when the object goes.
  void Stop();

  // --- For its connections, on this thread ---

  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  // kInputHeadroomBytes, then kInputBytes. Holds anything at the beginning of a step.
  [[nodiscard]] std::span<char> input() noexcept { return input_; }
  // The buffer for replies, empty.
  [[nodiscard]] std::string& EmptyOutput();
  [[nodiscard]] LogThrottle& output_throttle() noexcept { return output_throttle_; }
  [[nodiscard]] LogThrottle& stall_throttle() noexcept { return stall_throttle_; }
  [[nodiscard]] LogThrottle& tls_throttle() noexcept { return tls_throttle_; }
  // Calls connection->OnSaved() when a save that begins later has ended. It is asked for when all
  // who are ready now have had their turn, so that it serves them all.
  void Park(std::shared_ptr<Connection> connection);
  // Asks the connection at each tick whether it is stalled, until it says that it is not.
  void Watch(const std::shared_ptr<Connection>& connection);
  void Remove(const std::shared_ptr<Connection>& connection);

  // Closes the connections that have been stalled or idle for too long by the server's clock.
  // Called by a tick.
  void CloseStalled();

 private:
  struct ParkedGroup {
    std::uint64_t ticket;
    std::vector<std::shared_ptr<Connection>> connections;
  };

  void AskForSave();
  void ArmStallTimer();

  Worker worker_;
  LogThrottle output_throttle_;
  LogThrottle stall_throttle_;
  LogThrottle tls_throttle_;
  std::vector<char> input_;
  std::string output_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer stall_timer_;
  bool stall_timer_armed_ = false;
  bool draining_ = false;
  absl::flat_hash_set<std::shared_ptr<Connection>> connections_;
  absl::flat_hash_set<std::shared_ptr<Connection>> watched_;  // a part of them
  // Those that wait for a save: not asked for yet, and asked for, by ticket.
  std::vector<std::shared_ptr<Connection>> arriving_;
  std::deque<ParkedGroup> parked_;
  // Held while some are: they wait for nothing that the loop knows.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> parked_work_;
  std::thread thread_;
};

}  // namespace weir
