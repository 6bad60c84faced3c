// HoldState: a reservation, which is settled with what was really used, or cancelled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/core/engine.h"
#include "weir/core/request.h"
#include "weir/decision.h"
#include "weir/reply.h"
#include "weir/words.h"

namespace weir::client {

// For one thread at a time. hold.h says what its members do; they throw Mistake.
class HoldState {
 public:
  // Throws Mistake also if the words have a place for a cost, and there is no estimate.
  HoldState(std::shared_ptr<Engine> engine, milliseconds ttl, const Words& words,
            std::optional<std::int64_t> estimate = {});

  // Reserves. Without an answer there is no hold, and a Limiter that fails open admits.
  std::optional<Limited> Reserve();

  // The Decision of RL.RESERVE: reserves, or begins the time to live again.
  Decision Ask();

  bool Settle(std::int64_t used);
  bool SettleOrCharge(std::int64_t used);
  void Cancel() noexcept;

  // weir has not the hold any longer.
  void Forget() { is_open_ = false; }

  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] milliseconds ttl() const { return ttl_; }

 private:
  // Ends the hold. Returns whether weir had it.
  bool End(std::string_view command, const Words& words);

  // The reply, if there is an answer.
  std::optional<Reply> Try(std::string_view command, const Words& words, int tries);

  const std::shared_ptr<Engine> engine_;
  const Request request_;
  const Words words_;  // with the estimate in its places
  const milliseconds ttl_;
  const std::string id_;
  bool is_open_ = false;  // weir may have the hold, not settled
  bool is_settled_ = false;
  bool has_settled_ = false;  // has tried to
};

}  // namespace weir::client
