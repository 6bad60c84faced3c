// Redis's commands on keys, for tools that know nothing about limits. A key exists while one of its
// buckets is not full.
#include <chrono>

#include "core/limiter/isolation.h"
#include "protocol/arg_reader.h"
#include "server/commands/handlers.h"
#include "server/health/add_event.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::int64_t kNoSuchKey = -2;  // the reply of TTL and PTTL

Nanos ResetAfter(const Call& call, std::string_view key) {
  const Services& services = call.services();
  return services.limiter.ResetAfter(
      key, services.explicit_time.View(call.now),
      [&](const Limit& limit) { return services.policies.PresentLimit(limit, key); });
}

Nanos ResetAfter(const Call& call) { return ResetAfter(call, call.arguments()[0]); }

}  // namespace

void Dbsize(Call& call) {
  call.Charge(kWholeTableWork);
  const Services& services = call.services();
  call.reply.Integer(static_cast<std::int64_t>(services.CountBuckets(call.now)));
}

void Del(Call& call) {
  const Instant now = call.services().explicit_time.View(call.now);
  call.Charge(call.arguments().size());
  if (!call.MayLookAt(call.arguments(), KeyWork::kForget)) return;
  call.MarkDirty();
  const Isolation isolation(call.services().limiter.table(), call.arguments());
  std::int64_t forgotten = 0;
  for (const std::string_view key : call.arguments()) {
    const auto present = [&](const Limit& limit) {
      return call.services().policies.PresentLimit(limit, key);
    };
    if (call.services().limiter.Reset(key, {}, now, present) > 0) ++forgotten;
  }
  call.reply.Integer(forgotten);
}

void Exists(Call& call) {
  call.Charge(call.arguments().size());
  if (!call.MayLookAt(call.arguments())) return;
  const Isolation isolation(call.services().limiter.table(), call.arguments());
  std::int64_t existing = 0;
  for (const std::string_view key : call.arguments()) {
    if (ResetAfter(call, key) > Nanos{0}) ++existing;
  }
  call.reply.Integer(existing);
}

void Flush(Call& call) {
  ArgReader arguments(call.arguments());
  if (!arguments.TryKeyword("SYNC")) arguments.TryKeyword("ASYNC");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  call.Charge(kWholeTableWork);
  call.services().upkeep.Clear();
  call.MarkDirty();
  AddCommandEvent(call, ServerEventKind::kFlush);
  call.reply.SimpleString("OK");
}

void Ttl(Call& call) {
  if (!call.MayLookAt(call.arguments())) return;
  const Nanos reset_after = ResetAfter(call);
  call.reply.Integer(reset_after == Nanos{0}
                         ? kNoSuchKey
                         : std::chrono::ceil<std::chrono::seconds>(reset_after).count());
}

void Pttl(Call& call) {
  if (!call.MayLookAt(call.arguments())) return;
  const Nanos reset_after = ResetAfter(call);
  call.reply.Integer(reset_after == Nanos{0} ? kNoSuchKey : CeilMillis(reset_after));
}

void Type(Call& call) {
  if (!call.MayLookAt(call.arguments())) return;
  call.reply.SimpleString(ResetAfter(call) == Nanos{0} ? "none" : "bucket");
}

}  // namespace weir
