#include "server/io_thread.h"

#include <utility>

#include <asio/post.hpp>
#include <pthread.h>

#include "server/connection.h"
#include "server/lingering_close.h"

namespace weir {

using asio::ip::tcp;

IoThread::IoThread(Services& services)
    : worker_(services),
      output_throttle_(services.clock),
      input_(kInputHeadroomBytes + kInputBytes),
      context_(1),  // the number of threads that run it
      work_(context_.get_executor()) {
  // The first socket of a context makes Asio open the descriptors of its loop, and throw if there
  // are none: that is to happen here, where it keeps the server from starting, and not in the
  // middle of an accept().
  const tcp::socket first(context_);
}

IoThread::~IoThread() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void IoThread::Start(const std::string& name, std::function<void()> on_end) {
  thread_ = std::thread([this, name, on_end = std::move(on_end)] {
    pthread_setname_np(pthread_self(), name.c_str());
    context_.run();
    on_end();
  });
}

void IoThread::Adopt(tcp::socket socket, std::shared_ptr<ClientRecord> record) {
  asio::post(context_, [this, socket = std::move(socket), record = std::move(record)]() mutable {
    auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(record));
    connections_.insert(connection);
    connection->Start();
  });
}

void IoThread::Dismiss(tcp::socket socket, std::shared_ptr<const void> owner) {
  asio::post(context_, [this, socket = std::move(socket), owner = std::move(owner)]() mutable {
    CloseLingering(std::move(socket), input_, std::move(owner));
  });
}

void IoThread::Drain() {
  asio::post(context_, [this] {
    work_.reset();
    // A copy: those that close leave the set.
    const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
    for (const std::shared_ptr<Connection>& connection : all) connection->Drain();
  });
}

void IoThread::Stop() { context_.stop(); }

std::string& IoThread::EmptyOutput() {
  if (output_.capacity() > kOutputBytesKept) std::string().swap(output_);
  output_.clear();
  return output_;
}

}  // namespace weir
