// The real server as a process of its own, on a free port and in a temporary directory of its own,
// for tests that talk to it through a client library.
//
//     ServerProcess server({"--threads", "2"});
//     redisConnect("127.0.0.1", server.port());
//     EXPECT_EQ(server.Stop(), 0);
//
// The binary is the one that the environment variable WEIR_SERVER names. One thread uses it.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace weir {

class ServerProcess {
 public:
  // Starts it with `--port 0` and these options, and returns when it listens.
  explicit ServerProcess(const std::vector<std::string>& options = {});
  // Stops it; an exit status other than 0 fails the test.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Of 127.0.0.1; 0 if it did not start, which has failed the test.
  [[nodiscard]] int port() const noexcept { return port_; }

  // Stops it with SIGSTOP, and returns when it does nothing any more; lets it go on.
  void Pause() { child_.Pause(); }
  void Resume() { child_.Signal(SIGCONT); }

  // Sends SIGTERM, if it still runs, and waits for the end (ChildProcess::Stop).
  int Stop() { return child_.Stop(SIGTERM); }

 private:
  ChildProcess child_;
  int port_ = 0;
};

}  // namespace weir
