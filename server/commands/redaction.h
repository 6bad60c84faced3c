// A command's words as others may see them, in SLOWLOG and MONITOR: without its passwords.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct CommandSpec;

inline constexpr std::string_view kRedacted = "(redacted)";

// The words with kRedacted in the place of those that are, or may be, secret: all that follows
// AUTH, here and in HELLO, or an option that is a password; what changes users or asks of them.
[[nodiscard]] std::vector<std::string_view> RedactedWords(const CommandSpec& spec,
                                                          std::span<const std::string_view> words);

// The word, or its first `bytes_max` and how many more there were; with no capacity to spare.
[[nodiscard]] std::string Truncated(std::string_view word, std::size_t bytes_max);
// The text in place of that many words that are not shown.
[[nodiscard]] std::string OmittedWordsText(std::size_t count);

}  // namespace weir
