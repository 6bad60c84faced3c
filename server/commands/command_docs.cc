#include "server/commands/command_docs.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/status.h"
#include "server/commands/command_table.h"
#include "server/config/options.h"

namespace weir {
namespace {

struct Group {
  std::string_view name;
  std::string_view title;
  std::string_view text;
};

constexpr std::array<Group, 5> kGroups = {{
    {"limit", "Limits", "What this server exists for."},
    {"keys", "Keys",
     "Redis's commands on keys, for tools that know nothing of limits. A key exists while one of "
     "its "
     "buckets is not full."},
    {"connection", "Connection", "What clients send about their connection."},
    {"transaction", "Transactions",
     "Between MULTI and EXEC commands are queued; EXEC runs them, and no other decision about "
     "their keys, and no change of a policy, comes between. WATCH makes EXEC do nothing if a key's "
     "buckets are not what they were; it looks at what they are, not at how often they changed, "
     "nor at policies. At most 4,096 commands are queued, of which those that are not `fast` count "
     "as 64, and 1 MiB. Of the replies EXEC returns 4 MiB; what is longer is done all the same, "
     "and "
     "answered by an error that says so."},
    {"server", "Server", "For tools and operators."},
}};

constexpr std::string_view kHead = R"(# Commands

This page is made from the server's command table by `./dev docs`; a test fails when it is stale,
and runs the examples: those of each command against a fresh server, on which no time passes.

Names of commands and options are case-insensitive; limits are not. Times in replies are
milliseconds, rounded up: a client that waits that long is admitted, if no other took the tokens.
Errors name the offending word and change nothing.

## The language of limits

```
limit  = count "/" period *("," option)   10/s   100/m   1000/24h   10/s,burst=50   60/h,sliding
       | "@" policy *("," ("cost=" digits | "shadow" | "name=" label))       @free   @free,cost=5
       | "unlimited" | "none"             always allowed; never allowed: for overrides and bans
count  = digits ["k" | "M" | "G"]         1 to 2^63-1, of windows 2^31-1; no sign, no leading zero
period = [digits] ("us"|"ms"|"s"|"m"|"h"|"d"|"w")     "s" is "1s"; 1us to 2^58 ns (9 years)
option = "bucket" | "fixed" | "sliding"   the algorithm; by default bucket
       | "burst=" count                   bucket: tokens that a full one holds; by default count
       | "aligned"                        fixed: windows start at multiples of the period since 1970
       | "cost=" digits                   tokens that this request takes from this limit
       | "shadow"                         is decided and counted, never denies
       | "name=" label                    1 to 64 of letters, digits, _ - . : shown in replies;
                                          it begins with neither rl. nor cl.
```

- **bucket**, a token bucket, is exact to a fraction of a nanosecond: in any time t it admits at
  most burst + floor(t * count / period) tokens, and a greedy caller gets exactly that. So `3/s`
  passes 3 at once and 3 in each later second: up to 5 in the first full second of greed, 2 of them
  refilled. `3/s,burst=1` is the strict form, one each 333.3 ms.
- **fixed**, a window that opens with the first request and lasts one period; at its end the whole
  count is back. Nearly twice the count can pass around that end (`aligned`: twice).
- **sliding**, two windows, of which the earlier one counts in proportion to its overlap with the
  last period. It bounds that estimate: nearly twice the count can fall in some one period. Periods
  from 1 ms on.

A bucket belongs to its key and to the limit's algorithm, count, period, burst and alignment, and
apart if it is on trial (`shadow`): a changed limit is a new, full bucket. In a policy it belongs to
the limit's place, so that a changed policy keeps what every key owes, in time. One request has at
most 64 limits, those of its policies included. [recipes.md](recipes.md) shows what they are good
for, [conformance.md](conformance.md) what they answer where others err.

## How replies are printed here

redis-cli prints every value of a reply on a line of its own ([README](../README.md#start-in-a-minute)
has one). These pages print the reply to `> RL.ALLOW user:42 10/s` on one line, `1 9 0 100 0`. An
array inside of another begins a line of its own, in brackets; strings are in quotes; `nil` is the
null reply, and an error is printed as it is sent, `ERR ...`.

## How a request is decided

All limits are decided at one time. If all admit (shadows aside), all are charged; else none is, and
nothing is created. The cost of a limit is the `cost=` of its word, else that of the policy, else
the COST of its group, else 1. A limit named twice for one key is asked once for both costs.

The reply is `[allowed, remaining, retry_after_ms, reset_after_ms, limit_index]`. `remaining` is the
fewest tokens of any limit; `retry_after_ms` is 0 if allowed, else the time until this request would
pass all limits, -1 if never; `reset_after_ms` the time until all its buckets are full;
`limit_index` the position, from 0 and with policies expanded, of the limit that decided: the one
that makes it wait longest, else the one with the fewest tokens. Shadows are in none of these,
unless all limits are shadows. WITHLIMITS adds for each limit its name (its label, else its text),
what it said (1 or 0), its burst or count, and its own three numbers: a map with their names in
RESP3.

- RL.TAKE has in the place of `allowed` how many tokens it got of the UPTO asked for. Each of them
  costs every limit its own cost; a cost of 0, a shadow and `unlimited` do not bound it.
- RL.REFUND answers 1 and the numbers after it. A window gets back what its current window holds.
- RL.WAIT has one key and token buckets; AND and windows are errors. A TIMEOUT above `--max-wait` is
  an error, one that is too short a denial at once. The answer leaves when the tokens are there,
  with the numbers of that instant. Later commands of the connection wait their turn. A client that
  leaves gives its tokens back, unless a later request changed the bucket.
- AT needs a server that runs with `--allow-explicit-time`.
- RL.STATS lists `(total)` first, then limits by name, a policy's as `@name#position` and its label.
  Names beyond 4,096 a thread are counted together as `(others)`.
)";

void AppendCommand(std::string& page, const CommandSpec& spec) {
  absl::StrAppend(&page, "\n### ", absl::StrReplaceAll(AbslView(spec.name), {{"|", " "}}),
                  "\n\n```\n", CommandSyntax(spec), "\n```\n\n", AbslView(spec.summary), "\n\n");
  std::string flags;
  for (const std::string_view flag : FlagNames(spec)) absl::StrAppend(&flags, " ", AbslView(flag));
  absl::StrAppend(&page, "Since ", AbslView(spec.since),
                  ". Complexity: ", AbslView(spec.complexity), ".",
                  flags.empty() ? "" : " Flags:", flags, flags.empty() ? "\n" : ".\n");
  if (spec.examples.empty()) return;
  absl::StrAppend(&page, "\n```\n");
  for (const Example& example : spec.examples) {
    absl::StrAppend(&page, "> ", AbslView(example.command), "\n", AbslView(example.reply), "\n");
  }
  absl::StrAppend(&page, "```\n");
}

constexpr std::string_view kOptionsHead = R"(
## Options

On the command line, in the file that `--config` names, and in CONFIG GET. What CONFIG SET changes
holds until the server ends. CONFIG spells values as the command line does, but `timeout` in whole
seconds, and `loglevel`, Redis's name for `log-level`, in Redis's words.

)";

void AppendOption(std::string& page, const OptionSpec& spec) {
  absl::StrAppend(&page, "- `", AbslView(spec.name), "`");
  if (!spec.fallback.empty()) absl::StrAppend(&page, " = `", AbslView(spec.fallback), "`");
  absl::StrAppend(&page, ": ", OptionHelp(spec), "\n");
}

}  // namespace

std::vector<std::string_view> FlagNames(const CommandSpec& spec) {
  constexpr std::array<std::pair<CommandFlags, std::string_view>, 10> kNames = {{
      {kWrite, "write"},
      {kReadOnly, "readonly"},
      {kDenyOom, "denyoom"},
      {kFast, "fast"},
      {kAdmin, "admin"},
      {kNoAuth, "no_auth"},
      {kLoading, "loading"},
      {kNotInTransaction, "no_multi"},
      {kBlocking, "blocking"},
      {kAndKeys, "movablekeys"},
  }};
  std::vector<std::string_view> names;
  for (const auto& [flag, name] : kNames) {
    if (spec.Is(flag)) names.push_back(name);
  }
  return names;
}

std::string CommandsMarkdown() {
  std::string page(kHead);
  for (const Group& group : kGroups) {
    absl::StrAppend(&page, "\n## ", AbslView(group.title), "\n\n", AbslView(group.text), "\n");
    for (const CommandSpec& spec : CommandTable()) {
      // A container is documented by its subcommands, unless it is a command itself.
      if (spec.group == group.name && (!spec.Is(kContainer) || spec.arity.min == 1)) {
        AppendCommand(page, spec);
      }
    }
  }
  absl::StrAppend(&page, AbslView(kOptionsHead));
  for (const OptionSpec& spec : OptionTable()) AppendOption(page, spec);
  return page;
}

}  // namespace weir
