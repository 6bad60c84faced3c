#include "server/config/options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>  // App has one

#include "core/base/byte_order_mark.h"
#include "core/base/check.h"
#include "core/base/hinted_word.h"
#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/config/option_help.h"
#include "server/config/option_rows.h"
#include "server/config/pair_list.h"
#include "server/config/spelled_settings.h"
#include "server/config/version.h"
#include "server/os/wipe.h"

namespace weir {
namespace {

// Options that earlier versions had. Using one is an error that gives the reason.
struct RemovedOption {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array<RemovedOption, 1> kRemovedOptions = {{
    {.name = "unclean-restart",
     .reason = "buckets that are not on disk are full after every restart; leave the option out"},
}};

constexpr std::size_t kConfigBytesMax = 1024 * 1024;

const OptionSpec* FindOption(std::string_view name) {
  const auto found = std::ranges::find(kOptionRows, name, &OptionSpec::name);
  return found == kOptionRows.end() ? nullptr : &*found;
}

// --- The command line and the file ---------------------------------------------------------------

// Takes a missing value for an empty one, so that the error for a wrong value covers it.
CLI::Option* AddOption(CLI::App& app, const std::string& name, bool is_flag = false) {
  CLI::Option* option = is_flag ? app.add_flag(name) : app.add_option(name, CLI::callback_t());
  if (!is_flag) option->expected(0, 1);
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
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

absl::Status GivenTwice(std::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(name), "': given twice"));
}

constexpr char kSeeHelp[] = ": see weir-server --help";

// Options of Redis that are not the alias of a row.
struct RedisOption {
  std::string_view name;
  std::string_view hint;
};
constexpr std::array kRedisOptions = {
    RedisOption{"appendonly", "weir saves with --data-dir, as --durability says"},
    RedisOption{"daemonize", "weir stays in the foreground: systemd or a container starts it"},
    RedisOption{"logfile", "weir logs to standard error"},
    RedisOption{"save", "weir saves with --data-dir, each --snapshot-interval"},
};

// The end of the error for an unknown option: the one that was probably meant.
std::string OptionHint(std::string_view name, std::string_view dashes) {
  const auto* const other = std::ranges::find(kRedisOptions, name, &RedisOption::name);
  if (other != kRedisOptions.end()) return absl::StrCat(": ", AbslView(other->hint));
  std::string_view meant = name == "slaveof" ? "replicaof" : "";
  for (const OptionSpec& spec : kOptionRows) {
    if (!spec.redis_alias.empty() && spec.redis_alias == name) meant = spec.name;
  }
  if (meant.empty()) meant = Nearest(name, kOptionRows, &OptionSpec::name);
  if (meant.empty() || meant == name) return kSeeHelp;
  return absl::StrCat(": did you mean ", AbslView(dashes), AbslView(meant), "?");
}

// The end of the error for an argument that is a path.
std::string PathHint(std::string_view path) {
  if (path.size() > kNearestBytesMax) return kSeeHelp;
  return absl::StrCat(": weir-server takes no file: did you mean --config ", HintedWord(path), "?");
}

// The error for an argument that is no option: a path, or an option without its dashes. What stands
// behind a '=' may be a password.
absl::Status UnknownArgumentError(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  const bool has_value = name.size() < argument.size();
  const bool is_file = !has_value && (name.ends_with(".conf") || name.ends_with(".toml"));
  const bool is_path =
      !name.starts_with('-') && (is_file || name.find('/') != std::string_view::npos);
  std::string hint;
  if (is_path) {
    hint = PathHint(argument);
  } else {
    const std::string_view word = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    hint = FindOption(word) == nullptr ? OptionHint(word, "--")
                                       : absl::StrCat(": did you mean --", AbslView(word), "?");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown argument ", Quote(is_path ? argument : name), hint));
}

// The error for a name that is no option; "--" stands before it on the command line only.
absl::Status UnknownOptionError(std::string_view dashes, std::string_view name) {
  const auto removed = std::ranges::find(kRemovedOptions, name, &RemovedOption::name);
  if (removed == kRemovedOptions.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown option ", Quote(absl::StrCat(AbslView(dashes), AbslView(name))),
                     OptionHint(name, dashes)));
  }
  return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(removed->name),
                                                 "' was removed: ", AbslView(removed->reason)));
}

absl::Status UnknownSectionError(std::string_view section) {
  return absl::InvalidArgumentError(
      absl::StrCat("unknown section ", Quote(section), ": options belong to no section"));
}

// The name up to a blank or quote. CLI11 takes a whole line without '=' for a name, and the rest of
// it may be a password, which errors must not quote.
std::string_view FirstWord(std::string_view name) {
  return name.substr(0, name.find_first_of(" \t\"'"));
}

// The error for a name that no option has. One with a dot is of a section.
absl::Status UnknownNameError(std::string_view name) {
  const std::string_view word = FirstWord(name);
  const std::size_t dot = word.find('.');
  return dot == std::string_view::npos ? UnknownOptionError("", word)
                                       : UnknownSectionError(word.substr(0, dot));
}

// Sets the option of one `name = value` in the file.
absl::Status ApplyConfigItem(const CLI::ConfigItem& item, Options& options) {
  if (!item.parents.empty()) return UnknownSectionError(Unspelled(item.parents.front()));
  const OptionSpec* spec = FindOption(item.name);
  if (spec == nullptr || spec->name == "config") return UnknownNameError(Unspelled(item.name));
  const bool is_list = std::holds_alternative<AddressList Options::*>(spec->field) ||
                       std::holds_alternative<HostList Options::*>(spec->field) ||
                       std::holds_alternative<ServerList Options::*>(spec->field) ||
                       std::holds_alternative<PortList Options::*>(spec->field) ||
                       std::holds_alternative<Percents Options::*>(spec->field);
  if (item.inputs.size() > 1 && !is_list) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", AbslView(spec->name), "': more than one value"));
  }
  std::string raw = absl::StrJoin(item.inputs, ",");
  std::string value = Unspelled(raw);
  absl::Status status = SetOption(*spec, value, options);
  Wipe(raw);  // It may be a password.
  Wipe(value);
  return status;
}

// The names that the lines of a file set, which CLI11 does not tell. Those within a list set none.
class LineNames {
 public:
  explicit LineNames(std::string_view text) {
    for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
      std::string name(absl::StripAsciiWhitespace(line.substr(0, line.find('='))));
      names_.push_back(std::move(CLI::detail::remove_quotes(name)));
    }
  }

  // The error with the place of a line, counted from 0.
  static absl::Status ErrorAt(const std::string& path, std::size_t line, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line + 1, ": ", what));
  }

  // The error with the place of an item: the first line that sets its name, or the first section.
  [[nodiscard]] absl::Status ErrorAt(const std::string& path, const CLI::ConfigItem& item,
                                     absl::string_view what) const {
    const auto found = std::ranges::find_if(names_, [&item](const std::string& name) {
      return name == item.name || name == item.fullname() ||
             (!item.parents.empty() && name.starts_with('['));
    });
    if (found == names_.end()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
    return ErrorAt(path, static_cast<std::size_t>(found - names_.begin()), what);
  }

  // Looks for options given twice, since CLI11 joins two such values to one list.
  [[nodiscard]] absl::Status CheckGivenOnce(const std::string& path) const {
    std::vector<const OptionSpec*> seen;
    for (std::size_t line = 0; line < names_.size(); ++line) {
      const OptionSpec* spec = FindOption(names_[line]);
      if (spec == nullptr) continue;
      if (std::ranges::find(seen, spec) != seen.end()) {
        return ErrorAt(path, line,
                       absl::StrCat("option '", AbslView(spec->name), "': given twice"));
      }
      seen.push_back(spec);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> names_;  // of each line
};

}  // namespace

std::span<const OptionSpec> OptionTable() noexcept { return kOptionRows; }

Options DefaultOptions() {
  Options options;
  for (const OptionSpec& spec : kOptionRows) {
    WEIR_CHECK(SetOption(spec, spec.fallback, options).ok());
  }
  return options;
}

std::string OptionHelp(const OptionSpec& spec) {
  return absl::StrCat(AbslView(spec.summary), spec.live ? " CONFIG SET may change it." : "");
}

std::vector<OpenPort> OpenPorts(const Options& options) {
  std::vector<OpenPort> open;
  const auto add = [&open](std::string_view name, const AddressList& addresses, std::int64_t port) {
    if (port != 0) open.push_back({name, addresses, static_cast<std::uint16_t>(port)});
  };
  // Port 0 of the Redis protocol stands for any free port.
  if (!options.tls_only) {
    open.push_back({"port", options.bind, static_cast<std::uint16_t>(options.port)});
  }
  add("tls-port", options.bind, options.tls_port);
  for (const std::uint16_t port : options.http_port.ports) {
    add("http-port", options.http_bind, port);
  }
  add("http-tls-port", options.http_bind, options.http_tls_port);
  add("admin-port", options.admin_bind, options.admin_port);
  return open;
}

DescriptorUse DescriptorUseOf(const Options& options) {
  std::int64_t listeners =
      (options.unix_socket.empty() ? 0 : 1) + (options.http_unix_socket.empty() ? 0 : 1);
  for (const OpenPort& open : OpenPorts(options)) {
    listeners += static_cast<std::int64_t>(open.addresses.size());
  }
  return {.threads = options.threads, .listeners = listeners, .keeps_state = options.keeps_state()};
}

namespace {

// Each port of an address is one option's. An address that stands for all of its kind has that port
// of each of them.
absl::Status CheckPorts(const Options& options) {
  const auto overlap = [](const std::string& a, const std::string& b) {
    const bool is_v6 = a.find(':') != std::string::npos;
    if (is_v6 != (b.find(':') != std::string::npos)) return false;
    const std::string_view all = is_v6 ? "::" : "0.0.0.0";
    return a == b || a == all || b == all;
  };
  const std::vector<OpenPort> open = OpenPorts(options);
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (open[i].port == 0 || open[i].port != open[before].port) continue;
      for (const std::string& address : open[i].addresses) {
        const auto taken =
            std::ranges::find_if(open[before].addresses,
                                 [&](const std::string& other) { return overlap(address, other); });
        if (taken == open[before].addresses.end()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("option '", AbslView(open[i].name), "': port ", open[i].port, " of ",
                         address, " is that of ", AbslView(open[before].name), ", too"));
      }
    }
  }
  return absl::OkStatus();
}

// An edge keeps nothing, and decides by what its primary has said.
absl::Status CheckEdge(const Options& options) {
  const auto others = std::to_array<std::pair<absl::string_view, bool>>({
      {"allow-explicit-time", options.allow_explicit_time},
      {"backup-dir", !options.backup_dir.empty()},
      {"data-dir", !options.data_dir.empty()},
      {"policies", !options.policies.empty()},
      {"replicaof", !options.replicaof.host.empty()},
      {"rls-config", !options.rls_config.empty()},
      {"rls-xds", !options.rls_xds.servers.empty()},
      {"sentinel", !options.sentinel.empty()},
  });
  for (const auto& [name, is_set] : others) {
    if (!is_set) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("option 'edge-of': does not go with ", name,
                     ", since an edge has no state of its own: its primary has it"));
  }
  return absl::OkStatus();
}

absl::Status CheckRls(const Options& options) {
  const bool has_xds = !options.rls_xds.servers.empty();
  const auto wrong = [](absl::string_view option, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("option '", option, "': ", what));
  };
  if (!options.serves_http()) {
    return wrong(has_xds ? "rls-xds" : "rls-config",
                 "needs an http-port, http-tls-port or http-unix-socket");
  }
  if (!has_xds) return absl::OkStatus();
  if (!options.rls_config.empty()) {
    return wrong("rls-xds", "does not go with rls-config: rules are from one of the two");
  }
  if (options.rls_xds.servers.size() > 1) return wrong("rls-xds", "has more than one server");
  if (!ParsePairs(options.rls_xds_node_metadata, '=')) {
    return wrong("rls-xds-node-metadata", "must be key=value,key=value");
  }
  const absl::Status headers = ParseHeaders(options.rls_xds_headers.text()).status();
  if (!headers.ok()) return wrong("rls-xds-headers", headers.message());
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTogether(const Options& options) {
  WEIR_RETURN_IF_ERROR(CheckPorts(options));
  if (options.durability == Durability::kAlways && options.data_dir.empty()) {
    return absl::InvalidArgumentError("option 'durability': always needs a data-dir");
  }
  if (options.tls_only && options.tls_port == 0) {
    return absl::InvalidArgumentError("option 'tls-only': needs a tls-port");
  }
  if (options.replication_tls && options.tls_ca.empty()) {
    return absl::InvalidArgumentError(
        "option 'replication-tls': needs the authority of the primary's certificate: --tls-ca");
  }
  if (options.serves_rls()) WEIR_RETURN_IF_ERROR(CheckRls(options));
  if (options.allow_explicit_time && !options.replicaof.host.empty()) {
    return absl::InvalidArgumentError(
        "option 'replicaof': does not go with allow-explicit-time, since a replica's time is that "
        "of its primary");
  }
  return options.is_edge() ? CheckEdge(options) : absl::OkStatus();
}

absl::Status ReadOptionsFile(const std::string& path, Options& options) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  return text.ok() ? ApplyOptionsFile(*text, path, options) : text.status();
}

absl::Status ApplyOptionsFile(std::string_view text, const std::string& path, Options& options) {
  const std::string settings = SpelledSettings(WithoutByteOrderMark(text));
  const LineNames names(settings);
  WEIR_RETURN_IF_ERROR(names.CheckGivenOnce(path));
  std::istringstream stream(settings);
  CLI::ConfigTOML reader;
  reader.comment('\n')->parentSeparator('\n');  // Neither is found, so names may have dots.
  for (const CLI::ConfigItem& item : reader.from_config(stream)) {
    const absl::Status applied = ApplyConfigItem(item, options);
    if (!applied.ok()) return names.ErrorAt(path, item, applied.message());
  }
  return absl::OkStatus();
}

// CLI11 splits the command line and parses the syntax of the file; values are parsed here. CLI11
// throws, and this function catches it.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app("", "weir-server");
  app.set_help_flag();
  app.set_version_flag("--version", "weir " + std::string(kVersion));
  app.allow_extras();
  std::vector<std::pair<const OptionSpec*, const CLI::Option*>> given;
  for (const OptionSpec& spec : kOptionRows) {
    const bool is_flag = std::holds_alternative<bool Options::*>(spec.field);
    given.emplace_back(&spec, AddOption(app, absl::StrCat("--", AbslView(spec.name)), is_flag));
  }
  const CLI::Option* const ping = AddOption(app, "--ping");
  const CLI::Option* const help = AddOption(app, "-h,--help");
  CommandLine line{.options = DefaultOptions()};
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    line.print_and_exit = absl::StrCat(version.what(), "\n");
    return line;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (!help->results().empty()) {
    absl::StatusOr<std::string> text = HelpText(help->results().back());
    if (!text.ok()) return text.status();
    line.print_and_exit = *std::move(text);
    return line;
  }
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    const std::string_view argument = unknown.front();
    const std::string_view name = argument.substr(0, argument.find('='));
    if (name.starts_with("--")) return UnknownOptionError("--", name.substr(2));
    return UnknownArgumentError(argument);
  }
  if (ping->results().size() > 1) return GivenTwice("ping");
  // The file comes first, so that the command line overrides it.
  const auto config = std::ranges::find(given, std::string_view("config"),
                                        [](const auto& pair) { return pair.first->name; });
  if (!config->second->results().empty()) {
    if (config->second->results().size() > 1) return GivenTwice("config");
    WEIR_RETURN_IF_ERROR(ReadOptionsFile(config->second->results().back(), line.options));
  }
  for (const auto& [spec, option] : given) {
    if (option->results().empty()) continue;
    if (option->results().size() > 1) return GivenTwice(spec->name);
    WEIR_RETURN_IF_ERROR(SetOption(*spec, option->results().back(), line.options));
  }
  if (!ping->results().empty()) line.ping = ping->results().back();
  return line;
}

}  // namespace weir
