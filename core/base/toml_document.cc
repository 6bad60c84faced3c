#include "core/base/toml_document.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/byte_order_mark.h"
#include "core/base/file_text.h"
#include "core/base/status.h"

namespace weir {
namespace {

bool IsForeign(unsigned char c) { return !absl::ascii_isascii(c); }

}  // namespace

TomlDocument::TomlDocument(std::string text, std::string path, toml::table root)
    : text_(std::move(text)), path_(std::move(path)), root_(std::move(root)) {
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

absl::StatusOr<TomlDocument> TomlDocument::Read(const std::string& path, std::string_view kind) {
  const absl::StatusOr<std::string> text = ReadFileText(path, kind, kTomlBytesMax);
  if (!text.ok()) return text.status();
  return Parse(*text, path);
}

absl::StatusOr<TomlDocument> TomlDocument::Parse(std::string_view text, const std::string& path) {
  std::string own(WithoutByteOrderMark(text));
  std::string ascii = own;
  std::ranges::replace_if(ascii, IsForeign, '?');
  toml::parse_result parsed = toml::parse(ascii);
  if (!parsed)
    return WrongAt(path, parsed.error().source().begin.line, parsed.error().description());
  return TomlDocument(std::move(own), path, std::move(parsed).table());
}

absl::Status TomlDocument::Wrong(const toml::source_region& where, std::string_view what) const {
  return WrongAt(path_, where.begin.line, what);
}

bool TomlDocument::HasForeignBytes(const toml::source_region& where) const {
  // Columns are bytes, since toml++ has read ASCII.
  const auto offset = [this](const toml::source_position& position) {
    if (position.line == 0 || position.column == 0) return std::size_t{0};  // unknown
    const std::size_t line = std::min<std::size_t>(position.line, line_begins_.size());
    return std::min(line_begins_[line - 1] + position.column - 1, text_.size());
  };
  const std::size_t begin = offset(where.begin);
  const std::size_t end = std::max(begin, offset(where.end));
  return std::any_of(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                     text_.begin() + static_cast<std::ptrdiff_t>(end), IsForeign);
}

}  // namespace weir
