#include "server/http/json_string.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

bool IsPlain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  if (!std::ranges::all_of(text, IsPlain)) {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

}  // namespace weir
