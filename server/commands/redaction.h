// The words of a command as SLOWLOG and MONITOR show them: without passwords.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct CommandSpec;

inline constexpr std::string_view kRedacted = "(redacted)";

// Returns the words with kRedacted in place of each that is, or may be, secret: all words after
// AUTH (the command, or the option of HELLO), all after an option of CONFIG SET that is a password,
// and the arguments of the ACL commands for administrators.
[[nodiscard]] std::vector<std::string_view> RedactedWords(const CommandSpec& spec,
                                                          std::span<const std::string_view> words);

// The word, or its first `bytes_max` bytes and the number of those left out. The string has no
// spare capacity.
[[nodiscard]] std::string Truncated(std::string_view word, std::size_t bytes_max);
// The text that stands for `count` words that are left out.
[[nodiscard]] std::string OmittedWordsText(std::size_t count);

}  // namespace weir
