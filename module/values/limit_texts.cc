#include "module/values/limit_texts.h"

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {

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
