// The real server, run as a separate process on a free port and in its own temporary directory, for
// tests that talk to it through a client library.
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
  // Starts the server with `--port 0` and these options; returns when it listens.
  explicit ServerProcess(const std::vector<std::string>& options = {});
  // Stops the server; an exit status other than 0 fails the test.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // The port on 127.0.0.1; 0 if the server did not start, which has failed the test.
  [[nodiscard]] int port() const noexcept { return port_; }

  // Stops the server with SIGSTOP and returns when it is stopped; Resume() continues it.
  void Pause() { child_.Pause(); }
  void Resume() { child_.Signal(SIGCONT); }

  // Sends SIGTERM, if the server still runs, and waits for its end (ChildProcess::Stop).
  int Stop() { return child_.Stop(SIGTERM); }

 private:
  ChildProcess child_;
  int port_ = 0;
};

}  // namespace weir
