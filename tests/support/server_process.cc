#include "tests/support/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "gtest/gtest.h"
#include <stdlib.h>

namespace weir {
namespace {

constexpr std::string_view kListening = "listening on 127.0.0.1:";

// Whether the descriptor has something to read, or an end, before the deadline.
bool AwaitReadable(int descriptor) {
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(kServerDeadline.count())) == 1;
}

// Appends what the descriptor has; false at its end.
bool ReadSome(int descriptor, std::string& text) {
  std::array<char, 4096> bytes;
  const ssize_t count = read(descriptor, bytes.data(), bytes.size());
  if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Waits for the process's end without reaping it; ends it by force at the deadline.
void AwaitEnd(pid_t process) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  const bool ended = descriptor >= 0 && AwaitReadable(descriptor);
  EXPECT_TRUE(ended) << "the server did not end in time";
  if (!ended) kill(process, SIGKILL);
  if (descriptor >= 0) close(descriptor);
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& options) {
  Spawn(options);
  if (process_ < 0) return;
  ReadPort();
  log_reader_ = std::thread([this] {
    while (ReadSome(log_descriptor_, log_)) {
    }
  });
}

ServerProcess::~ServerProcess() {
  if (process_ >= 0 && !exit_status_) {
    EXPECT_EQ(Stop(), 0);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void ServerProcess::Pause() {
  siginfo_t stopped;
  ASSERT_EQ(kill(process_, SIGSTOP), 0);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process_), &stopped, WSTOPPED), 0);
}

void ServerProcess::Resume() { ASSERT_EQ(kill(process_, SIGCONT), 0); }

int ServerProcess::Stop() {
  if (exit_status_) return *exit_status_;
  if (process_ < 0) return -1;
  kill(process_, SIGTERM);
  AwaitEnd(process_);
  int status = 0;
  waitpid(process_, &status, 0);
  exit_status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  log_reader_.join();
  close(log_descriptor_);
  if (*exit_status_ != 0) std::cerr << "the server's log:\n" << log_;
  return *exit_status_;
}

void ServerProcess::Spawn(const std::vector<std::string>& options) {
  const char* const binary = getenv("WEIR_SERVER");
  ASSERT_NE(binary, nullptr) << "WEIR_SERVER must name the server's binary";
  directory_ = std::filesystem::temp_directory_path() / "weir_e2e_XXXXXX";
  ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  std::array<int, 2> log;
  ASSERT_EQ(pipe2(log.data(), O_CLOEXEC), 0);

  std::vector<std::string> words = {binary, "--port", "0"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory_.c_str());
  posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
  const int error = posix_spawn(&process_, binary, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(log[1]);
  log_descriptor_ = log[0];
  if (error != 0) process_ = -1;
  ASSERT_EQ(error, 0) << "cannot start " << binary;
}

void ServerProcess::ReadPort() {
  std::size_t line = std::string::npos;
  while ((line = log_.find(kListening)) == std::string::npos ||
         log_.find('\n', line) == std::string::npos) {
    if (!AwaitReadable(log_descriptor_) || !ReadSome(log_descriptor_, log_)) {
      ADD_FAILURE() << "the server does not listen; its log:\n" << log_;
      return;
    }
  }
  const char* const digits = log_.data() + line + kListening.size();
  std::from_chars(digits, log_.data() + log_.size(), port_);
}

}  // namespace weir
