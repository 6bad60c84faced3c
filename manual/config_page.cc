// weir.toml(5).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/status.h"
#include "manual/documents.h"
#include "manual/man_page.h"
#include "server/config/option_help.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr const char* kConfigDescription =
    "The file that `weir-server --config FILE` reads at its start. Each line is an option of "
    "weir-server(1) without its dashes, an equals sign and a value; a `#` begins a comment. There "
    "are no sections, and an option may be given once. Options on the command line override the "
    "file.\n"
    "\n"
    "  port = 7379\n"
    "  data-dir = \"/var/lib/weir\"    # a text is quoted\n"
    "  snapshot-interval = \"500ms\"\n"
    "  bind = [\"127.0.0.1\", \"::1\"]\n"
    "\n"
    "`CONFIG SET` changes some options while the server runs, as their text says; it does not "
    "write "
    "the file. All others change at the next start.";

struct Kind {
  const char* name;
  const char* text;
};

constexpr Kind kKinds[] = {
    {"ADDRESSES", "IP addresses, in a list or separated by commas or blanks."},
    {"HOSTS", "Names of hosts, in a list or separated by commas or blanks."},
    {"NUMBER", "An integer."},
    {"SIZE",
     "A number of bytes, or a number and a unit: k, m and g are thousands, kb, mb and gb powers of "
     "1,024."},
    {"TIME", "A number and a unit, ms, s, m or h; or 0."},
    {"FLAG", "true or false; yes and no mean the same."},
    {"WORD", "One of the words that are listed."},
    {"TEXT", "Any text."},
};

void AddFileOption(ManPage& page, const OptionSpec& spec) {
  std::string text = OptionHelp(spec);
  if (OptionKind(spec) != "TEXT") {
    absl::StrAppend(&text, " Must be ", ExpectedText(spec), ".");
  }
  absl::StrAppend(&text, " Default: ", spec.fallback.empty() ? "none" : AbslView(spec.fallback),
                  ".");
  if (!spec.redis_alias.empty()) {
    absl::StrAppend(&text, " Redis's name for it is ", AbslView(spec.redis_alias), ".");
  }
  page.Item(absl::StrCat(Bold(spec.name), " = ", Italic(OptionKind(spec))), text);
}

}  // namespace

std::string ConfigPage() {
  ManPage page("weir.toml", 5, "options of weir-server");
  page.Section("DESCRIPTION");
  page.Text(kConfigDescription);
  page.Section("VALUES");
  for (const Kind& kind : kKinds) page.Item(Italic(kind.name), kind.text);
  page.Section("OPTIONS");
  for (const OptionGroupTitle& group : OptionGroups()) {
    if (group.group == OptionGroup::kGeneral) continue;  // a file cannot name another one
    page.Subsection(group.title);
    for (const OptionSpec* const spec : OptionsOf(group.group)) AddFileOption(page, *spec);
  }
  page.Section("FILES");
  page.Item(Bold("/etc/weir/weir.toml"),
            "The file of the service. It may have a password, so only root and the group weir can "
            "read it.");
  page.Section("SEE ALSO");
  page.Text(
      "weir-server(1), and in /usr/share/doc/weir: security.md for users, passwords and TLS, "
      "http.md for the routes of checks, persistence.md for the state on disk.");
  return page.text();
}

}  // namespace weir
