// A thread that is started with the server and waits for its jobs.
//
//     WaitingThread thread("weir-saver");  // at the start; if it fails, the server does not start
//     thread.Begin([&] { ... });           // any time later; cannot fail
//     thread.Await();
//
// Later the system may have no thread left, just when many clients connect and a server's role
// changes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weir {

class WaitingThread {
 public:
  // Starts the thread. Throws as std::thread does if the system has none left.
  explicit WaitingThread(const std::string& name);
  // Waits for the end of the job.
  ~WaitingThread();
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  // Begins a job on the thread. Requires: there was none before, or it was awaited.
  void Begin(std::function<void()> job);
  // Returns when the job has ended; immediately if none has begun.
  void Await();

 private:
  void Run();

  std::mutex mutex_;  // guards the next two
  std::condition_variable changed_;
  std::function<void()> job_;  // null: none is under way
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace weir
