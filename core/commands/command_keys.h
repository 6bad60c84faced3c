// The positions of the keys in the words of a request.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"
#include "core/words/word_reader.h"

namespace weir {

// The bytes of AND, the longer one of the words that a further key follows.
inline constexpr std::size_t kGroupWordBytesMax = 3;

// Calls visit(key) for each key, an element of `words`: at the positions that the row names, and,
// in a command with groups, after each AND or OR, unless that is the id of a HOLD. `words` is the
// whole request, the command's name first. Requires: the row's arity allows that many words.
template <typename Visit>
void ForEachKey(const CommandSpec& spec, std::span<const std::string_view> words, Visit visit) {
  if (spec.keys.first == 0) return;
  const auto first = static_cast<std::size_t>(spec.keys.first);
  const std::size_t last = spec.keys.last < 0 ? words.size() - 1 : first;
  for (std::size_t i = first; i <= last; i += static_cast<std::size_t>(spec.keys.step)) {
    visit(words[i]);
  }
  if (!spec.Is(kAndKeys)) return;
  std::size_t key = first;
  for (std::size_t i = first + 1; i + 1 < words.size(); ++i) {
    if (words[i].size() > kGroupWordBytesMax) continue;
    const Keyword keyword = KeywordOf(words[i]);
    if (keyword != Keyword::kAnd && keyword != Keyword::kOr) continue;
    // No key follows a HOLD.
    if (i - 1 != key && KeywordOf(words[i - 1]) == Keyword::kHold) return;
    key = ++i;
    visit(words[key]);
  }
}

// The keys that ForEachKey visits.
[[nodiscard]] std::vector<std::string_view> KeysIn(const CommandSpec& spec,
                                                   std::span<const std::string_view> words);

}  // namespace weir
