#include "tests/support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <utility>

#include "gtest/gtest.h"

namespace weir {
namespace {

// Returns whether the descriptor becomes readable, or ends, before the deadline.
bool AwaitReadable(int descriptor) {
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(kChildDeadline.count())) == 1;
}

// Appends the bytes that are ready; false at the end of the stream.
bool ReadSome(int descriptor, std::string& text) {
  std::array<char, 4096> bytes;
  const ssize_t count = read(descriptor, bytes.data(), bytes.size());
  if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Waits for the end of the process without reaping it; kills it at the deadline.
void AwaitEnd(pid_t process) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  const bool ended = descriptor >= 0 && AwaitReadable(descriptor);
  EXPECT_TRUE(ended) << "the process did not end in time";
  if (!ended) kill(process, SIGKILL);
  if (descriptor >= 0) close(descriptor);
}

// The form in which exec takes arguments and an environment: pointers, then a null.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> words, std::vector<std::string> settings,
                           const std::string& sign) {
  Spawn(std::move(words), std::move(settings));
  if (process_ < 0) return;
  AwaitLine(sign);
  log_reader_ = std::thread([this] {
    while (ReadSome(log_descriptor_, log_)) {
    }
  });
}

ChildProcess::~ChildProcess() {
  if (process_ >= 0 && !exit_status_) Stop(SIGKILL);
}

void ChildProcess::Signal(int signal) const {
  if (process_ < 0 || exit_status_) return;
  EXPECT_EQ(kill(process_, signal), 0);
}

void ChildProcess::Pause() const {
  Signal(SIGSTOP);
  siginfo_t stopped;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process_), &stopped, WSTOPPED), 0);
}

int ChildProcess::Stop(int signal) {
  if (exit_status_) return *exit_status_;
  if (process_ < 0) return -1;
  if (signal != 0) kill(process_, signal);
  AwaitEnd(process_);
  int status = 0;
  waitpid(process_, &status, 0);
  exit_status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  log_reader_.join();
  close(log_descriptor_);
  if (*exit_status_ != 0 && signal != SIGKILL) std::cerr << "the log:\n" << log_;
  return *exit_status_;
}

void ChildProcess::Spawn(std::vector<std::string> words, std::vector<std::string> settings) {
  std::array<int, 2> log;
  ASSERT_EQ(pipe2(log.data(), O_CLOEXEC), 0);
  // The given settings replace inherited ones of the same name.
  const std::size_t given = settings.size();
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view setting = *inherited;
    const std::string_view name = setting.substr(0, setting.find('=') + 1);
    const bool replaced =
        std::any_of(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(given),
                    [name](const std::string& one) { return one.starts_with(name); });
    if (!replaced) settings.emplace_back(setting);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory_.path().c_str());
  posix_spawn_file_actions_adddup2(&actions, log[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
  const int error = posix_spawnp(&process_, words.front().c_str(), &actions, nullptr,
                                 Pointers(words).data(), Pointers(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  close(log[1]);
  log_descriptor_ = log[0];
  if (error != 0) process_ = -1;
  ASSERT_EQ(error, 0) << "cannot start " << words.front();
}

void ChildProcess::AwaitLine(const std::string& sign) {
  std::size_t at = std::string::npos;
  while ((at = log_.find(sign)) == std::string::npos || log_.find('\n', at) == std::string::npos) {
    if (!AwaitReadable(log_descriptor_) || !ReadSome(log_descriptor_, log_)) {
      ADD_FAILURE() << "no line with '" << sign << "' in the log:\n" << log_;
      return;
    }
  }
  const std::size_t begin = log_.rfind('\n', at) + 1;
  sign_line_ = log_.substr(begin, log_.find('\n', at) - begin);
}

}  // namespace weir
