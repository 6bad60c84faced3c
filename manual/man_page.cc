#include "manual/man_page.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/status.h"
#include "server/config/version.h"

namespace weir {
namespace {

// `-` is escaped everywhere, so that what a reader copies from the page is an ASCII hyphen.
std::string Escaped(std::string_view plain) {
  return absl::StrReplaceAll(AbslView(plain), {{"\\", "\\e"}, {"-", "\\-"}});
}

// A line that begins with one of these would be taken for a request of roff.
std::string AsLine(std::string line) {
  if (line.starts_with('.') || line.starts_with('\'')) line.insert(0, "\\&");
  return line;
}

std::string WithFonts(std::string_view plain) {
  std::string text = Escaped(plain);
  bool opens = true;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    text.replace(at, 1, std::exchange(opens, !opens) ? "\\fB" : "\\fP");
  }
  return text;
}

}  // namespace

std::string Bold(std::string_view text) { return absl::StrCat("\\fB", Escaped(text), "\\fP"); }
std::string Italic(std::string_view text) { return absl::StrCat("\\fI", Escaped(text), "\\fP"); }

ManPage::ManPage(std::string_view name, int section, std::string_view summary) {
  absl::StrAppend(&text_, ".\\\" Made by `./dev docs`: change manual/ instead.\n.TH ",
                  Escaped(absl::AsciiStrToUpper(AbslView(name))), " ", section, " ",
                  AbslView(kVersionDate), " \"weir ", AbslView(kVersion), "\" \"weir\"\n");
  Section("NAME");
  absl::StrAppend(&text_, Escaped(name), " \\- ", Escaped(summary), "\n");
}

void ManPage::Section(std::string_view title) {
  absl::StrAppend(&text_, ".SH ", AbslView(title), "\n");
}

void ManPage::Subsection(std::string_view title) {
  absl::StrAppend(&text_, ".SS ", AbslView(title), "\n");
}

void ManPage::Synopsis(std::string_view program, std::string_view arguments) {
  absl::StrAppend(&text_, Bold(program), " ", Escaped(arguments), "\n");
}

void ManPage::Text(std::string_view text) {
  for (const absl::string_view paragraph : absl::StrSplit(AbslView(text), "\n\n")) {
    if (absl::StartsWith(paragraph, "  ")) {
      Example(StdView(paragraph));
      continue;
    }
    Separate();
    Paragraph(StdView(paragraph));
  }
}

void ManPage::Example(std::string_view lines) {
  Separate();
  absl::StrAppend(&text_, ".RS 4\n.EX\n");
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(AbslView(lines), "\n"), '\n')) {
    absl::ConsumePrefix(&line, "  ");
    absl::StrAppend(&text_, AsLine(Escaped(StdView(line))), "\n");
  }
  absl::StrAppend(&text_, ".EE\n.RE\n");
}

void ManPage::Item(std::string_view tag, std::string_view text) {
  absl::StrAppend(&text_, ".TP\n", AbslView(tag), "\n");
  Paragraph(text);
}

void ManPage::Separate() {
  const std::size_t last_line = text_.rfind('\n', text_.size() - 2) + 1;
  if (text_.compare(last_line, 2, ".S") != 0) absl::StrAppend(&text_, ".PP\n");
}

void ManPage::Paragraph(std::string_view plain) {
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) absl::StrAppend(&text_, AsLine(std::exchange(line, {})), "\n");
  };
  for (const absl::string_view word :
       absl::StrSplit(WithFonts(plain), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (line.size() + 1 + word.size() > kManColumnsMax) end_line();
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  end_line();
}

}  // namespace weir
