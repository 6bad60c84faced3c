// Conversations with a server that has no sockets: a stopped clock, one limiter, one
// worker, and any number of sessions.
//
//     Conversation client;                                   // a server, and a client of it
//     client.Show("RL.ALLOW user:42 10/s")                   // the reply, reply_text.h
//     client.server().clock.Advance(std::chrono::seconds{1});
//     Conversation other(client.server());                   // another client of the same server
//
// A Conversation moves bytes as a connection does (session_driver.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/instant.h"
#include "core/limiter/change_hub.h"
#include "core/limiter/limiter.h"
#include "server/config/options.h"
#include "server/session/session.h"
#include "server/session/worker.h"
#include "tests/support/dialogue.h"
#include "tests/support/fake_clock.h"
#include "tests/support/session_driver.h"

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
  ChangeHub hub{limiter->table(), services.policies, clock, true};
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
                                            server.clock.HostNow())),
        session_(worker, record_) {}
  ~Conversation() override { server_.services.clients.Remove(*record_); }

  std::string Send(std::string_view bytes) override { return driver_.Send(bytes); }
  void WakeUp() { driver_.WakeUp(); }
  void EndWait(ClientSession::WaitEnd why = ClientSession::WaitEnd::kClosing) {
    driver_.EndWait(why);
  }

  [[nodiscard]] TestServer& server() { return server_; }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] ClientRecord& record() { return *record_; }
  [[nodiscard]] const ClientSession::Turn& turn() const { return driver_.turn(); }
  [[nodiscard]] bool closed() const { return driver_.closed(); }
  [[nodiscard]] std::optional<HostInstant> wake() const { return driver_.wake(); }
  [[nodiscard]] std::size_t unread_bytes() const { return driver_.unread_bytes(); }
  [[nodiscard]] int turns() const { return driver_.turns(); }
  [[nodiscard]] Nanos longest_turn() const { return driver_.longest_turn(); }

 private:
  std::unique_ptr<TestServer> owned_;
  TestServer& server_;
  std::shared_ptr<ClientRecord> record_;
  Session session_;
  SessionDriver driver_{session_, server_.clock};
};

}  // namespace weir
