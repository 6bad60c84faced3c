#include "replay/replay_options.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "replay/burst_fit.h"
#include "replay/decimal.h"

namespace weir {
namespace {

constexpr const char* kDescription =
    "Answers what other limits would have done with the requests of a log, at the times of the "
    "log.\n"
    "\n"
    "  weir-replay --ask '{key} 10/s 1000/h' access.log\n"
    "  weir-replay --csv --ask 'user:{key} 100k/h' --fit 99.9 usage.csv\n"
    "  weir-replay --json-fields time=ts,key=user.id --ask '{key} 10/s' service.json.gz\n"
    "  weir-replay --monitor --policies policies.toml --ask '{key} @free' --ask '{key} @paid' "
    "capture.txt";

constexpr const char* kFooter =
    "LOG is an access log as nginx and Apache write it (common, combined or vhost_combined), JSON\n"
    "with an object a line, as of nginx (escape=json), Caddy and Traefik, a CSV file with or\n"
    "without a header, where a record is one line, or a capture of MONITOR, whose RL.* lines are\n"
    "asked again with the limits of --ask. Its lines tell which, and its first bytes whether it "
    "is\n"
    "compressed by gzip. '-' is the standard input. The key of an access log or of JSON is the\n"
    "client's IPv4 address or IPv6 network. Lines that cannot be read are counted, and the\n"
    "first ten are shown. Clients react to denials, a log does not.\n"
    "\n"
    "MONITOR cuts words after 512 bytes and costs the server a line for each request, so capture\n"
    "briefly. It shows no answers: a request that was refused with an error counts as any other.\n"
    "RL.RESET, DEL and UNLINK forget all buckets of their keys, also where RL.RESET names limits,\n"
    "FLUSHALL and FLUSHDB all buckets. Holds are not replayed: how much a slice was granted, and\n"
    "whether there was a hold to settle, is in the answers. Lines of RL.RESERVE, RL.SLICE,\n"
    "RL.COMMIT and RL.CANCEL are passed over, and RL.TAKE with HOLD is a plain one.\n";

constexpr Nanos kSlackMax = std::chrono::hours{24 * 366};

// The values that CLI11 fills in, before it is checked.
struct Words {
  std::string ipv6;
  std::string slack = "5";
  std::string max_wait = "60";
  std::string columns;
  std::string json_fields;
  bool csv = false;
  bool monitor = false;
};

void AddOptions(CLI::App& app, ReplayOptions& options, Words& words) {
  app.add_option("--ask", options.asks,
                 "A request as RL.ALLOW takes it, in quotes, with {key} for the log's key. Given "
                 "twice, both are compared")
      ->option_text("REQUEST")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--policies", options.policies, "A policy file, for limits like @free")
      ->option_text("FILE");
  app.add_flag("--csv", words.csv,
               "LOG is a CSV file: time (Unix seconds or ISO 8601), key and, if present, cost");
  app.add_option("--columns", words.columns,
                 "The names of the CSV file's columns in order: time, key, cost; others are passed "
                 "over")
      ->option_text("NAMES=time,key,cost");
  app.add_option("--json-fields", words.json_fields,
                 "LOG has JSON lines with these fields, as in "
                 "time=ts,key=request.headers.X-Api-Key,cost=usage.total. Without a time or a key "
                 "the fields of Caddy, of Traefik and of nginx's variables are known")
      ->option_text("FIELDS");
  app.add_option("--key", options.key,
                 "The key of all requests of a CSV file or of JSON lines, for a log without one")
      ->option_text("KEY");
  app.add_flag("--monitor", words.monitor, "LOG is a capture of MONITOR");
  app.add_option("--fit", options.fit_percent,
                 "Finds the smallest burst of each token bucket that admits this percentage")
      ->option_text("PERCENT");
  app.add_option(
         "--ipv6", words.ipv6,
         "The bits of an IPv6 address in an access log or in JSON that count as one client, as "
         "in the routes of checks")
      ->option_text("BITS=64");
  app.add_option("--slack", words.slack,
                 "Lines may be out of order by this many seconds; a line that goes back further is "
                 "left out")
      ->option_text("SECONDS=5");
  app.add_option("--max-wait", words.max_wait,
                 "The server's max-wait, for RL.WAIT and for the debts of RL.CHARGE")
      ->option_text("SECONDS=60");
  app.add_flag("--json", options.json, "Prints JSON instead of a table");
  app.add_option("LOG", options.log)->option_text(" ")->required();
}

absl::Status ReadColumns(const std::string& text, ReplayOptions& options) {
  const std::vector<std::string> columns = absl::StrSplit(text, ',');
  const auto count = [&columns](std::string_view name) {
    return std::ranges::count(columns, name);
  };
  const bool has_key = options.key.empty();
  if (count("time") != 1 || count("key") != (has_key ? 1 : 0) || count("cost") > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--columns ", Quote(text), ": expected names with one time, ",
                     has_key ? "one key" : "no key beside --key", " and at most one cost"));
  }
  options.columns = columns;
  options.cost_is_optional = false;
  return absl::OkStatus();
}

absl::Status ReadJsonFields(const std::string& text, ReplayOptions& options) {
  for (const std::string& field : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string name = field.substr(0, equals);
    const std::string path = field.substr(std::min(equals + 1, field.size()));
    std::string* const wanted = name == "time"   ? &options.json_fields.time
                                : name == "key"  ? &options.json_fields.key
                                : name == "cost" ? &options.json_fields.cost
                                                 : nullptr;
    const bool is_twice = name == "key" && !options.key.empty();
    if (!wanted || !wanted->empty() || path.empty() || is_twice) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--json-fields ", Quote(text), ": ", Quote(field),
          is_twice ? " beside --key" : " is not time=, key= or cost= with a field, each once"));
    }
    *wanted = path;
  }
  return absl::OkStatus();
}

absl::Status ReadSeconds(const char* name, const std::string& text, Nanos most, Nanos& span) {
  const std::optional<std::int64_t> nanos = ParseDecimal(text, 9);
  if (!nanos || Nanos{*nanos} > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", Quote(text), ": expected seconds, as in 5 or 0.5, up to ",
                     std::chrono::duration_cast<std::chrono::seconds>(most).count()));
  }
  span = Nanos{*nanos};
  return absl::OkStatus();
}

// The end of the error for an unknown option.
std::string HintFor(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string_view nearest = Nearest(word.substr(0, word.find('=')), names);
  if (nearest.empty()) return ": --help lists the options";
  return absl::StrCat(": did you mean ", AbslView(nearest), "?");
}

// The words that CLI11 has no place for.
absl::Status CheckRest(const CLI::App& app, const ReplayOptions& options) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return absl::OkStatus();
  const std::string& word = rest.front();
  if (word.size() > 1 && word.starts_with('-')) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown option ", Quote(word), HintFor(app, word)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected ", Quote(word), " after the log ", Quote(options.log),
                   ": expected one log, and the words of an --ask in quotes, as in --ask '{key} "
                   "10/s'"));
}

absl::Status ReadBits(const std::string& text, std::optional<int>& bits) {
  const std::optional<std::int64_t> number = ParseDecimal(text, 0);
  if (!number || *number < 1 || *number > kIpv6BitsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ipv6 ", Quote(text), ": expected bits from 1 to ", kIpv6BitsMax));
  }
  bits = static_cast<int>(*number);
  return absl::OkStatus();
}

absl::Status ReadFit(ReplayOptions& options) {
  static_assert(kPercent == 1'000'000);
  options.fit = ParseDecimal(options.fit_percent, 6);
  if (options.fit && *options.fit > 0 && *options.fit <= kAllPercent) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--fit ", Quote(options.fit_percent),
                   ": expected a percentage above 0, up to 100, as in 99.9"));
}

absl::Status CheckWords(const CLI::App& app, const Words& words, ReplayOptions& options) {
  const bool has_fields = app.count("--json-fields") > 0;
  if (words.csv && words.monitor) {
    return absl::InvalidArgumentError("--csv and --monitor exclude each other");
  }
  if (has_fields && (words.csv || words.monitor)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--json-fields and ", words.csv ? "--csv" : "--monitor", " exclude each other"));
  }
  if (words.csv) options.format = LogFormat::kCsv;
  if (words.monitor) options.format = LogFormat::kMonitor;
  if (has_fields) options.format = LogFormat::kJson;
  if (options.asks.empty() || options.asks.size() > kAsksMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected --ask once or twice, as in --ask '{key} 10/s'"));
  }
  if (app.count("--key") > 0) {
    if (options.key.empty()) return absl::InvalidArgumentError("--key '': expected a key");
    options.columns = {"time", "cost"};
  }
  if (app.count("--columns") > 0) {
    if (!words.csv) return absl::InvalidArgumentError("--columns is for --csv");
    WEIR_RETURN_IF_ERROR(ReadColumns(words.columns, options));
  }
  if (has_fields) WEIR_RETURN_IF_ERROR(ReadJsonFields(words.json_fields, options));
  if (app.count("--ipv6") > 0) WEIR_RETURN_IF_ERROR(ReadBits(words.ipv6, options.ipv6_bits));
  if (options.format) WEIR_RETURN_IF_ERROR(CheckFormat(options, *options.format));
  if (app.count("--policies") > 0 && options.policies.empty()) {
    return absl::InvalidArgumentError("--policies '': expected a file");
  }
  if (app.count("--fit") > 0) WEIR_RETURN_IF_ERROR(ReadFit(options));
  WEIR_RETURN_IF_ERROR(ReadSeconds("--slack", words.slack, kSlackMax, options.slack));
  return ReadSeconds("--max-wait", words.max_wait, kMaxWaitMax, options.max_wait);
}

}  // namespace

absl::Status CheckFormat(const ReplayOptions& options, LogFormat format) {
  const bool is_json = format == LogFormat::kJson;
  if (options.ipv6_bits && !is_json && format != LogFormat::kAccess) {
    return absl::InvalidArgumentError("--ipv6 is for access logs and JSON lines");
  }
  if (!options.key.empty() && !is_json && format != LogFormat::kCsv) {
    return absl::InvalidArgumentError(
        "--key is for CSV files and JSON lines: write the key into --ask, as in --ask 'all 10/s'");
  }
  return absl::OkStatus();
}

ReplayHelp HelpOfReplay() {
  CLI::App app;
  ReplayCommandLine line;
  Words words;
  AddOptions(app, line.options, words);
  ReplayHelp help{.description = kDescription, .footer = kFooter, .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    const std::string& text = option->get_option_text();
    const std::size_t value_end = std::min(text.find('='), text.size());
    help.options.push_back({.name = option->get_name(),
                            .value = text.substr(0, value_end),
                            .fallback = text.substr(std::min(value_end + 1, text.size())),
                            .text = option->get_description()});
  }
  return help;
}

absl::StatusOr<ReplayCommandLine> ParseReplayCommandLine(int argc, const char* const* argv) {
  CLI::App app(kDescription, "weir-replay");
  app.footer(kFooter);
  app.allow_extras();  // so that CheckRest can say more about them
  ReplayCommandLine line;
  Words words;
  AddOptions(app, line.options, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.print_and_exit = app.help();
    return line;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view what = error.what();  // "--fit: 1 required TEXT missing"
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(what.substr(0, what.find(':'))), ": expected one value"));
  } catch (const CLI::ConversionError& error) {
    const std::string_view what = error.what();  // "Could not convert: --csv = x"
    return absl::InvalidArgumentError(
        absl::StrCat("expected no value: ", Quote(what.substr(what.find("--")))));
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  WEIR_RETURN_IF_ERROR(CheckRest(app, line.options));
  WEIR_RETURN_IF_ERROR(CheckWords(app, words, line.options));
  return line;
}

}  // namespace weir
