// A driver of any ClientSession, which moves bytes as a connection does, without a socket.
//
// It keeps the input that the session did not consume, continues while a turn is not over, and
// stops once the session says close or hands its connection over. While the session waits (kWait,
// kPause), sent input is only kept; once a test has moved the clock to wake(), the next Send
// continues. A wait whose wake() is past is no wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/instant.h"
#include "server/session/client_session.h"
#include "tests/support/unread_bytes.h"

namespace weir {

class SessionDriver {
 public:
  // Both must outlive the driver.
  SessionDriver(ClientSession& session, const Clock& clock) : session_(session), clock_(clock) {}

  // Delivers bytes; returns the server's answer. Does nothing after a close, or while the session
  // waits.
  std::string Send(std::string_view bytes) {
    std::string replies;
    if (closed() || turn_.next == ClientSession::Next::kHandOver) return replies;
    unread_.Add(bytes);
    if (wake_ && clock_.HostNow() < *wake_) return replies;
    do {
      const Nanos begin = ProcessTime();
      turn_ = session_.Execute(unread_.bytes(), replies);
      longest_turn_ = std::max(longest_turn_, ProcessTime() - begin);
      unread_.Consume(turn_.consumed);
      session_.OnSent();
      ++turns_;
      const bool waits =
          turn_.next == ClientSession::Next::kWait || turn_.next == ClientSession::Next::kPause;
      wake_ = waits ? std::optional(turn_.wake) : std::nullopt;
    } while (turn_.next == ClientSession::Next::kContinue || (wake_ && *wake_ <= clock_.HostNow()));
    return replies;
  }

  // Tells the session that another session has output for it; the next Send returns that output.
  void WakeUp() { wake_.reset(); }

  // Ends a wait as a server that is about to stop does; the next Send returns the answer.
  void EndWait(ClientSession::WaitEnd why = ClientSession::WaitEnd::kClosing) {
    session_.EndWait(why);
    wake_.reset();
  }

  [[nodiscard]] const ClientSession::Turn& turn() const { return turn_; }  // the last one
  [[nodiscard]] bool closed() const { return turn_.next == ClientSession::Next::kClose; }
  // The time at which the session continues, if it waits.
  [[nodiscard]] std::optional<HostInstant> wake() const { return wake_; }
  [[nodiscard]] std::size_t unread_bytes() const { return unread_.size(); }
  [[nodiscard]] int turns() const { return turns_; }  // calls of Execute so far
  // The processor's time of the longest of them.
  [[nodiscard]] Nanos longest_turn() const { return longest_turn_; }

 private:
  static Nanos ProcessTime() {
    return std::chrono::microseconds{std::clock() * (1'000'000 / CLOCKS_PER_SEC)};
  }

  ClientSession& session_;
  const Clock& clock_;
  UnreadBytes unread_;
  ClientSession::Turn turn_;
  std::optional<HostInstant> wake_;
  int turns_ = 0;
  Nanos longest_turn_{0};
};

}  // namespace weir
