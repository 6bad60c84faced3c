// Text laid out in lines of a number of columns, as in --help and in generated pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// Appends the words of `text`, which single blanks separate, as lines. `head` begins the first line
// and `indent` each other one. A line is longer than `columns_max` only if it has only one word.
inline void AppendFilled(std::string_view text, std::size_t columns_max, std::string_view head,
                         std::string_view indent, std::string& lines) {
  std::string line(head);
  std::size_t begin = line.size();  // of the words of the line
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (line.size() > begin && line.size() + 1 + word.size() > columns_max) {
      lines.append(line).push_back('\n');
      line = indent;
      begin = line.size();
    }
    if (line.size() > begin) line.push_back(' ');
    line += word;
  }
  lines.append(line).push_back('\n');
}

}  // namespace weir
