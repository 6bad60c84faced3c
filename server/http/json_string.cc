#include "server/http/json_string.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

bool IsPlain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

// A run of other bytes has the characters of UTF-8 whole. The library escapes and replaces them; it
// is slow, and most texts have few.
void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, IsPlain) - text.begin();
    out += text.substr(0, static_cast<std::size_t>(plain));
    text.remove_prefix(static_cast<std::size_t>(plain));
    const auto other = std::ranges::find_if(text, IsPlain) - text.begin();
    if (other == 0) break;
    const std::string escaped = nlohmann::json(text.substr(0, static_cast<std::size_t>(other)))
                                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(escaped, 1, escaped.size() - 2);
    text.remove_prefix(static_cast<std::size_t>(other));
  }
  out += '"';
}

}  // namespace weir
