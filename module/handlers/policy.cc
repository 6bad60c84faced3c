// RL.POLICY: the policies of this node, and of its replicas.
//
// They are no keys, so a cluster does not spread them: each primary has to be told
// (docs/scale-out). A change is replicated as the command that it came in, which says the whole of
// it.
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/words/policies.h"
#include "module/handlers/call.h"

namespace weir {
namespace {

void Acknowledge(Call& call, const absl::Status& status) {
  if (!status.ok()) return call.Fail(status);
  redis::ReplicateVerbatim(call.context);
  call.reply.SimpleString("OK");
}

}  // namespace

void PolicySet(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(1));
  if (!limits.ok()) return call.Fail(limits.status());
  Acknowledge(call, TheModule().policies.Set(arguments[0], *std::move(limits)));
}

void PolicyGet(Call& call) {
  const std::shared_ptr<const Policy> policy = TheModule().policies.Find(call.arguments()[0]);
  policy ? WritePolicy(call.reply, *policy) : call.reply.Null();
}

void PolicyList(Call& call) { WritePolicyNames(call.reply, TheModule().policies.All()); }

// Its buckets are left in the keys, where they count as full and go with the next change.
void PolicyDel(Call& call) {
  Policies& policies = TheModule().policies;
  const absl::Status deleted = policies.Delete(call.arguments()[0]).status();
  policies.FreeDeleted();
  Acknowledge(call, deleted);
}

void PolicyOverride(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(2));
  if (!limits.ok()) return call.Fail(limits.status());
  Acknowledge(call, TheModule().policies.Override(arguments[0], arguments[1], *std::move(limits)));
}

void PolicyUnoverride(Call& call) {
  const auto arguments = call.arguments();
  const absl::StatusOr<bool> removed =
      TheModule().policies.RemoveOverride(arguments[0], arguments[1]);
  if (!removed.ok()) return call.Fail(removed.status());
  if (*removed) redis::ReplicateVerbatim(call.context);
  call.reply.Integer(*removed ? 1 : 0);
}

void PolicyOverrides(Call& call) {
  const std::string_view name = call.arguments()[0];
  const std::shared_ptr<const Policy> policy = TheModule().policies.Find(name);
  if (!policy) return call.Fail(UnknownPolicy(name));
  WriteOverrides(call.reply, *policy);
}

void PolicyReload(Call& call) {
  call.Fail("there is no policy file: the module keeps its policies with the data");
}

}  // namespace weir
