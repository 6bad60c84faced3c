#include "check/check_options.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "server/config/version.h"

namespace weir {

// CLI11 throws, and this function catches it.
absl::StatusOr<CheckCommandLine> ParseCheckCommandLine(int argc, const char* const* argv) {
  CLI::App app(kCheckDescription, "weir-check");
  app.set_version_flag("--version", "weir " + std::string(kVersion));
  app.require_subcommand(1);
  CheckCommandLine line;
  for (const FileCheck& row : FileChecks()) {
    CLI::App* const command = app.add_subcommand(std::string(row.kind), row.summary);
    command->add_option(std::string(row.argument), line.path)->required()->option_text(" ");
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
  return line;
}

}  // namespace weir
