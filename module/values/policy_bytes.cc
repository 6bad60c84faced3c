#include "module/values/policy_bytes.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/record_bytes.h"
#include "core/policies/policy_bytes.h"

namespace weir {
namespace {

void AppendLimits(const PolicyLimits& limits, std::string& out) {
  AppendPolicyLimits(limits, out);
  out.push_back('\0');
}

// The first bytes of the lists before a name, which begins with neither.
constexpr char kCapacities = '\0';
constexpr char kBans = '\1';

void AppendGreatest(char list, const std::vector<GreatestNumbers>& greatest,
                    Nanos GreatestNumbers::*number, std::string& out) {
  out.push_back(list);
  AppendNumber(static_cast<std::uint32_t>(greatest.size()), out);
  for (const GreatestNumbers& numbers : greatest) {
    const auto nanos = static_cast<std::uint64_t>((numbers.*number).count());
    AppendNumber(nanos, out);
  }
}

// Takes values from the front of the bytes; nothing if the bytes end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  bool Skip(char byte) {
    if (!bytes_.starts_with(byte)) return false;
    bytes_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> TakeBytes(std::size_t count) {
    if (count > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::optional<std::string_view> TakeText() {
    const std::size_t end = bytes_.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = bytes_.substr(0, end);
    bytes_.remove_prefix(end + 1);
    return text;
  }
  std::optional<std::uint32_t> TakeCount() {
    const std::optional<std::string_view> bytes = TakeBytes(sizeof(std::uint32_t));
    return bytes ? std::optional(RecordReader(*bytes).Take<std::uint32_t>()) : std::nullopt;
  }
  absl::StatusOr<PolicyLimits> TakeLimits() {
    const std::optional<std::string_view> text = TakeText();
    if (!text) return absl::InvalidArgumentError("no limits");
    return ReadPolicyLimits(*text);
  }

 private:
  std::string_view bytes_;
};

// Takes a list before a name, if it is there.
bool TakeGreatest(Reader& reader, char list, Nanos GreatestNumbers::*number,
                  std::vector<GreatestNumbers>& greatest) {
  if (!reader.Skip(list)) return true;
  const std::optional<std::uint32_t> count = reader.TakeCount();
  if (!count || *count > kPolicyLimitsMax) return false;
  greatest.resize(std::max<std::size_t>(greatest.size(), *count));
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::optional<std::uint32_t> high = reader.TakeCount();
    const std::optional<std::uint32_t> low = reader.TakeCount();
    if (!high || !low) return false;
    greatest[i].*number = Nanos{static_cast<Nanos::rep>(std::uint64_t{*high} << 32 | *low)};
  }
  return true;
}

bool ReadOverrides(Reader& reader, std::string_view policy, Policies& policies) {
  const std::optional<std::uint32_t> count = reader.TakeCount();
  if (!count) return false;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::optional<std::uint32_t> length = reader.TakeCount();
    const std::optional<std::string_view> key = length ? reader.TakeBytes(*length) : std::nullopt;
    if (!key) return false;
    absl::StatusOr<PolicyLimits> limits = reader.TakeLimits();
    const absl::Status set =
        limits.ok() ? policies.Override(policy, *key, *std::move(limits)) : limits.status();
    if (!set.ok() && !absl::IsNotFound(set)) return false;
  }
  return true;
}

}  // namespace

std::string PolicyBytes(const Policies& policies) {
  std::string bytes;
  for (const std::shared_ptr<const Policy>& policy : policies.All()) {
    if (HasHeldMore(*policy)) {
      AppendGreatest(kCapacities, policy->greatest, &GreatestNumbers::capacity, bytes);
    }
    if (HasBannedLonger(*policy)) {
      AppendGreatest(kBans, policy->greatest, &GreatestNumbers::ban, bytes);
    }
    bytes.append(policy->name).push_back('\0');
    AppendLimits(policy->limits, bytes);
    AppendNumber(static_cast<std::uint32_t>(policy->overrides->size()), bytes);
    policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& limits) {
      AppendNumber(static_cast<std::uint32_t>(key.size()), bytes);
      bytes += key;
      AppendLimits(limits, bytes);
      return true;
    });
  }
  return bytes;
}

bool ReadPolicyBytes(std::string_view bytes, Policies& policies) {
  std::set<std::string, std::less<>> gone;
  for (const auto& policy : policies.All()) {
    gone.insert(policy->name);
    for (const std::string& key : policy->overrides->Keys()) {
      static_cast<void>(policies.RemoveOverride(policy->name, key));
    }
  }
  for (Reader reader(bytes); !reader.at_end();) {
    std::vector<GreatestNumbers> greatest;
    const bool is_valid = TakeGreatest(reader, kCapacities, &GreatestNumbers::capacity, greatest) &&
                          TakeGreatest(reader, kBans, &GreatestNumbers::ban, greatest);
    const std::optional<std::string_view> name = is_valid ? reader.TakeText() : std::nullopt;
    if (!name) return false;
    absl::StatusOr<PolicyLimits> limits = reader.TakeLimits();
    const absl::Status set =
        limits.ok() ? policies.Set(*name, *std::move(limits)) : limits.status();
    if (!set.ok() && !absl::IsNotFound(set)) return false;
    policies.RaiseGreatest(*name, greatest);
    if (!ReadOverrides(reader, *name, policies)) return false;
    const auto stays = set.ok() ? gone.find(*name) : gone.end();
    if (stays != gone.end()) gone.erase(stays);
  }
  for (const std::string& name : gone) static_cast<void>(policies.Delete(name));
  policies.FreeDeleted();
  return true;
}

}  // namespace weir
