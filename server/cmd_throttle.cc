// CL.THROTTLE, as redis-cell has it, for what people run today.
//
// One bucket a key whatever the parameters: they are those of the request alone, and a lowered
// limit starts empty (the clamp of token_bucket.h, with no wait believed).
#include <chrono>

#include "absl/strings/str_cat.h"

#include "core/status.h"
#include "protocol/arg_reader.h"
#include "server/command.h"
#include "server/handlers.h"

namespace weir {
namespace {

using std::chrono::ceil;
using std::chrono::seconds;

constexpr std::int64_t kPeriodSecondsMax = std::chrono::duration_cast<seconds>(kPeriodMax).count();

std::int64_t CeilSeconds(Nanos span) { return ceil<seconds>(span).count(); }

}  // namespace

void Throttle(Call& call) {
  ArgReader arguments(call.arguments());
  const std::string_view key = arguments.Word("key");
  const std::int64_t max_burst = arguments.Integer("max_burst", 0, kCountMax - 1);
  const std::int64_t count = arguments.Integer("count_per_period", 1, kCountMax);
  const std::int64_t period = arguments.Integer("period", 1, kPeriodSecondsMax);
  const std::int64_t quantity = arguments.AtEnd() ? 1 : arguments.Integer("quantity", 0, kCountMax);
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);

  const absl::StatusOr<Limit> numbers =
      Limit::Create({.count = count, .period = seconds{period}, .burst = max_burst + 1});
  if (!numbers.ok()) {
    return call.Fail(absl::StrCat("invalid limit of ", count, " in ", period, " s, max_burst ",
                                  max_burst, ": ", numbers.status().message()));
  }
  const Limit limit = numbers->OwnedBy(kThrottleOwner);
  Worker& worker = call.session.worker();
  const Services& services = call.services();
  const Request request = {{key, &limit, quantity, &worker.throttle_hint}};
  if (call.RefusedUnsaved(request, call.now)) return;
  const absl::StatusOr<Verdict> verdict = services.limiter.Decide(request, call.now);
  if (!verdict.ok()) return call.Fail(verdict.status());
  if (verdict->allowed) call.Changed();

  CountDecision(*worker.throttle_counts, limit, verdict->decisions.front(), verdict->allowed);
  (verdict->allowed ? worker.counters.allowed : worker.counters.denied).Add();
  if (!verdict->allowed) worker.denied_keys.Add(key, verdict->key_hash);
  const bool can_retry = !verdict->allowed && verdict->retry_after != kNever;
  call.reply.Array(5);
  call.reply.Integers(
      {{verdict->allowed ? 0 : 1, max_burst + 1, verdict->remaining,
        can_retry ? CeilSeconds(verdict->retry_after) : -1, CeilSeconds(verdict->reset_after)}});
}

}  // namespace weir
