// A program that a test runs beside it, in a temporary directory of its own, until its object goes.
//
//     ChildProcess child({"server", "--port", "0"}, {}, "listening");
//     EXPECT_EQ(child.Stop(SIGTERM), 0);
//
// What it writes to its outputs is its log; it is printed if the process does not end with 0. Every
// wait has a deadline, kChildDeadline; going over it fails the test, and ends the process by force.
// One thread uses it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace weir {

inline constexpr std::chrono::milliseconds kChildDeadline = std::chrono::seconds{60};

class ChildProcess {
 public:
  // Starts the program that the first word names, looked for in PATH, with the others and with
  // these settings ("NAME=value") beside the test's own environment. Returns when a line of its log
  // has `sign` in it.
  ChildProcess(std::vector<std::string> words, std::vector<std::string> settings,
               const std::string& sign);
  // Kills it, if it was not stopped.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Whether it gave the sign; else the test has failed.
  [[nodiscard]] bool started() const noexcept { return !sign_line_.empty(); }
  // The line with the sign.
  [[nodiscard]] const std::string& sign_line() const noexcept { return sign_line_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_.path(); }

  // Sends it a signal, if it still runs.
  void Signal(int signal) const;
  // Stops it with SIGSTOP, and returns when it does nothing any more; Signal(SIGCONT) lets it go
  // on.
  void Pause() const;
  // Sends the signal, unless it is 0, and waits for the end. Returns the exit status, or minus the
  // number of the signal that ended it.
  int Stop(int signal);

 private:
  void Spawn(std::vector<std::string> words, std::vector<std::string> settings);
  void AwaitLine(const std::string& sign);

  TemporaryDirectory directory_;
  pid_t process_ = -1;
  int log_descriptor_ = -1;
  std::string log_;
  std::string sign_line_;
  std::thread log_reader_;  // from the sign on
  std::optional<int> exit_status_;
};

}  // namespace weir
