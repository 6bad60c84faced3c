#include "server/os/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/buffer.hpp>
#include <pthread.h>

#include "server/os/crash_report.h"

namespace weir {
namespace {

sigset_t Handled() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

// A process outside of the container has the number 0 here.
std::string SenderOf(const signalfd_siginfo& signal) {
  if (signal.ssi_code == SI_KERNEL) return "the kernel, as for a key of the terminal";
  const std::string process = signal.ssi_pid == 0
                                  ? std::string("a process outside of this container")
                                  : absl::StrCat("process ", signal.ssi_pid);
  return absl::StrCat(process, ", user ", signal.ssi_uid);
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = Handled();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::Status SignalReader::Read(std::function<void(const ReceivedSignal&)> on_signal) {
  const sigset_t signals = Handled();
  const int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot read signals");
  std::error_code error;
  descriptor_.assign(descriptor, error);
  if (error) {
    close(descriptor);
    return absl::ErrnoToStatus(error.value(), "cannot wait for signals");
  }
  on_signal_ = std::move(on_signal);
  ReadNext();
  return absl::OkStatus();
}

// The process may have inherited an ignored SIGINT, as a background job of a shell does.
void SignalReader::Close() {
  if (!descriptor_.is_open()) return;
  while (read(descriptor_.native_handle(), &read_, sizeof read_) > 0) {
  }
  std::error_code ignored;
  descriptor_.close(ignored);
  ReportDeathBy(SIGINT);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
}

// A read from a signalfd returns whole entries only, so each read is one signal.
void SignalReader::ReadNext() {
  descriptor_.async_read_some(asio::buffer(&read_, sizeof read_),
                              [this](std::error_code error, std::size_t) {
                                if (error) return;
                                on_signal_({static_cast<int>(read_.ssi_signo), SenderOf(read_)});
                                ReadNext();
                              });
}

}  // namespace weir
