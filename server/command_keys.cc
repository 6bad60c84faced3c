#include "server/command_keys.h"

#include <cstddef>

#include "server/ignore_case.h"

namespace weir {

std::vector<std::string_view> KeysIn(const CommandSpec& spec,
                                     std::span<const std::string_view> words) {
  std::vector<std::string_view> keys;
  if (spec.keys.first == 0) return keys;
  const auto first = static_cast<std::size_t>(spec.keys.first);
  const std::size_t last = spec.keys.last < 0 ? words.size() - 1 : first;
  for (std::size_t i = first; i <= last; i += static_cast<std::size_t>(spec.keys.step)) {
    keys.push_back(words[i]);
  }
  if (!spec.Is(kAndKeys)) return keys;
  for (std::size_t i = first + 1; i + 1 < words.size(); ++i) {
    if (EqualsIgnoreCase(words[i], "AND")) keys.push_back(words[++i]);
  }
  return keys;
}

}  // namespace weir
