// A request that waits for its tokens: RL.WAIT has charged them already, and its answer is sent
// when they are available.
//
// The waiter keeps a copy of the request, because the words are gone when it is answered. It counts
// when it is served. A waiter that ends without being served returns its tokens (Limiter::GiveBack)
// and does not count. Belongs to its worker's thread.
#pragma once

#include "core/base/instant.h"
#include "core/commands/pending_request.h"
#include "core/limiter/reservation.h"
#include "core/rules/decision.h"
#include "core/words/request_grammar.h"
#include "protocol/resp_writer.h"

namespace weir {

struct Worker;

class ServerWaiter {
 public:
  ServerWaiter(Worker& worker, const ParsedRequest& request, Reservation reservation);
  // Returns the tokens, unless the waiter was served.
  ~ServerWaiter();
  ServerWaiter(const ServerWaiter&) = delete;
  ServerWaiter& operator=(const ServerWaiter&) = delete;

  [[nodiscard]] Instant ready() const noexcept { return request_.reservation().ready; }

  // The bytes of this object and of its heap memory.
  [[nodiscard]] std::size_t held_bytes() const { return sizeof(*this) + request_.held_bytes(); }

  // Answers that the request is admitted, with the numbers of `now`. Returns false after answering
  // an error: while the server lacks replicas, it is not served. Requires: now >= ready().
  [[nodiscard]] bool Serve(RespWriter& reply, Instant now);

  // Answers that the request is denied, as after its maximum wait, and returns the tokens.
  void Withdraw(RespWriter& reply, Instant now);

 private:
  void Answer(RespWriter& reply, const Verdict& verdict);

  Worker& worker_;
  const PendingRequest request_;
  bool over_ = false;  // served or withdrawn
};

}  // namespace weir
