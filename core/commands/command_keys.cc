#include "core/commands/command_keys.h"

namespace weir {

std::vector<std::string_view> KeysIn(const CommandSpec& spec,
                                     std::span<const std::string_view> words) {
  std::vector<std::string_view> keys;
  ForEachKey(spec, words, [&](std::string_view key) { keys.push_back(key); });
  return keys;
}

}  // namespace weir
