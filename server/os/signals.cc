#include "server/os/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>
#include <utility>

#include <asio/buffer.hpp>
#include <pthread.h>

namespace weir {
namespace {

sigset_t Handled() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = Handled();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::Status SignalReader::Read(std::function<void(int)> on_signal) {
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
  std::signal(SIGINT, SIG_DFL);
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
                                on_signal_(static_cast<int>(read_.ssi_signo));
                                ReadNext();
                              });
}

}  // namespace weir
