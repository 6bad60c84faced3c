// A command whose answer comes later: RL.WAIT, which waits for its tokens, and those of
// server/handlers: WAIT (ack_waiter.h), RL.SYNC (sync_waiter.h), RL.POLICY SET with TRIM, which
// works in parts (trim_waiter.h), and those that have a thread work for them (aside_waiter.h).
//
// RL.WAIT has charged its tokens already. The waiter keeps a copy of the request, because the words
// are gone when it is answered. It counts when it is served. A waiter that ends without being
// served returns its tokens (Limiter::ReturnTokens) and does not count. Belongs to its worker's
// thread.
#pragma once

#include <string_view>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/commands/pending_request.h"
#include "core/commands/request_grammar.h"
#include "core/plans/reservation.h"
#include "core/rules/decision.h"
#include "protocol/resp_writer.h"

namespace weir {

class ClientRecord;
struct Worker;

// The errors of a request that waits when its server stops, or becomes a replica.
inline constexpr std::string_view kClosingWaitError = "UNBLOCKED the server is shutting down";
inline constexpr std::string_view kDemotedWaitError = "UNBLOCKED this server is a replica now";

class Waiter {
 public:
  Waiter() = default;
  virtual ~Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Returns the time of the answer, as known at `at`. It may become earlier; then the client's
  // record is woken.
  [[nodiscard]] virtual HostInstant ReadyAt(const Clock::Reading& at) const = 0;
  // Does a part of the command's work, about a millisecond. Returns true if there is more, to be
  // done when ReadyAt() says, which may be past.
  [[nodiscard]] virtual bool HasMoreWork(const Clock::Reading& /*at*/) { return false; }
  // True if the last part of that work is done: then CLIENT UNBLOCK comes too late.
  [[nodiscard]] virtual bool is_done() const { return false; }
  // Whether only a primary answers the command: the wait ends with that role.
  [[nodiscard]] virtual bool is_of_primary() const { return true; }
  // The bytes of this object and of its heap memory.
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;
  // True if the command has changed buckets.
  [[nodiscard]] virtual bool has_changed() const = 0;
  // Answers. Returns false after answering an error. Requires: that time has come.
  [[nodiscard]] virtual bool Serve(RespWriter& reply, Instant now) = 0;
  // Answers as after a timeout.
  virtual void Withdraw(RespWriter& reply, Instant now) = 0;
};

class ServerWaiter final : public Waiter {
 public:
  // `client`: the record of the client that waits, which must outlive the waiter.
  ServerWaiter(Worker& worker, const ClientRecord& client, const ParsedRequest& request,
               Reservation reservation);
  // Returns the tokens, unless the waiter was served.
  ~ServerWaiter() override;

  [[nodiscard]] HostInstant ReadyAt(const Clock::Reading& at) const override {
    return at.host_now + (request_.reservation().ready - at.now);
  }
  [[nodiscard]] std::size_t held_bytes() const override {
    return sizeof(*this) + request_.held_bytes();
  }
  [[nodiscard]] bool has_changed() const override { return true; }
  // Answers that the request is admitted, with the numbers of `now`. While the server lacks
  // replicas, or if the tokens were given back meanwhile (OpenWaits), the answer is an error, and
  // the request is not served.
  [[nodiscard]] bool Serve(RespWriter& reply, Instant now) override;
  // Answers that the request is denied, as after its maximum wait, and returns the tokens.
  void Withdraw(RespWriter& reply, Instant now) override;

 private:
  void Answer(RespWriter& reply, const Verdict& verdict);
  void ReturnTokens();

  Worker& worker_;
  const PendingRequest request_;
  bool over_ = false;  // served or withdrawn
};

}  // namespace weir
