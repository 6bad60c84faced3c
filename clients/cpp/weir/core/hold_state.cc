#include "weir/core/hold_state.h"

#include <utility>

#include "weir/errors.h"

namespace weir::client {

HoldState::HoldState(std::shared_ptr<Engine> engine, milliseconds ttl, const Words& words,
                     std::optional<std::int64_t> estimate)
    : engine_(std::move(engine)),
      request_(engine_->ReadRequest(words)),
      words_(request_.WithCost(estimate.value_or(0))),
      ttl_(engine_->CheckTime("the time to live", ttl, milliseconds(1))),
      id_(RandomId()) {
  if (!estimate && request_.has_places()) throw Mistake("cost={} needs an estimate");
}

std::optional<Limited> HoldState::Reserve() {
  const Decision decision = Ask();
  if (!decision.allowed) return LimitedBy(decision, request_);
  is_open_ = decision.reason == Reason::kAllowed;
  return {};
}

Decision HoldState::Ask() {
  return engine_->Decide(request_, {.command = "RL.RESERVE",
                                    .words = words_,
                                    .options = {"HOLD", id_, "TTL", std::to_string(ttl_.count())},
                                    .sending = {.tries = kHoldTries}});
}

bool HoldState::Settle(std::int64_t used) {
  if (used < 0) {
    engine_->counters().AddMistake();
    throw Mistake("a hold is settled with 0 tokens at least");
  }
  if (is_open_) {
    has_settled_ = true;
    is_settled_ = End("RL.COMMIT", request_.Costs(used, /*keys_without=*/true));
  }
  return is_settled_;
}

bool HoldState::SettleOrCharge(std::int64_t used) {
  const bool was_open = is_open_;
  const bool settled = Settle(used);
  if (!settled && was_open && !is_open_) {
    const Words words = request_.Costs(used, /*keys_without=*/false);
    if (!words.empty()) Try("RL.CHARGE", words, /*tries=*/1);
  }
  return settled;
}

void HoldState::Cancel() noexcept {
  if (!is_open_ || has_settled_) return;
  try {
    End("RL.CANCEL", request_.Keys());
  } catch (const Mistake&) {
    engine_->counters().AddMistake();  // the hold expires
  }
}

bool HoldState::End(std::string_view command, const Words& words) {
  Words with_hold = words;
  with_hold.insert(with_hold.end(), {"HOLD", id_});
  const std::optional<Reply> reply = Try(command, with_hold, kHoldTries);
  if (!reply) return false;
  is_open_ = false;
  return !reply->array.empty() && reply->array[0].integer == 1;
}

std::optional<Reply> HoldState::Try(std::string_view command, const Words& words, int tries) {
  Words asked = {std::string(command)};
  asked.insert(asked.end(), words.begin(), words.end());
  CallResult result = engine_->Call(asked, {.tries = tries});
  if (!result.reply) engine_->WithoutAnswer(result.cause);
  return std::move(result.reply);
}

}  // namespace weir::client
