#include "server/session/call.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {

std::string ErrorOfWait(Replaced why, const WaitOutcome& outcome) {
  if (why == Replaced::kUnsaved) return CannotSave(StdView(outcome.saved.message()));
  return absl::StrCat("NOACK charged, but fewer than ", outcome.acks_missed,
                      " replicas are known to have it");
}

bool Call::MayLookAt(std::span<const std::string_view> names, KeyWork work) {
  if (names.size() == 1 && !queued) return true;
  const Instant view = services().explicit_time.View(now);
  std::uint64_t slots = session.work().slots_visited();
  for (const std::string_view name : names) {
    slots += services().limiter.CountVisits(name, view, work);
  }
  if (slots <= kSlotsPerCommand) return true;
  // A transaction may have visited most of them before, or ask for one key that has so many.
  Fail(absl::StrCat(queued ? "too much in one transaction: " : "too many keys at once: ", slots,
                    " buckets and limits of holds would be visited, at most ", kSlotsPerCommand,
                    " may be"));
  return false;
}

void Call::AwaitLateReply(std::shared_ptr<const LateReply> late_reply) {
  session.delay().AwaitLateReply(std::move(late_reply));
  reply.Null();  // stands in for it
}

void Call::AwaitUpstream(std::shared_ptr<const LateReply> late_reply) {
  session.delay().AwaitUpstream(std::move(late_reply));
  reply.Null();  // likewise
}

void Call::Fail(std::string_view message) { ReplyError(absl::StrCat("ERR ", AbslView(message))); }

void Call::ReplyError(std::string_view error) {
  failed = true;
  session.worker().Fail(reply, error);
}

bool Call::RefusedChange() {
  const CommandAdmission admission = services().admission();
  if (!admission.refuses_changes()) [[likely]]
    return false;
  const absl::Status error = admission.ChangeError();
  if (!error.ok()) ReplyError(StdView(error.message()));
  return !error.ok();
}

void Call::Fail(const absl::Status& status) { Fail(StdView(status.message())); }

}  // namespace weir
