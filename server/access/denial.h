// The reason why a user may not run a request: the command, or one of its keys or channels, is not
// permitted.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "server/access/access_log.h"

namespace weir {

struct CommandSpec;
class User;

struct Denial {
  using Of = AccessLog::Reason;
  Of of;
  std::string_view name = {};  // of the first key or channel that is forbidden; one of the words
};

// Returns nothing if the user may run the command. Requires: the number of words is right. O(keys
// and channels).
[[nodiscard]] std::optional<Denial> FindDenial(const User& user, const CommandSpec& spec,
                                               std::span<const std::string_view> words);

}  // namespace weir
