#include "module/values/limit_texts.h"

#include <chrono>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/policies/policy.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

// The owner for policies that this node does not have.
constexpr LimitOwner kNowhere{PolicyId{UINT32_MAX}, 1};

// Takes a limit's owner from the front of its text. Returns nothing if the text is invalid.
std::optional<LimitOwner> TakeOwner(std::string_view& text, const Policies& policies) {
  if (text.starts_with(kThrottleText)) {
    text.remove_prefix(kThrottleText.size());
    return kThrottleOwner;
  }
  if (!text.starts_with('@')) return LimitOwner{};
  const std::size_t mark = text.find('#');
  const std::size_t blank = text.find(' ');
  if (mark == std::string_view::npos || blank == std::string_view::npos || blank < mark) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(1, mark - 1);
  const std::optional<std::int64_t> position = ParseDigits(text.substr(mark + 1, blank - mark - 1));
  if (!IsLabel(name) || !position || static_cast<std::size_t>(*position) >= kPolicyLimitsMax) {
    return std::nullopt;
  }
  text.remove_prefix(blank + 1);
  const std::shared_ptr<const Policy> policy = policies.Find(name);
  if (!policy) return kNowhere;
  return LimitOwner{policy->id, static_cast<std::uint32_t>(*position)};
}

}  // namespace

std::string IdentityText(const Limit& limit) {
  if (limit.owner() == LimitOwner{}) return LimitText(limit);
  LimitShape shape = limit.identity().shape;
  shape.count = 1;
  if (shape.algorithm == Algorithm::kTokenBucket) {
    shape.period = std::chrono::seconds{1};
    shape.burst = 1;
  }
  const absl::StatusOr<Limit> normal = Limit::Create(shape);
  WEIR_CHECK(normal.ok());
  return LimitText(*normal);
}

absl::StatusOr<std::optional<Limit>> ReadLimitText(std::string_view text,
                                                   const Policies& policies) {
  const std::optional<LimitOwner> owner = TakeOwner(text, policies);
  const absl::StatusOr<LimitWord> word = ParseLimitWord(text);
  if (owner && absl::IsNotFound(word.status())) return std::nullopt;
  if (!owner || !word.ok() || word->kind != LimitWord::Kind::kLimit) {
    return absl::InvalidArgumentError("no limit");
  }
  const Limit limit = word->limit->OwnedBy(*owner);
  if (IdentityText(limit) != text) return absl::InvalidArgumentError("no identity");
  return *owner == kNowhere ? std::nullopt : std::optional(limit);
}

std::string_view LimitTexts::Of(LimitId id) {
  const Limit& limit = registry_.Get(id);
  const LimitOwner owner = limit.owner();
  const bool of_policy = owner != LimitOwner{} && owner != kThrottleOwner;
  const std::shared_ptr<const Policy> policy =
      of_policy ? policies_.FindById(owner.policy) : nullptr;
  if (of_policy && !policy) return {};
  std::string& text = texts_[id];
  if (!text.empty()) return text;
  if (policy) absl::StrAppend(&text, "@", policy->name, "#", owner.position, " ");
  if (owner == kThrottleOwner) text = kThrottleText;
  return text += IdentityText(limit);
}

}  // namespace weir
