#include "weir/core/slice_state.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "weir/core/causes.h"
#include "weir/errors.h"

namespace weir::client {
namespace {

// The hold of RL.TAKE outlives its time by two deadlines for the last request, and two for the
// commit.
constexpr int kDeadlinesBeyond = 4;

constexpr std::chrono::seconds kOtherwiseTime(10);
constexpr milliseconds kMargin(1);  // and a thousandth: clocks drift
constexpr std::string_view kAllow = "RL.ALLOW";
constexpr std::string_view kTake = "RL.TAKE";

constexpr std::size_t kOwedMax = 64;

}  // namespace

class SliceState::Turn {
 public:
  // Waits for it; `until` at most, if that is given.
  explicit Turn(SliceState& slice, std::optional<Clock::time_point> until = {}) : slice_(slice) {
    std::unique_lock lock(slice_.mutex_);
    const auto is_free = [&] { return !slice_.is_taken_; };
    if (until) {
      has_it_ = slice_.turn_ended_.wait_until(lock, *until, is_free);
    } else {
      slice_.turn_ended_.wait(lock, is_free);
      has_it_ = true;
    }
    if (has_it_) slice_.is_taken_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!has_it_) return;
    const std::lock_guard lock(slice_.mutex_);
    slice_.is_taken_ = false;
    slice_.turn_ended_.notify_one();
  }

  [[nodiscard]] bool has_it() const { return has_it_; }

 private:
  SliceState& slice_;
  bool has_it_ = false;
};

SliceState::SliceState(const std::shared_ptr<Engine>& engine, std::int64_t size, milliseconds time,
                       const Words& words)
    : engine_(engine),
      request_(engine->ReadRequest(words)),
      size_(size),
      time_(engine->CheckTime("the time of a slice", time, milliseconds(1))) {
  if (size < 1) {
    engine->counters().AddMistake();
    throw Mistake("a slice has at least 1 token");
  }
  if (request_.has_several_keys()) otherwise_ = kTake;
}

std::optional<Limited> SliceState::Spend() {
  const Turn turn(*this, Clock::now() + engine_->settings().deadline);
  if (!turn.has_it()) return Checked(engine_->WithoutAnswer(kTimeout));
  const std::int64_t before = number_;
  std::optional<Limited> limited = SpendInTurn();
  if (number_ != before) Begin();
  return limited;
}

void SliceState::GiveBack() noexcept {
  const Turn turn(*this);
  StopTimer();
  Settle();
}

std::optional<Limited> SliceState::SpendInTurn() {
  if (left_ == 0 || engine_->Now() >= end_) {
    Settle();
    if (std::optional<Limited> limited = Ask()) return limited;
  }
  if (!present_.hold.empty()) {
    --left_;
    ++present_.spent;
  }
  return {};
}

std::optional<Limited> SliceState::Ask() {
  const Clock::time_point begin = engine_->Now();
  if (begin >= otherwise_until_) otherwise_ = {};
  if (otherwise_ == kTake) return Take(begin, RandomId());
  if (otherwise_ == kAllow) {
    return Checked(engine_->DecideOrKeep(request_, {.command = kAllow, .words = request_.words()}));
  }
  const std::string id = RandomId();
  Decision decision;
  try {
    decision = engine_->DecideOrKeep(
        request_, {.command = kSliceCommand,
                   .words = request_.words(),
                   .options = {"NEED", "1", "UNIT", "1", "UPTO", std::to_string(size_), "HOLD", id,
                               "TTL", std::to_string(time_.count())}});
  } catch (const Mistake& mistake) {
    if (!IsUnknownCommand(mistake.what())) throw;
    AskOtherwise(kTake, begin);
    return Take(begin, id);
  }
  const std::chrono::microseconds life = decision.life.value_or(std::chrono::microseconds(0));
  if (decision.life && life.count() == 0) AskOtherwise(kAllow, begin);
  if (decision.reason == Reason::kAllowed && life.count() > 0) {
    Hold({.hold = id, .lapses = true, .end = begin + life}, decision.granted,
         begin + life - life / 1000 - kMargin);
    if (engine_->Now() >= end_) AskOtherwise(kAllow, begin);  // it came late
  }
  return Checked(decision);
}

void SliceState::AskOtherwise(std::string_view command, Clock::time_point begin) {
  otherwise_ = command;
  otherwise_until_ = begin + kOtherwiseTime;
}

std::optional<Limited> SliceState::Take(Clock::time_point begin, const std::string& id) {
  const milliseconds ttl = time_ + kDeadlinesBeyond * engine_->settings().deadline;
  const Decision decision = engine_->DecideOrKeep(
      request_,
      {.command = kTake,
       .words = request_.words(),
       .options = {"UPTO", std::to_string(size_), "HOLD", id, "TTL", std::to_string(ttl.count())}});
  if (decision.reason == Reason::kAllowed) Hold({.hold = id}, decision.granted, begin + time_);
  return Checked(decision);
}

void SliceState::Hold(Owed taken, std::int64_t tokens, Clock::time_point end) {
  present_ = std::move(taken);
  left_ = tokens;
  end_ = end;
  ++number_;
}

// The first token of a slice is weir's word. Of one that came late nothing else is spent.
void SliceState::Begin() {
  StopTimer();
  const Clock::duration left = end_ - engine_->Now();
  if (left > Clock::duration(0)) {
    StartTimer(std::max(std::chrono::floor<milliseconds>(left), milliseconds(1)));
  } else {
    Settle();
    if (!owed_.empty()) StartTimer(engine_->settings().deadline);
  }
}

void SliceState::Settle() noexcept {
  const bool is_owed = !present_.hold.empty() && !(present_.lapses && left_ == 0);
  Owed present = std::exchange(present_, {});
  if (is_owed) {  // a slice that is all spent counts as spent anyway
    if (owed_.size() == kOwedMax) owed_.erase(owed_.begin());  // its hold has expired long since
    present.due = engine_->Now();
    owed_.push_back(std::move(present));
  }
  left_ = 0;
  for (auto each = owed_.begin(); each != owed_.end();) {
    const bool is_forgotten = each->is_repeated && engine_->Now() >= each->end;
    if (engine_->Now() < each->due) {
      ++each;
    } else if (is_forgotten || SettleOne(*each)) {
      each = owed_.erase(each);
    } else {
      const Clock::time_point due = engine_->Now() + engine_->settings().deadline;
      each->is_repeated = true;
      for (Owed& other : owed_) other.due = due;
      return;
    }
  }
}

bool SliceState::SettleOne(const Owed& owed) {
  const auto with = [](const char* command, Words words) {
    words.insert(words.begin(), command);
    return words;
  };
  try {
    Words commit = with("RL.COMMIT", request_.Settled(owed.spent));
    commit.insert(commit.end(), {"HOLD", owed.hold});
    CallResult result = engine_->Call(commit, {.tries = kHoldTries});
    const bool came_too_late =
        result.reply && !result.reply->array.empty() && result.reply->array[0].integer == 0;
    if (came_too_late && owed.spent > 0 && !owed.lapses) {
      result = engine_->Call(with("RL.CHARGE", request_.Charged(owed.spent)));
    }
    if (!result.reply) engine_->WithoutAnswer(result.cause);
    return result.reply || came_too_late;  // a charge may have been made, and is not repeated
  } catch (const Mistake&) {
    engine_->counters().AddMistake();
    return true;
  }
}

void SliceState::StopTimer() {
  if (stop_timer_) std::exchange(stop_timer_, nullptr)();
}

void SliceState::StartTimer(milliseconds time) {
  const auto end = [weak = weak_from_this(), number = number_] {
    if (const std::shared_ptr<SliceState> self = weak.lock()) self->EndOf(number);
  };
  stop_timer_ = engine_->StartTimer(time, end);
}

void SliceState::EndOf(std::int64_t number) {
  const Turn turn(*this);
  if (number != number_) return;
  Settle();
  if (owed_.empty()) StopTimer();  // else it settles what is owed when it is due again
}

std::optional<Limited> SliceState::Checked(const Decision& decision) const {
  if (decision.allowed) return {};
  return LimitedBy(decision, request_);
}

}  // namespace weir::client
