#include "replication/policy_records.h"

#include <memory>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/policies/policy_bytes.h"
#include "replication/varint.h"

namespace weir {
namespace {

constexpr char kPolicyLetter = 'P';
constexpr char kRetiredLetter = 'R';  // the policy file no longer has it
constexpr char kKeptLetter = 'K';
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

void TakeKept(RecordReader& reader, PolicyChanges& changes) {
  changes.kept.push_back(PolicyId{reader.Take<std::uint32_t>()});
  if (!IsPolicyId(changes.kept.back())) reader.Fail();
}

void TakeOverride(RecordReader& reader, std::vector<OverrideChange>& overrides) {
  OverrideChange& change = overrides.emplace_back();
  change.policy = PolicyId{reader.Take<std::uint32_t>()};
  change.key = TakeSized(reader);
  const std::string_view value = TakeSized(reader);
  if (!IsPolicyId(change.policy)) return reader.Fail();
  if (value.empty()) return;
  std::optional<PolicyLimits> limits = ReadOverrideValue(value);
  if (!limits) return reader.Fail();
  change.limits = std::make_shared<const PolicyLimits>(*std::move(limits));
}

// Makes bodies of records, each with the same head.
class Cutter {
 public:
  using Take = absl::FunctionRef<void(std::string_view body, bool is_last)>;

  Cutter(std::string head, std::size_t bytes, Take take)
      : head_(std::move(head)), bytes_(bytes), take_(take), body_(head_) {}

  // Calls append(bytes), which appends one record.
  template <typename Append>
  void Add(Append append) {
    const std::size_t record = body_.size();
    append(body_);
    if (record == head_.size() || body_.size() <= bytes_) return;
    take_(std::string_view(body_).substr(0, record), false);
    body_.replace(0, record, head_);
  }
  void End() { take_(body_, true); }

 private:
  const std::string head_;
  const std::size_t bytes_;
  const Take take_;
  std::string body_;
};

}  // namespace

void WritePolicies(const PolicyChanges& changes, std::size_t bytes,
                   absl::FunctionRef<void(std::string_view body, bool is_last)> take) {
  std::string head;
  AppendNumber(NumberOf(changes.next_id), head);
  Cutter cutter(std::move(head), bytes, take);
  for (const PolicyChanges::PolicyChange& change : changes.policies) {
    cutter.Add([&](std::string& out) { AppendPolicy(change, out); });
  }
  for (const PolicyId kept : changes.kept) {
    cutter.Add([&](std::string& out) {
      out.push_back(kKeptLetter);
      AppendNumber(NumberOf(kept), out);
    });
  }
  for (const OverrideChange& change : changes.overrides) {
    cutter.Add([&](std::string& out) { AppendOverride(change, out); });
  }
  cutter.End();
}

void WriteOverrides(std::uint16_t partition, const std::vector<OverrideChange>& overrides,
                    std::size_t bytes, absl::FunctionRef<void(std::string_view body)> take) {
  if (overrides.empty()) return;
  std::string head;
  AppendNumber(partition, head);
  const auto take_any = [&](std::string_view body, bool) { take(body); };
  Cutter cutter(std::move(head), bytes, take_any);
  for (const OverrideChange& change : overrides) {
    cutter.Add([&](std::string& out) { AppendOverride(change, out); });
  }
  cutter.End();
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
      case kKeptLetter:
        TakeKept(reader, changes);
        break;
      case kOverrideLetter:
        TakeOverride(reader, changes.overrides);
        break;
      default:
        reader.Fail();
    }
  }
  if (!reader.Complete()) return std::nullopt;
  return changes;
}

std::optional<OverridesBody> ReadOverrides(std::string_view bytes) {
  RecordReader reader(bytes);
  OverridesBody body;
  body.partition = reader.Take<std::uint16_t>();
  while (!reader.failed() && reader.left() > 0) {
    reader.Expect(kOverrideLetter);
    TakeOverride(reader, body.overrides);
    const OverrideChange& read = body.overrides.back();
    if (!read.limits || PartitionOfOverride(read.key) != body.partition) reader.Fail();
  }
  if (!reader.Complete() || body.overrides.empty()) return std::nullopt;
  return body;
}

}  // namespace weir
