#include "check/check_options.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/config/version.h"

namespace weir {
namespace {

// The error for a word, with the known one that was probably meant.
template <typename Names>
absl::Status Unknown(std::string_view what, std::string_view word, const Names& known) {
  const std::string_view nearest = Nearest(word.substr(0, word.find('=')), known);
  const std::string hint = nearest.empty() ? "see weir-check --help"
                                           : absl::StrCat("did you mean ", AbslView(nearest), "?");
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", AbslView(what), " ", Quote(word), ": ", hint));
}

// The words that CLI11 has no place for, and those that are missing.
absl::Status CheckWords(const std::vector<std::string>& rest, const CheckCommandLine& line) {
  std::vector<std::string_view> options = {"--help", "--version", "-h"};
  if (line.check != nullptr) options.push_back(line.check->flag);
  std::vector<std::string_view> kinds;
  for (const FileCheck& row : FileChecks()) kinds.push_back(row.kind);
  if (!rest.empty()) {
    const std::string_view word = rest.front();
    if (word.starts_with('-')) return Unknown("option", word, options);
    if (line.check == nullptr) return Unknown("kind of file", word, kinds);
    return absl::InvalidArgumentError(absl::StrCat("unexpected ", Quote(word), " after ",
                                                   Quote(line.path), ": see weir-check --help"));
  }
  if (line.check != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("a kind of file is missing: see weir-check --help");
}

}  // namespace

// CLI11 throws, and this function catches it.
absl::StatusOr<CheckCommandLine> ParseCheckCommandLine(int argc, const char* const* argv) {
  CLI::App app(kCheckDescription, "weir-check");
  app.set_version_flag("--version", "weir " + std::string(kVersion));
  app.require_subcommand(0, 1);
  app.allow_extras();  // so that CheckWords can say more about them
  CheckCommandLine line;
  for (const FileCheck& row : FileChecks()) {
    CLI::App* const command = app.add_subcommand(std::string(row.kind), row.summary);
    command->allow_extras();
    command->add_option(std::string(row.argument), line.path)->required()->option_text(" ");
    if (!row.flag.empty()) {
      command->add_flag(std::string(row.flag), line.has_flag, row.flag_summary);
    }
    command->callback([&line, &row] { line.check = &row; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.print_and_exit = app.help();
  } catch (const CLI::CallForVersion& version) {
    line.print_and_exit = absl::StrCat(version.what(), "\n");
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), ": see weir-check --help"));
  }
  if (!line.print_and_exit.empty()) return line;
  WEIR_RETURN_IF_ERROR(CheckWords(app.remaining(true), line));
  return line;
}

}  // namespace weir
