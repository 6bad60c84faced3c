// A test's own steps on an I/O thread.
#pragma once

#include <future>

#include <asio/post.hpp>

#include "server/net/io_thread.h"

namespace weir {

// Returns when the thread has done with what it is doing, and then `step`.
template <typename Step>
void OnThread(IoThread& thread, Step step) {
  std::promise<void> done;
  asio::post(thread.context(), [&] {
    step();
    done.set_value();
  });
  done.get_future().wait();
}

// Returns when the thread has done with what it is doing.
inline void Settle(IoThread& thread) {
  OnThread(thread, [] {});
}

// What its timer does each kStallTick.
inline void Tick(IoThread& thread) {
  OnThread(thread, [&thread] { thread.CloseStalled(); });
}

}  // namespace weir
