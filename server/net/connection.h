// The socket of a client and its session. It moves bytes and knows no protocol.
//
//     wait until readable -> read -> execute a turn -> write -> wait until readable ...
//
// An idle connection is cheap: it waits until the socket is readable and only then reads, into a
// buffer of its thread, so it owns no buffer while it waits. A request takes two system calls on
// data: the session executes on that buffer, and the replies of the whole turn are written at once.
// Only the rest is copied to memory of the connection: the beginning of a request that has not
// arrived completely, and replies that the kernel does not take yet.
//
// Other clients are protected. One turn of a connection is bounded (kWorkPerTurn,
// kReplyBytesPerTurn); then the next connection has its turn. While replies wait to be sent,
// nothing is read or executed, so a client that does not read costs the replies of one turn, and
// TCP slows it down. A client that makes the server keep an incomplete request or many replies is
// closed after kStalledTime. A client that is idle between two requests may stay forever, or for
// the option timeout.
//
// While the session waits for tokens, the socket is watched: up to kWaitingInputBytesMax of input
// is kept for later, and a client that closes its end of the connection ends its wait.
//
// Lives on the thread of its IoThread; every handler that waits has a shared_ptr to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <asio/steady_timer.hpp>

#include "core/base/instant.h"
#include "server/net/transport.h"
#include "server/observe/client_registry.h"
#include "server/session/client_session.h"

namespace weir {

class IoThread;

// The most replies that may wait to be sent; a client above it is closed. A turn writes up to
// kReplyBytesPerTurn and one reply more. The longest reply is that of CLIENT LIST: 10,000 clients,
// each with a name, a library and a version of 256 bytes, and 300 bytes more.
inline constexpr std::size_t kPendingOutputBytesMax = 16 * 1024 * 1024;

// The time that a request may take from its first byte to its last, and for which more than
// kSlowOutputBytesMax of replies may wait to be sent. A client that takes longer is closed at the
// next tick of its thread.
inline constexpr Nanos kStalledTime = std::chrono::seconds{10};
inline constexpr std::size_t kSlowOutputBytesMax = 256 * 1024;
static_assert(kSlowOutputBytesMax < kPendingOutputBytesMax);

// The time that a TLS handshake may take.
inline constexpr Nanos kHandshakeTime = std::chrono::seconds{5};

// The input after which a client that waits for tokens is no longer read from: then TCP slows it
// down, and its disconnection is seen only when the wait is over. The last read may exceed it.
inline constexpr std::size_t kWaitingInputBytesMax = 16 * 1024;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The destructor removes `record` from the registry.
  Connection(IoThread& thread, Transport transport, const SessionMaker& make,
             std::shared_ptr<ClientRecord> record);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start();

  // Executes the requests received so far, sends the replies and closes.
  void Drain();

  // Answers a request that waits for tokens with an error, because the server has become a replica.
  void EndWait();

  // Sends the replies that waited, when all that they waited for has ended.
  void OnWaited(WaitOutcome outcome);

  // Looks at what another thread has changed (ClientRecord::Wake).
  void OnWake();

  // Sends the session's news. Closes if replies wait to be sent and the session is over, or if it
  // has been stalled for kStalledTime, or idle for the option timeout. Returns true if it must be
  // called again at the next tick.
  bool OnTick(HostInstant now);

 private:
  enum class State {
    kReading,    // waits for input
    kPaused,     // its session executes nothing until a given time
    kWaiting,    // its session waits for tokens or replicas, or is paused; further input is kept
    kPostponed,  // let other connections have a turn; its next step is in the thread's queue
    kSaving,     // its replies wait until their changes are on disk or on replicas, or for an
                 // edge's primary
    kWriting,    // waits until the kernel takes more of pending_output_
    kClosed,     // closed, or handed over to CloseLingering
  };

  void WaitForInput();
  void WaitForTime();
  // Calls Receive() or ReceiveMeanwhile(), depending on the state, once there is input.
  void WatchInput();
  void Receive();
  void ReceiveMeanwhile();
  void ExecuteTurn(std::span<char> unread);
  void KeepInput(std::span<char> unread, std::size_t consumed);
  void DropInput();
  void SendLater(std::string_view replies);
  void Send(std::string_view replies);
  void CloseSlowReader(std::size_t pending_bytes);
  void WaitForRoom();
  void SendPending();
  // Writes the bytes that the kernel takes. Returns their number, or nothing if the connection is
  // broken.
  std::optional<std::size_t> Write(std::string_view bytes);
  // Updates the memory that counts as this client's.
  void ReportMemory();
  void ReleaseBuffers();
  // Continues after a turn whose replies are sent.
  void Proceed();
  void Postpone(void (Connection::*step)());
  bool CloseIfStalled(HostInstant now);
  // Sets whether an incomplete request or slow output waits for the client. A connection that was
  // stalled already keeps the time at which that began.
  void SetStalled(bool stalled);
  [[nodiscard]] bool IsIdleTooLong(HostInstant now) const;
  // Closes after a TLS error in the client's bytes.
  void RefuseTls();
  void ExecutePending() { ExecuteTurn(pending_input_); }
  void Finish();
  void HandOver();
  void Close();

  IoThread& thread_;
  Transport transport_;
  const std::shared_ptr<ClientRecord> record_;
  const std::unique_ptr<ClientSession> session_;
  State state_ = State::kReading;
  ClientSession::Turn turn_;  // the last one
  bool watching_input_ = false;
  std::optional<asio::steady_timer> wait_timer_;  // made by the first wait
  // Set while draining: the bytes that were received before and are not read yet.
  std::optional<std::size_t> drain_bytes_left_;
  // Set while an incomplete request or slow output waits for the client.
  std::optional<HostInstant> stalled_since_;
  // Input that the session has not consumed, and replies that are not sent; both without capacity
  // when empty.
  std::string pending_input_;
  std::string pending_output_;
  std::size_t pending_output_sent_ = 0;  // bytes of pending_output_
};

}  // namespace weir
