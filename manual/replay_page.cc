// weir-replay(1).
#include "absl/strings/str_cat.h"

#include "manual/documents.h"
#include "manual/man_page.h"
#include "replay/replay_options.h"

namespace weir {
namespace {

constexpr const char* kReplayExitStatus[][2] = {
    {"0", "A report was printed."},
    {"1", "A file cannot be read, the output cannot be written, or the log has no report."},
    {"2",
     "The command line, a request of it or the policy file is wrong, or the columns are not those "
     "of the log."},
};

}  // namespace

std::string ReplayPage() {
  const ReplayHelp help = HelpOfReplay();
  ManPage page("weir-replay", 1, "ask a log what other rate limits would have done");
  page.Section("SYNOPSIS");
  page.Synopsis("weir-replay", "--ask REQUEST [OPTION ...] LOG");
  page.Section("DESCRIPTION");
  page.Text(help.description);
  page.Text(help.footer);
  page.Section("OPTIONS");
  for (const ReplayHelp::Option& option : help.options) {
    page.Item(option.value.empty() ? Bold(option.name)
                                   : absl::StrCat(Bold(option.name), " ", Italic(option.value)),
              absl::StrCat(option.text, ".", option.fallback.empty() ? "" : " Default: ",
                           option.fallback, option.fallback.empty() ? "" : "."));
  }
  page.Section("EXIT STATUS");
  for (const auto& [status, text] : kReplayExitStatus) page.Item(Bold(status), text);
  page.Section("SEE ALSO");
  page.Text("weir-server(1), and /usr/share/doc/weir/recipes.md.");
  return page.text();
}

}  // namespace weir
