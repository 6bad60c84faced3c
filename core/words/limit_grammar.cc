#include "core/words/limit_grammar.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <iterator>
#include <span>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/spelling/limit_hints.h"
#include "core/spelling/limit_units.h"
#include "core/words/calendar_text.h"
#include "core/words/count_hint.h"

namespace weir {
namespace {

constexpr char kLabelRule[] = " must be 1 to 64 of letters, digits, _ - . :";
static_assert(kLabelBytesMax == 64);

// In the order in which errors list them. A policy's limits have their own numbers, so a policy's
// word takes only the options that are about the request: the last ones.
struct Option {
  enum Id {
    kBucket,
    kFixed,
    kSliding,
    kHeld,
    kBurst,
    kAligned,
    kBan,
    kZone,
    kFrom,
    kCost,
    kKeep,
    kShadow,
    kName
  };

  Id id;
  std::string_view name;  // ends in '=' if a value follows
};
constexpr Option kOptions[] = {
    {Option::kBucket, "bucket"}, {Option::kFixed, "fixed"},  {Option::kSliding, "sliding"},
    {Option::kHeld, "held"},     {Option::kBurst, "burst="}, {Option::kAligned, "aligned"},
    {Option::kBan, "ban="},      {Option::kZone, "tz="},     {Option::kFrom, "from="},
    {Option::kCost, "cost="},    {Option::kKeep, "keep="},   {Option::kShadow, "shadow"},
    {Option::kName, "name="},
};
constexpr std::span<const Option> kLimitOptions = kOptions;
constexpr std::span<const Option> kPolicyOptions = kLimitOptions.subspan(Option::kCost);
static_assert(std::ranges::is_sorted(kOptions, {}, &Option::id));
static_assert(std::size(kOptions) == Option::kName + 1);
static_assert(kPolicyOptions.front().id == Option::kCost);

using OptionSet = std::bitset<std::size(kOptions)>;  // by Option::Id
constexpr OptionSet kAlgorithms{1U << Option::kBucket | 1U << Option::kFixed |
                                1U << Option::kSliding | 1U << Option::kHeld};

// The period of a limit, or the unit of its calendar.
struct Period {
  Nanos length{0};
  CalendarUnit unit = CalendarUnit::kNone;
};

// The options of one word.
struct Options {
  OptionSet seen;
  Algorithm algorithm = Algorithm::kTokenBucket;
  std::optional<std::int64_t> burst;
  Nanos ban{0};
  std::optional<std::string_view> zone;
  std::optional<std::string_view> from;
  std::optional<std::int64_t> cost;
  std::optional<std::int64_t> keep;
  std::string_view name;
};

template <typename... Parts>
absl::Status Error(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// "(cost=, keep=, shadow, name=)", for errors.
std::string Names(std::span<const Option> options) {
  std::string names;
  for (const Option& option : options) {
    absl::StrAppend(&names, names.empty() ? "(" : ", ", AbslView(option.name));
  }
  return names + ")";
}

constexpr bool IsLabelByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_-.:").find(c) != std::string_view::npos;
}

// --- numbers ---

// Returns 0 for a product beyond 63 bits: no count, burst or period may be 0, so Limit::Create
// refuses it and names the range, which depends on the algorithm. Requires: digits, at least one.
absl::StatusOr<std::int64_t> Multiply(std::string_view digits, std::int64_t factor) {
  WEIR_CHECK(!digits.empty());
  if (digits.front() == '0' && digits.size() > 1) {
    return Error("number ", Quote(digits), " has a leading zero");
  }
  const std::optional<std::int64_t> number = ParseDigits(digits);
  std::int64_t product = 0;
  if (!number.has_value() || __builtin_mul_overflow(*number, factor, &product)) return 0;
  return product;
}

// The place of a number, for errors.
struct Place {
  const char* part;              // "count", "period", "burst" or "ban"
  std::string_view before = "";  // the text around the number that a hint repeats
  std::string_view after = "";
};
constexpr Place kBurst{.part = "burst", .before = "burst="};
constexpr Place kBan{.part = "ban", .before = "ban="};

absl::StatusOr<std::int64_t> ReadCount(const Place& place, std::string_view text) {
  const char* const part = place.part;
  const auto [digits, suffix] = SplitDigits(text);
  if (digits.empty()) return Error(part, " ", Quote(text), " must start with a digit");
  if (suffix.empty()) return Multiply(digits, 1);
  const Unit* multiplier = MultiplierNamed(suffix);
  if (multiplier == nullptr) {
    const std::string_view period = place.after.substr(place.after.empty() ? 0 : 1);
    if (const auto whole = WholeCountHint(text, period)) {
      return Error(part, " must be whole", *whole);
    }
    return Error("unknown multiplier ", Quote(suffix), " (", kMultiplierNames, ")",
                 MultiplierHint(place.before, text, place.after));
  }
  return Multiply(digits, multiplier->factor);
}

// A span of time. `more_units` are further units that may stand there, and `hint` ends the error
// for an unknown unit if it is not empty.
absl::StatusOr<Nanos> ReadSpan(const Place& place, std::string_view text,
                               std::string_view more_units = "", std::string_view hint = "") {
  const auto [digits, suffix] = SplitDigits(text);
  if (suffix.empty()) {
    return Error(place.part, " ", Quote(text), " needs a unit (", kPeriodUnitNames, ")");
  }
  const Unit* unit = PeriodUnitNamed(suffix);
  if (unit == nullptr) {
    return Error("unknown unit ", Quote(suffix), " (", kPeriodUnitNames, AbslView(more_units), ")",
                 hint.empty() ? UnitHint(place.before, text) : std::string(hint));
  }
  if (digits.empty()) return Nanos{unit->factor};
  const absl::StatusOr<std::int64_t> length = Multiply(digits, unit->factor);
  if (!length.ok()) return length.status();
  return Nanos{*length};
}

bool Matches(const Option& option, std::string_view text) {
  return option.name.ends_with('=') ? text.starts_with(option.name) : text == option.name;
}

bool IsOption(std::string_view text) {
  return std::ranges::any_of(kOptions,
                             [text](const Option& option) { return Matches(option, text); });
}

// The hint for a unit with an option behind another mark than a comma: "s;burst=20".
std::string CommaHint(std::string_view before, std::string_view period) {
  const std::size_t mark = period.find_first_of("; :+&|");
  if (mark == std::string_view::npos || !IsOption(period.substr(mark + 1))) return "";
  return DidYouMean(absl::StrCat(AbslView(before), AbslView(period.substr(0, mark))), ",",
                    period.substr(mark + 1));
}

// `before` is the count and the slash.
absl::StatusOr<Period> ReadPeriod(std::string_view before, std::string_view text) {
  const auto [digits, suffix] = SplitDigits(text);
  if (const CalendarUnit calendar = CalendarUnitNamed(suffix); calendar != CalendarUnit::kNone) {
    if (digits.empty()) return Period{.unit = calendar};
    return Error("period ", Quote(text), " must be one ", AbslView(suffix), ", without a number",
                 CalendarHint(before, text));
  }
  const Place place{.part = "period", .before = before};
  if (PeriodUnitNamed(suffix) == nullptr && !suffix.empty()) {
    std::string hint = CommaHint(before, text);
    if (hint.empty() && UnitHint(before, text).empty()) hint = CalendarHint(before, text);
    return ReadSpan(place, text, std::string(", or ") + kCalendarUnits, hint).status();
  }
  const absl::StatusOr<Nanos> length = ReadSpan(place, text);
  if (!length.ok()) return length.status();
  return Period{.length = *length};
}

// --- options ---

// `part` names the number in errors: "cost" or "keep".
absl::Status ReadTokens(const char* part, std::string_view text,
                        std::optional<std::int64_t>& tokens) {
  tokens = ParseDigits(text);
  if (tokens.has_value()) return absl::OkStatus();
  return Error(part, " ", Quote(text), " must be 0 to ", INT64_MAX, " in plain digits");
}

absl::Status ReadValue(Option::Id id, std::string_view value, Options& options) {
  switch (id) {
    case Option::kBucket:
      options.algorithm = Algorithm::kTokenBucket;
      break;
    case Option::kFixed:
      options.algorithm = Algorithm::kFixedWindow;
      break;
    case Option::kSliding:
      options.algorithm = Algorithm::kSlidingWindow;
      break;
    case Option::kHeld:
      options.algorithm = Algorithm::kHeld;
      break;
    case Option::kBurst: {
      const absl::StatusOr<std::int64_t> burst = ReadCount(kBurst, value);
      if (burst.ok()) options.burst = *burst;
      return burst.status();
    }
    case Option::kBan: {
      const absl::StatusOr<Nanos> ban = ReadSpan(kBan, value);
      if (!ban.ok()) return ban.status();
      options.ban = *ban;
      return CheckBan(options.ban);
    }
    case Option::kZone:
      options.zone = value;
      break;
    case Option::kFrom:
      options.from = value;
      break;
    case Option::kCost:
      return ReadTokens("cost", value, options.cost);
    case Option::kKeep:
      return ReadTokens("keep", value, options.keep);
    case Option::kName:
      if (!IsLabel(value)) return Error("name ", Quote(value), kLabelRule);
      options.name = value;
      break;
    case Option::kAligned:
    case Option::kShadow:
      break;  // no value: `seen` says it all
  }
  return absl::OkStatus();
}

// The hint for an unknown option: the name of the nearest known one.
std::string NearestOption(std::string_view text, std::span<const Option> known) {
  const std::size_t name_bytes = text.find('=');
  const std::string_view name =
      name_bytes == std::string_view::npos ? text : text.substr(0, name_bytes + 1);
  if (name.size() > kNearestBytesMax) return "";
  const std::string lower = absl::AsciiStrToLower(AbslView(name));
  const std::string_view nearest = Nearest(lower, known, &Option::name);
  return nearest.empty() ? "" : DidYouMean(nearest, "", "");
}

absl::Status ReadOption(std::string_view text, std::span<const Option> known, Options& options) {
  const auto option = std::ranges::find_if(
      known, [text](const Option& candidate) { return Matches(candidate, text); });
  if (option == known.end()) {
    const std::string name = NearestOption(text, known);
    return Error("unknown option ", Quote(text), name.empty() ? " " + Names(known) : name);
  }
  if (options.seen[option->id]) return Error("option ", Quote(option->name), " is given twice");
  options.seen.set(option->id);
  if ((options.seen & kAlgorithms).count() > 1) {
    return Error("only one of bucket, fixed, sliding, held may be given");
  }
  return ReadValue(option->id, text.substr(option->name.size()), options);
}

// `text` is empty, or a list of options, each after a comma.
absl::StatusOr<Options> ReadOptions(std::string_view text, std::span<const Option> known) {
  Options options;
  while (!text.empty()) {
    WEIR_CHECK(text.front() == ',');
    text.remove_prefix(1);
    const std::string_view option = text.substr(0, text.find(','));
    WEIR_RETURN_IF_ERROR(ReadOption(option, known, options));
    text.remove_prefix(option.size());
  }
  return options;
}

// --- words ---

// A word with the values of its options.
LimitWord MakeWord(LimitWord::Kind kind, const Options& options) {
  LimitWord word;
  word.kind = kind;
  word.shadow = options.seen[Option::kShadow];
  word.cost = options.cost;
  word.keep = options.keep;
  word.label = options.name;
  return word;
}

absl::StatusOr<Limit> MakeCalendarLimit(std::int64_t count, CalendarUnit unit,
                                        const Options& options) {
  for (const Option& option : kOptions) {
    const bool is_others =
        option.id <= Option::kAligned && option.id != Option::kFixed && options.seen[option.id];
    if (is_others) {
      return Error("option ", Quote(option.name), " is not for a calendar window (", kCalendarUnits,
                   "): it is fixed, and starts as from= says");
    }
  }
  const absl::StatusOr<Calendar> calendar = ReadCalendar(unit, options.zone, options.from);
  if (!calendar.ok()) return calendar.status();
  return Limit::Create({.algorithm = Algorithm::kFixedWindow,
                        .shadow = options.seen[Option::kShadow],
                        .calendar = *calendar,
                        .count = count,
                        .ban = options.ban});
}

absl::StatusOr<Limit> MakeLimit(std::int64_t count, const Period& period, const Options& options) {
  const CountOver over{count, period.length, period.unit};
  LimitShape shape{.algorithm = options.algorithm, .period = period.length};
  shape.aligned = options.seen[Option::kAligned];
  shape.calendar.unit = period.unit;
  if (period.unit != CalendarUnit::kNone && !options.seen[Option::kSliding]) {
    shape.algorithm = Algorithm::kFixedWindow;
  }
  const bool window = shape.algorithm != Algorithm::kTokenBucket;
  if (window && shape.algorithm != Algorithm::kHeld && count > CountMaxOf(shape)) {
    return Error("count must be 1 to ", CountMaxOf(shape), " for a window", CountHint(over));
  }
  if (period.unit != CalendarUnit::kNone) return MakeCalendarLimit(count, period.unit, options);
  for (const Option::Id id : {Option::kZone, Option::kFrom}) {
    if (!options.seen[id]) continue;
    return Error("option ", Quote(kOptions[id].name), " is for calendar windows only: per ",
                 kCalendarUnits);
  }
  if (window && options.burst.has_value()) return Error("burst is for the token bucket only");
  shape.shadow = options.seen[Option::kShadow];
  shape.count = count;
  shape.burst = options.burst.value_or(window ? 0 : count);
  shape.ban = options.ban;
  absl::StatusOr<Limit> limit = Limit::Create(shape);
  if (limit.ok() || window || count <= kDenominatorMax) return limit;
  // Only the count itself is worth a hint: not a mistake in the options.
  const LimitShape plain{.count = count, .period = period.length, .burst = count};
  if (Limit::Create(plain).ok()) return limit;
  return Error(limit.status().message(), CountHint(over));
}

// Whether the options have "held", and may follow a count without a period.
bool SaysHeld(std::string_view options) {
  constexpr std::string_view kHeld = ",held";
  const std::size_t begin = options.find(kHeld);
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = options.substr(begin + kHeld.size());
  return rest.empty() || rest.front() == ',';
}

absl::StatusOr<LimitWord> ReadLimit(std::string_view head, std::string_view tail) {
  if (IsOption(head)) {
    return Error("options follow their limit after a comma, as in 10/s,burst=20");
  }
  const std::size_t slash = head.find('/');
  const bool is_held = slash == std::string_view::npos && !head.empty() && SaysHeld(tail);
  if (!is_held && (slash == std::string_view::npos || slash == 0 || slash + 1 == head.size())) {
    return Error("expected count/period, as in 10/s");
  }
  const Place place{.part = "count", .after = is_held ? "" : head.substr(slash)};
  const absl::StatusOr<std::int64_t> count = ReadCount(place, head.substr(0, slash));
  if (!count.ok()) return count.status();
  absl::StatusOr<Period> period = Period{};
  if (!is_held) period = ReadPeriod(head.substr(0, slash + 1), head.substr(slash + 1));
  if (!period.ok()) return period.status();
  const absl::StatusOr<Options> options = ReadOptions(tail, kLimitOptions);
  if (!options.ok()) return options.status();
  const absl::StatusOr<Limit> limit = MakeLimit(*count, *period, *options);
  if (!limit.ok()) return limit.status();
  LimitWord word = MakeWord(LimitWord::Kind::kLimit, *options);
  word.limit = *limit;
  return word;
}

absl::StatusOr<LimitWord> ReadPolicy(std::string_view head, std::string_view tail) {
  const std::string_view policy = head.substr(1);
  if (!IsLabel(policy)) return Error("policy name ", Quote(policy), kLabelRule);
  const absl::StatusOr<Options> options = ReadOptions(tail, kPolicyOptions);
  if (!options.ok()) return options.status();
  LimitWord word = MakeWord(LimitWord::Kind::kPolicy, *options);
  word.policy = policy;
  return word;
}

absl::StatusOr<LimitWord> ReadWord(std::string_view text) {
  const std::string_view head = text.substr(0, text.find(','));
  const std::string_view tail = text.substr(head.size());
  if (head == "unlimited" || head == "none") {
    if (!tail.empty()) return Error(AbslView(head), " takes no options");
    LimitWord word;
    word.kind = head == "none" ? LimitWord::Kind::kNone : LimitWord::Kind::kUnlimited;
    word.limit = head == "none" ? Limit::None() : Limit::Unlimited();
    return word;
  }
  return head.starts_with('@') ? ReadPolicy(head, tail) : ReadLimit(head, tail);
}

}  // namespace

absl::StatusOr<LimitWord> ParseLimitWord(std::string_view text) {
  absl::StatusOr<LimitWord> word = ReadWord(text);
  if (word.ok()) return word;
  return absl::Status(word.status().code(),
                      absl::StrCat("invalid limit ", Quote(text), ": ", word.status().message()));
}

absl::Status WithPeriod(const absl::Status& error, std::string_view text, std::string_view next) {
  if (!ParseDigits(text) || !ParseDigits(next)) return error;
  const std::string period = absl::StrCat("/", AbslView(next));
  return {error.code(), absl::StrCat(error.message(), DidYouMean(text, period, "s"))};
}

std::string NameOf(const LimitWord& word) {
  if (!word.label.empty()) return word.label;
  WEIR_CHECK(word.limit.has_value() == (word.kind != LimitWord::Kind::kPolicy));
  if (word.limit) return LimitText(*word.limit);
  return absl::StrCat("@", word.policy, word.shadow ? ",shadow" : "");
}

std::string LimitText(const Limit& limit) {
  const LimitShape& shape = limit.shape();
  if (shape.algorithm == Algorithm::kUnlimited) return "unlimited";
  if (shape.algorithm == Algorithm::kNone) return "none";
  std::string text = CountText(shape.count);
  if (shape.algorithm == Algorithm::kHeld) {
    text += ",held";
  } else {
    absl::StrAppend(&text, "/",
                    shape.has_calendar() ? CalendarText(shape.calendar)
                                         : PeriodAfterSlash(shape.period.count()));
  }
  if (shape.algorithm == Algorithm::kFixedWindow && !shape.has_calendar()) text += ",fixed";
  if (shape.algorithm == Algorithm::kSlidingWindow) text += ",sliding";
  if (shape.aligned) text += ",aligned";
  if (shape.algorithm == Algorithm::kTokenBucket && shape.burst != shape.count) {
    absl::StrAppend(&text, ",burst=", CountText(shape.burst));
  }
  if (shape.ban > Nanos{0}) absl::StrAppend(&text, ",ban=", PeriodText(shape.ban.count()));
  if (shape.shadow) text += ",shadow";
  return text;
}

std::optional<std::int64_t> ParseDigits(std::string_view digits) noexcept {
  if (digits.empty() || !IsDigit(digits.front())) return std::nullopt;  // from_chars takes a '-'
  if (digits.front() == '0' && digits.size() > 1) return std::nullopt;
  const char* const end = digits.data() + digits.size();
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

absl::Status CheckLabel(std::string_view label, std::string_view limit) {
  const absl::string_view text = AbslView(label);
  if (!absl::StartsWithIgnoreCase(text, "rl.") && !absl::StartsWithIgnoreCase(text, "cl.")) {
    return absl::OkStatus();
  }
  return Error("invalid limit ", Quote(limit), ": name ", Quote(label),
               " must not begin with rl. or cl., as commands do");
}

bool IsLabel(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kLabelBytesMax && std::ranges::all_of(text, IsLabelByte);
}

}  // namespace weir
