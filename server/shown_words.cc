#include "server/shown_words.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "server/command.h"
#include "server/ignore_case.h"

namespace weir {
namespace {

using Words = std::span<std::string_view>;

void Redact(Words words) { std::ranges::fill(words, kRedacted); }

// The words behind each that is one of these, `count` of them.
template <std::size_t N>
void RedactBehind(const std::array<std::string_view, N>& names, std::size_t count, Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_one = std::ranges::any_of(
        names, [&](std::string_view name) { return EqualsIgnoreCase(name, words[i]); });
    if (!is_one) continue;
    const Words behind = words.subspan(i + 1);
    const std::size_t secret = std::min(count, behind.size());
    Redact(behind.first(secret));
    i += secret;
  }
}

constexpr std::array<std::string_view, 1> kAuthOption = {"AUTH"};
constexpr std::array<std::string_view, 2> kPasswordOptions = {"requirepass", "masterauth"};

}  // namespace

std::vector<std::string_view> ShownWords(const CommandSpec& spec,
                                         std::span<const std::string_view> words) {
  std::vector<std::string_view> shown(words.begin(), words.end());
  if (spec.name == "AUTH") {
    Redact(Words(shown).subspan(1));
  } else if (spec.name == "HELLO") {
    RedactBehind(kAuthOption, 2, Words(shown).subspan(1));
  } else if (spec.name.starts_with("ACL|") && spec.Is(kAdmin)) {
    Redact(Words(shown).subspan(2));
  } else if (spec.name == "CONFIG|SET") {
    RedactBehind(kPasswordOptions, 1, Words(shown).subspan(2));
  }
  return shown;
}

}  // namespace weir
