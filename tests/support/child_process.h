// A program that a test runs in a temporary directory. The program ends with its object at the
// latest.
//
//     ChildProcess child({"server", "--port", "0"}, {}, "listening");
//     EXPECT_EQ(child.Stop(SIGTERM), 0);
//
// The program's output is its log; the log is printed if the exit status is not 0. Every wait has a
// deadline, kChildDeadline; a missed deadline fails the test and kills the program. One thread uses
// the object.
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
  // Starts the program that the first word names, found in PATH, with the other words as arguments
  // and with these settings ("NAME=value") added to the test's environment. Returns when a line of
  // the log contains `sign`.
  ChildProcess(std::vector<std::string> words, std::vector<std::string> settings,
               const std::string& sign);
  // Kills the program if it was not stopped.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Whether the sign was seen; if not, the test has failed.
  [[nodiscard]] bool started() const noexcept { return !sign_line_.empty(); }
  // The line with the sign.
  [[nodiscard]] const std::string& sign_line() const noexcept { return sign_line_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_.path(); }

  // Sends the program a signal, if it still runs.
  void Signal(int signal) const;
  // Stops the program with SIGSTOP, and returns when it is stopped; Signal(SIGCONT) continues it.
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
