// The values of options: Parse and Print for each type, and the words for what a type accepts.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/integer.h"
#include "server/config/options.h"
#include "server/os/wipe.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kHostLabelBytesMax = 63;  // between two dots of a host name: RFC 1035, 2.3.4

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

// True for a text such as 10.0.0 or 1.2.3.456, which browsers take for an IPv4 address and name in
// another form, or not at all.
bool IsBrokenAddress(const std::string& host) {
  const std::string last = host.substr(host.rfind('.') + 1);
  const bool is_number = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  return is_number && !ParseAddress(host);
}

std::optional<AddressList> Parse(const OptionSpec&, std::string_view text, AddressList Options::*) {
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

// A blank beside a comma is no part of a name, and one in a name is an error: the name may be meant
// as two, or as none.
std::optional<HostList> Parse(const OptionSpec&, std::string_view text, HostList Options::*) {
  HostList hosts;
  if (text.empty()) return hosts;
  for (const absl::string_view word : absl::StrSplit(AbslView(text), ',')) {
    std::optional<std::string> host = ParseHost(StdView(absl::StripAsciiWhitespace(word)));
    if (!host || hosts.names.size() == kHostNamesMax || IsBrokenAddress(*host)) return std::nullopt;
    if (std::ranges::find(hosts.names, *host) != hosts.names.end()) return std::nullopt;
    hosts.names.push_back(*std::move(host));
  }
  return hosts;
}

std::optional<HostName> Parse(const OptionSpec&, std::string_view text, HostName Options::*) {
  if (text.empty()) return HostName{};
  std::optional<std::string> name = ParseHost(text);
  if (!name) return std::nullopt;
  return HostName{*std::move(name)};
}

// `end`: of the host, where the text has a mark before the port.
std::optional<HostAndPort> ParseServer(std::string_view text, std::size_t end) {
  end = std::min(end, text.size());
  std::string_view name = text.substr(0, end);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  std::optional<std::string> host = ParseHost(name);
  const auto port = ParseInteger(text.substr(std::min(end + 1, text.size())));
  if (!host || !port || *port < 1 || *port > UINT16_MAX) return std::nullopt;
  return HostAndPort{*std::move(host), static_cast<std::uint16_t>(*port)};
}

std::optional<HostAndPort> Parse(const OptionSpec&, std::string_view text, HostAndPort Options::*) {
  if (text.empty()) return HostAndPort{};
  return ParseServer(text, text.find(' '));
}

std::optional<ServerList> Parse(const OptionSpec&, std::string_view text, ServerList Options::*) {
  ServerList list;
  if (text.empty()) return list;
  for (const absl::string_view word : absl::StrSplit(AbslView(text), ',')) {
    const std::string_view server = StdView(absl::StripAsciiWhitespace(word));
    std::optional<HostAndPort> one = ParseServer(server, server.rfind(':'));
    if (!one || list.servers.size() == kServersMax) return std::nullopt;
    if (std::ranges::find(list.servers, *one) != list.servers.end()) return std::nullopt;
    list.servers.push_back(*std::move(one));
  }
  return list;
}

std::optional<PortList> Parse(const OptionSpec&, std::string_view text, PortList Options::*) {
  PortList list;
  if (text == "0") return list;
  for (const absl::string_view word :
       absl::StrSplit(AbslView(text), absl::ByAnyChar(", "), absl::SkipEmpty())) {
    const std::optional<std::int64_t> port = ParseInteger(StdView(word));
    if (!port || *port < 1 || *port > UINT16_MAX || list.ports.size() == kPortsMax) {
      return std::nullopt;
    }
    if (std::ranges::count(list.ports, *port) != 0) return std::nullopt;
    list.ports.push_back(static_cast<std::uint16_t>(*port));
  }
  if (list.ports.empty()) return std::nullopt;
  return list;
}

std::optional<Percents> Parse(const OptionSpec&, std::string_view text, Percents Options::*) {
  return ReadPercents(text);
}

std::optional<std::int64_t> Parse(const OptionSpec& spec, std::string_view text,
                                  std::int64_t Options::*) {
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number < spec.min || *number > spec.max) return std::nullopt;
  return number;
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Parses digits and a unit into a number of the unit whose factor is 1. Unset if it exceeds `max`.
std::optional<std::int64_t> ParseQuantity(std::string_view text, std::span<const Unit> units,
                                          std::int64_t max) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find(units, text.substr(digits), &Unit::name);
  const std::optional<std::int64_t> number = ParseInteger(text.substr(0, digits));
  if (unit == units.end() || !number || *number > max / unit->factor) return std::nullopt;
  return *number * unit->factor;
}

std::optional<ByteCount> Parse(const OptionSpec& spec, std::string_view text,
                               ByteCount Options::*) {
  constexpr auto kUnits = std::to_array<Unit>({{"", 1},
                                               {"b", 1},
                                               {"k", 1'000},
                                               {"kb", 1 << 10},
                                               {"m", 1'000'000},
                                               {"mb", 1 << 20},
                                               {"g", 1'000'000'000},
                                               {"gb", 1 << 30}});
  const auto bytes = ParseQuantity(absl::AsciiStrToLower(AbslView(text)), kUnits, spec.max);
  if (!bytes || (*bytes != 0 && *bytes < spec.min)) return std::nullopt;
  return ByteCount{*bytes};
}

std::optional<milliseconds> Parse(const OptionSpec& spec, std::string_view text,
                                  milliseconds Options::*) {
  constexpr auto kUnits =
      std::to_array<Unit>({{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}});
  const auto millis = ParseQuantity(text == "0" ? "0s" : text, kUnits, spec.max);
  if (!millis || *millis < spec.min) return std::nullopt;
  return milliseconds{*millis};
}

std::optional<std::string> Parse(const OptionSpec&, std::string_view text, std::string Options::*) {
  return std::string(text);
}

std::optional<Secret> Parse(const OptionSpec&, std::string_view text, Secret Options::*) {
  return Secret(text);
}

std::optional<bool> Parse(const OptionSpec&, std::string_view text, bool Options::*) {
  if (text == "true" || text == "yes") return true;
  if (text == "false" || text == "no") return false;
  return std::nullopt;
}

template <typename Word>
std::optional<Word> Parse(const OptionSpec&, std::string_view text, Word Options::*) {
  const std::vector<std::string> words = absl::StrSplit(AbslView(OptionWords(Word{})), '|');
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Word>(found - words.begin());
}

std::string Print(const AddressList& addresses) { return absl::StrJoin(addresses, ","); }
std::string Print(const HostList& hosts) { return absl::StrJoin(hosts.names, ","); }
std::string Print(const HostName& host) { return host.name; }
std::string Print(const HostAndPort& server) {
  return server.host.empty() ? "" : absl::StrCat(server.host, " ", server.port);
}
std::string Print(const ServerList& list) {
  return absl::StrJoin(list.servers, ",", [](std::string* text, const HostAndPort& server) {
    text->append(AddressText(server));
  });
}
std::string Print(const PortList& list) {
  return list.ports.empty() ? "0" : absl::StrJoin(list.ports, ",");
}
std::string Print(const Percents& percents) {
  std::string text;
  for (const int value : percents.values) {
    if (value != 0) absl::StrAppend(&text, text.empty() ? "" : ",", value);
  }
  return text;
}
std::string Print(std::int64_t number) { return absl::StrCat(number); }
std::string Print(ByteCount size) { return absl::StrCat(size.bytes); }
std::string Print(milliseconds duration) {
  const std::int64_t millis = duration.count();
  if (millis % 1000 != 0) return absl::StrCat(millis, "ms");
  return absl::StrCat(millis / 1000, "s");
}
std::string Print(const std::string& text) { return text; }
std::string Print(const Secret& secret) { return secret.text(); }
template <typename Word>
std::string Print(Word word) {
  return std::string(WordOf(word));
}

// --- The values that each type accepts, for errors -----------------------------------------------

std::string Expected(const OptionSpec&, AddressList Options::*) {
  return absl::StrCat("1 to ", kBindAddressesMax,
                      " different IP addresses, separated by commas, as in 127.0.0.1,::1");
}
std::string Expected(const OptionSpec&, HostList Options::*) {
  return absl::StrCat("at most ", kHostNamesMax,
                      " different host names without a port, separated by commas, as in "
                      "weir.internal");
}
std::string Expected(const OptionSpec&, HostName Options::*) {
  return "a host name or an IP address, as in weir.internal";
}
std::string Expected(const OptionSpec&, HostAndPort Options::*) {
  return "a host and a port from 1 to 65535, as in \"10.0.0.1 7379\"";
}
std::string Expected(const OptionSpec&, ServerList Options::*) {
  return absl::StrCat("at most ", kServersMax,
                      " different hosts with a port, separated by commas, as in "
                      "10.0.0.1:7379,10.0.0.2:7379");
}
std::string Expected(const OptionSpec&, PortList Options::*) {
  return absl::StrCat("0, or 1 to ", kPortsMax,
                      " different ports from 1 to 65535, separated by commas, as in 8081,8080");
}
std::string Expected(const OptionSpec&, Percents Options::*) {
  return absl::StrCat("at most ", kPercentsMax,
                      " different integers from 1 to 100, separated by commas, as in 80,95,100");
}
std::string Expected(const OptionSpec& spec, std::int64_t Options::*) {
  return absl::StrCat("an integer from ", spec.min, " to ", spec.max);
}
std::string Expected(const OptionSpec& spec, ByteCount Options::*) {
  return absl::StrCat("0, or a size from ", spec.min >> 20, "mb to ", spec.max >> 30,
                      "gb with a unit (kb, mb, gb)");
}
std::string Expected(const OptionSpec& spec, milliseconds Options::*) {
  return absl::StrCat("a time from ", Print(milliseconds{spec.min}), " to ",
                      Print(milliseconds{spec.max}), " with a unit (ms, s, m, h)");
}
std::string Expected(const OptionSpec&, bool Options::*) { return "true or false"; }
std::string Expected(const OptionSpec&, std::string Options::*) { return "any text"; }
std::string Expected(const OptionSpec&, Secret Options::*) { return "any text"; }
template <typename Word>
std::string Expected(const OptionSpec&, Word Options::*) {
  return absl::StrCat("one of ", absl::StrReplaceAll(AbslView(OptionWords(Word{})), {{"|", ", "}}));
}

}  // namespace

std::optional<std::string> ParseHost(std::string_view text) {
  const auto is_of_name = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  std::string name = absl::AsciiStrToLower(AbslView(text));
  if (std::optional<std::string> address = ParseAddress(name)) return address;
  if (name.empty() || name.size() > kHostNameBytesMax) return std::nullopt;
  if (!std::ranges::all_of(name, is_of_name)) return std::nullopt;
  // The name of the root may stand at the end: "weir.internal."
  for (const absl::string_view label : absl::StrSplit(absl::StripSuffix(name, "."), '.')) {
    if (label.empty() || label.size() > kHostLabelBytesMax) return std::nullopt;
    if (label.front() == '-' || label.back() == '-') return std::nullopt;
  }
  return name;
}

absl::Status SetOption(const OptionSpec& spec, std::string_view text, Options& options) {
  const auto set = [&](auto field) {
    auto value = Parse(spec, text, field);
    if (!value) return false;
    options.*field = *value;
    return true;
  };
  if (std::visit(set, spec.field)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(spec.name),
                                                 "': invalid value ", Quote(text), ": must be ",
                                                 ExpectedText(spec)));
}

std::string_view OptionKind(const OptionSpec& spec) {
  if (std::holds_alternative<bool Options::*>(spec.field)) return "FLAG";
  if (std::holds_alternative<AddressList Options::*>(spec.field)) return "ADDRESSES";
  if (std::holds_alternative<HostList Options::*>(spec.field)) return "HOSTS";
  if (std::holds_alternative<HostName Options::*>(spec.field)) return "HOST";
  if (std::holds_alternative<HostAndPort Options::*>(spec.field)) return "SERVER";
  if (std::holds_alternative<ServerList Options::*>(spec.field)) return "SERVERS";
  if (std::holds_alternative<PortList Options::*>(spec.field)) return "PORTS";
  if (std::holds_alternative<Percents Options::*>(spec.field)) return "PERCENTS";
  if (std::holds_alternative<std::int64_t Options::*>(spec.field)) return "NUMBER";
  if (std::holds_alternative<ByteCount Options::*>(spec.field)) return "SIZE";
  if (std::holds_alternative<milliseconds Options::*>(spec.field)) return "TIME";
  if (std::holds_alternative<std::string Options::*>(spec.field)) return "TEXT";
  if (std::holds_alternative<Secret Options::*>(spec.field)) return "TEXT";
  return "WORD";
}

std::string OptionChoices(const OptionSpec& spec) {
  return std::visit(
      [](auto field) -> std::string {
        using Value = std::remove_cvref_t<decltype(std::declval<Options>().*field)>;
        if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, bool>) {
          return std::string(OptionWords(Value{}));
        }
        return "";
      },
      spec.field);
}

std::string ExpectedText(const OptionSpec& spec) {
  return std::visit([&](auto field) { return Expected(spec, field); }, spec.field);
}

std::string OptionText(const OptionSpec& spec, const Options& options) {
  return std::visit([&](auto field) { return Print(options.*field); }, spec.field);
}

}  // namespace weir
