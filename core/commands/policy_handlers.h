// The handlers of RL.POLICY. Both hosts use them, as they use the handlers of limit_handlers.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"

#include "core/base/instant.h"
#include "core/base/status.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/policies/policies.h"
#include "core/policies/policy.h"
#include "core/rules/limit.h"

namespace weir {

// The error of a change, with the policy that was probably meant if there is none of this name.
template <typename Host>
absl::Status WithNearestPolicy(Host& host, const absl::Status& status, std::string_view name) {
  const Policies& policies = host.shared().policies;
  if (!absl::IsNotFound(status) || policies.Find(name)) return status;
  return UnknownPolicyAmong(name, policies, "");
}

template <typename Host>
void LimitHandlers<Host>::PolicyDel(Call& call) {
  Host host(call);
  const absl::StatusOr<PolicyId> deleted =
      host.Isolated([&] { return host.shared().policies.Delete(host.arguments()[0]); });
  if (!deleted.ok()) {
    return host.Fail(WithNearestPolicy(host, deleted.status(), host.arguments()[0]));
  }
  host.ForgetPolicy(*deleted);
}

template <typename Host>
void LimitHandlers<Host>::PolicyGet(Call& call) {
  Host host(call);
  const std::shared_ptr<const Policy> policy = host.shared().policies.Find(host.arguments()[0]);
  if (!policy) return host.reply().Null();
  WritePolicy(host.reply(), *policy);
}

template <typename Host>
void LimitHandlers<Host>::PolicyList(Call& call) {
  Host host(call);
  const auto policies = host.shared().policies.All();
  host.Charge(policies.size());
  WritePolicyNames(host.reply(), policies);
}

template <typename Host>
void LimitHandlers<Host>::PolicyOverride(Call& call) {
  Host host(call);
  const auto arguments = host.arguments();
  const std::string_view name = arguments[0];
  const std::string_view key = arguments[1];
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(2));
  if (!limits.ok()) return host.Fail(limits.status());
  const absl::Status overridden = host.Isolated(arguments.subspan(1, 1), [&] {
    Policies& policies = host.shared().policies;
    const std::shared_ptr<const PolicyLimits> before = policies.LimitsOf(name, key);
    absl::Status made = policies.Override(name, key, *std::move(limits));
    if (!made.ok()) return made;
    const Instant now = host.shared().explicit_time.View(host.now());
    const std::shared_ptr<const PolicyLimits> after = policies.LimitsOf(name, key);
    host.LogTrimmed(name, host.limiter().Trim(key, *before, *after, now));
    return made;
  });
  AcknowledgePolicy(host, WithNearestPolicy(host, overridden, name));
}

template <typename Host>
void LimitHandlers<Host>::PolicyOverrides(Call& call) {
  Host host(call);
  const std::string_view name = host.arguments()[0];
  const std::shared_ptr<const Policy> policy = host.shared().policies.Find(name);
  if (!policy) return host.Fail(UnknownPolicyAmong(name, host.shared().policies, ""));
  host.Charge(WriteOverrides(host.reply(), *policy));
}

template <typename Host>
void LimitHandlers<Host>::PolicyReload(Call& call) {
  Host(call).ReloadPolicies();
}

template <typename Host>
void LimitHandlers<Host>::PolicySet(Call& call) {
  Host host(call);
  auto arguments = host.arguments();
  const bool trims =
      arguments.size() > 2 && absl::EqualsIgnoreCase(AbslView(arguments.back()), "TRIM");
  if (trims) arguments = arguments.first(arguments.size() - 1);
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(1));
  if (!limits.ok()) return host.Fail(limits.status());
  Policies& policies = host.shared().policies;
  std::shared_ptr<const Policy> before;
  std::shared_ptr<const Policy> after;
  const absl::Status set = host.Isolated([&] {
    before = policies.Find(arguments[0]);
    if (trims && before && !host.may_wait()) {
      return absl::FailedPreconditionError(
          "TRIM is answered later: not in a transaction, a script or over HTTP");
    }
    absl::Status made = policies.Set(arguments[0], *std::move(limits));
    after = policies.Find(arguments[0]);
    return made;
  });
  if (!set.ok()) return host.Fail(set);
  if (trims && before) return host.Trim(std::move(before), std::move(after));
  host.MarkPolicySet(arguments.size());
  host.reply().SimpleString("OK");
}

template <typename Host>
void LimitHandlers<Host>::PolicyUnoverride(Call& call) {
  Host host(call);
  const auto arguments = host.arguments();
  const absl::StatusOr<bool> removed = host.Isolated(arguments.subspan(1, 1), [&] {
    return host.shared().policies.RemoveOverride(arguments[0], arguments[1]);
  });
  if (!removed.ok()) return host.Fail(WithNearestPolicy(host, removed.status(), arguments[0]));
  host.MarkPoliciesDirty(*removed);
  host.reply().Integer(*removed ? 1 : 0);
}

}  // namespace weir
