// A test's own steps on an I/O thread, for tests that need to know what the thread has finished.
#pragma once

#include <future>

#include <asio/post.hpp>

#include "server/net/io_thread.h"

namespace weir {

// Runs `step` on the thread, after its present work; returns when both are done.
template <typename Step>
void OnThread(IoThread& thread, Step step) {
  std::promise<void> done;
  asio::post(thread.context(), [&] {
    step();
    done.set_value();
  });
  done.get_future().wait();
}

// Returns when the thread has finished its present work.
inline void Settle(IoThread& thread) {
  OnThread(thread, [] {});
}

// Does the work of the timer, which runs each kStallTick.
inline void Tick(IoThread& thread) {
  OnThread(thread, [&thread] { thread.CloseStalled(); });
}

}  // namespace weir
