// The reason why a user may not run a request: the command or one of its keys is not permitted.
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
  std::string_view key = {};  // the first key that the user may not use; one of the words
};

// Returns nothing if the user may run the command. Requires: the number of words is right. O(keys).
[[nodiscard]] std::optional<Denial> FindDenial(const User& user, const CommandSpec& spec,
                                               std::span<const std::string_view> words);

}  // namespace weir
