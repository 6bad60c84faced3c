// A command's words as others may see them, in SLOWLOG and MONITOR: without its passwords.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace weir {

struct CommandSpec;

inline constexpr std::string_view kRedacted = "(redacted)";

// The words with kRedacted in the place of those that are, or may be, secret: what follows AUTH,
// here and in HELLO, what changes users or asks of them, the values of options that are passwords.
[[nodiscard]] std::vector<std::string_view> ShownWords(const CommandSpec& spec,
                                                       std::span<const std::string_view> words);

}  // namespace weir
