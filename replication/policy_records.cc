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

void AppendPolicy(const PolicyChanges::PolicyChange& change, std::string& out) {
  WEIR_CHECK(IsPolicyId(change.id));
  out.push_back(change.policy && change.policy->retired ? kRetiredLetter : kPolicyLetter);
  AppendNumber(NumberOf(change.id), out);
  AppendBytes(change.policy ? PolicyValue(*change.policy) : std::string(), out);
}

void AppendOverride(const OverrideChange& change, std::string& out) {
  WEIR_CHECK(IsPolicyId(change.policy));
  out.push_back(kOverrideLetter);
  AppendNumber(NumberOf(change.policy), out);
  AppendBytes(change.key, out);
  AppendBytes(change.limits ? OverrideValue(*change.limits) : std::string(), out);
}

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
  std::string head;
  AppendNumber(NumberOf(changes.next_id), head);
  std::string body = head;
  // Ends the body if the record, which begins there, is one too many.
  const auto cut_before = [&](std::size_t record) {
    if (record == head.size() || body.size() <= bytes) return;
    take(std::string_view(body).substr(0, record), false);
    body.replace(0, record, head);
  };
  for (const PolicyChanges::PolicyChange& change : changes.policies) {
    const std::size_t record = body.size();
    AppendPolicy(change, body);
    cut_before(record);
  }
  for (const OverrideChange& change : changes.overrides) {
    const std::size_t record = body.size();
    AppendOverride(change, body);
    cut_before(record);
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
