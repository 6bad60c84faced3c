// A manual page in the language of man(7), built from top to bottom.
//
//     ManPage page("weir-server", 1, "rate-limit server");
//     page.Section("OPTIONS");
//     page.Item(Bold("--port") + " " + Italic("NUMBER"), "The TCP port to listen on.");
//
// Texts are plain: they are escaped, `code` in backquotes is shown bold, and long lines are broken.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// The widest line of a page's source, unless a single word is longer.
inline constexpr std::size_t kManColumnsMax = 79;

// Plain text in these fonts, for the tags of items.
[[nodiscard]] std::string Bold(std::string_view text);
[[nodiscard]] std::string Italic(std::string_view text);

class ManPage {
 public:
  // Begins with the sections' title line and NAME. `summary` is a phrase without a full stop.
  ManPage(std::string_view name, int section, std::string_view summary);

  void Section(std::string_view title);
  void Subsection(std::string_view title);
  // Lines of the synopsis, which are not filled.
  void Synopsis(std::string_view program, std::string_view arguments);
  // Paragraphs, separated by empty lines. A paragraph that begins with two blanks is an example.
  void Text(std::string_view text);
  // Lines shown as they are.
  void Example(std::string_view lines);
  // A tag, in man(7), and the paragraphs that explain it.
  void Item(std::string_view tag, std::string_view text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  // Begins a paragraph, unless a section has just begun.
  void Separate();
  void Paragraph(std::string_view plain);

  std::string text_;
};

}  // namespace weir
