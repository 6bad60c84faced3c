#include "replication/policy_records.h"

#include <memory>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/words/policy_bytes.h"
#include "replication/varint.h"

namespace weir {
namespace {

constexpr char kPolicyLetter = 'P';
constexpr char kRetiredLetter = 'R';  // the policy file no longer has it
constexpr char kOverrideLetter = 'O';

void AppendBytes(std::string_view bytes, std::string& out) {
  AppendVarint(static_cast<std::uint32_t>(bytes.size()), out);
  out += bytes;
}

std::string_view TakeSized(RecordReader& reader) { return reader.TakeBytes(TakeVarint(reader)); }

void TakePolicy(bool is_retired, RecordReader& reader, PolicyChanges& changes) {
  PolicyChanges::PolicyChange& change = changes.policies.emplace_back();
  change.id = PolicyId{reader.Take<std::uint32_t>()};
  const std::string_view value = TakeSized(reader);
  if (!IsPolicyId(change.id)) return reader.Fail();
  if (value.empty() && !is_retired) return;
  std::optional<Policy> policy = ReadPolicyValue(change.id, value);
  if (!policy) return reader.Fail();
  policy->retired = is_retired;
  change.policy = std::make_shared<const Policy>(*std::move(policy));
}

void TakeOverride(RecordReader& reader, PolicyChanges& changes) {
  OverrideChange& change = changes.overrides.emplace_back();
  change.policy = PolicyId{reader.Take<std::uint32_t>()};
  change.key = TakeSized(reader);
  const std::string_view value = TakeSized(reader);
  if (!IsPolicyId(change.policy)) return reader.Fail();
  if (value.empty()) return;
  std::optional<PolicyLimits> limits = ReadOverrideValue(value);
  if (!limits) return reader.Fail();
  change.limits = std::make_shared<const PolicyLimits>(*std::move(limits));
}

}  // namespace

void WritePolicies(const PolicyChanges& changes, std::size_t bytes,
                   absl::FunctionRef<void(std::string_view body, bool is_last)> take) {
  std::string body;
  const auto begin = [&] {
    body.clear();
    AppendNumber(NumberOf(changes.next_id), body);
  };
  const auto make_room = [&] {
    if (body.size() < bytes) return;
    take(body, false);
    begin();
  };
  begin();
  for (const PolicyChanges::PolicyChange& change : changes.policies) {
    make_room();
    WEIR_CHECK(IsPolicyId(change.id));
    body.push_back(change.policy && change.policy->retired ? kRetiredLetter : kPolicyLetter);
    AppendNumber(NumberOf(change.id), body);
    AppendBytes(change.policy ? PolicyValue(*change.policy) : std::string(), body);
  }
  for (const OverrideChange& change : changes.overrides) {
    make_room();
    WEIR_CHECK(IsPolicyId(change.policy));
    body.push_back(kOverrideLetter);
    AppendNumber(NumberOf(change.policy), body);
    AppendBytes(change.key, body);
    AppendBytes(change.limits ? OverrideValue(*change.limits) : std::string(), body);
  }
  take(body, true);
}

std::optional<PolicyChanges> ReadPolicies(std::string_view body) {
  RecordReader reader(body);
  PolicyChanges changes;
  changes.next_id = PolicyId{reader.Take<std::uint32_t>()};
  while (!reader.failed() && reader.left() > 0) {
    switch (static_cast<char>(reader.Take<std::uint8_t>())) {
      case kPolicyLetter:
        TakePolicy(false, reader, changes);
        break;
      case kRetiredLetter:
        TakePolicy(true, reader, changes);
        break;
      case kOverrideLetter:
        TakeOverride(reader, changes);
        break;
      default:
        reader.Fail();
    }
  }
  if (!reader.Complete()) return std::nullopt;
  return changes;
}

}  // namespace weir
