#include "server/net/io_thread.h"

#include <latch>
#include <utility>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <pthread.h>

#include "server/net/connection.h"
#include "server/net/lingering_close.h"

namespace weir {

IoThread::IoThread(Services& services)
    : worker_(services),
      output_throttle_(services.clock),
      stall_throttle_(services.clock),
      tls_throttle_(services.clock),
      input_(kInputHeadroomBytes + kInputBytes),
      context_(1),  // the number of threads that run it
      work_(context_.get_executor()),
      stall_timer_(context_) {
  // With the first socket of a context, Asio opens the descriptors of its loop, and throws if there
  // are none left. That must happen here, where it keeps the server from starting, and not in the
  // middle of an accept().
  const asio::ip::tcp::socket first(context_);
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

void IoThread::Adopt(Transport transport, const SessionMaker& make, ClientArrival arrival) {
  asio::post(context_, [this, transport = std::move(transport), make,
                        arrival = std::move(arrival)]() mutable {
    auto connection = std::make_shared<Connection>(
        *this, std::move(transport), make, worker_.services.clients.Add(std::move(arrival)));
    connections_.insert(connection);
    connection->Start();
  });
}

void IoThread::Dismiss(StreamSocket socket, std::shared_ptr<const void> owner) {
  asio::post(context_, [this, socket = std::move(socket), owner = std::move(owner)]() mutable {
    CloseLingering(std::move(socket), input_, std::move(owner));
  });
}

void IoThread::Drain() {
  asio::post(context_, [this] {
    work_.reset();
    draining_ = true;
    stall_timer_.cancel();  // The thread would not end before the next tick.
    // A copy, because a connection that closes leaves the set.
    const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
    for (const std::shared_ptr<Connection>& connection : all) connection->Drain();
  });
}

void IoThread::OnSaved(std::uint64_t ticket, const absl::Status& saved) {
  asio::post(context_, [this, ticket, saved] {
    while (!parked_.empty() && parked_.front().ticket <= ticket) {
      const ParkedGroup group = std::move(parked_.front());
      parked_.pop_front();
      for (const std::shared_ptr<Connection>& connection : group.connections) {
        connection->OnSaved(saved);
      }
    }
    if (parked_.empty()) parked_work_.reset();
  });
}

void IoThread::Park(std::shared_ptr<Connection> connection) {
  arriving_.push_back(std::move(connection));
  if (arriving_.size() == 1) asio::post(context_, [this] { AskForSave(); });
}

void IoThread::AskForSave() {
  if (!parked_work_) parked_work_.emplace(context_.get_executor());
  parked_.push_back({worker_.services.state->RequestSave(), std::exchange(arriving_, {})});
}

void IoThread::WatchIdle() {
  asio::post(context_, [this] {
    if (worker_.services.settings.Get(&Options::timeout).count() == 0) return;
    for (const std::shared_ptr<Connection>& connection : connections_) Watch(connection);
  });
}

void IoThread::RunBetweenTurns(std::span<const std::unique_ptr<IoThread>> threads,
                               const std::function<void(IoThread&)>& step) {
  std::latch all_have_run(static_cast<std::ptrdiff_t>(threads.size()));
  for (const std::unique_ptr<IoThread>& thread : threads) {
    asio::post(thread->context_, [&] {
      step(*thread);
      all_have_run.count_down();
    });
  }
  all_have_run.wait();
}

void IoThread::EndWaits() {
  // A copy, because a connection that closes leaves the set.
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const std::shared_ptr<Connection>& connection : all) connection->EndWait();
}

void IoThread::Stop() { context_.stop(); }

void IoThread::Watch(const std::shared_ptr<Connection>& connection) {
  watched_.insert(connection);
  if (!stall_timer_armed_) ArmStallTimer();
}

void IoThread::Remove(const std::shared_ptr<Connection>& connection) {
  connections_.erase(connection);
  watched_.erase(connection);
}

void IoThread::CloseStalled() {
  const Instant now = worker_.services.clock.Now();
  // A copy, because a connection that closes leaves the set.
  const std::vector<std::shared_ptr<Connection>> all(watched_.begin(), watched_.end());
  for (const std::shared_ptr<Connection>& connection : all) {
    if (!connection->CloseIfStalled(now)) watched_.erase(connection);
  }
}

// A draining thread needs no ticks: its deadline is kDrainTime.
void IoThread::ArmStallTimer() {
  if (draining_) return;
  stall_timer_armed_ = true;
  stall_timer_.expires_after(kStallTick);
  stall_timer_.async_wait([this](std::error_code error) {
    stall_timer_armed_ = false;
    if (error || draining_) return;
    CloseStalled();
    if (!watched_.empty()) ArmStallTimer();
  });
}

std::string& IoThread::EmptyOutput() {
  if (output_.capacity() > kOutputBytesKept) std::string().swap(output_);
  output_.clear();
  return output_;
}

}  // namespace weir
