#include "server/options.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "core/check.h"
#include "core/instant.h"
#include "core/quote.h"
#include "core/status.h"
#include "core/table_bound.h"
#include "protocol/integer.h"
#include "server/ignore_case.h"
#include "server/version.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kConfigBytesMax = 1024 * 1024;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {.name = "allow-explicit-time",
     .field = &Options::allow_explicit_time,
     .fallback = "false",
     .summary =
         "Lets clients name the time of a decision (AT); only for tests and replays: nothing "
         "is dropped as full."},
    {.name = "bind",
     .field = &Options::bind,
     .fallback = "127.0.0.1",
     .summary = "The IP addresses to listen on, separated by commas."},
    {.name = "config",
     .field = &Options::config,
     .fallback = "",
     .summary = "A TOML file with more options; the command line wins over it."},
    {.name = "data-dir",
     .field = &Options::data_dir,
     .fallback = "",
     .redis_alias = "dir",
     .summary = "The directory that keeps the state; without one nothing survives a restart."},
    {.name = "durability",
     .field = &Options::durability,
     .fallback = "snapshot",
     .choices = "snapshot|always|none",
     .summary =
         "What a crash may forget: the last snapshot-interval, nothing (each admission waits for "
         "the disk), or everything."},
    {.name = "latency-monitor-threshold",
     .field = &Options::latency_monitor_threshold,
     .fallback = "0",
     .min = 0,
     .max = 3'600'000,
     .live = true,
     .summary = "What takes so many milliseconds is noted for LATENCY; 0 notes nothing."},
    {.name = "log-level",
     .field = &Options::log_level,
     .fallback = "info",
     .choices = "debug|info|warning|error",
     .redis_alias = "loglevel",
     .live = true,
     .summary = "The least important kind of line that is written to standard error."},
    {.name = "max-clients",
     .field = &Options::max_clients,
     .fallback = "10000",
     .min = 1,
     .max = 1'000'000,
     .redis_alias = "maxclients",
     .live = true,
     .summary = "The most connections at a time; each one needs a file descriptor and 2 KiB."},
    {.name = "max-memory",
     .field = &Options::max_memory,
     .fallback = "0",
     .min = TableBound::kBytesMin,
     .max = std::int64_t{1} << 42,
     .redis_alias = "maxmemory",
     .live = true,
     .summary =
         "The most memory for buckets, 32mb at least; where they need more, those go first that "
         "are full, then those nearest to it. 0 is no bound."},
    {.name = "max-wait",
     .field = &Options::max_wait,
     .fallback = "60s",
     .min = 0,
     .max = std::chrono::duration_cast<milliseconds>(kMaxWaitMax).count(),
     .summary =
         "The longest TIMEOUT of RL.WAIT, and the most that a stored time is believed past an "
         "empty bucket's."},
    {.name = "on-persist-error",
     .field = &Options::on_persist_error,
     .fallback = "refuse",
     .choices = "refuse|serve",
     .live = true,
     .summary =
         "With durability always and a disk that fails: refuse what would be admitted (MISCONF), "
         "or serve and risk to forget it."},
    {.name = "policies",
     .field = &Options::policies,
     .fallback = "",
     .summary = "A TOML file of policies, read at the start, at RL.POLICY RELOAD and at SIGHUP."},
    {.name = "port",
     .field = &Options::port,
     .fallback = "7379",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port to listen on; 0 takes any free one."},
    {.name = "protected-mode",
     .field = &Options::protected_mode,
     .fallback = "true",
     .live = true,
     .summary =
         "While clients need neither a password nor a certificate, serves those of this host "
         "alone."},
    {.name = "requirepass",
     .field = &Options::requirepass,
     .fallback = "",
     .summary =
         "The password of the user default, who then has to give it. Never shown; better in the "
         "config file than on a command line that others can read."},
    {.name = "reset-clock",
     .field = &Options::reset_clock,
     .fallback = "false",
     .summary =
         "Starts at the wall clock's time even if the data directory says that it was later; for "
         "once, after a wrong clock was set right."},
    {.name = "slowlog-log-slower-than",
     .field = &Options::slowlog_log_slower_than,
     .fallback = "10000",
     .min = -1,
     .max = 3'600'000'000,
     .live = true,
     .summary = "Commands that take so many microseconds are in SLOWLOG; -1: none are."},
    {.name = "slowlog-max-len",
     .field = &Options::slowlog_max_len,
     .fallback = "128",
     .min = 0,
     .max = 10'000,
     .live = true,
     .summary = "The most entries of SLOWLOG; each one takes up to 5 KiB."},
    {.name = "snapshot-interval",
     .field = &Options::snapshot_interval,
     .fallback = "1s",
     .min = 10,
     .max = 3'600'000,
     .live = true,
     .summary = "How often what has changed is saved; shorter ones forget less and write more."},
    {.name = "threads",
     .field = &Options::threads,
     .fallback = "0",
     .min = 0,
     .max = 64,
     .redis_alias = "io-threads",
     .summary = "The threads that serve connections; 0 is one a core, 8 at most."},
    {.name = "timeout",
     .field = &Options::timeout,
     .fallback = "0s",
     .min = 0,
     .max = 2'592'000'000,
     .live = true,
     .summary = "Closes a connection that has been idle for so long; 0 never does."},
    {.name = "tls-auth-clients",
     .field = &Options::tls_auth_clients,
     .fallback = "yes",
     .choices = "yes|no|optional",
     .summary =
         "Whether a client has to show a certificate of tls-ca, or, if optional, may leave it "
         "out."},
    {.name = "tls-ca",
     .field = &Options::tls_ca,
     .fallback = "",
     .redis_alias = "tls-ca-cert-file",
     .summary = "A PEM file of the authorities whose clients are trusted; read again at SIGHUP."},
    {.name = "tls-cert",
     .field = &Options::tls_cert,
     .fallback = "",
     .redis_alias = "tls-cert-file",
     .summary =
         "A PEM file: the server's certificate, then those in between; read again at SIGHUP."},
    {.name = "tls-key",
     .field = &Options::tls_key,
     .fallback = "",
     .redis_alias = "tls-key-file",
     .summary = "A PEM file: the private key of tls-cert, without a password."},
    {.name = "tls-only",
     .field = &Options::tls_only,
     .fallback = "false",
     .summary = "Leaves out port: who comes by TCP has to speak TLS."},
    {.name = "tls-port",
     .field = &Options::tls_port,
     .fallback = "0",
     .min = 0,
     .max = 65'535,
     .summary = "The TCP port to speak TLS on, at the addresses of bind; 0 is none."},
    {.name = "unclean-restart",
     .field = &Options::unclean_restart,
     .fallback = "full",
     .choices = "full|empty",
     .summary =
         "After a crash, what a bucket is of which nothing is known: full, or empty (every key of "
         "every known limit has just used it up)."},
    {.name = "unix-socket",
     .field = &Options::unix_socket,
     .fallback = "",
     .redis_alias = "unixsocket",
     .summary = "The path of a Unix socket to listen on, too."},
    {.name = "unix-socket-perm",
     .field = &Options::unix_socket_perm,
     .fallback = "700",
     .choices = "700|770|777",
     .redis_alias = "unixsocketperm",
     .summary = "Who may connect to unix-socket: its owner, its group too, or everybody."},
    {.name = "users-file",
     .field = &Options::users_file,
     .fallback = "",
     .redis_alias = "aclfile",
     .summary =
         "A file of users, one a line in the form of Redis's ACL files; read at the start and at "
         "ACL LOAD."},
});

static_assert(std::ranges::is_sorted(kOptions, {}, &OptionSpec::name));

const OptionSpec* FindOption(std::string_view name) {
  const auto found = std::ranges::find(kOptions, name, &OptionSpec::name);
  return found == kOptions.end() ? nullptr : &*found;
}

// --- One type of value after the other: Parse* gives the value or nothing, Print* the text ------

// The address in its usual spelling.
std::optional<std::string> ParseAddress(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> spelled{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), bytes.data()) != 1) continue;
    return inet_ntop(family, bytes.data(), spelled.data(), spelled.size());
  }
  return std::nullopt;
}

std::optional<AddressList> ParseAddresses(std::string_view text) {
  AddressList addresses;
  for (const absl::string_view word :
       absl::StrSplit(AbslView(text), absl::ByAnyChar(", "), absl::SkipEmpty())) {
    std::optional<std::string> address = ParseAddress(std::string(StdView(word)));
    if (!address || addresses.size() == kBindAddressesMax) return std::nullopt;
    if (std::ranges::find(addresses, *address) != addresses.end()) return std::nullopt;
    addresses.push_back(*std::move(address));
  }
  if (addresses.empty()) return std::nullopt;
  return addresses;
}

std::optional<std::int64_t> ParseNumber(const OptionSpec& spec, std::string_view text) {
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number < spec.min || *number > spec.max) return std::nullopt;
  return number;
}

struct SizeUnit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<SizeUnit, 8> kSizeUnits = {{{"", 1},
                                                 {"b", 1},
                                                 {"k", 1'000},
                                                 {"kb", 1 << 10},
                                                 {"m", 1'000'000},
                                                 {"mb", 1 << 20},
                                                 {"g", 1'000'000'000},
                                                 {"gb", 1 << 30}}};

std::optional<ByteCount> ParseSize(const OptionSpec& spec, std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find_if(kSizeUnits, [&](const SizeUnit& known) {
    return EqualsIgnoreCase(known.name, text.substr(digits));
  });
  const std::optional<std::int64_t> number = ParseInteger(text.substr(0, digits));
  if (unit == kSizeUnits.end() || !number || *number > spec.max / unit->bytes) return std::nullopt;
  const std::int64_t bytes = *number * unit->bytes;
  if (bytes != 0 && bytes < spec.min) return std::nullopt;
  return ByteCount{bytes};
}

struct TimeUnit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<TimeUnit, 4> kTimeUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};

std::optional<milliseconds> ParseDuration(const OptionSpec& spec, std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  const auto found = std::ranges::find(kTimeUnits, unit, &TimeUnit::name);
  if (found == kTimeUnits.end() && text != "0") return std::nullopt;
  const std::int64_t unit_millis = text == "0" ? 1 : found->millis;
  const std::optional<std::int64_t> number = ParseInteger(text.substr(0, digits));
  if (!number || *number > spec.max / unit_millis) return std::nullopt;
  const milliseconds duration{*number * unit_millis};
  if (duration.count() < spec.min) return std::nullopt;
  return duration;
}

std::string PrintDuration(milliseconds duration) {
  const std::int64_t millis = duration.count();
  if (millis % 1000 != 0) return absl::StrCat(millis, "ms");
  return absl::StrCat(millis / 1000, "s");
}

std::optional<bool> ParseFlag(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<std::string> ParseWord(const OptionSpec& spec, std::string_view text) {
  if (!spec.choices.empty()) {
    const std::vector<std::string> choices = absl::StrSplit(AbslView(spec.choices), '|');
    if (std::ranges::find(choices, text) == choices.end()) return std::nullopt;
  }
  return std::string(text);
}

// --- What would be right -------------------------------------------------------------------------

std::string Expected(const OptionSpec&, AddressList Options::*) {
  return absl::StrCat("1 to ", kBindAddressesMax,
                      " different IP addresses, separated by commas, as in 127.0.0.1,::1");
}
std::string Expected(const OptionSpec& spec, std::int64_t Options::*) {
  return absl::StrCat("an integer from ", spec.min, " to ", spec.max);
}
std::string Expected(const OptionSpec& spec, ByteCount Options::*) {
  return absl::StrCat("0, or a size from ", spec.min >> 20, "mb to ", spec.max >> 30,
                      "gb with a unit (kb, mb, gb)");
}
std::string Expected(const OptionSpec& spec, milliseconds Options::*) {
  return absl::StrCat("a time from ", PrintDuration(milliseconds{spec.min}), " to ",
                      PrintDuration(milliseconds{spec.max}), " with a unit (ms, s, m, h)");
}
std::string Expected(const OptionSpec&, bool Options::*) { return "true or false"; }
std::string Expected(const OptionSpec& spec, std::string Options::*) {
  return absl::StrCat("one of ", absl::StrReplaceAll(AbslView(spec.choices), {{"|", ", "}}));
}

// --- The command line and the file ---------------------------------------------------------------

// How --help shows the value, and what it is if nothing is said.
std::string ValueText(const OptionSpec& spec) {
  struct TypeName {
    const char* operator()(AddressList Options::*) const { return "ADDRESSES"; }
    const char* operator()(std::int64_t Options::*) const { return "NUMBER"; }
    const char* operator()(ByteCount Options::*) const { return "SIZE"; }
    const char* operator()(milliseconds Options::*) const { return "TIME"; }
    const char* operator()(bool Options::*) const { return ""; }
    const char* operator()(std::string Options::*) const { return "WORD"; }
  };
  return absl::StrCat(std::visit(TypeName(), spec.field), spec.fallback.empty() ? "" : "=",
                      AbslView(spec.fallback));
}

// A missing value arrives as an empty one, so that the same error says what would be right.
CLI::Option* AddOption(CLI::App& app, const OptionSpec& spec) {
  const std::string name = absl::StrCat("--", AbslView(spec.name));
  const std::string help = OptionHelp(spec);
  if (std::holds_alternative<bool Options::*>(spec.field)) return app.add_flag(name, help);
  CLI::Option* option = app.add_option(name, CLI::callback_t(), help);
  return option->expected(0, 1)->option_text(ValueText(spec));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto failure = [&path] {
    return absl::InvalidArgumentError(absl::StrCat("option 'config': cannot read ", Quote(path),
                                                   ": ", std::generic_category().message(errno)));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure();
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return failure();
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kConfigBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("option 'config': ", Quote(path),
                                                   " is longer than ", kConfigBytesMax, " bytes"));
  }
  return text;
}

// One `name = value` of the file.
absl::Status ApplyConfigItem(const CLI::ConfigItem& item, Options& options) {
  if (!item.parents.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown section ", Quote(item.parents.front()), ": options stand alone"));
  }
  const OptionSpec* spec = FindOption(item.name);
  if (spec == nullptr || spec->name == "config") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown option ", Quote(item.name), ": see weir-server --help"));
  }
  const bool is_list = std::holds_alternative<AddressList Options::*>(spec->field);
  if (item.inputs.size() > 1 && !is_list) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", AbslView(spec->name), "': more than one value"));
  }
  return SetOption(*spec, absl::StrJoin(item.inputs, ","), options);
}

// CLI11 makes one list of two values in a row, so this is told from the lines. Those inside of a
// list begin with no option's name.
absl::Status CheckGivenOnce(std::string_view text) {
  std::vector<const OptionSpec*> seen;
  for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
    std::string name(absl::StripAsciiWhitespace(line.substr(0, line.find_first_of("=#"))));
    const OptionSpec* spec = FindOption(CLI::detail::remove_quotes(name));
    if (spec == nullptr) continue;
    if (std::ranges::find(seen, spec) != seen.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("option '", AbslView(spec->name), "': given twice"));
    }
    seen.push_back(spec);
  }
  return absl::OkStatus();
}

absl::Status ApplyFile(const std::string& path, Options& options) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  absl::Status applied = CheckGivenOnce(*text);
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream)) {
    if (applied.ok()) applied = ApplyConfigItem(item, options);
  }
  if (applied.ok()) return applied;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", applied.message()));
}

}  // namespace

std::span<const OptionSpec> OptionTable() noexcept { return kOptions; }

Options DefaultOptions() {
  Options options;
  for (const OptionSpec& spec : kOptions) {
    WEIR_CHECK(SetOption(spec, spec.fallback, options).ok());
  }
  return options;
}

absl::Status SetOption(const OptionSpec& spec, std::string_view text, Options& options) {
  const auto set = [&](auto field) -> absl::Status {
    auto value = [&] {
      using Value = std::remove_cvref_t<decltype(options.*field)>;
      if constexpr (std::is_same_v<Value, AddressList>) return ParseAddresses(text);
      if constexpr (std::is_same_v<Value, std::int64_t>) return ParseNumber(spec, text);
      if constexpr (std::is_same_v<Value, ByteCount>) return ParseSize(spec, text);
      if constexpr (std::is_same_v<Value, milliseconds>) return ParseDuration(spec, text);
      if constexpr (std::is_same_v<Value, bool>) return ParseFlag(text);
      if constexpr (std::is_same_v<Value, std::string>) return ParseWord(spec, text);
    }();
    if (!value) {
      return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(spec.name),
                                                     "': invalid value ", Quote(text), ": must be ",
                                                     ExpectedText(spec)));
    }
    options.*field = *std::move(value);
    return absl::OkStatus();
  };
  return std::visit(set, spec.field);
}

std::string ExpectedText(const OptionSpec& spec) {
  return std::visit([&](auto field) { return Expected(spec, field); }, spec.field);
}

std::string OptionHelp(const OptionSpec& spec) {
  return absl::StrCat(AbslView(spec.summary), spec.live ? " CONFIG SET may change it." : "");
}

std::string OptionText(const OptionSpec& spec, const Options& options) {
  struct Printer {
    std::string operator()(AddressList Options::*field) const {
      return absl::StrJoin(options.*field, ",");
    }
    std::string operator()(std::int64_t Options::*field) const {
      return absl::StrCat(options.*field);
    }
    std::string operator()(ByteCount Options::*field) const {
      return absl::StrCat((options.*field).bytes);
    }
    std::string operator()(milliseconds Options::*field) const {
      return PrintDuration(options.*field);
    }
    std::string operator()(bool Options::*field) const { return options.*field ? "true" : "false"; }
    std::string operator()(std::string Options::*field) const { return options.*field; }

    const Options& options;
  };
  return std::visit(Printer{options}, spec.field);
}

// CLI11 splits the command line, words --help and reads the file's syntax; the values are ours. It
// throws, so this is where its exceptions end.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app("A rate-limit server that speaks the Redis protocol.", "weir-server");
  app.set_version_flag("--version", "weir " + std::string(kVersion));
  app.get_formatter()->column_width(34);
  app.allow_extras();
  std::vector<std::pair<const OptionSpec*, const CLI::Option*>> given;
  for (const OptionSpec& spec : kOptions) {
    CLI::Option* option = AddOption(app, spec);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    given.emplace_back(&spec, option);
  }
  CommandLine line{.options = DefaultOptions(), .print_and_exit = {}};
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.print_and_exit = app.help();
    return line;
  } catch (const CLI::CallForVersion& version) {
    line.print_and_exit = absl::StrCat(version.what(), "\n");
    return line;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown argument ", Quote(unknown.front()), ": see weir-server --help"));
  }
  // The file first: what the command line says then replaces it.
  const auto config = std::ranges::find(given, std::string_view("config"),
                                        [](const auto& pair) { return pair.first->name; });
  if (!config->second->results().empty()) {
    WEIR_RETURN_IF_ERROR(ApplyFile(config->second->results().back(), line.options));
  }
  for (const auto& [spec, option] : given) {
    if (option->results().empty()) continue;
    WEIR_RETURN_IF_ERROR(SetOption(*spec, option->results().back(), line.options));
  }
  return line;
}

}  // namespace weir
