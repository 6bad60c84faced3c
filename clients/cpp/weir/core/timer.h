// Timers: threads that call a function again and again, as Options::every does by default.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::client {

// Thread-safe. Made by std::make_shared.
class Timers : public std::enable_shared_from_this<Timers> {
 public:
  // Starts a thread. Returns a function that ends it and does not wait for a call that runs, so a
  // call may end its own timer. Starts nothing once it is closed. Throws std::system_error if there
  // can be no more threads.
  [[nodiscard]] std::function<void()> Start(std::chrono::milliseconds period,
                                            std::function<void()> function);

  // Ends all, and waits for calls that run, for 200 ms at most. Call it from any thread.
  void Close();

 private:
  struct Timer {
    std::thread thread{};
    bool has_ended = false;  // it begins no call
    bool is_done = false;    // the thread has only to end
  };

  void Run(const std::shared_ptr<Timer>& timer, std::chrono::milliseconds period,
           const std::function<void()>& function);

  // Joins the threads that are done.
  void Join();

  // All below are guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Timer>> timers_;
  bool is_closed_ = false;
};

}  // namespace weir::client
