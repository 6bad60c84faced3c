#include "core/policies/limit_memo.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/spelling/limit_hints.h"

namespace weir {

namespace {

// The number of names that a thread may compare with unknown ones: at most at once, and more with
// each request. A service that starts before its policies are set asks for unknown ones at full
// speed.
constexpr std::size_t kComparedMax = 10'000;
constexpr std::size_t kComparedOfRequest = 16;
thread_local std::size_t comparable = kComparedMax;

}  // namespace

absl::Status UnknownPolicyAmong(std::string_view name, const Policies& policies,
                                std::string_view mark) {
  const std::size_t count = policies.size().policies;
  if (count > comparable) return UnknownPolicy(name);
  comparable -= count;
  const std::vector<std::shared_ptr<const Policy>> all = policies.All();
  const std::string_view nearest =
      Nearest(name, all, [](const auto& policy) -> std::string_view { return policy->name; });
  const std::string hint = nearest.empty() ? "" : DidYouMean(mark, nearest, "");
  if (hint.empty()) return UnknownPolicy(name);
  return absl::NotFoundError(
      absl::StrCat("unknown policy ", Quote(name), hint, " RL.POLICY SET makes one"));
}

std::size_t LimitMemo::Hash::operator()(std::string_view text) const noexcept {
  return absl::HashOf(AbslView(text));
}

void LimitMemo::BeginRequest() {
  comparable = std::min(comparable + kComparedOfRequest, kComparedMax);
  if (limits_ >= kMemoLimitsMax) {
    entries_.clear();
    recent_.fill({});
    limits_ = 0;
  }
  if (policies_) version_ = policies_->version();
}

absl::StatusOr<LimitMemo::Entry*> LimitMemo::Read(std::string_view text) {
  if (Entry* const recent = FindRecent(text)) {
    WEIR_DCHECK(&entries_.find(text)->second == recent);
    return recent;
  }
  if (const auto known = entries_.find(text); known != entries_.end()) {
    Entry& entry = known->second;
    if (entry.version != version_) {
      absl::Status filled = Fill(entry);
      if (!filled.ok()) {  // The policy is gone, and a word without limits adds nothing to limits_.
        entries_.erase(known);
        recent_.fill({});
        return filled;
      }
    }
    RecentOf(text) = {&known->first, &entry};
    return &entry;
  }
  absl::StatusOr<LimitWord> word = ParseLimitWord(text);
  if (!word.ok()) return word.status();
  WEIR_RETURN_IF_ERROR(CheckLabel(word->label, text));
  Entry entry;
  entry.word = *std::move(word);
  WEIR_RETURN_IF_ERROR(Fill(entry));
  return &entries_.emplace(std::string(text), std::move(entry)).first->second;
}

// Fills in the word's present meaning. A limit written out in the word never changes.
absl::Status LimitMemo::Fill(Entry& entry) {
  const LimitWord& word = entry.word;
  entry.version = version_;
  if (word.kind != LimitWord::Kind::kPolicy) {
    if (!entry.limits.empty()) return absl::OkStatus();
    const std::string name = NameOf(word);
    entry.limits.push_back({*word.limit, word.cost, word.keep, name, {}, name});
    entry.limits.back().is_named = !word.label.empty();
    ++limits_;
    return absl::OkStatus();
  }
  WEIR_CHECK(limits_ >= entry.limits.size());
  limits_ -= entry.limits.size();
  entry.limits.clear();
  const std::shared_ptr<const Policy> policy = policies_ ? policies_->Find(word.policy) : nullptr;
  if (!policy)
    return policies_ ? UnknownPolicyAmong(word.policy, *policies_, "@")
                     : UnknownPolicy(word.policy);
  if (policy->retired) {
    return absl::NotFoundError(absl::StrCat("policy ", Quote(word.policy),
                                            " is retired: the policy file does not have it"));
  }
  entry.overrides = policy->overrides;
  entry.limits = Expand(word, policy->limits);
  limits_ += entry.limits.size();
  return absl::OkStatus();
}

absl::InlinedVector<CachedLimit, 1> LimitMemo::Expand(const LimitWord& word,
                                                      const PolicyLimits& limits) const {
  absl::InlinedVector<CachedLimit, 1> known;
  known.reserve(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const PolicyLimit& own = limits[i];
    const Limit limit = word.shadow ? own.limit.AsShadow() : own.limit;
    const std::string& label = word.label.empty() ? own.label : word.label;
    const std::string name = label.empty() ? LimitText(limit) : label;
    const std::string counted_as = absl::StrCat(
        "@", word.policy, "#", i, word.shadow ? ",shadow" : "", label.empty() ? "" : " ", label);
    known.push_back({limit,
                     word.cost ? word.cost : own.cost,
                     word.keep ? word.keep : own.keep,
                     name,
                     {},
                     counted_as});
    known.back().is_named = !label.empty();
  }
  return known;
}

}  // namespace weir
