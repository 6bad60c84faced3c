// The real server as a process of its own, on a free port and in a temporary directory of its own,
// for tests that talk to it through a client library.
//
//     ServerProcess server({"--threads", "2"});
//     redisConnect("127.0.0.1", server.port());
//     EXPECT_EQ(server.Stop(), 0);
//
// The binary is the one that the environment variable WEIR_SERVER names. Every wait has a deadline,
// kServerDeadline; going over it fails the test, and ends the process by force. One thread uses it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weir {

inline constexpr std::chrono::milliseconds kServerDeadline = std::chrono::seconds{60};

class ServerProcess {
 public:
  // Starts it with `--port 0` and these options, and returns when it listens.
  explicit ServerProcess(const std::vector<std::string>& options = {});
  // Stops it, if that was not done; then an exit status other than 0 fails the test.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Of 127.0.0.1; 0 if it did not start, which has failed the test.
  [[nodiscard]] int port() const noexcept { return port_; }

  // Stops it with SIGSTOP, and returns when it does nothing any more; lets it go on.
  void Pause();
  void Resume();

  // Sends SIGTERM, if it still runs, and waits for the end. Returns the exit status, or minus the
  // number of the signal that ended it. What it logged is printed if that is not 0.
  int Stop();

 private:
  void Spawn(const std::vector<std::string>& options);
  void ReadPort();

  std::string directory_;
  pid_t process_ = -1;
  int log_descriptor_ = -1;
  std::string log_;
  std::thread log_reader_;  // from the line with the port on
  int port_ = 0;
  std::optional<int> exit_status_;
};

}  // namespace weir
