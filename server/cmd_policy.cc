// RL.POLICY: the named lists of limits that the server keeps.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/policies.h"
#include "core/quote.h"
#include "server/command.h"
#include "server/handlers.h"

namespace weir {
namespace {

// A reply lists so many overrides, the first by key, and ends with the one that goes over the
// bytes.
constexpr std::size_t kOverridesShownMax = 1000;
constexpr std::size_t kOverridesBytesMax = 256 * 1024;
constexpr std::size_t kLimitTextBytes = 128;  // about, of the longest

void Acknowledge(Call& call, const absl::Status& status) {
  if (!status.ok()) return call.Fail(status);
  call.Changed();
  call.reply.SimpleString("OK");
}

}  // namespace

void PolicySet(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(1));
  if (!limits.ok()) return call.Fail(limits.status());
  Acknowledge(call, call.services().policies.Set(arguments[0], *std::move(limits)));
}

void PolicyGet(Call& call) {
  const std::shared_ptr<const Policy> policy = call.services().policies.Find(call.arguments()[0]);
  if (!policy) return call.reply.Null();
  call.reply.Array(policy->limits.size());
  for (const PolicyLimit& limit : policy->limits) call.reply.Bulk(PolicyLimitText(limit));
}

void PolicyList(Call& call) {
  const auto policies = call.services().policies.All();
  call.Charge(policies.size());
  call.reply.Array(policies.size());
  for (const auto& policy : policies) call.reply.Bulk(policy->name);
}

void PolicyDel(Call& call) {
  Services& services = call.services();
  const absl::StatusOr<std::uint32_t> gone = services.policies.Delete(call.arguments()[0]);
  if (gone.ok()) {
    services.limiter.ForgetPolicies({{*gone}});
    call.Charge(kWholeTableWork);
  }
  Acknowledge(call, gone.status());
}

void PolicyOverride(Call& call) {
  const auto arguments = call.arguments();
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(arguments.subspan(2));
  if (!limits.ok()) return call.Fail(limits.status());
  Acknowledge(call,
              call.services().policies.Override(arguments[0], arguments[1], *std::move(limits)));
}

void PolicyUnoverride(Call& call) {
  const auto arguments = call.arguments();
  const absl::StatusOr<bool> removed =
      call.services().policies.RemoveOverride(arguments[0], arguments[1]);
  if (!removed.ok()) return call.Fail(removed.status());
  call.Changed();
  call.reply.Integer(*removed ? 1 : 0);
}

void PolicyOverrides(Call& call) {
  const std::shared_ptr<const Policy> policy = call.services().policies.Find(call.arguments()[0]);
  if (!policy) {
    return call.Fail(
        absl::NotFoundError(absl::StrCat("there is no policy ", Quote(call.arguments()[0]))));
  }
  std::vector<std::pair<std::string, PolicyLimits>> shown;
  std::size_t bytes = 0;
  policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& limits) {
    shown.emplace_back(key, limits);
    bytes += key.size() + limits.size() * kLimitTextBytes;
    return shown.size() < kOverridesShownMax && bytes < kOverridesBytesMax;
  });
  call.Charge(shown.size());
  call.reply.Array(shown.size());
  for (const auto& [key, limits] : shown) {
    call.reply.Array(1 + limits.size());
    call.reply.Bulk(key);
    for (const PolicyLimit& limit : limits) call.reply.Bulk(PolicyLimitText(limit));
  }
}

void PolicyReload(Call& call) {
  call.Charge(kWholeTableWork);
  Acknowledge(call, call.services().ReloadPolicies());
}

}  // namespace weir
