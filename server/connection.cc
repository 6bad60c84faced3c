#include "server/connection.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/status.h"
#include "server/io_thread.h"
#include "server/lingering_close.h"

namespace weir {

using asio::ip::tcp;

Connection::Connection(IoThread& thread, tcp::socket socket, std::shared_ptr<ClientRecord> record)
    : thread_(thread),
      socket_(std::move(socket)),
      record_(std::move(record)),
      session_(thread.worker(), record_) {}

Connection::~Connection() { thread_.worker().services.clients.Remove(*record_); }

void Connection::Start() {
  std::error_code error;
  socket_.non_blocking(true, error);
  if (error) return Close();
  WaitForInput();
}

void Connection::Drain() {
  if (state_ == State::kClosed || drain_bytes_left_) return;
  std::error_code error;
  drain_bytes_left_ = socket_.available(error);
  if (state_ == State::kWaiting) {
    tokens_timer_->cancel();  // Else the thread would not end before it.
    session_.EndWait();
    return ExecutePending();
  }
  if (state_ != State::kReading) return;  // Proceed() goes on from here.
  // Who is idle has got all its replies, so nothing is lost by closing at once.
  if (error || drain_bytes_left_ == 0) return Close();
  Receive();
}

bool Connection::CloseIfStalled(Instant now) {
  if (!stalled_since_) return false;
  if (now - *stalled_since_ < kStalledTime) return true;
  if (const auto held_back = thread_.stall_throttle().Admit()) {
    spdlog::warn("closed client {}: {} for {} s ({} such lines held back)", record_->address,
                 state_ == State::kReading ? "its request is not complete"
                                           : "it reads its replies too slowly",
                 std::chrono::duration_cast<std::chrono::seconds>(now - *stalled_since_).count(),
                 *held_back);
  }
  Close();
  return false;
}

void Connection::WaitForInput() {
  state_ = State::kReading;
  NoteStall(!pending_input_.empty());
  WatchInput();
}

void Connection::WaitForTokens() {
  if (drain_bytes_left_) {
    session_.EndWait();
    return Postpone(&Connection::ExecutePending);
  }
  state_ = State::kWaiting;
  NoteStall(false);
  if (!tokens_timer_) tokens_timer_.emplace(socket_.get_executor());
  tokens_timer_->expires_after(turn_.wake - thread_.worker().services.clock.Now());
  tokens_timer_->async_wait([self = shared_from_this()](std::error_code error) {
    if (!error && self->state_ == State::kWaiting) self->ExecutePending();
  });
  WatchInput();
}

void Connection::WatchInput() {
  if (std::exchange(watching_input_, true)) return;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](std::error_code error) {
    self->watching_input_ = false;
    if (error) return;
    if (self->state_ == State::kReading) return self->Receive();
    if (self->state_ == State::kWaiting) self->ReceiveMeanwhile();
  });
}

void Connection::ReceiveMeanwhile() {
  std::error_code error;
  const std::size_t received =
      socket_.read_some(asio::buffer(thread_.input().data(), thread_.input().size()), error);
  if (error && error != asio::error::would_block) return Close();
  pending_input_.append(thread_.input().data(), received);
  if (pending_input_.size() < kWaitingInputBytesMax) WatchInput();
}

// The thread's buffer has room in front of where it reads to, so that the beginning of a request is
// put before its end and the session sees both as one.
void Connection::Receive() {
  char* const space = thread_.input().data() + kInputHeadroomBytes;
  std::size_t room = kInputBytes;
  if (drain_bytes_left_) room = std::min(room, *drain_bytes_left_);
  std::error_code error;
  const std::size_t received = socket_.read_some(asio::buffer(space, room), error);
  if (error == asio::error::would_block) return drain_bytes_left_ ? Finish() : WaitForInput();
  if (error) return Close();  // At the end of its input (eof) the client has got every reply.
  if (drain_bytes_left_) *drain_bytes_left_ -= received;
  const std::size_t pending = pending_input_.size();
  if (pending > kInputHeadroomBytes) {
    pending_input_.append(space, received);
    return ExecuteTurn(pending_input_);
  }
  char* const unread = space - pending;
  std::ranges::copy(pending_input_, unread);
  ExecuteTurn({unread, pending + received});
}

void Connection::ExecuteTurn(std::string_view unread) {
  std::string& replies = thread_.EmptyOutput();
  turn_ = session_.Execute(unread, replies);
  if (turn_.consumed > 0) NoteStall(false);  // What is left is the beginning of another request.
  KeepInput(unread, turn_.next == Session::Next::kClose ? unread.size() : turn_.consumed);
  turn_.ticket == 0 ? Send(replies) : SendWhenSaved(replies);
}

// What does not say that something was changed leaves at once, as far as the kernel takes it.
void Connection::SendWhenSaved(std::string_view replies) {
  const std::optional<std::size_t> sent = Write(replies.substr(0, turn_.sendable));
  if (!sent) return Close();
  pending_output_ = replies.substr(*sent);
  turn_.sendable -= *sent;
  state_ = State::kSaving;
  NoteStall(false);
  thread_.Park(shared_from_this());
}

void Connection::OnSaved(const absl::Status& saved) {
  if (state_ != State::kSaving) return;
  std::string replies;
  replies.swap(pending_output_);
  if (!saved.ok()) {
    std::string unsaved = replies.substr(turn_.sendable);
    session_.ReplaceUnsaved(unsaved, StdView(saved.message()),
                            !thread_.worker().services.state->serves_unsaved());
    replies.replace(turn_.sendable, std::string::npos, unsaved);
  }
  Send(replies);
}

void Connection::KeepInput(std::string_view unread, std::size_t consumed) {
  const bool is_kept = unread.data() == pending_input_.data();
  if (is_kept && consumed == 0) return;
  // A new string, so that it has no more memory than it needs.
  std::string rest(unread.substr(consumed));
  pending_input_.swap(rest);
}

void Connection::Send(std::string_view replies) {
  const std::optional<std::size_t> sent = Write(replies);
  if (!sent) return Close();
  if (*sent == replies.size()) return Proceed();
  replies.remove_prefix(*sent);
  if (replies.size() > kPendingOutputBytesMax) {
    if (const auto held_back = thread_.output_throttle().Admit()) {
      spdlog::warn(
          "closed client {}: it does not read, and {} bytes wait ({} such lines held back)",
          record_->address, replies.size(), *held_back);
    }
    return Close();
  }
  pending_output_ = replies;
  WaitForRoom();
}

void Connection::WaitForRoom() {
  state_ = State::kWriting;
  NoteStall(pending_output_.size() > kSlowOutputBytesMax);
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](std::error_code error) {
    if (!error && self->state_ == State::kWriting) self->SendPending();
  });
}

void Connection::SendPending() {
  const std::optional<std::size_t> sent = Write(pending_output_);
  if (!sent) return Close();
  if (*sent < pending_output_.size()) {
    pending_output_.erase(0, *sent);
    return WaitForRoom();
  }
  std::string().swap(pending_output_);
  NoteStall(false);
  Proceed();
}

std::optional<std::size_t> Connection::Write(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    std::error_code error;
    const std::string_view rest = bytes.substr(sent);
    sent += socket_.write_some(asio::buffer(rest.data(), rest.size()), error);
    if (error == asio::error::would_block) break;
    if (error) return std::nullopt;
  }
  return sent;
}

void Connection::Proceed() {
  switch (turn_.next) {
    case Session::Next::kClose:
      return Finish();
    case Session::Next::kWait:
      return WaitForTokens();
    case Session::Next::kContinue:
      return Postpone(&Connection::ExecutePending);
    case Session::Next::kRead:
      break;
  }
  if (!drain_bytes_left_) return WaitForInput();
  if (*drain_bytes_left_ > 0) return Postpone(&Connection::Receive);
  Finish();
}

void Connection::Postpone(void (Connection::*step)()) {
  state_ = State::kPostponed;
  asio::post(socket_.get_executor(), [self = shared_from_this(), step] { (*self.*step)(); });
}

// Its thread forgets by itself who is not stalled any more: input that comes in large pieces ends
// in half a request again and again.
void Connection::NoteStall(bool stalled) {
  if (stalled == stalled_since_.has_value()) return;
  stalled_since_.reset();
  if (!stalled) return;
  stalled_since_ = thread_.worker().services.clock.Now();
  thread_.Watch(shared_from_this());
}

// The replies are with the kernel; now see that the client gets them.
void Connection::Finish() {
  state_ = State::kClosed;
  std::error_code ignored;
  socket_.cancel(ignored);  // Drain() comes while the socket waits.
  thread_.Remove(shared_from_this());
  CloseLingering(std::move(socket_), thread_.input(), shared_from_this());
}

void Connection::Close() {
  state_ = State::kClosed;
  session_.EndWait();
  if (tokens_timer_) tokens_timer_->cancel();
  std::error_code ignored;
  socket_.close(ignored);
  thread_.Remove(shared_from_this());
}

}  // namespace weir
