// weir-check(1).
#include "absl/strings/str_cat.h"

#include "check/check_options.h"
#include "check/file_check.h"
#include "core/base/status.h"
#include "manual/documents.h"
#include "manual/man_page.h"

namespace weir {
namespace {

constexpr const char* kCheckText =
    "A line on the standard output tells each mistake and its place, as in `policies.toml:3: ...`; "
    "a file of text is read up to its first one. More lines tell what was read.\n"
    "\n"
    "A data directory must not be in use, since a server changes its files while they are read: "
    "stop the server, or check a backup. Damage that makes weir-server refuse to "
    "start is reported, and the rest is checked as --accept-damaged-state would load it.";

constexpr const char* kCheckExitStatus[][2] = {
    {"0", "There is no mistake."},
    {"1", "There is one, the file cannot be read, or the output cannot be written."},
    {"2", "The command line is wrong."},
};

constexpr const char* kCheckExamples =
    "  weir-check config /etc/weir/weir.toml\n"
    "  weir-check data /var/lib/weir";

}  // namespace

std::string CheckPage() {
  ManPage page("weir-check", 1, "check the files of weir-server");
  page.Section("SYNOPSIS");
  page.Synopsis("weir-check", "KIND PATH [OPTION]");
  page.Section("DESCRIPTION");
  page.Text(kCheckDescription);
  page.Text(kCheckText);
  page.Section("KINDS OF FILES");
  for (const FileCheck& check : FileChecks()) {
    page.Item(absl::StrCat(Bold(check.kind), " ", Italic(check.argument)), check.summary);
  }
  page.Section("OPTIONS");
  for (const FileCheck& check : FileChecks()) {
    if (check.flag.empty()) continue;
    page.Item(absl::StrCat(Bold(check.flag), ", of ", Bold(check.kind)), check.flag_summary);
  }
  page.Item(Bold("--help"), "Prints the kinds of files and exits.");
  page.Item(Bold("--version"), "Prints the version and exits.");
  page.Section("EXIT STATUS");
  for (const auto& [status, text] : kCheckExitStatus) page.Item(Bold(status), text);
  page.Section("EXAMPLES");
  page.Text(kCheckExamples);
  page.Section("SEE ALSO");
  page.Text("weir-server(1), weir.toml(5).");
  return page.text();
}

}  // namespace weir
