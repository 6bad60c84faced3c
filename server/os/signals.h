// The signals that the server acts on. They are read like input (signalfd(2)) and interrupt no
// thread. Those that end the process are in crash_report.h.
#pragma once

#include <sys/signalfd.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

namespace weir {

// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and in all threads that it starts later;
// the signals then wait until they are read. Call it before any thread starts: a signal delivered
// to a thread that does not block it would end the process.
void BlockSignals();

struct ReceivedSignal {
  int number = 0;
  std::string sender;  // "process 4711, user 0"
};

// Not thread-safe: used on the thread of its context.
class SignalReader {
 public:
  explicit SignalReader(asio::io_context& context) : descriptor_(context) {}

  // Calls `on_signal` for each signal that arrives, until Close(). Several signals of one kind that
  // arrived before the call count as one, that of the first sender. Fails if the system has no
  // descriptor left. Requires: BlockSignals() was called. Call it once.
  absl::Status Read(std::function<void(const ReceivedSignal&)> on_signal);

  // Stops reading. Signals that have not been read are dropped, later ones have no effect, except
  // that the next SIGINT ends the process. The context no longer waits for signals. May be called
  // from `on_signal`; does nothing if Read() was not called. Requires: runs on the thread that
  // called BlockSignals().
  void Close();

 private:
  void ReadNext();

  asio::posix::stream_descriptor descriptor_;
  std::function<void(const ReceivedSignal&)> on_signal_;
  signalfd_siginfo read_{};
};

}  // namespace weir
