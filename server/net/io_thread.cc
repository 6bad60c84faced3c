#include "server/net/io_thread.h"

#include <algorithm>
#include <latch>
#include <utility>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include "server/net/connection.h"
#include "server/net/lingering_close.h"
#include "server/os/crash_report.h"

namespace weir {

IoThread::IoThread(Services& services)
    : worker_(services),
      output_throttle_(services.clock),
      stall_throttle_(services.clock),
      tls_throttle_(services.clock),
      input_(kInputHeadroomBytes + kInputBytes),
      context_(1),  // the number of threads that run it
      work_(context_.get_executor()),
      stall_timer_(context_),
      ack_timer_(context_) {
  // With the first socket of a context, Asio opens the descriptors of its loop, and throws if there
  // are none left. That must happen here, where it keeps the server from starting, and not in the
  // middle of an accept().
  const asio::ip::tcp::socket first(context_);
}

IoThread::~IoThread() {
  Stop();
  if (thread_.joinable()) thread_.join();
  worker_.thread.TakeOver();
}

void IoThread::Start(const std::string& name, std::function<void()> on_end) {
  thread_ = std::thread([this, name, on_end = std::move(on_end)] {
    BeginThread(name.c_str());
    worker_.thread.TakeOver();
    context_.run();
    on_end();
  });
}

void IoThread::Adopt(Transport transport, const SessionMaker& make, ClientArrival arrival) {
  asio::post(context_, [this, transport = std::move(transport), make,
                        arrival = std::move(arrival)]() mutable {
    worker_.thread.AssertHeld();
    auto connection = std::make_shared<Connection>(
        *this, std::move(transport), make, worker_.services.clients.Add(std::move(arrival)));
    connections_.insert(connection);
    connection->Start();
  });
}

void IoThread::Dismiss(StreamSocket socket, std::shared_ptr<const void> owner) {
  asio::post(context_, [this, socket = std::move(socket), owner = std::move(owner)]() mutable {
    worker_.thread.AssertHeld();
    CloseLingering(std::move(socket), input_, std::move(owner));
  });
}

void IoThread::Drain() {
  asio::post(context_, [this] {
    worker_.thread.AssertHeld();
    work_.reset();
    draining_ = true;
    stall_timer_.cancel();  // The thread would not end before the next tick.
    // A copy, because a connection that closes leaves the set.
    const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
    for (const std::shared_ptr<Connection>& connection : all) connection->Drain();
    LeaveIfDrained();
  });
}

void IoThread::OnSaved(std::uint64_t ticket, const absl::Status& saved) {
  asio::post(context_, [this, ticket, saved] {
    worker_.thread.AssertHeld();
    for (ParkedGroup& group : parked_) {
      if (!group.save_ticket || *group.save_ticket > ticket) continue;
      group.save_ticket.reset();
      group.outcome.saved = saved;
    }
    ReleaseParked();
  });
}

void IoThread::Park(std::shared_ptr<Connection> connection, const Awaited& awaited) {
  worker_.thread.AssertHeld();
  WEIR_CHECK(awaited.any());
  const bool saves = awaited.save != Awaited::Save::kNone;
  Arriving& arriving = arriving_[awaited.acks == 0 ? 0 : saves ? 2 : 1];
  arriving.connections.push_back(std::move(connection));
  arriving.awaited.Add(awaited);
  if (std::exchange(begins_waits_, true)) return;
  asio::post(context_, [this] {
    worker_.thread.AssertHeld();
    BeginWaits();
  });
}

void IoThread::BeginWaits() {
  if (!std::exchange(begins_waits_, false)) return;
  if (!parked_work_) parked_work_.emplace(context_.get_executor());
  for (Arriving& slot : arriving_) {
    if (slot.connections.empty()) continue;
    Arriving arriving = std::exchange(slot, {});
    ParkedGroup& group = parked_.emplace_back();
    group.connections = std::move(arriving.connections);
    const bool saves = arriving.awaited.save != Awaited::Save::kNone;
    if (saves) group.save_ticket = worker_.services.state->RequestSave();
    if (arriving.awaited.acks > 0) BeginAckWait(group, arriving.awaited.acks);
  }
  ReleaseParked();
}

void IoThread::BeginAckWait(ParkedGroup& group, std::size_t needed) {
  const Services& services = worker_.services;
  // However often it is called, the thread looks once.
  group.acks = services.replication->AwaitAcks(needed, [this] {
    if (looks_at_acks_.exchange(true)) return;
    asio::post(context_, [this] {
      worker_.thread.AssertHeld();
      if (looks_at_acks_.exchange(false)) ReleaseParked();
    });
  });
  group.acks_deadline = services.clock.HostNow() + services.settings.Get(&Options::ack_timeout);
}

// Ends the wait for acknowledgements if it is over, or takes too long.
void IoThread::EndAckWait(ParkedGroup& group) const {
  if (!group.acks) return;
  if (!group.acks->is_over() && worker_.services.clock.HostNow() < group.acks_deadline) return;
  if (!group.acks->is_done()) group.outcome.acks_missed = group.acks->needed();
  group.acks.reset();
}

// Sends the replies that wait for nothing any more.
void IoThread::ReleaseParked() {
  std::vector<ParkedGroup> over;
  std::erase_if(parked_, [&](ParkedGroup& group) {
    EndAckWait(group);
    if (group.save_ticket || group.acks) return false;
    over.push_back(std::move(group));
    return true;
  });
  if (parked_.empty()) parked_work_.reset();
  ArmAckTimer();
  for (const ParkedGroup& group : over) {
    for (const std::shared_ptr<Connection>& connection : group.connections) {
      connection->OnWaited(group.outcome);
    }
  }
}

void IoThread::ArmAckTimer() {
  HostInstant first = kHostInstantMax;
  for (const ParkedGroup& group : parked_) {
    if (group.acks) first = std::min(first, group.acks_deadline);
  }
  if (first == kHostInstantMax && std::exchange(ack_timer_at_, std::nullopt)) ack_timer_.cancel();
  const bool is_early_enough = ack_timer_at_ && *ack_timer_at_ <= first;
  if (first == kHostInstantMax || is_early_enough) return;
  ack_timer_at_ = first;
  ack_timer_.expires_after(first - worker_.services.clock.HostNow());
  ack_timer_.async_wait([this](std::error_code error) {
    if (error) return;
    worker_.thread.AssertHeld();
    ack_timer_at_.reset();
    ReleaseParked();
  });
}

void IoThread::WatchIdle() {
  asio::post(context_, [this] {
    worker_.thread.AssertHeld();
    if (worker_.services.settings.Get(&Options::timeout).count() == 0) return;
    for (const std::shared_ptr<Connection>& connection : connections_) Watch(connection);
  });
}

void IoThread::RunBetweenTurns(std::span<const std::unique_ptr<IoThread>> threads,
                               const std::function<void(IoThread&)>& step) {
  for (const std::unique_ptr<IoThread>& thread : threads) {
    WEIR_CHECK(thread->thread_.joinable());
    WEIR_CHECK(thread->thread_.get_id() != std::this_thread::get_id());
  }
  std::latch all_have_run(static_cast<std::ptrdiff_t>(threads.size()));
  for (const std::unique_ptr<IoThread>& thread : threads) {
    asio::post(thread->context_, [&] {
      step(*thread);
      all_have_run.count_down();
    });
  }
  all_have_run.wait();
}

// Once no command is under way, all waits that began before the call are known.
void IoThread::GiveBackWaits(std::span<const std::unique_ptr<IoThread>> threads) {
  if (threads.empty()) return;
  RunBetweenTurns(threads, [](IoThread&) {});
  threads.front()->worker_.services.open_waits.GiveBackAll();
}

void IoThread::EndAllWaits(std::span<const std::unique_ptr<IoThread>> threads) {
  GiveBackWaits(threads);
  RunBetweenTurns(threads, [](IoThread& thread) {
    thread.worker_.thread.AssertHeld();
    thread.EndWaits();
  });
}

void IoThread::DrainAll(std::span<const std::unique_ptr<IoThread>> threads) {
  if (threads.empty()) return;
  threads.front()->worker_.services.open_waits.Refuse();
  GiveBackWaits(threads);
  for (const std::unique_ptr<IoThread>& thread : threads) thread->Drain();
}

void IoThread::EndWaits() {
  // A copy, because a connection that closes leaves the set.
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const std::shared_ptr<Connection>& connection : all) connection->EndWait();
  BeginWaits();  // The replicas of a former primary confirm its last changes.
}

void IoThread::Stop() { context_.stop(); }

void IoThread::Watch(const std::shared_ptr<Connection>& connection) {
  worker_.thread.AssertHeld();
  WEIR_DCHECK(connections_.contains(connection));
  watched_.insert(connection);
  if (!stall_timer_armed_) ArmStallTimer();
}

void IoThread::Remove(const std::shared_ptr<Connection>& connection) {
  worker_.thread.AssertHeld();
  connections_.erase(connection);
  watched_.erase(connection);
  LeaveIfDrained();
}

void IoThread::LeaveIfDrained() {
  if (edge_ && draining_ && connections_.empty()) edge_->Leave();
}

void IoThread::CloseStalled() {
  worker_.thread.AssertHeld();
  const HostInstant now = worker_.services.clock.HostNow();
  // A copy, because a connection that closes leaves the set.
  const std::vector<std::shared_ptr<Connection>> all(watched_.begin(), watched_.end());
  for (const std::shared_ptr<Connection>& connection : all) {
    if (!connection->OnTick(now)) watched_.erase(connection);
  }
}

// A draining thread needs no ticks: its deadline is kDrainTime.
void IoThread::ArmStallTimer() {
  if (draining_) return;
  stall_timer_armed_ = true;
  stall_timer_.expires_after(kStallTick);
  stall_timer_.async_wait([this](std::error_code error) {
    worker_.thread.AssertHeld();
    stall_timer_armed_ = false;
    if (error || draining_) return;
    CloseStalled();
    if (!watched_.empty()) ArmStallTimer();
  });
}

std::string& IoThread::EmptyOutput() {
  worker_.thread.AssertHeld();
  if (output_.capacity() > kOutputBytesKept) std::string().swap(output_);
  output_.clear();
  return output_;
}

}  // namespace weir
