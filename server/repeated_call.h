// A function that is called again and again on the thread of a context, until it is stopped.
//
//     RepeatedCall look(context, std::chrono::seconds{1}, [&] { watch.Look(); });
//     look.Start();   // one interval later for the first time
//     look.Stop();
#pragma once

#include <functional>
#include <system_error>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/instant.h"

namespace weir {

// Not thread-safe: used on the thread of its context.
class RepeatedCall {
 public:
  RepeatedCall(asio::io_context& context, Nanos interval, std::function<void()> call)
      : timer_(context), interval_(interval), call_(std::move(call)) {}

  void Start() {
    timer_.expires_after(interval_);
    timer_.async_wait([this](std::error_code error) {
      if (error || stopped_) return;
      call_();
      Start();
    });
  }
  // The context has no work of it after this.
  void Stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  const Nanos interval_;
  const std::function<void()> call_;
  bool stopped_ = false;
};

}  // namespace weir
