// A text as a string of JSON.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// Appends `text` in double quotes, escaped. Bytes that are not UTF-8 become U+FFFD. Pure.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace weir
