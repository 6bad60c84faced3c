// weir-server(1).
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "manual/documents.h"
#include "manual/man_page.h"
#include "server/config/option_help.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr const char* kServerDescription =
    "`weir-server` answers over the Redis protocol whether a key may do something now, so that all "
    "replicas of a service share its limits. Any Redis client can ask; redis-cli(1) is its "
    "console, where `RL.HELP` lists the commands.\n"
    "\n"
    "Without options it listens on 127.0.0.1:7379 and keeps nothing on disk. The file of --config "
    "has the same options without the dashes, as weir.toml(5) shows; the command line overrides "
    "it. The log goes to the standard error.\n"
    "\n"
    "Options without a value are on when they are named alone; `--protected-mode=no` turns one "
    "off. weir.toml(5) describes the kinds of values.";

constexpr const char* kPing =
    "`weir-server --ping` is for the health checks of containers. It is silent if the server "
    "answers, and says in one line on the standard error why it does not. It fails after 3 seconds "
    "without an answer, and while the server loads its state.\n"
    "\n"
    "It takes the options of the server that it asks, or its --config, and goes to `port` on one "
    "of the addresses of `bind`. Without that port it goes to `unix-socket` or `tls-port`. It has "
    "no password and no certificate, and does not verify the server's: a server that asks for "
    "either has answered. Such a server answers so while it loads, too; /readyz on the admin port "
    "tells the two apart.";

constexpr const char* kExamples =
    "  weir-server --data-dir /var/lib/weir\n"
    "  weir-server --ping --config /etc/weir/weir.toml\n"
    "  weir-server --config /etc/weir/weir.toml --port 7390\n"
    "  redis-cli -p 7379 RL.ALLOW user:42 10/s 1000/h";

struct Row {
  const char* name;
  const char* text;
};

constexpr Row kSignals[] = {
    {"SIGTERM, SIGINT",
     "The server stops accepting clients, answers the requests that it has received, saves and "
     "exits. It takes 4 seconds at most, and the time of the save. A second SIGINT ends it at "
     "once; "
     "the next start then finds the state of the last save."},
    {"SIGHUP",
     "Reads the policy file, the routes of checks and the TLS files again: all of a file, or "
     "nothing of it changes and the log says why."},
};

constexpr Row kEnvironment[] = {
    {"NOTIFY_SOCKET",
     "The socket of the service manager, which systemd sets for Type=notify: the server says when "
     "it is ready, reloads and stops, and each second what it does."},
    {"WATCHDOG_USEC, WATCHDOG_PID",
     "With WatchdogSec=, the server says WATCHDOG=1 while all its threads run."},
};

constexpr Row kServerExitStatus[] = {
    {"0", "A stop that was asked for; with --ping, an answer."},
    {"1", "The server could not start, load its state or save it; with --ping, no answer."},
    {"2", "The command line or the file of --config is wrong."},
};

constexpr Row kFiles[] = {
    {"/etc/weir/weir.toml", "The options of the service that the package installs."},
    {"/var/lib/weir", "The state of that service."},
};

template <std::size_t kCount>
void AddRows(ManPage& page, const char* title, const Row (&rows)[kCount]) {
  page.Section(title);
  for (const Row& row : rows) page.Item(Bold(row.name), row.text);
}

void AddServerOption(ManPage& page, const OptionSpec& spec) {
  const std::string name = absl::StrCat("--", AbslView(spec.name));
  const std::string fallback = FallbackText(spec);
  page.Item(OptionKind(spec) == "FLAG" ? Bold(name)
                                       : absl::StrCat(Bold(name), " ", Italic(OptionKind(spec))),
            absl::StrCat(OptionHelp(spec), fallback.empty() ? "" : " Default: ", fallback,
                         fallback.empty() ? "" : "."));
}

std::string GroupsText() {
  std::string words;
  for (const OptionGroupTitle& group : OptionGroups()) {
    absl::StrAppend(&words, words.empty() ? "" : ", ", AbslView(group.word));
  }
  return absl::StrCat(kHelpHelp, " The groups are: ", words, ".");
}

}  // namespace

std::string ServerPage() {
  ManPage page("weir-server", 1, "rate-limit server that speaks the Redis protocol");
  page.Section("SYNOPSIS");
  page.Synopsis("weir-server", "[--OPTION VALUE] ...");
  page.Section("DESCRIPTION");
  page.Text(kServerDescription);
  page.Section("OPTIONS");
  for (const OptionGroupTitle& group : OptionGroups()) {
    page.Subsection(group.title);
    if (group.group == OptionGroup::kGeneral) {
      page.Item(absl::StrCat(Bold("--help"), " [", Italic("GROUP"), "]"), GroupsText());
      page.Item(Bold("--version"), kVersionHelp);
      page.Item(absl::StrCat(Bold("--ping"), " [", Italic("ADDRESS"), "]"), kPingHelp);
    }
    for (const OptionSpec* const spec : OptionsOf(group.group)) AddServerOption(page, *spec);
  }
  page.Section("PING");
  page.Text(kPing);
  AddRows(page, "SIGNALS", kSignals);
  AddRows(page, "ENVIRONMENT", kEnvironment);
  AddRows(page, "EXIT STATUS", kServerExitStatus);
  AddRows(page, "FILES", kFiles);
  page.Section("EXAMPLES");
  page.Text(kExamples);
  page.Section("SEE ALSO");
  page.Text(
      "weir.toml(5), weir-check(1), weir-replay(1), redis-cli(1), and the pages in "
      "/usr/share/doc/weir.");
  return page.text();
}

}  // namespace weir
