#include "core/base/file_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {

absl::StatusOr<std::string> ReadFileText(const std::string& path, std::string_view kind,
                                         std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 64 * 1024> piece;
  while (file && text.size() <= bytes_max) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad() || !file.is_open()) {
    return absl::UnavailableError(absl::StrCat("cannot read the ", AbslView(kind), " ", path, ": ",
                                               std::generic_category().message(errno)));
  }
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a ", AbslView(kind), " has at most ", bytes_max, " bytes"));
  }
  return text;
}

absl::Status WrongAt(const std::string& path, std::size_t line, std::string_view what) {
  return WrongAt(absl::StrCat(path, ":", line), what);
}

absl::Status WrongAt(std::string_view place, std::string_view what) {
  std::string text = absl::StrCat(AbslView(place), ": ", AbslView(what));
  std::ranges::replace_if(
      text, [](unsigned char c) { return absl::ascii_iscntrl(c); }, '?');
  return absl::InvalidArgumentError(text);
}

}  // namespace weir
