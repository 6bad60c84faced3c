// The signals that the server acts on, read like input (signalfd(2)): none interrupts a thread.
#pragma once

#include <sys/signalfd.h>

#include <functional>

#include "absl/status/status.h"
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

namespace weir {

// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and in all that it starts from then on.
// One that came to a thread which does not block it would end the process. To be called before any
// thread is started.
void BlockSignals();

// Ends the process at the next SIGINT, as any other. For the thread that called BlockSignals().
void LetInterruptEndTheProcess();

// Not thread-safe: used on its context's thread.
class SignalReader {
 public:
  explicit SignalReader(asio::io_context& context) : descriptor_(context) {}

  // Calls `on_signal` with the number of each that comes, until Close(). Several of a kind that
  // came before are one. Fails if the system has no descriptor for it. Requires: BlockSignals().
  // Called once.
  absl::Status Read(std::function<void(int signal)> on_signal);

  // The context has nothing to wait for here any more. May be called from `on_signal`.
  void Close();

 private:
  void ReadNext();

  asio::posix::stream_descriptor descriptor_;
  std::function<void(int)> on_signal_;
  signalfd_siginfo read_{};
};

}  // namespace weir
