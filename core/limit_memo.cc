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
  if (!long_entries_.empty()) long_entries_.clear();
}

absl::StatusOr<LimitMemo::Entry*> LimitMemo::Read(std::string_view text) {
  auto& entries = text.size() <= kMemoWordBytesMax ? entries_ : long_entries_;
  if (const auto known = entries.find(text); known != entries.end()) return &known->second;
  absl::StatusOr<LimitWord> word = ParseLimitWord(text);
  if (!word.ok()) return word.status();
  return &entries.emplace(std::string(text), Entry{*std::move(word), {}}).first->second;
}

}  // namespace weir
