#include "server/commands/command_docs.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/filled_text.h"
#include "core/base/status.h"
#include "core/commands/command_syntax.h"
#include "server/commands/command_table.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::size_t kPageColumnsMax = 100;

struct Group {
  std::string_view name;
  std::string_view title;
  std::string_view text;
};

constexpr std::array<Group, 6> kGroups = {{
    {"limit", "Limits", "The commands that decide, and those that manage limits."},
    {"keys", "Keys",
     "Redis's commands on keys, for tools that know nothing of limits. A key exists while one "
     "of its buckets is not full."},
    {"connection", "Connection",
     "Commands about the client's own connection, and about those of others."},
    {"transaction", "Transactions",
     "MULTI queues the commands that follow. EXEC runs them, and no other decision about their "
     "keys and no change of a policy comes between them. WATCH makes EXEC do nothing if the "
     "buckets of a watched key differ from those at WATCH: it compares buckets, so it does not "
     "see a change that was undone, nor a change of a policy. A queue holds 1 MiB and 4,096 "
     "commands at most, where a command counts by its work, since other clients wait while EXEC "
     "runs. A `fast` command counts as one for each four of its words, where a policy adds as many "
     "words as it has limits, but RL.COMMIT and RL.CANCEL as 8 a key at least, and PUBLISH and "
     "RL.POLICY GET as 64. A command that is not `fast` or is about the whole table counts as 64, "
     "or as its number of words if that is greater; one that lists all limits, policies, users, "
     "clients or channels counts as 1,024. EXEC returns 4 "
     "MiB of replies at most: a reply beyond that is replaced by an error that says so; its "
     "command has taken effect."},
    {"pubsub", "Pub/sub",
     "Messages between the clients that are connected to this server. A message reaches the "
     "present subscribers, each at most once, and is not kept. Names of channels have at most "
     "512 bytes, and patterns 64. A client that reads too slowly is closed when 512 KiB wait for "
     "it; it misses "
     "messages of the server's own channels while 256 KiB wait. Channels that "
     "begin with `weir:` are the server's own: it publishes to `weir:denied` and `weir:used` which "
     "keys are denied and which limits fill up ([observing.md](observing.md#events))."},
    {"server", "Server", "Commands for tools and operators."},
}};

constexpr std::string_view kHead = R"(# Commands

`./dev docs` writes this page from the server's command table, and a test fails when it is stale.
Another test runs the examples of each command, in order, on a fresh server on which no time passes.

Names of commands and options are case-insensitive; limits are not. Times in replies are rounded up,
in milliseconds (CL.THROTTLE: seconds): a client that waits that long is admitted, if no other took
the tokens. An error names the offending word, and the command has changed nothing.

`10/day` and `10/d` are two limits: `10/day` is the calendar's day, which gives all 10 back at
midnight (UTC, or `tz=`), and `10/d` a token bucket, which gives one back every 2.4 hours.

## The language of limits

```
limit  = count "/" period *("," option)   10/s   100/m   1000/24h   10/s,burst=50   60/h,sliding
       | count ",held" *("," request-option)                 5,held: at most 5 at a time
       | "@" policy *("," request-option)                    @free   @free,cost=5   @free,keep=20
       | "unlimited" | "none"             always allowed; never allowed: for overrides and bans
count  = digits ["k" | "M" | "G"]         1 to 2^63-1, fixed and calendar 2^51-1, sliding and held
                                          2^31-1; no sign, no leading zero
period = [digits] ("us"|"ms"|"s"|"m"|"h"|"d"|"w")     "s" is "1s"; 1us to 2^58 ns (9 years)
       | "day" | "week" | "month" | "year"            a window of the calendar: 1M/month
option = "bucket" | "fixed" | "sliding"   the algorithm; by default bucket
       | "burst=" count                   bucket: the tokens of a full bucket; by default count
       | "aligned"                        fixed: windows start at multiples of the period since 1970
       | "ban=" period                    bucket, fixed: how long a denial shuts the limit
       | "tz=" zone                       calendar: the time zone, as Europe/Berlin; by default UTC
       | "from=" anchor                   calendar: the begin; by default 00:00, mon, 1 or 01-01
       | request-option
request-option =
         "cost=" digits                   tokens that this request takes from this limit
       | "keep=" digits                   tokens that must be left in this limit after the request
       | "shadow"                         is decided and counted, but never denies
       | "name=" label                    its name in replies: 1 to 64 of letters, digits, _ - . :
                                          but not rl. or cl. at the beginning
```

Other spellings read as the same unit, and a limit prints with the unit above: `sec`, `secs`,
`second`, `seconds`; `min`, `mins`, `minute`, `minutes`; `hr`, `hrs`, `hour`, `hours`; `K` for `k`.

- **bucket**, a token bucket, is exact to a fraction of a nanosecond: in any time t it admits at
  most burst + floor(t * count / period) tokens, and a greedy caller gets exactly that. So `3/s`
  passes 3 at once and 3 in each later second: at most 5 in the first second, 2 of them refilled.
  `3/s,burst=1` is the strict form, one every 333.3 ms.
- **fixed**, a window that opens with the first request and lasts one period; at its end the whole
  count is back. Nearly twice the count can pass around that end (`aligned`: twice). Aligned weeks
  (`1/1w,fixed,aligned`) start on Thursday, as 1970 did; those of the calendar (`1/week`) on Monday.
  A count above 2^31-1 needs a period of at least 1 s, in whole milliseconds if `aligned`; if not,
  its window ends on a whole millisecond, up to 1 ms late.
- **day**, **week**, **month**, **year**, a fixed window of the calendar: see below.
- **sliding**, two aligned windows: the previous one counts in proportion to its overlap with the
  last period. That bounds an estimate, so nearly twice the count can fall into one period. The
  shortest period is 1 ms.
- **held**, a count without a period: at most that many tokens are in use at a time. They come back
  only when the hold that took them ends. See "Holds" below.

**ban=** shuts a limit that denies: until the ban ends it denies every cost above 0. Then a bucket
has one token, and the others come back at the rate; a window has its whole count. A denial during a
ban does not prolong it. A ban that would end before the first token comes back anyway does not
begin. Only the limit that denies shuts itself, and only for this key. A cost that can never pass,
RL.PEEK, and an RL.WAIT that finds its tokens within its TIMEOUT begin no ban; RL.TAKE begins one if
it grants nothing. A shadow limit shuts its own bucket only, so a ban can be tried. RL.RESET lifts a
ban. RL.REFUND shortens that of a bucket, and RL.CHARGE may lengthen it; after either, the next
denial begins another. Both leave the ban of a window as it is. If a policy changes or drops its
`ban=`, or a key gets an override, a running ban continues. Another rate or burst moves the end
of a bucket's ban, by what it changes of the time in which all tokens but the first come back; where
that is longer than the rest of the ban, the ban ends.

A bucket belongs to its key and to the limit's algorithm, count, period, burst, alignment, ban and
calendar; a shadow limit has a bucket of its own. So a changed limit starts with a new, full bucket,
and a caller that leaves out the `ban=` is not banned; a policy avoids both. The bucket of a
policy's limit belongs to its position in the policy, so other numbers keep what every key owes, in
time; another algorithm, or another period, alignment, unit, zone or anchor of a window, starts
full. A request has at most 64 limits, those of its policies included. [recipes.md](recipes.md)
shows uses of limits, [conformance.md](conformance.md) cases that other limiters get wrong.

## Windows of the calendar

`1M/month,tz=America/New_York,from=15` is a budget that renews on the 15th, at midnight in New York.

| unit | `from=` | by default |
| --- | --- | --- |
| `day` | `HH:MM`, 00:00 to 23:59 | `00:00` |
| `week` | `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun` | `mon` |
| `month` | 1 to 31; in a shorter month 29, 30 and 31 are its last day | `1` |
| `year` | `MM-DD`; `02-29` is the 28th in most years | `01-01` |

- A window begins at the first instant at which the local date and time have reached `from=`. If a
  change of the clocks skips that time, the window begins at the change; if the time comes twice, at
  the first. So a day has 23 to 25 hours, and the whole count once.
- `fixed` is implied. `retry_after_ms` and `reset_after_ms` run until the end of the window.
- The time zones are those of the system's zone database (Debian's package `tzdata`), read when the
  server or the module starts; without it there is only UTC. The names are those of the database,
  without paths, and TZ and TZDIR are not read. A new database counts after a restart; a window that
  is open then ends when it was to end.
- The server's clock is never set, so after the machine's clock was corrected, midnight is off by
  `time_offset_ms` of `INFO weir` until the server restarts. The module uses the wall clock of the
  primary.

## Holds

RL.RESERVE is RL.ALLOW, and an admission is held under an id of the client's: for TTL ms RL.COMMIT
may replace the reserved costs by the true ones, once. What is reserved is taken at once, from all
limits or from none. So concurrent calls do not overdraw a limit, although their costs are known
only when they end. A held limit, such as `5,held`, is a number of slots: a request without a slot
takes no rate, and one over its rate takes no slot.

```
RL.RESERVE team:7 10/s 100k/m,cost=1500 5,held HOLD req-81 TTL 120000
RL.COMMIT team:7 100k/m,cost=812 HOLD req-81
```

- The id has 1 to 64 bytes and belongs to each key of the request. The TTL is at most `--max-hold`.
- **The same words again** decide and charge nothing: they are answered as admitted, with the
  numbers of now, and the TTL begins again. So a request whose reply was lost may be repeated, and a
  worker that repeats it keeps its slots. Keys, limits, costs and UPTO must be written as before;
  for a policy its name counts, not its numbers. Other words are the error `is another request`, and
  so is an id that only some of the keys have. After a commit or a cancel the error is `is settled`.
  A denial keeps nothing, so a request after it is a new one.
- **RL.COMMIT** settles the keys that it names. The true cost of a limit is the `cost=` of its word,
  else the COST of its group, else what was reserved; a policy's own `cost=` is not read. COST
  without limits is for all limits of the key. Limits that are not named stay as they were reserved,
  held ones always get their tokens back. `@policy` stands for those of its limits that were
  reserved, whatever the policy has now; a cost beside it passes over held limits. A limit that was
  not reserved is an error, as is a held limit with a cost. After RL.TAKE a cost is a number of
  granted tokens.
- It replies `[settled, remaining, retry_after_ms, reset_after_ms, limit_index]`. `settled` is 1 if
  the hold is settled, by this command or by an earlier one: RL.COMMIT may be repeated for a
  minute, or until the TTL would have ended if that is sooner. `settled` is 0 if a key has no such
  hold, and then nothing has changed; RL.CHARGE charges what was used. The other numbers are those
  of the named limits. Without a name they are those of all limits that are not held, or of the held
  ones if there are no others. `retry_after_ms` is the time until each has a token. WITHLIMITS adds
  their rows, a policy's limits by their positions.
- **RL.CANCEL** is a commit of 0 for everything. **The end of the TTL** counts as a cancel at that
  very instant, even if the server processes it later; for a key with an override it settles by the
  policy's own numbers, which may give back less. If a budget must never be undercounted, use a long
  TTL.
- Tokens that time has returned already are not returned again. So in whatever order holds are
  settled, no more passes than if the true costs had been charged. A true cost above the estimate is
  charged as RL.CHARGE does it. After a ban, or once a bucket was reset or evicted, nothing is given
  back, except to held limits.
- **Held limits** are for RL.RESERVE, and for RL.TAKE with HOLD; RL.PEEK, RL.RESET and RL.INSPECT
  know them, and other commands answer `a held limit needs RL.RESERVE`, also for a policy or an
  override that has one. The `retry_after_ms` of their denial is the time until the last of the open
  holds expires: slots may be free sooner, or later if a hold is renewed. RL.COMMIT takes no cost
  for them: they get all of the estimate back.
- RL.RESET, DEL, FLUSHALL and RL.POLICY DEL drop holds with their buckets.
- There are at most `--max-holds` open holds, one for each key of a request, and 65,536 for a key,
  where a hold counts as often as it has limits. All holds together, with the settled ones that are
  remembered, have 256 bytes for each of `--max-holds`, which is enough for three limits, and a
  quarter of `--max-memory`; a hold of 64 limits takes 2,700 bytes. A named user may have a tenth of
  both, the number and the memory. A hold that was loaded from the disk or came from a primary
  counts for no user's tenth, only for the whole. Above that the error is `OOM too many holds`, and
  nothing is charged. Settled ones give way first: of a key those with 65,536 limits are remembered,
  and what remembers them has three quarters of the memory.
- If holds of several keys with more than 65,536 limits together have expired at the same moment, a
  request about all of these keys is refused with `too many holds of these keys have expired at
  once: try again`; the next one finds fewer.

## Slices

A client that decides thousands of times a second for one key can take a slice: units that it spends
for a while without asking. A unit is what one decision costs: of each limit its cost. RL.SLICE says
how many units are needed now (NEED), the least that is of use (UNIT) and how many the client would
like to have, which is the most that it gets (UPTO); the server decides how many it gets and how
long it may spend them, `life_us`.

```
RL.SLICE tenant:7 1000/s 100M/month NEED 1 UNIT 1 UPTO 50 HOLD worker-3-17 TTL 500
RL.COMMIT tenant:7 COST 31 HOLD worker-3-17
```

- It grants what is needed, as far as it is there, and some ahead: the least that any limit can
  spare, and that is
  - an eighth of what the limit has left,
  - or half of what comes back to it during the life, if that is more,
  - but at most a quarter of what it can hold, or one unit if a quarter is less.
- So near the end of a budget nothing is granted ahead, and no unit lies idle. Less than UNIT is
  granted as 0 if anything is needed. UNIT is at most NEED, unless NEED is 0: then nothing waits.
  UPTO is at least NEED. `keep=` tokens are not granted.
- The life is the TTL, but at most `--slice-life`, and ends with every window: a unit is spent in
  the window that it was charged to. The client counts it from the moment at which it *sent* the
  request, and takes off a thousandth and 1 ms for the drift of clocks.
- **At its end a slice counts as spent**: nothing comes back, and nothing happens in any bucket. So
  a client that died or was cut off wastes its slice, and admits nothing twice. In any time t all
  clients together spend at most what the limit gives in t plus the longest life. A window sees at
  most its count spent. The numbers are those as of the charge: after a change of a policy or a
  reset, what is out may be spent besides.
- RL.COMMIT with the units that were spent gives back the others by the rules of holds, once; to
  repeat it before the end of the life answers 1 and changes nothing. Later it answers 0: then
  nothing came back, so nothing is to be charged. RL.CANCEL is a commit of 0. What is spent needs no
  commit.
- An id is good for one slice: it is an error, `is open` or `is settled`, until its life is over. A
  request whose reply was lost is not repeated, but asked again with another id.
- **A life of 0**: only what is needed was decided, there is no hold, and the client had better ask
  request by request for a while. That is so for limits with `ban=` or `shadow`, for a token bucket
  that fills from empty in less than the TTL or `--slice-life`, whichever is shorter, and with
  `--slice-life 0`. Nor has a grant of 0 a hold. Held limits are an error, as in RL.ALLOW. RL.SLICE
  starts no ban.
- It replies `[granted, remaining, retry_after_us, reset_after_us, limit_index, life_us, changes,
  rows]`, with times in microseconds: `retry_after_us` is the time until UNIT units are there, 0 if
  they are now, `limit_index` the limit for which that takes longest, else the one with the fewest
  tokens left. The rows are those of WITHLIMITS, after the grant; `allowed` says whether that limit
  had what was needed. `changes` grows when an operator changes a policy or an override, or resets
  a key or the table. A server counts from the time, in us, at which it became a primary. So the
  number is greater after a restart or a failover, unless the time itself goes back
  (`--reset-clock`).
- RL.STATS counts a request with a NEED as one, allowed if all that was needed was granted, else
  denied by a limit that lacked it. Slices are holds in all else: RL.INSPECT with HOLDS shows them
  as holds, RL.RESET, DEL, FLUSHALL and RL.POLICY DEL drop them, `--max-holds` bounds their number
  (but `--max-hold` not their life), and they are on disk and on replicas.

## Alternatives

OR joins alternatives, in RL.ALLOW, RL.PEEK and RL.RESERVE: the first one of which all limits admit
is charged, and nothing else changes. AND binds tighter than OR.

```
request = group [AND group] ... [OR group [AND group] ...] ... [option ...]
group   = key limit [limit ...] [COST cost]

RL.ALLOW own:7 10/s AND all 1000/s OR pool 100/s,keep=20 AND all 1000/s
```

- Each alternative is decided alone on the same state, with its own sums of costs, so a bucket may
  stand in several. A request has at most 64 limits in all alternatives together.
- The numbers are those of the alternative that was charged, and `limit_index` counts over all
  limits of the request, so it names that alternative. If all deny, the numbers are those of the one
  that passes first, and the request passes after exactly `retry_after_ms`.
- If one passes, those before it leave nothing, no `ban=` either. If all deny, each is a denial as
  if it were alone, in their order, and the numbers are those after the bans.
- An alternative of shadow limits alone always passes. A cost of 0 passes every limit but `none`,
  unless it has to keep something.
- The rows of WITHLIMITS are those of all limits, with a tenth element: the position of their
  alternative, from 0. An alternative that was not charged shows its untouched buckets; behind the
  one that was charged, rows show what their limits would have said.
- RL.RESERVE holds the keys of the alternative that was charged, and no others: RL.COMMIT and
  RL.CANCEL name those. The same words again renew that hold. An id that a key of any alternative
  has with other words, or that is settled there, is an error. If the alternatives of a key differ
  in `keep=` alone, the `limit_index` of a renewal is that of the first of them.
- A user needs the rights to the keys of all alternatives. RL.STATS counts the request once, the
  limits of the alternative that was charged, and a denial for each limit that made an earlier one
  lose. RL.TOP and `weir:denied` know only of requests of which all alternatives deny, by the limit
  of the reply.
- Other commands fail with `OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won`.

## How replies are printed here

redis-cli prints each value of a reply on a line of its own, as in
[README](../README.md#start). Here `>` begins a command, and its reply is below it, an
array on one line: `1 9 0 100 0`. An array inside of another has brackets and begins a line of its
own. Strings have quotes, `nil` is the null reply, and an error is printed as it is sent, `ERR ...`.

## How a request is decided

All limits of a request are decided at one instant. If all of them admit, all are charged; else none
is, and nothing is created. (A shadow limit never denies, and except by RL.CHARGE is charged only
if it would admit. A limit that says `ban=` and denies is shut: that is the one trace that a denial
leaves.)
The cost of a limit is the `cost=` of its word, else that of the policy, else the COST of its group,
else one token. A limit that a request names twice for one key is decided once, with the sum of the
costs and the greatest `keep=`.

A request with `keep=n` passes a limit only if n tokens are left after it; only its cost is taken.
That is how requests of different importance share one bucket: with `1000/s` for critical requests,
`1000/s,keep=100` for normal ones and `1000/s,keep=500` for a batch, the batch stops first and the
critical requests last. A cost of 0 always passes unless it has to keep something: `cost=0,keep=1`
asks whether anything is left, takes nothing and can be denied. The `keep=` of a word replaces
those of the policy's limits.

The reply is `[allowed, remaining, retry_after_ms, reset_after_ms, limit_index]`:

- `allowed`: 1 or 0.
- `remaining`: the tokens that are left, the fewest of any limit.
- `retry_after_ms`: 0 if allowed; else the time until all limits admit this request, -1 if never.
- `reset_after_ms`: the time until all its buckets are full.
- `limit_index`: the position of the limit that decided, from 0, with policies expanded: the one
  with the longest wait, or if allowed, the one with the fewest tokens left.

Shadow limits are in none of these numbers, unless all limits are shadows. WITHLIMITS adds a row for
each limit: its name (its label, else its text), its own answer (1 or 0), its burst or count, its
own three numbers, its group (the position of its key in the command, from 0), its cost and the
tokens that it keeps, as asked. In RESP3 a row is a map with their names. `remaining` is what is
left in the bucket, tokens that are kept included. In a denied request the row of a limit that would
have passed shows its untouched bucket; the rows of RL.CHARGE show buckets after the charge.

- RL.TAKE replies in place of `allowed` the number of tokens that it took, UPTO at most. Each of
  them costs every limit its own cost; a cost of 0, a shadow and `unlimited` do not bound the
  number. Tokens that must be kept are not taken; a limit with a cost of 0 grants nothing if fewer
  tokens are left than it keeps.
- RL.CHARGE takes what has been used already, whether it is there or not. It replies in place of
  `allowed` whether RL.ALLOW would have admitted it (1 or 0), and the numbers after the charge;
  `retry_after_ms` is the time until every limit has one token beside those that it keeps, -1 if
  never; `limit_index` is that of the decision before the charge. A bucket may be left in debt: a
  token bucket by its burst or by what comes back within `--max-wait`, whichever is more, a window
  by its count. What is beyond is not charged. A fixed window's debt ends with it, a sliding one's
  fades through the next. `none` is charged nothing.
- RL.REFUND replies 1, and the numbers after the refund. A window gets back at most what its current
  window holds. RL.REFUND and RL.RESET pass over `keep=`.
- RL.WAIT is for token buckets; windows and `keep=` are errors, also in a policy or an override. A
  TIMEOUT above `--max-wait` is an error, a TIMEOUT that is too short is a denial at once. The reply
  leaves when the last of the tokens are there, with the numbers of that instant; later commands of
  the connection wait for it. The buckets of all keys are charged at once, so each is first come,
  first served. The tokens of a faster key wait with their owner: no other client gets them, and
  meanwhile their bucket refills, so that the owner uses them beside what has refilled. A client
  that disconnects returns its tokens bucket by bucket, except for buckets that a later request
  changed.
- AT needs a server that runs with `--allow-explicit-time`.
- RL.INSPECT lists for each bucket the limit, `remaining`, `reset_after_ms`, the tokens that are
  used, which are more than the limit holds while it is in debt, and for how many ms the limit is
  still banned. CL.THROTTLE's have -1 used tokens, as its numbers come with each request.
- RL.INSPECT with HOLDS lists the key's open holds, then those that are settled, each by their ids.
- RL.STATS lists `(total)` first, then limits by name. A policy's limit is `@name#position` and its
  label. 4,096 names have a row: policies and labels come before limits that are written out, then
  those that were used first; all others are counted together as `(others)`. A name keeps its row
  until the server stops, also over RESET. RL.RESERVE counts as RL.ALLOW does; a repeated one,
  RL.COMMIT and RL.CANCEL count nothing.
)";

// " write fast": the flags, each after a space.
std::string FlagList(const CommandSpec& spec) {
  std::string flags;
  for (const std::string_view flag : FlagNames(spec)) absl::StrAppend(&flags, " ", AbslView(flag));
  return flags;
}

void AppendExamples(std::string& page, const CommandSpec& spec) {
  if (spec.examples.empty()) return;
  absl::StrAppend(&page, "\n```\n");
  for (const Example& example : spec.examples) {
    absl::StrAppend(&page, "> ", AbslView(example.command), "\n", AbslView(example.reply), "\n");
  }
  absl::StrAppend(&page, "```\n");
}

// A section for a command of weir's own.
void AppendCommand(std::string& page, const CommandSpec& spec) {
  absl::StrAppend(&page, "\n### ", absl::StrReplaceAll(AbslView(spec.name), {{"|", " "}}),
                  "\n\n```\n", CommandSyntax(spec), "\n```\n\n");
  AppendFilled(spec.summary, kPageColumnsMax, "", "", page);
  const std::string flags = FlagList(spec);
  const std::string facts =
      absl::StrCat("Since ", AbslView(spec.since), ". Complexity: ", AbslView(spec.complexity), ".",
                   flags.empty() ? "" : absl::StrCat(" Flags:", flags, "."));
  page.push_back('\n');
  AppendFilled(facts, kPageColumnsMax, "", "", page);
  AppendExamples(page, spec);
}

// A row of a table for a command that Redis has, too.
void AppendRow(std::string& page, const CommandSpec& spec) {
  const auto escaped = [](std::string_view text) {
    return absl::StrReplaceAll(AbslView(text), {{"|", "\\|"}});
  };
  absl::StrAppend(&page, "| `", escaped(CommandSyntax(spec)), "` | ", escaped(spec.summary), " | ",
                  escaped(spec.complexity), " |", FlagList(spec), " | ", AbslView(spec.since),
                  " |\n");
}

constexpr std::string_view kTableHead = R"(
| command | what it does | complexity | flags | since |
| --- | --- | --- | --- | --- |
)";

// True for a row with a place in the page. A container is documented by its subcommands, unless it
// is a command itself.
bool IsOnPage(const CommandSpec& spec, std::string_view group) {
  return spec.group == group && (!spec.Is(kContainer) || spec.arity.min == 1);
}

void AppendGroup(std::string& page, const Group& group) {
  absl::StrAppend(&page, "\n## ", AbslView(group.title), "\n\n");
  AppendFilled(group.text, kPageColumnsMax, "", "", page);
  const bool is_table = group.name != "limit";
  if (is_table) absl::StrAppend(&page, AbslView(kTableHead));
  for (const CommandSpec& spec : CommandTable()) {
    if (!IsOnPage(spec, group.name)) continue;
    is_table ? AppendRow(page, spec) : AppendCommand(page, spec);
  }
  if (!is_table) return;
  for (const CommandSpec& spec : CommandTable()) {
    if (IsOnPage(spec, group.name)) AppendExamples(page, spec);
  }
}

constexpr std::string_view kOptionsHead = R"(
## Options

On the command line, in the file that `--config` names, and in CONFIG GET. A change by CONFIG SET
lasts until the server ends. CONFIG spells values as the command line does, with two exceptions:
`timeout`, `repl-timeout` and `min-replicas-max-lag` are in whole seconds, and `loglevel` is Redis's
name for `log-level`, with Redis's words.

)";

void AppendOption(std::string& page, const OptionSpec& spec) {
  std::string head = absl::StrCat("- `", AbslView(spec.name), "`");
  if (!spec.fallback.empty()) absl::StrAppend(&head, " = `", AbslView(spec.fallback), "`");
  AppendFilled(OptionHelp(spec), kPageColumnsMax, absl::StrCat(head, ": "), "  ", page);
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
  if (spec.group == "pubsub") names.emplace_back("pubsub");
  for (const auto& [flag, name] : kNames) {
    if (spec.Is(flag)) names.push_back(name);
  }
  return names;
}

std::string CommandsMarkdown() {
  std::string page(kHead);
  for (const Group& group : kGroups) AppendGroup(page, group);
  absl::StrAppend(&page, AbslView(kOptionsHead));
  for (const OptionSpec& spec : OptionTable()) AppendOption(page, spec);
  return page;
}

}  // namespace weir
