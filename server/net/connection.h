// A client's socket around its Session: it moves bytes, and knows no command.
//
//     wait until readable -> read -> execute a turn -> write -> wait until readable ...
//
// An idle connection is cheap, and a request takes two system calls on data: the connection waits
// for readability and only then reads, into a buffer of its thread's, so it owns no buffer while it
// waits; the session executes right on that buffer; the replies of the whole turn are written at
// once. Only what is left over is copied to the connection's own memory: the beginning of a request
// that has not come completely, replies that the kernel does not take.
//
// Other clients are protected: one turn of a connection is bounded (kWorkPerTurn,
// kReplyBytesPerTurn), and then the next connection has its turn. While replies wait to be sent
// nothing is read or executed, so a client that does not read makes us hold one turn's replies, and
// TCP slows it down. A client that makes the server keep half a request or many replies may do so
// for kStalledTime; one that is idle between two requests may stay forever, or for the option
// timeout.
//
// While the session waits for tokens the socket is watched: what comes is kept for later, up to
// kWaitingInputBytesMax, and a client that goes (or says that it sends no more) ends its wait.
//
// Lives on the thread of its IoThread; every handler that waits holds a shared_ptr to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <asio/steady_timer.hpp>

#include "core/base/instant.h"
#include "server/net/transport.h"
#include "server/observe/client_registry.h"
#include "server/session/session.h"

namespace weir {

class IoThread;

// Replies that wait to be sent, at most; a turn's are kReplyBytesPerTurn and one reply more. Who is
// over it is closed. The longest reply is CLIENT LIST's: 10,000 clients, each a name, a library and
// its version of 256 bytes and 300 bytes more.
inline constexpr std::size_t kPendingOutputBytesMax = 16 * 1024 * 1024;

// How long a request may take from its first byte to its last, and how long more than
// kSlowOutputBytesMax of replies may wait to be sent. Who takes longer is closed, at the next tick
// of its thread.
inline constexpr Nanos kStalledTime = std::chrono::seconds{10};
inline constexpr std::size_t kSlowOutputBytesMax = 256 * 1024;
static_assert(kSlowOutputBytesMax < kPendingOutputBytesMax);

// How long a TLS handshake may take.
inline constexpr Nanos kHandshakeTime = std::chrono::seconds{5};

// What a client that waits for tokens may send ahead; beyond it, and what came with it, TCP slows
// it down, and its leaving is seen only when the wait is over.
inline constexpr std::size_t kWaitingInputBytesMax = 16 * 1024;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `record` is taken off the registry with this object.
  Connection(IoThread& thread, Transport transport, std::shared_ptr<ClientRecord> record);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start();

  // Executes what has been received up to now, sends the replies and closes.
  void Drain();

  // The save that its replies wait for has ended.
  void OnSaved(const absl::Status& saved);

  // Another thread has something for the session to see (ClientRecord::Wake).
  void OnWake();

  // Closes if it has been stalled for kStalledTime, or idle for the option timeout. Returns whether
  // this has to be asked again.
  bool CloseIfStalled(Instant now);

 private:
  enum class State {
    kReading,    // waits for input
    kPaused,     // its session executes nothing until some time
    kWaiting,    // its session waits for tokens (RL.WAIT); what comes meanwhile is kept
    kPostponed,  // gave the turn to the others; its next is in the thread's queue
    kSaving,     // its replies wait until what they say is on disk
    kWriting,    // waits until the kernel takes more of pending_output_
    kClosed,     // or closing, which is no longer our business
  };

  void WaitForInput();
  void WaitForTime();
  // Has Receive() or ReceiveMeanwhile() called when there is input, as the state is then.
  void WatchInput();
  void Receive();
  void ReceiveMeanwhile();
  void ExecuteTurn(std::span<char> unread);
  void KeepInput(std::span<char> unread, std::size_t consumed);
  void DropInput();
  void SendWhenSaved(std::string_view replies);
  void Send(std::string_view replies);
  void CloseSlowReader(std::size_t pending_bytes);
  void WaitForRoom();
  void SendPending();
  // Writes what the kernel takes; returns how many bytes, or nothing if the connection is broken.
  std::optional<std::size_t> Write(std::string_view bytes);
  // Tells how much it keeps for the client; and keeps nothing any more.
  void ReportMemory();
  void ReleaseBuffers();
  // Continues after a turn whose replies are sent.
  void Proceed();
  void Postpone(void (Connection::*step)());
  // Notes whether it now waits with something of the client's in hand; if it does already, the time
  // since when stays.
  void SetStalled(bool stalled);
  [[nodiscard]] bool IsIdleTooLong(Instant now) const;
  // TLS has found something wrong with what the client sends.
  void RefuseTls();
  void ExecutePending() { ExecuteTurn(pending_input_); }
  void Finish();
  void Close();

  IoThread& thread_;
  Transport transport_;
  const std::shared_ptr<ClientRecord> record_;
  Session session_;
  State state_ = State::kReading;
  Session::Turn turn_;  // the last one
  bool watching_input_ = false;
  std::optional<asio::steady_timer> wait_timer_;  // made by the first wait
  std::optional<std::size_t>
      drain_bytes_left_;  // set while draining: received before, not read yet
  std::optional<Instant>
      stalled_since_;           // set while half a request or slow output waits for the client
  std::string pending_input_;   // not consumed by the session; without capacity when empty
  std::string pending_output_;  // likewise
  std::size_t pending_output_sent_ = 0;  // of it
};

}  // namespace weir
