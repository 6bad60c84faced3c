#include "server/net/loop_thread.h"

#include <utility>

#include <asio/ip/tcp.hpp>

namespace weir {

LoopThread::LoopThread(const std::string& name) : work_(context_.get_executor()), thread_(name) {
  const asio::ip::tcp::socket first(context_);  // Asio opens the loop with its first socket.
}

void LoopThread::Begin(std::function<void()> job) {
  context_.restart();
  thread_.Begin(std::move(job));
}

void LoopThread::Clear() {
  context_.restart();
  while (context_.poll() > 0) {
  }
}

}  // namespace weir
