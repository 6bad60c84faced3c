#include "core/limit_memo.h"

#include <utility>

#include "absl/hash/hash.h"

#include "core/status.h"

namespace weir {

std::size_t LimitMemo::Hash::operator()(std::string_view text) const noexcept {
  return absl::HashOf(AbslView(text));
}

void LimitMemo::BeginRequest() {
  if (entries_.size() >= kMemoWordsMax) entries_.clear();
}

absl::StatusOr<LimitMemo::Entry*> LimitMemo::Read(std::string_view text) {
  if (const auto known = entries_.find(text); known != entries_.end()) return &known->second;
  absl::StatusOr<LimitWord> word = ParseLimitWord(text);
  if (!word.ok()) return word.status();
  return &entries_.emplace(std::string(text), Entry{*std::move(word), {}}).first->second;
}

}  // namespace weir
