// RL.POLICY: the named lists of limits that the server keeps.
#include <memory>
#include <utility>

#include "core/commands/replies.h"
#include "core/words/policies.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

// A change of a policy holds the keys that it may be about, so that a transaction sees the policy
// before the change or after it.
using Isolation = Limiter::Isolation;

void Acknowledge(Call& call, const absl::Status& status) {
  if (!status.ok()) return call.Fail(status);
  call.MarkDirty();
  call.reply.SimpleString("OK");
}

}  // namespace

void PolicySet(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(1));
  if (!limits.ok()) return call.Fail(limits.status());
  const Isolation isolation(call.services().limiter);
  Acknowledge(call, call.services().policies.Set(arguments[0], *std::move(limits)));
}

void PolicyGet(Call& call) {
  const std::shared_ptr<const Policy> policy = call.services().policies.Find(call.arguments()[0]);
  if (!policy) return call.reply.Null();
  WritePolicy(call.reply, *policy);
}

void PolicyList(Call& call) {
  const auto policies = call.services().policies.All();
  call.Charge(policies.size());
  WritePolicyNames(call.reply, policies);
}

void PolicyDel(Call& call) {
  Services& services = call.services();
  const absl::StatusOr<std::uint32_t> gone = [&] {
    const Isolation isolation(services.limiter);
    return services.policies.Delete(call.arguments()[0]);
  }();
  if (gone.ok()) {
    // Else the sweeper's thread does.
    if (services.options.allow_explicit_time) services.policies.FreeDeleted();
    services.limiter.ForgetPolicies({{*gone}});
    call.Charge(kWholeTableWork);
  }
  Acknowledge(call, gone.status());
}

void PolicyOverride(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(2));
  if (!limits.ok()) return call.Fail(limits.status());
  const Isolation isolation(call.services().limiter, arguments.subspan(1, 1));
  Acknowledge(call,
              call.services().policies.Override(arguments[0], arguments[1], *std::move(limits)));
}

void PolicyUnoverride(Call& call) {
  const auto arguments = call.arguments();
  const Isolation isolation(call.services().limiter, arguments.subspan(1, 1));
  const absl::StatusOr<bool> removed =
      call.services().policies.RemoveOverride(arguments[0], arguments[1]);
  if (!removed.ok()) return call.Fail(removed.status());
  call.MarkDirty();
  call.reply.Integer(*removed ? 1 : 0);
}

void PolicyOverrides(Call& call) {
  const std::shared_ptr<const Policy> policy = call.services().policies.Find(call.arguments()[0]);
  if (!policy) return call.Fail(UnknownPolicy(call.arguments()[0]));
  call.Charge(WriteOverrides(call.reply, *policy));
}

void PolicyReload(Call& call) {
  call.Charge(kWholeTableWork);
  Acknowledge(call, call.services().ReloadPolicies());
}

}  // namespace weir
