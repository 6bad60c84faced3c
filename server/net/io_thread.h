// A thread that serves connections: an event loop, its Worker, its connections, and the two buffers
// that they share.
//
// A connection stays on its thread for life, so it needs no lock. All connections share one buffer
// to read into and one to collect replies in, because a connection uses them only within one step
// of the loop.
//
// Stalled connections are watched: while there are any, a timer checks every kStallTick whether one
// has been stalled for too long. So are those whose sessions want ticks. No timer runs for idle
// connections, unless the option timeout limits the time that they may be idle.
#pragma once

#include <array>
#include <atomic>
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

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/check.h"
#include "server/net/transport.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"
#include "server/session/client_session.h"
#include "server/session/worker.h"
#include "server/state/ack_waits.h"
#include "server/state/edge_port.h"

namespace weir {

class Connection;

// The most that is read at a time. More is no faster; it would make other clients wait longer for
// their turn, and a client that does not read would cost more memory.
inline constexpr std::size_t kInputBytes = 16 * 1024;
// Room in front of it for the beginning of a request.
inline constexpr std::size_t kInputHeadroomBytes = 4 * 1024;
// Capacity of the reply buffer that is kept between turns; a larger buffer is freed.
inline constexpr std::size_t kOutputBytesKept = 256 * 1024;
inline constexpr std::chrono::milliseconds kStallTick{500};

// public-functions: 26, one more for the threads of an edge
class IoThread {
 public:
  explicit IoThread(Services& services);
  // Cuts the connections that are still open.
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // --- From any thread ---

  // Starts the thread. It calls `on_end` at its end: after Drain() once the last connection is
  // closed, or after Stop().
  void Start(const std::string& name, std::function<void()> on_end);

  // The context of the event loop. Sockets made with it belong to this thread.
  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

  // Makes the thread one of an edge. `make`: with its worker and its context. Requires: the thread
  // was not started.
  void BecomeEdge(const std::function<std::unique_ptr<EdgePort>(Worker& worker,
                                                                asio::io_context& context)>& make) {
    WEIR_CHECK(!thread_.joinable());
    edge_ = make(worker_, context_);
    worker_.edge = edge_.get();
  }

  // Serves a connection that was accepted with context().
  void Adopt(Transport transport, const SessionMaker& make, ClientArrival arrival);

  // Gives the connections of clients that have become replicas to `take`, on this thread. Requires:
  // the thread was not started.
  using TakeReplica = std::function<void(Transport transport, SyncHandOver sync)>;
  void OnHandOver(TakeReplica take) {
    WEIR_CHECK(!thread_.joinable());
    take_replica_ = std::move(take);
  }

  // Closes a connection after its final error was written. Releases `owner` once it is closed.
  void Dismiss(StreamSocket socket, std::shared_ptr<const void> owner);

  // Every connection executes the requests received, sends its replies and closes; then the thread
  // ends.
  void Drain();

  // Sends the replies that wait for saves up to this ticket, which have ended with `saved`.
  void OnSaved(std::uint64_t ticket, const absl::Status& saved);

  // Watches idle connections, too, if the option timeout is set.
  void WatchIdle();

  // Runs `step` on each of the threads, between the turns of its connections, and returns when all
  // have run it: then no command is under way that began before the call. Requires: all threads
  // were started and none drains; the caller is another thread.
  static void RunBetweenTurns(std::span<const std::unique_ptr<IoThread>> threads,
                              const std::function<void(IoThread& thread)>& step);

  // Answers all requests that wait for tokens with an error, and returns the tokens, because the
  // server has become a replica. Begins the waits of all replies so far. Requires: as above, and no
  // new wait begins.
  static void EndAllWaits(std::span<const std::unique_ptr<IoThread>> threads);

  // Returns the tokens of all requests that wait for them, and drains all threads. From now on no
  // request waits. Requires as above.
  static void DrainAll(std::span<const std::unique_ptr<IoThread>> threads);

  // Ends the thread after the present step. The destructor cuts open connections.
  void Stop();

  // --- For its connections, on this thread ---

  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  // kInputHeadroomBytes, then kInputBytes. Its content at the beginning of a step is unspecified.
  [[nodiscard]] std::span<char> input() noexcept { return input_; }
  void HandOver(Transport transport, SyncHandOver sync) {
    worker_.thread.AssertHeld();
    take_replica_(std::move(transport), std::move(sync));
  }
  // The buffer for replies, emptied.
  [[nodiscard]] std::string& EmptyOutput();
  [[nodiscard]] LogThrottle& output_throttle() noexcept { return output_throttle_; }
  [[nodiscard]] LogThrottle& stall_throttle() noexcept { return stall_throttle_; }
  [[nodiscard]] LogThrottle& tls_throttle() noexcept { return tls_throttle_; }
  // Calls connection->OnWaited() when all that its replies await has ended: a save that begins
  // later, acknowledgements of the changes so far. Both are requested after all connections that
  // are ready now have had their turn, so that they share them.
  void Park(std::shared_ptr<Connection> connection, const Awaited& awaited);
  // Calls connection->OnTick() at each tick until it returns false.
  void Watch(const std::shared_ptr<Connection>& connection);
  void Remove(const std::shared_ptr<Connection>& connection);

  // Closes the connections that have been stalled or idle for too long by the host's clock.
  // Called at each tick.
  void CloseStalled();

 private:
  // Connections that wait for the same; a wait that is over is removed.
  struct ParkedGroup {
    std::optional<std::uint64_t> save_ticket;
    std::shared_ptr<AckWait> acks;
    HostInstant acks_deadline{};
    WaitOutcome outcome{};
    std::vector<std::shared_ptr<Connection>> connections;
  };

  // Returns the tokens of all requests that wait for them. Requires as EndAllWaits.
  static void GiveBackWaits(std::span<const std::unique_ptr<IoThread>> threads);
  void EndWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  void BeginWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  void BeginAckWait(ParkedGroup& group, std::size_t needed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  void EndAckWait(ParkedGroup& group) const;
  void ReleaseParked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  void ArmAckTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  // Ends what keeps an edge's loop from ending after the last connection.
  void LeaveIfDrained() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);
  void ArmStallTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker_.thread);

  Worker worker_;
  LogThrottle output_throttle_;
  LogThrottle stall_throttle_;
  LogThrottle tls_throttle_;
  std::vector<char> input_;
  std::string output_ ABSL_GUARDED_BY(worker_.thread);
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer stall_timer_ ABSL_GUARDED_BY(worker_.thread);
  TakeReplica take_replica_;
  std::unique_ptr<EdgePort> edge_;  // null: the server is no edge
  bool stall_timer_armed_ ABSL_GUARDED_BY(worker_.thread) = false;
  bool draining_ ABSL_GUARDED_BY(worker_.thread) = false;
  absl::flat_hash_set<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(worker_.thread);
  absl::flat_hash_set<std::shared_ptr<Connection>> watched_
      ABSL_GUARDED_BY(worker_.thread);  // a subset of connections_
  // Connections whose replies wait for the same things, which are not requested yet.
  struct Arriving {
    std::vector<std::shared_ptr<Connection>> connections;
    Awaited awaited;
  };
  std::array<Arriving, 3> arriving_
      ABSL_GUARDED_BY(worker_.thread);  // for a save, for acknowledgements, and for both
  bool begins_waits_ ABSL_GUARDED_BY(worker_.thread) =
      false;  // BeginWaits is in the thread's queue
  std::deque<ParkedGroup> parked_ ABSL_GUARDED_BY(worker_.thread);
  asio::steady_timer ack_timer_
      ABSL_GUARDED_BY(worker_.thread);  // for the first deadline of parked_
  std::optional<HostInstant> ack_timer_at_ ABSL_GUARDED_BY(worker_.thread);  // while it runs
  std::atomic<bool> looks_at_acks_{false};  // ReleaseParked is in the queue
  // Set while parked_ is not empty, because the loop knows nothing that those connections wait for.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> parked_work_
      ABSL_GUARDED_BY(worker_.thread);
  std::thread thread_;
};

}  // namespace weir
