// The files of the tree that are made from the tables of commands, options and measures. `./dev
// docs` writes them, and a test fails when one is stale.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

struct Document {
  std::string_view path;  // from the top of the tree
  std::string (*make)();
  bool is_part = false;  // the lines between <!-- weir-docs: begin --> and <!-- weir-docs: end -->
};

// The text of the file; that of a part, in the present text.
[[nodiscard]] std::string TextOf(const Document& document, std::string_view present);

// Sorted by path.
[[nodiscard]] std::span<const Document> Documents() noexcept;

// --- Their makers ---

// weir-server(1), weir.toml(5), weir-check(1) and weir-replay(1).
[[nodiscard]] std::string ServerPage();
[[nodiscard]] std::string ConfigPage();
[[nodiscard]] std::string CheckPage();
[[nodiscard]] std::string ReplayPage();
// Completion of these programs in bash.
[[nodiscard]] std::string BashCompletion();
// The weir.toml of the package: a comment for every option.
[[nodiscard]] std::string ConfigFile();

}  // namespace weir
