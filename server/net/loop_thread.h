// An event loop and its thread, both made with the server: opening the loop takes descriptors, of
// which there may be none when a server's role changes.
//
//     loop.Begin([&] { ...; loop.context().run(); });   // the job runs the loop as it likes
//     loop.context().stop();
//     loop.Await();
//     loop.Clear();                                      // before what the handlers use is
//     destroyed
#pragma once

#include <functional>
#include <string>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "server/os/waiting_thread.h"

namespace weir {

class LoopThread {
 public:
  // Throws if the system has no descriptor or thread left.
  explicit LoopThread(const std::string& name);

  // Handlers may be posted by any thread; they wait for the next job.
  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

  // As Begin and Await of WaitingThread. The loop is not stopped when the job begins.
  void Begin(std::function<void()> job);
  void Await() { thread_.Await(); }
  // Runs the remaining handlers, of cancelled operations and posted ones. Requires: there is no
  // job, and nothing in the loop waits.
  void Clear();

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  WaitingThread thread_;
};

}  // namespace weir
