// What of a request is not for a user: the command, or one of its keys.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace weir {

struct CommandSpec;
class User;

struct Denial {
  enum class Of { kCommand, kKey };
  Of of;
  std::string_view key = {};  // the first that he may not use; one of the words
};

// Nothing: he may run it. Requires: as many words as the command has. O(keys).
[[nodiscard]] std::optional<Denial> FindDenial(const User& user, const CommandSpec& spec,
                                               std::span<const std::string_view> words);

}  // namespace weir
