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
// thread is started. From then on they wait until they are read, however long that takes.
void BlockSignals();

// Not thread-safe: used on its context's thread.
class SignalReader {
 public:
  explicit SignalReader(asio::io_context& context) : descriptor_(context) {}

  // Calls `on_signal` with the number of each that comes, until Close(). Several of a kind that
  // came before are one. Fails if the system has no descriptor for it. Requires: BlockSignals().
  // Called once.
  absl::Status Read(std::function<void(int signal)> on_signal);

  // Reads no more: those that have come and were not read are forgotten, the next SIGINT ends the
  // process, and the others come to nothing. The context has nothing to wait for here. May be
  // called from `on_signal`. Does nothing if Read() was not called. Requires: the thread of
  // BlockSignals().
  void Close();

 private:
  void ReadNext();

  asio::posix::stream_descriptor descriptor_;
  std::function<void(int)> on_signal_;
  signalfd_siginfo read_{};
};

}  // namespace weir
