#include "server/net/connection.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/heap_bytes.h"
#include "core/base/status.h"
#include "server/net/io_thread.h"
#include "server/net/lingering_close.h"
#include "server/os/wipe.h"

namespace weir {

Connection::Connection(IoThread& thread, Transport transport, const SessionMaker& make,
                       std::shared_ptr<ClientRecord> record)
    : thread_(thread),
      transport_(std::move(transport)),
      record_(std::move(record)),
      session_(make(thread.worker(), record_)) {}

Connection::~Connection() {
  DropInput();
  record_->set_on_wake({});
  thread_.worker().services.client_memory.Set(*record_, 0);
  thread_.worker().services.clients.Remove(*record_);
}

void Connection::Start() {
  if (thread_.worker().services.settings.Get(&Options::timeout).count() > 0) {
    thread_.Watch(shared_from_this());
  }
  record_->set_on_wake([weak = weak_from_this(), executor = transport_.executor()] {
    asio::post(executor, [weak] {
      if (const std::shared_ptr<Connection> self = weak.lock()) self->OnWake();
    });
  });
  WaitForInput();
  OnWake();  // for changes that came before set_on_wake()
}

void Connection::OnWake() {
  if (state_ == State::kClosed) return;
  if (record_->killed.load(std::memory_order_relaxed)) return Close();
  if (state_ == State::kReading && session_->has_news()) return ExecutePending();
  turn_.wake = HostInstant{};  // for a wait that begins when earlier replies are sent
  const bool awaits_upstream =
      state_ == State::kSaving && turn_.awaited.save == Awaited::Save::kUpstream;
  if (awaits_upstream && !session_->lacks_replies()) return OnWaited({});
  if (state_ != State::kWaiting && state_ != State::kPaused) return;
  wait_timer_->cancel();
  ExecutePending();
}

void Connection::Drain() {
  if (state_ == State::kClosed || drain_bytes_left_) return;
  drain_bytes_left_ = transport_.Available();
  session_->EndWait(ClientSession::WaitEnd::kClosing);
  if (state_ == State::kWaiting || state_ == State::kPaused) {
    wait_timer_->cancel();  // The thread would not end before it.
    return ExecutePending();
  }
  if (state_ != State::kReading) return;  // Proceed() continues from here.
  if (transport_.is_handshaking()) return Close();
  if (drain_bytes_left_ > 0) return Receive();
  if (session_->has_news()) return ExecutePending();
  Close();  // An idle client has all its replies, so closing at once loses nothing.
}

// The answer comes at once, or, while earlier replies wait to be sent, after those.
void Connection::EndWait() {
  session_->EndWait(ClientSession::WaitEnd::kDemoted);
  turn_.wake = HostInstant{};
  if (session_->wants_ticks()) thread_.Watch(shared_from_this());
  if (state_ == State::kReading && session_->has_news()) return ExecutePending();
  if (state_ != State::kWaiting) return;
  wait_timer_->cancel();
  ExecutePending();
}

bool Connection::OnTick(HostInstant now) {
  if (state_ == State::kWriting && session_->is_over()) Close();
  if (state_ == State::kReading && session_->has_news()) ExecutePending();
  if (state_ == State::kClosed) return false;
  return CloseIfStalled(now) || (state_ != State::kClosed && session_->wants_ticks());
}

// Returns true if it must be called again at the next tick.
bool Connection::CloseIfStalled(HostInstant now) {
  if (IsIdleTooLong(now)) {
    Close();
    return false;
  }
  if (!stalled_since_) return thread_.worker().services.settings.Get(&Options::timeout).count() > 0;
  const bool is_handshaking = transport_.is_handshaking();
  if (now - *stalled_since_ < (is_handshaking ? kHandshakeTime : kStalledTime)) return true;
  if (const auto suppressed = thread_.stall_throttle().Admit()) {
    std::string_view reason = "it reads its replies too slowly";
    if (state_ == State::kReading) reason = "its request is not complete";
    if (!session_->is_logged_in()) reason = "it has not logged in";
    if (is_handshaking) reason = "its TLS handshake is not complete";
    spdlog::warn("closed client {}: {} for {} s ({} similar lines suppressed)", record_->address,
                 reason,
                 std::chrono::duration_cast<std::chrono::seconds>(now - *stalled_since_).count(),
                 *suppressed);
  }
  const bool is_late =
      state_ == State::kReading && !is_handshaking && (turn_.in_request || !pending_input_.empty());
  if (is_late) Write(session_->late_reply());
  Close();
  return false;
}

bool Connection::IsIdleTooLong(HostInstant now) const {
  const Nanos timeout = thread_.worker().services.settings.Get(&Options::timeout);
  if (timeout.count() == 0 || state_ != State::kReading || stalled_since_) return false;
  if (record_->is_subscribed() || session_->has_calls()) return false;
  const HostInstant active{Nanos{record_->last_active_ns.load(std::memory_order_relaxed)}};
  return now - active >= timeout;
}

void Connection::WaitForInput() {
  state_ = State::kReading;
  SetStalled(!pending_input_.empty() || turn_.in_request || transport_.is_handshaking());
  if (session_->wants_ticks()) thread_.Watch(shared_from_this());
  WatchInput();
}

void Connection::WaitForTime() {
  if (drain_bytes_left_) {
    session_->EndWait(ClientSession::WaitEnd::kClosing);
    return Postpone(&Connection::ExecutePending);
  }
  state_ = turn_.next == ClientSession::Next::kPause ? State::kPaused : State::kWaiting;
  SetStalled(false);
  if (!wait_timer_) wait_timer_.emplace(transport_.executor());
  wait_timer_->expires_after(turn_.wake - thread_.worker().services.clock.HostNow());
  wait_timer_->async_wait([self = shared_from_this()](std::error_code error) {
    if (error) return;
    if (self->state_ == State::kWaiting || self->state_ == State::kPaused) self->ExecutePending();
  });
  if (state_ == State::kWaiting) WatchInput();
}

void Connection::WatchInput() {
  if (std::exchange(watching_input_, true)) return;
  transport_.WaitToRead([self = shared_from_this()](std::error_code error) {
    self->watching_input_ = false;
    if (error) return;
    if (self->state_ == State::kReading) return self->Receive();
    if (self->state_ == State::kWaiting) self->ReceiveMeanwhile();
  });
}

void Connection::ReceiveMeanwhile() {
  std::error_code error;
  const std::size_t received = transport_.Read(thread_.input(), error);
  if (error && error != asio::error::would_block) return Close();
  pending_input_.append(thread_.input().data(), received);
  Wipe(thread_.input().first(received));
  ReportMemory();
  if (pending_input_.size() < kWaitingInputBytesMax) WatchInput();
}

// The thread's buffer has room in front of the part that is read into. The beginning of a request
// is copied there, so that the session sees the whole request in one piece.
void Connection::Receive() {
  char* const space = thread_.input().data() + kInputHeadroomBytes;
  std::size_t room = kInputBytes;
  if (drain_bytes_left_) room = std::min(room, *drain_bytes_left_);
  std::error_code error;
  const bool was_handshaking = transport_.is_handshaking();
  const std::size_t received = transport_.Read({space, room}, error);
  if (was_handshaking && !transport_.is_handshaking()) {
    record_->has_certificate.store(transport_.has_certificate(), std::memory_order_relaxed);
    SetStalled(false);
  }
  if (error == asio::error::would_block) return drain_bytes_left_ ? Finish() : WaitForInput();
  if (!transport_.tls_failure().empty()) return RefuseTls();
  if (error) return Close();  // At the end of the input (eof) all replies have been sent.
  if (drain_bytes_left_) {
    WEIR_CHECK(received <= *drain_bytes_left_);
    *drain_bytes_left_ -= received;
  }
  const std::size_t pending = pending_input_.size();
  if (pending > kInputHeadroomBytes) {
    pending_input_.append(space, received);
    Wipe({space, received});
    return ExecuteTurn(pending_input_);
  }
  char* const unread = space - pending;
  std::ranges::copy(pending_input_, unread);
  ExecuteTurn({unread, pending + received});
}

void Connection::ExecuteTurn(std::span<char> unread) {
  WEIR_DCHECK(state_ != State::kClosed);
  WEIR_DCHECK(pending_output_.empty());
  std::string& replies = thread_.EmptyOutput();
  turn_ = session_->Execute({unread.data(), unread.size()}, replies);
  if (turn_.completed) SetStalled(false);  // What is left is the beginning of another request.
  const bool closes = turn_.next == ClientSession::Next::kClose;
  const std::size_t consumed = closes ? unread.size() : turn_.consumed;
  if (turn_.had_secret || closes) Wipe(unread.first(consumed));
  KeepInput(unread, consumed);
  if (turn_.delayed_from) {
    SendLater(replies);
  } else {
    Send(replies);
  }
  ReportMemory();
}

// Sends the replies in front of the first delayed one at once, as far as the kernel takes them.
void Connection::SendLater(std::string_view replies) {
  WEIR_CHECK(*turn_.delayed_from <= replies.size());
  const std::optional<std::size_t> sent = Write(replies.substr(0, *turn_.delayed_from));
  if (!sent) return Close();
  if (replies.size() - *sent > kPendingOutputBytesMax)
    return CloseSlowReader(replies.size() - *sent);
  pending_output_ = replies.substr(*sent);
  *turn_.delayed_from -= *sent;
  state_ = State::kSaving;
  SetStalled(false);
  if (turn_.awaited.save != Awaited::Save::kUpstream) {
    thread_.Park(shared_from_this(), turn_.awaited);
  }
}

void Connection::OnWaited(WaitOutcome outcome) {
  if (state_ != State::kSaving) return;
  std::string replies;
  replies.swap(pending_output_);
  const bool has_late_reply = turn_.awaited.save >= Awaited::Save::kLateReply;
  if (!outcome.saved.ok() || outcome.acks_missed > 0 || has_late_reply) {
    std::string delayed = replies.substr(*turn_.delayed_from);
    const OnPersistError reaction =
        thread_.worker().services.settings.Get(&Options::on_persist_error);
    outcome.fails_changes = reaction == OnPersistError::kRefuse;
    session_->FinishDelayed(delayed, outcome);
    replies.replace(*turn_.delayed_from, std::string::npos, delayed);
  }
  Send(replies);
  ReportMemory();
}

// The input may be half a password, so no copy of it stays in another buffer.
void Connection::KeepInput(std::span<char> unread, std::size_t consumed) {
  WEIR_CHECK(consumed <= unread.size());
  const bool is_kept = unread.data() == pending_input_.data();
  if (is_kept && consumed == 0) return;
  const std::span<char> rest = unread.subspan(consumed);
  // A new string, so that it has no more memory than it needs.
  std::string kept(rest.data(), rest.size());
  pending_input_.swap(kept);
  Wipe(kept);
  if (!is_kept) Wipe(rest);
}

void Connection::DropInput() {
  Wipe(pending_input_);
  std::string().swap(pending_input_);
}

void Connection::Send(std::string_view replies) {
  const std::optional<std::size_t> sent = Write(replies);
  if (!sent) return Close();
  if (*sent == replies.size()) return Proceed();
  replies.remove_prefix(*sent);
  if (replies.size() > kPendingOutputBytesMax) return CloseSlowReader(replies.size());
  pending_output_ = replies;
  pending_output_sent_ = 0;
  WaitForRoom();
}

void Connection::CloseSlowReader(std::size_t pending_bytes) {
  if (const auto suppressed = thread_.output_throttle().Admit()) {
    spdlog::warn(
        "closed client {}: it does not read its replies, and {} bytes wait ({} similar lines "
        "suppressed)",
        record_->address, pending_bytes, *suppressed);
  }
  Close();
}

void Connection::WaitForRoom() {
  state_ = State::kWriting;
  SetStalled(pending_output_.size() - pending_output_sent_ > kSlowOutputBytesMax);
  transport_.WaitToWrite([self = shared_from_this()](std::error_code error) {
    if (!error && self->state_ == State::kWriting) self->SendPending();
  });
}

void Connection::SendPending() {
  const std::string_view unsent = std::string_view(pending_output_).substr(pending_output_sent_);
  const std::optional<std::size_t> sent = Write(unsent);
  if (!sent) return Close();
  pending_output_sent_ += *sent;
  if (*sent < unsent.size()) return WaitForRoom();
  std::string().swap(pending_output_);
  SetStalled(false);
  ReportMemory();
  Proceed();
}

// Closing may linger; the buffers are released before.
void Connection::ReleaseBuffers() {
  DropInput();
  std::string().swap(pending_output_);
  session_->DropUnfinished();
  ReportMemory();
}

void Connection::ReportMemory() {
  const std::size_t input = HeapBytes(pending_input_);
  const std::size_t output = HeapBytes(pending_output_);
  record_->input_bytes.store(input, std::memory_order_relaxed);
  record_->output_bytes.store(output, std::memory_order_relaxed);
  thread_.worker().services.client_memory.Set(*record_, input + output + session_->held_bytes());
}

std::optional<std::size_t> Connection::Write(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    std::error_code error;
    sent += transport_.Write(bytes.substr(sent), error);
    if (error == asio::error::would_block) break;
    if (error) return std::nullopt;
  }
  return sent;
}

void Connection::Proceed() {
  session_->OnSent();
  switch (turn_.next) {
    case ClientSession::Next::kClose:
      return Finish();
    case ClientSession::Next::kHandOver:
      return HandOver();
    case ClientSession::Next::kWait:
    case ClientSession::Next::kPause:
      return WaitForTime();
    case ClientSession::Next::kContinue:
      return Postpone(&Connection::ExecutePending);
    case ClientSession::Next::kRead:
      break;
  }
  if (session_->has_news()) return Postpone(&Connection::ExecutePending);
  if (!drain_bytes_left_) return WaitForInput();
  if (*drain_bytes_left_ > 0) return Postpone(&Connection::Receive);
  Finish();
}

void Connection::Postpone(void (Connection::*step)()) {
  state_ = State::kPostponed;
  asio::post(transport_.executor(), [self = shared_from_this(), step] {
    if (self->state_ == State::kPostponed) (*self.*step)();
  });
}

// A connection that is no longer stalled stays in its thread's list until the next tick, because
// large input often ends in the middle of a request.
void Connection::SetStalled(bool stalled) {
  // A client that has not logged in counts as stalled, whatever it sends.
  stalled = stalled || !session_->is_logged_in();
  if (stalled == stalled_since_.has_value()) return;
  stalled_since_.reset();
  if (!stalled) return;
  stalled_since_ = thread_.worker().services.clock.HostNow();
  thread_.Watch(shared_from_this());
}

// The kernel has all replies. The lingering close makes sure that the client receives them.
void Connection::Finish() {
  WEIR_CHECK(state_ != State::kClosed);
  state_ = State::kClosed;
  ReleaseBuffers();
  transport_.CancelWaits();  // Drain() may have come while the socket was waiting.
  thread_.Remove(shared_from_this());
  CloseLingering(transport_.ReleaseSocket(), thread_.input(), shared_from_this());
}

// The client is now a replica; this thread gives its connection away.
void Connection::HandOver() {
  state_ = State::kClosed;
  std::optional<SyncHandOver> sync = session_->TakeHandOver();
  WEIR_CHECK(sync.has_value());
  sync->input = std::exchange(pending_input_, {});
  ReleaseBuffers();
  thread_.Remove(shared_from_this());
  thread_.HandOver(std::move(transport_), *std::move(sync));
}

// The kernel already has the alert of TLS that tells the client.
void Connection::RefuseTls() {
  if (const auto suppressed = thread_.tls_throttle().Admit()) {
    spdlog::warn("closed client {}: TLS error: {} ({} similar lines suppressed)", record_->address,
                 transport_.tls_failure(), *suppressed);
  }
  Finish();
}

void Connection::Close() {
  state_ = State::kClosed;
  session_->EndWait(ClientSession::WaitEnd::kClosing);
  if (wait_timer_) wait_timer_->cancel();
  transport_.Close();
  thread_.Remove(shared_from_this());
}

}  // namespace weir
