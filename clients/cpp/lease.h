// A slot that is held while a job runs, by a heartbeat, and is free soon after the worker dies.
//
//     Lease slot(gate, 30s, {"printer", "1,held"});
//     if (!slot.answer().passes) return;  // as of Gate::Ask
//     for (const Page& page : pages) {
//       if (slot.IsLost()) break;         // another worker may have the slot
//       Print(page);
//     }
//
// A thread renews the lease at a third of its time to live, here 30 s. If weir has forgotten it, or
// does not answer for the whole of that time, the lease is lost, and is not taken again. IsLost
// goes by the clock, so it is in time even if the heartbeat is late. The end of the scope frees the
// slot; other limits, such as a rate, stay charged.
//
// A Gate that fails open runs the job while weir is away; then there is no lease that could be
// lost. Any thread may call IsLost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "clients/cpp/hold.h"

namespace weir::example {

// Calls a function in a thread, which the returned function joins.
inline std::function<void()> EveryInThread(milliseconds period, std::function<void()> call) {
  auto thread = std::make_shared<std::jthread>(
      [period, call = std::move(call)](const std::stop_token& stopped) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        while (!stopped.stop_requested()) {
          never.wait_for(lock, stopped, period, [] { return false; });
          if (!stopped.stop_requested()) call();
        }
      });
  return [thread = std::move(thread)] {
    thread->request_stop();
    thread->join();
  };
}

class Lease {
 public:
  // Requires: the Gate outlives the Lease.
  Lease(Gate& gate, milliseconds ttl, const Words& words)
      : now_(gate.options_.now), ttl_(ttl), begin_(now_()), hold_(gate, 0, ttl, words) {
    if (!hold_.is_open_) return;
    end_ = begin_ + ttl_;
    const Every& every = gate.options_.every;
    stop_ = (every ? every : EveryInThread)(ttl_ / kHeartbeats, [this] { Beat(); });
  }
  ~Lease() { Release(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] const Answer& answer() const { return hold_.answer(); }

  // Whether weir may have given the slot to another worker.
  [[nodiscard]] bool IsLost() const { return is_lost_ || now_() >= end_.load(); }

  // Frees the slot. Returns whether it was held until now.
  bool Release() {
    if (!stop_) return false;
    std::exchange(stop_, nullptr)();
    const std::lock_guard lock(mutex_);
    const bool lost = IsLost();
    end_ = kNever;
    try {
      return hold_.Settle(0) && !lost;
    } catch (const Mistake& /*mistake*/) {
      return false;  // it expires
    }
  }

 private:
  using TimePoint = steady_clock::time_point;
  static constexpr int kHeartbeats = 3;  // in a time to live
  static constexpr TimePoint kNever = TimePoint::max();

  void Beat() {
    const std::lock_guard lock(mutex_);
    const TimePoint now = now_();
    if (!hold_.is_open_ || now >= end_.load()) return;  // a renewal would be a new request
    const Answer answer = hold_.Ask();
    if (!answer.answered) return;  // the next may be answered
    if (!answer.passes) {
      is_lost_ = true;
      hold_.is_open_ = false;
    } else if (now_() < end_.load()) {
      end_ = now + ttl_;
    } else {
      is_lost_ = true;  // it may have been a new request
      hold_.Cancel();
    }
  }

  const std::function<TimePoint()> now_;
  const milliseconds ttl_;
  const TimePoint begin_;
  std::mutex mutex_;  // held during a request
  Hold hold_;
  std::atomic<TimePoint> end_ = kNever;  // weir keeps the hold until then at least
  std::atomic<bool> is_lost_ = false;
  std::function<void()> stop_;  // ends the heartbeat; unset: there is no lease
};

}  // namespace weir::example
