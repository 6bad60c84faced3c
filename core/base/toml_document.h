// A TOML file of weir, and errors that name a place in it. Only files that include this header know
// toml++.
//
// Only comments may have characters outside of ASCII: elsewhere some of them lead toml++ 3.3 to
// code that it marks as unreachable (is_non_ascii_horizontal_whitespace). So each byte of them is
// read as a '?'; a string can have them as escapes, as in "\u00e9".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#define TOML_EXCEPTIONS 0   // NOLINT(readability-identifier-naming): the library's name
#define TOML_HEADER_ONLY 1  // NOLINT(readability-identifier-naming)
// toml++ 3.3 asserts that a table's name is well-formed before it reports one that is not.
#define TOML_ASSERT(expression) static_assert(true)  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

namespace weir {

inline constexpr std::size_t kTomlBytesMax = 16 * 1024 * 1024;

class TomlDocument {
 public:
  // `kind` names the file in errors: "policy file". Fails with kUnavailable if it cannot be read,
  // else as Parse() does.
  [[nodiscard]] static absl::StatusOr<TomlDocument> Read(const std::string& path,
                                                         std::string_view kind);
  // Fails with kInvalidArgument and one line that begins with the place.
  [[nodiscard]] static absl::StatusOr<TomlDocument> Parse(std::string_view text,
                                                          const std::string& path);

  [[nodiscard]] const toml::table& root() const noexcept { return root_; }

  // The error `what` with its place: "policies.toml:3: ...". A control byte of it is written as
  // '?'.
  [[nodiscard]] absl::Status Wrong(const toml::source_region& where, std::string_view what) const;

  // True if a part of the text has bytes outside of ASCII. Cost: O(part).
  [[nodiscard]] bool HasForeignBytes(const toml::source_region& where) const;

 private:
  TomlDocument(std::string text, std::string path, toml::table root);

  std::string text_;  // as it was read, without a byte order mark
  std::vector<std::size_t> line_begins_;
  std::string path_;
  toml::table root_;
};

}  // namespace weir
