// Tokens that are taken at once, spent one by one, and given back when their time is over, or when
// the slice is destroyed: for a key that is asked too often to ask weir each time.
//
//     Slice api(gate, 50, 1s, {"api", "1000/s"});  // asks weir once for 50 tokens, kept for 1 s
//     if (api.Spend().passes) ...
//
// The time should be short: until its end other processes lack the tokens that are left, and time
// refills a bucket from which they were taken. A slice whose reply is lost is not given back, as it
// may not have been taken. Threads can share a Slice.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "clients/cpp/limited.h"

namespace weir::example {

class Slice {
 public:
  // The limits must not have costs. Requires: the Gate outlives the Slice.
  Slice(Gate& gate, std::int64_t size, milliseconds time, Words words)
      : gate_(gate), size_(size), time_(time), words_(std::move(words)) {}
  ~Slice() {
    {
      const std::lock_guard lock(mutex_);
      destroyed_ = true;
      changed_.notify_all();
    }
    timer_.join();
    GiveBack();
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  // Spends a token.
  Answer Spend() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, gate_.options_.deadline, [this] { return !busy_; })) {
      return gate_.NoAnswer(words_);
    }
    const auto now = gate_.options_.now();
    if (now >= end_) GiveBack(lock);
    if (left_ == 0) {
      Answer answer;
      Unlocked(lock, [&] {
        answer = gate_.Request("RL.TAKE", words_, {"UPTO", std::to_string(size_)});
      });
      if (answer.granted == 0) return answer;
      left_ = answer.granted;
      end_ = now + time_;
      changed_.notify_all();
    }
    --left_;
    return {.passes = true, .answered = true, .granted = 1};
  }

  // Gives back what is left.
  void GiveBack() {
    std::unique_lock lock(mutex_);
    GiveBack(lock);
  }

 private:
  void GiveBack(std::unique_lock<std::mutex>& lock) {
    if (const std::int64_t tokens = std::exchange(left_, 0); tokens > 0) {
      Unlocked(lock, [&] { gate_.Refund(words_, tokens); });
    }
  }

  // Makes a request while other threads wait for its end.
  template <typename MakeRequest>
  void Unlocked(std::unique_lock<std::mutex>& lock, MakeRequest request) {
    busy_ = true;
    lock.unlock();
    request();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }

  // Gives tokens back at their end, until the slice is destroyed.
  void RunTimer() {
    std::unique_lock lock(mutex_);
    while (!destroyed_) {
      const auto end = end_;
      const auto is_over = [&] { return destroyed_ || left_ == 0 || end_ != end; };
      if (left_ == 0) {
        changed_.wait(lock);
      } else if (!changed_.wait_for(lock, time_, is_over)) {
        GiveBack(lock);
      }
    }
  }

  Gate& gate_;
  const std::int64_t size_;
  const milliseconds time_;
  const Words words_;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  std::int64_t left_ = 0;
  steady_clock::time_point end_ = steady_clock::time_point::min();
  bool busy_ = false;  // a thread asks weir, without the lock; nothing is left
  bool destroyed_ = false;
  std::thread timer_{[this] { RunTimer(); }};
};

}  // namespace weir::example
