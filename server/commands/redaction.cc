#include "server/commands/redaction.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/status.h"
#include "core/commands/command_spec.h"

namespace weir {
namespace {

using WordSpan = std::span<std::string_view>;

void Redact(WordSpan words) { std::ranges::fill(words, kRedacted); }

// Redacts all words behind the first of `names`: a typo may have moved a password further back.
template <std::size_t kNames>
void RedactBehind(const std::array<std::string_view, kNames>& names, WordSpan words) {
  const auto is_one = [&](std::string_view word) {
    return std::ranges::any_of(names,
                               [&](std::string_view name) { return EqualsIgnoreCase(name, word); });
  };
  const auto first = std::ranges::find_if(words, is_one);
  if (first != words.end()) Redact(WordSpan(first + 1, words.end()));
}

constexpr std::array<std::string_view, 1> kAuthOption = {"AUTH"};
constexpr std::array<std::string_view, 4> kSecretOptions = {"requirepass", "primary-password",
                                                            "masterauth", "rls-xds-headers"};

}  // namespace

std::vector<std::string_view> RedactedWords(const CommandSpec& spec,
                                            std::span<const std::string_view> words) {
  std::vector<std::string_view> shown(words.begin(), words.end());
  if (spec.name == "AUTH") {
    Redact(WordSpan(shown).subspan(1));
  } else if (spec.name == "HELLO") {
    RedactBehind(kAuthOption, WordSpan(shown).subspan(1));
  } else if (spec.name.starts_with("ACL|") && spec.Is(kAdmin)) {
    Redact(WordSpan(shown).subspan(2));
  } else if (spec.name == "CONFIG|SET") {
    RedactBehind(kSecretOptions, WordSpan(shown).subspan(2));
  }
  return shown;
}

std::string Truncated(std::string_view word, std::size_t bytes_max) {
  if (word.size() <= bytes_max) return std::string(word);
  return absl::StrCat(AbslView(word.substr(0, bytes_max)), "... (", word.size() - bytes_max,
                      " more bytes)");
}

std::string OmittedWordsText(std::size_t count) {
  return absl::StrCat("... (", count, " more arguments)");
}

}  // namespace weir
