// Conversations with a server that has no sockets: a clock that stands still, one limiter, one
// worker, and any number of sessions.
//
//     Conversation client;                                   // a server, and a client of it
//     client.Show("RL.ALLOW user:42 10/s")                   // the reply, reply_text.h
//     client.server().clock.Advance(std::chrono::seconds{1});
//     Conversation other(client.server());                   // another client of the same server
//
// A Conversation moves bytes as a connection does: it keeps the input that a session did not
// consume, continues while a turn is not over, and stops once the session says close. While the
// session waits for tokens (RL.WAIT), sent input is only kept; once a test has moved the clock to
// wake(), the next Send or Receive continues. Unread input lies in a heap block of exactly its
// size, a new block for each Send, so AddressSanitizer sees reads past its end or after its
// lifetime.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "server/config/options.h"
#include "server/session/session.h"
#include "server/session/worker.h"
#include "tests/support/dialogue.h"
#include "tests/support/fake_clock.h"

namespace weir {

// The state that all conversations of one server share.
struct TestServer {
  // A test of how keys spread over the table needs the same hashes in every run.
  static constexpr HashSecret kSecret = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

  explicit TestServer(const Options& options = DefaultOptions(),
                      const LimiterOptions& limits = {.secret = kSecret})
      : limiter(std::make_unique<Limiter>(limits)),
        services(options, clock, *limiter),
        worker(services) {}

  // A server whose clients may say AT.
  static std::unique_ptr<TestServer> WithExplicitTime() {
    Options options = DefaultOptions();
    options.allow_explicit_time = true;
    return std::make_unique<TestServer>(
        options, LimiterOptions{.secret = kSecret, .time_is_ordered = false});
  }

  FakeClock clock;
  std::unique_ptr<Limiter> limiter;  // some 100 KiB
  Services services;
  Worker worker;
};

class Conversation : public Dialogue {
 public:
  Conversation() : Conversation(std::make_unique<TestServer>()) {}
  explicit Conversation(std::unique_ptr<TestServer> server) : Conversation(*server) {
    owned_ = std::move(server);
  }
  explicit Conversation(TestServer& server) : Conversation(server, server.worker) {}
  // A session on another thread's worker; everything still runs on the test's thread.
  Conversation(TestServer& server, Worker& worker)
      : server_(server),
        record_(server.services.clients.Add("127.0.0.1:50000", "127.0.0.1:7379", 7,
                                            server.clock.Now())),
        session_(worker, record_) {}
  ~Conversation() override { server_.services.clients.Remove(*record_); }

  // Delivers bytes; returns the server's answer. Does nothing after a close, or while the session
  // waits.
  std::string Send(std::string_view bytes) override {
    std::string replies;
    if (closed_) return replies;
    auto block = std::make_unique<char[]>(unread_.size() + bytes.size());
    char* const end =
        std::copy(bytes.begin(), bytes.end(), std::ranges::copy(unread_, block.get()).out);
    unread_ = {block.get(), static_cast<std::size_t>(end - block.get())};
    block_ = std::move(block);
    if (wake_ && server_.clock.Now() < *wake_) return replies;
    for (auto next = Session::Next::kContinue; next == Session::Next::kContinue;) {
      const Session::Turn turn = session_.Execute(unread_, replies);
      WEIR_CHECK(turn.consumed <= unread_.size());
      unread_.remove_prefix(turn.consumed);
      next = turn.next;
      closed_ = next == Session::Next::kClose;
      const bool waits = next == Session::Next::kWait || next == Session::Next::kPause;
      wake_ = waits ? std::optional(turn.wake) : std::nullopt;
      ++turns_;
    }
    return replies;
  }

  // Tells the session that another session has output for it; the next Receive returns that output.
  void WakeUp() { wake_.reset(); }

  // Ends a wait as a server that is about to stop does; Receive() returns the answer.
  void EndWait() {
    session_.EndWait();
    wake_.reset();
  }

  [[nodiscard]] TestServer& server() { return server_; }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] ClientRecord& record() { return *record_; }
  [[nodiscard]] bool closed() const { return closed_; }
  // The time at which the session continues, if it waits for tokens.
  [[nodiscard]] std::optional<Instant> wake() const { return wake_; }
  [[nodiscard]] std::size_t unread_bytes() const { return unread_.size(); }
  [[nodiscard]] int turns() const { return turns_; }  // calls of Execute so far

 private:
  std::unique_ptr<TestServer> owned_;
  TestServer& server_;
  std::shared_ptr<ClientRecord> record_;
  Session session_;
  std::unique_ptr<char[]> block_;
  std::string_view unread_;  // in block_
  bool closed_ = false;
  std::optional<Instant> wake_;
  int turns_ = 0;
};

}  // namespace weir
