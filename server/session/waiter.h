// A session that waits for its tokens: RL.WAIT has charged them already, and its answer leaves when
// they are there.
//
// It owns what it needs of the request, whose words have gone by then. It is counted when it is
// served. A waiter that ends without being served gives its tokens back (Limiter::GiveBack) and is
// not counted. Belongs to its worker's thread.
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
  // Gives back, unless it was served.
  ~ServerWaiter();
  ServerWaiter(const ServerWaiter&) = delete;
  ServerWaiter& operator=(const ServerWaiter&) = delete;

  [[nodiscard]] Instant ready() const noexcept { return request_.reservation().ready; }

  // Its own bytes and those that it has of the heap.
  [[nodiscard]] std::size_t held_bytes() const { return sizeof(*this) + request_.held_bytes(); }

  // Answers: admitted, with the numbers of `now`. Requires: now >= ready().
  void Serve(RespWriter& reply, Instant now);

  // Answers: denied, as if its time had run out; gives back.
  void Withdraw(RespWriter& reply, Instant now);

 private:
  void Answer(RespWriter& reply, const Verdict& verdict);

  Worker& worker_;
  const PendingRequest request_;
  bool over_ = false;  // served, or given back
};

}  // namespace weir
