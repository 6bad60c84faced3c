#include "rls/rule_policies.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <sodium/crypto_generichash.h>

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "rls/units.h"

namespace weir {
namespace {

constexpr std::size_t kNameHashBytes = crypto_generichash_BYTES_MIN / 2;  // 16 digits
constexpr std::size_t kCutNameBytes = kLabelBytesMax - 1 - 2 * kNameHashBytes;

// Appends a text, with "_" for what a name may not have. Returns whether there was such a byte.
bool AppendForName(std::string_view text, std::string& name) {
  const auto is_kept = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  };
  for (const char c : text) name += is_kept(c) ? c : '_';
  return !std::ranges::all_of(text, is_kept);
}

std::string HashOf(std::string_view text) {
  // The library has no shorter hash than 16 bytes, of which the first are as good.
  std::string hash(crypto_generichash_BYTES_MIN, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return absl::BytesToHexString(hash.substr(0, kNameHashBytes));
}

std::string PolicyNameOf(const RuleTree& tree, const Rule& rule) {
  const std::string& domain = tree.DomainOf(rule).name;
  std::string name = "rls:";
  bool is_changed = AppendForName(domain, name);
  absl::InlinedVector<DescriptorEntry, kRuleLevelsMax> exact;
  for (const Rule* const level : tree.PathTo(rule)) {
    exact.push_back({level->key, level->value});
    name += '.';
    is_changed |= AppendForName(level->key, name);
    if (level->value.empty()) continue;
    name += ':';
    is_changed |= AppendForName(level->value, name);
  }
  if (!is_changed && name.size() <= kLabelBytesMax) return name;
  std::string text;
  tree.AppendKey(domain, nullptr, exact, text);
  name.resize(std::min(name.size(), kCutNameBytes));
  return absl::StrCat(name, ":", HashOf(text));
}

PolicyLimits InlineLimits() {
  PolicyLimits limits(kServiceUnits.size() - 1, PolicyLimit{Limit::None(), {}, {}, {}});
  for (const auto& [unit, period] : kServiceUnits) {
    if (unit == RuleUnit::kNone) continue;
    const absl::StatusOr<Limit> limit = Limit::Create({.algorithm = Algorithm::kFixedWindow,
                                                       .aligned = true,
                                                       .count = kWindowCountMax,
                                                       .period = period});
    WEIR_CHECK(limit.ok());
    limits[InlinePosition(unit)].limit = *limit;
  }
  return limits;
}

bool NeedsPolicy(const Rule& rule) {
  return rule.limit && rule.limit->limits.front().limit.shape().algorithm != Algorithm::kUnlimited;
}

}  // namespace

absl::StatusOr<RulePolicies> PoliciesOf(const RuleTree& tree) {
  RulePolicies result;
  result.policies.emplace_back(kInlinePolicy, InlineLimits());
  absl::flat_hash_set<std::string> taken;
  for (const Rule& rule : tree.rules()) {
    std::string& name = result.names.emplace_back();
    if (!NeedsPolicy(rule)) continue;
    name = PolicyNameOf(tree, rule);
    if (!taken.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("the descriptor ", DescriptorText(rule),
                                                     " and another have the policy ", Quote(name)));
    }
    result.policies.emplace_back(name, rule.limit->limits);
  }
  return result;
}

}  // namespace weir
