#include "edge/form_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"
#include "core/base/wide.h"
#include "core/rules/decision.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kDenialMax = std::chrono::seconds{1};
constexpr int kShareOfPromise = 8;
constexpr int kIdleGaps = 4;
// What a COMMIT needs beside the way to the primary, to arrive in the life of its slice.
constexpr Nanos kReturnMargin = kEdgeTick + milliseconds{2};

// The places of numbers in a row of RL.SLICE.
enum RowField : std::size_t { kAllowed, kLimit, kRemaining, kRetry, kReset, kGroup, kCost, kKeep };

std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return TokensShown(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t Product(std::int64_t a, std::int64_t b) {
  const Wide product = Wide{static_cast<std::uint64_t>(a)} * static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(std::min<Wide>(product, std::uint64_t{INT64_MAX}));
}

// A time in us of a word that is so old, in ms.
std::int64_t MillisLeft(std::int64_t micros, Nanos age) {
  if (micros < 0) return -1;
  const std::int64_t left = std::max<std::int64_t>(micros - age / std::chrono::microseconds{1}, 0);
  return left / 1000 + (left % 1000 != 0 ? 1 : 0);
}

}  // namespace

EdgeAnswer FormState::Admission(std::int64_t units, bool with_limits, std::int64_t left,
                                HostInstant now) const {
  const PrimaryNumbers& known = word_.numbers;
  const Nanos reset = std::max(known.reset_after - (now - word_.sent), Nanos{0});
  EdgeAnswer answer = {.kind = EdgeAnswer::Kind::kVerdict,
                       .numbers = {1, Sum(known.remaining, TokensOf(known.limit_index, left)), 0,
                                   CeilMillis(reset), known.limit_index},
                       .with_limits = with_limits};
  if (with_limits) answer.rows = Rows(true, units, left, now);
  return answer;
}

EdgeAnswer FormState::Denial(std::int64_t units, bool with_limits, HostInstant now) const {
  const DenialInForce& denial = *denial_;
  const PrimaryNumbers& known = denial.numbers;
  const std::int64_t left = hand_.units();
  const Nanos reset = std::max(known.reset_after - (now - denial.sent), Nanos{0});
  const std::int64_t retry =
      denial.retry_at && !IsHopeless(units)
          ? CeilMillis(std::max<Nanos>(*denial.retry_at - now, milliseconds{1}))
          : -1;
  EdgeAnswer answer = {.kind = EdgeAnswer::Kind::kVerdict,
                       .numbers = {0, Sum(known.remaining, TokensOf(known.limit_index, left)),
                                   retry, CeilMillis(reset), known.limit_index},
                       .with_limits = with_limits};
  if (with_limits) answer.rows = Rows(false, units, left, now);
  return answer;
}

std::vector<EdgeAnswer::Row> FormState::Rows(bool allowed, std::int64_t units, std::int64_t left,
                                             HostInstant now) const {
  const Nanos age = now - word_.sent;
  std::vector<EdgeAnswer::Row> rows;
  for (const SliceReply::Row& known : word_.rows) {
    const auto& n = known.numbers;
    rows.push_back(
        {known.name,
         {allowed || n[kRetry] == 0 ? 1 : 0, n[kLimit], Sum(n[kRemaining], Product(left, n[kCost])),
          allowed ? 0 : MillisLeft(n[kRetry], age), MillisLeft(n[kReset], age), 0,
          Product(units, n[kCost]), n[kKeep]}});
  }
  return rows;
}

bool FormState::IsHopeless(std::int64_t units) const {
  return std::ranges::any_of(word_.rows, [units](const SliceReply::Row& row) {
    return Product(units, row.numbers[kCost]) > row.numbers[kLimit];
  });
}

std::int64_t FormState::TokensOf(std::int64_t limit_index, std::int64_t units) const {
  const auto index = static_cast<std::size_t>(limit_index);
  return index < word_.rows.size() ? Product(units, word_.rows[index].numbers[kCost]) : units;
}

std::optional<SliceAsk> FormState::TryAsk(HostInstant now, Nanos rtt) {
  if (ask_) return std::nullopt;
  SliceAsk ask = {.need = 0, .unit = kUnitsMax};
  for (WaitingRequest& request : waiting_) {
    if (request.units > kUnitsMax - ask.need) break;
    ask.need += request.units;
    ask.unit = std::min(ask.unit, request.units);
    request.is_needed = true;
  }
  if (waiting_.empty()) {
    ask.unit = 1;
    const bool is_low = hand_.units() < demand_.In(rtt + kPace);
    if (!is_low || hand_.is_full() || now < next_ask_ || is_not_sliced(now)) return std::nullopt;
  }
  const std::int64_t enough = now < next_ask_ ? 0 : demand_.In(2 * rtt + 2 * kPace);
  const std::int64_t ahead = std::max<std::int64_t>(enough - hand_.units(), 0);
  ask.upto = std::clamp<std::int64_t>(ask.need + ahead, 1, kUnitsMax);
  ask.life = std::clamp<Nanos>(4 * rtt, kSliceLifeAskedMin, kSliceLifeAskedMax);
  ask_ = ask;
  return ask;
}

std::int64_t FormState::TakeGrant(const SliceReply& reply, std::uint64_t number, HostInstant sent,
                                  HostInstant now, Nanos rtt, std::vector<Slice>& to_return,
                                  AnswerTo answer) {
  const SliceAsk ask = *std::exchange(ask_, std::nullopt);
  const bool is_sliced = reply.life > Nanos{0};
  if (!is_sliced) {
    MarkNotSliced(now + (ask.life > kSliceLifeAskedMin ? kNotSlicedForSoLong : kNotSlicedFor));
  }
  word_ = {reply.numbers, sent, reply.rows};
  const bool is_granted = reply.granted >= ask.need;
  bool is_uncounted = ask.need > 0;
  const auto tell = [&](const WaitingRequest& request, EdgeAnswer verdict) {
    verdict.was_needed = request.is_needed;
    verdict.is_counted = is_uncounted && request.is_needed && verdict.allowed() == is_granted;
    is_uncounted = is_uncounted && !verdict.is_counted;
    answer(request, verdict);
  };
  const std::int64_t left = ServeNeeded(reply.granted, now, tell);
  const Slice slice = {number, left, reply.granted - left, StopOf(sent, reply.life)};
  const bool is_void = reply.changes < changes_;
  const bool is_late = left > 0 && is_sliced && now >= slice.stop;
  const bool is_kept = left > 0 && is_sliced && !is_void && !is_late;
  if (is_kept) {
    if (hand_.is_full()) to_return.push_back(hand_.Take(0));
    hand_.Add(slice);
  } else if (left > 0 && is_sliced && !is_late) {
    to_return.push_back(slice);
  }
  if (ask.upto > ask.need) {
    PaceAsks(is_kept, is_late, sent);
  } else if (is_granted && denial_ && ask.unit < denial_->units) {
    next_ask_ = now;  // Only larger requests have been denied.
  }
  denial_.reset();
  const bool is_denied = reply.retry_after > Nanos{0} && !is_void;
  if (is_denied) {
    Deny(reply.numbers, reply.retry_after, ask.unit, sent,
         is_sliced ? std::optional(rtt) : std::nullopt);
  }
  ServeLater(ask, is_denied, now, tell);
  return is_late || !is_sliced ? left : 0;
}

// The next ask ahead waits if this one has brought nothing to spend, and each time longer if its
// slice has come after its end.
void FormState::PaceAsks(bool is_kept, bool is_late, HostInstant sent) {
  if (is_kept) {
    late_pause_ = Nanos{0};
    return;
  }
  if (is_late) late_pause_ = std::clamp<Nanos>(2 * late_pause_, kPace, kNotSlicedFor);
  next_ask_ = sent + std::max<Nanos>(kPace, late_pause_);
}

std::int64_t FormState::ServeNeeded(std::int64_t granted, HostInstant now, AnswerTo answer) {
  std::int64_t left = granted;
  std::vector<WaitingRequest> later;
  for (const WaitingRequest& request : waiting_) {
    if (request.is_needed && request.units <= left) {
      left -= request.units;
      answer(request, Admission(request.units, request.with_limits, Sum(hand_.units(), left), now));
    } else {
      later.push_back(request);
    }
  }
  waiting_ = std::move(later);
  return left;
}

void FormState::ServeLater(const SliceAsk& ask, bool is_denied, HostInstant now, AnswerTo answer) {
  std::vector<WaitingRequest> later;
  for (const WaitingRequest& request : waiting_) {
    if (Covers(request.units)) {
      answer(request, Spend(request.units, request.with_limits, now));
    } else if (is_denied && request.units >= ask.unit) {
      answer(request, Denial(request.units, request.with_limits, now));
    } else {
      later.push_back(request);
    }
  }
  waiting_ = std::move(later);
}

void FormState::EndWaiting(absl::FunctionRef<void(const WaitingRequest&)> tell) {
  ask_.reset();
  for (const WaitingRequest& request : std::exchange(waiting_, {})) tell(request);
}

void FormState::TakeDenial(const DenialReply& denial, std::int64_t units, HostInstant sent) {
  Deny(denial.numbers, denial.retry_after, units, sent, std::nullopt);
  denial_->has_rows = false;
}

// `paced_by`: the round trip, if the form may be asked for ahead.
void FormState::Deny(const PrimaryNumbers& numbers, Nanos retry_after, std::int64_t units,
                     HostInstant sent, std::optional<Nanos> paced_by) {
  const bool is_paced = paced_by && retry_after <= kPace;
  const Nanos share = std::clamp<Nanos>(retry_after / kShareOfPromise, kPace, kDenialMax);
  const Nanos kept = is_paced ? 2 * (kPace + *paced_by) : std::min(retry_after, share);
  next_ask_ = sent + (is_paced ? kPace : kept);
  denial_ = {.until = sent + kept,
             .units = units,
             .retry_at = {},
             .numbers = numbers,
             .sent = sent,
             .has_rows = true};
  if (retry_after != kNever) {
    denial_->retry_at = sent + (is_paced ? kPace + *paced_by : retry_after);
  }
}

std::vector<Slice> FormState::TakeIdle(HostInstant now, Nanos rtt) {
  const bool is_idle = now - last_ >= std::max(kPace, kIdleGaps * demand_.mean_gap());
  const std::int64_t enough = demand_.In(2 * rtt + 2 * kPace);
  std::vector<Slice> idle;
  for (std::size_t i = hand_.slices().size(); i > 0; --i) {
    const Slice& slice = hand_.slices()[i - 1];
    const bool is_needless = slice.used == 0 && hand_.units() - slice.left >= enough;
    if (is_idle || is_needless || now >= slice.stop - rtt - kReturnMargin) {
      idle.push_back(hand_.Take(i - 1));
    }
  }
  return idle;
}

std::vector<Slice> FormState::TakeAll() {
  std::vector<Slice> all;
  while (!hand_.slices().empty()) all.push_back(hand_.Take(hand_.slices().size() - 1));
  return all;
}

std::size_t FormState::row_bytes() const {
  std::size_t bytes = 0;
  for (const SliceReply::Row& row : word_.rows) bytes += sizeof(row) + row.name.capacity();
  return bytes;
}

}  // namespace weir
