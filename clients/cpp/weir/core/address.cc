#include "weir/core/address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include "weir/core/utf8.h"
#include "weir/errors.h"

namespace weir::client {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 5> kSchemes = {"redis", "rediss", "unix", "redis+sentinel",
                                                      "rediss+sentinel"};
constexpr milliseconds kDeadlineMax = std::chrono::hours(1);

// What stands before the separator, and behind it; if there is none, all and nothing.
std::pair<std::string_view, std::string_view> Cut(std::string_view text, std::string_view at) {
  const std::size_t place = text.find(at);
  if (place == std::string_view::npos) return {text, {}};
  return {text.substr(0, place), text.substr(place + at.size())};
}

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A number of 1 to `digits_max` digits and nothing else.
std::optional<int> ParseNumber(std::string_view digits, std::size_t digits_max) {
  int number = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.empty() || digits.size() > digits_max || digits.front() == '-') return {};
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end) return {};
  return number;
}

std::string Decode(std::string_view text, const std::string& part) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const char* const end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      throw Mistake("the URL's " + part + " has a '%' that encodes nothing: a '%' is %25");
    }
    decoded.push_back(static_cast<char>(byte));
    i += 2;
  }
  if (!IsUtf8(decoded)) throw Mistake("the URL's " + part + " is no UTF-8 text");
  return decoded;
}

milliseconds ParseTime(std::string_view text) {
  const bool is_ms = text.ends_with("ms");
  const std::size_t unit = is_ms ? 2 : 1;
  std::optional<int> number;
  if (text.ends_with('s')) number = ParseNumber(text.substr(0, text.size() - unit), 7);
  if (!number) throw Mistake("the URL's deadline is like 50ms or 1s");
  return CheckDeadline(milliseconds(std::int64_t{*number} * (is_ms ? 1 : 1000)));
}

void ReadQuery(std::string_view query, bool has_ca, Address& address) {
  std::vector<std::string_view> seen;
  for (const std::string_view each :
       query.empty() ? std::vector<std::string_view>() : Split(query, '&')) {
    const auto [name, value] = Cut(each, "=");
    if (std::ranges::count(seen, name) > 0) {
      throw Mistake("the URL has the parameter " + std::string(name) + " twice");
    }
    if (name == "deadline") {
      address.deadline = ParseTime(value);
    } else if (name == "fail") {
      address.fail = ParseFail(value);
    } else if (name == "ca" && has_ca && !value.empty()) {
      address.ca = Decode(value, "ca");
    } else {
      throw Mistake(
          "the URL has an unknown parameter; it may have deadline and fail; rediss also ca");
    }
    seen.push_back(name);
  }
}

void ReadLogin(std::string_view login, Address& address) {
  const std::size_t colon = login.find(':');
  address.username = Decode(login.substr(0, colon), "user");
  if (colon != std::string_view::npos) {
    address.password = Decode(login.substr(colon + 1), "password");
  }
}

// Reads what is between the scheme and the parameters of a URL that has hosts.
void ReadHosts(std::string_view rest, bool has_sentinels, Address& address) {
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    ReadLogin(rest.substr(0, at), address);
    rest.remove_prefix(at + 1);
  }
  const auto [hosts, path] = Cut(rest, "/");
  if (has_sentinels) {
    if (path.empty()) {
      throw Mistake("the URL lacks the name of the primary: redis+sentinel://host/NAME");
    }
    for (const std::string_view host : Split(hosts, ',')) {
      address.places.push_back(ParsePlace(host, kSentinelPort));
    }
    address.master = Decode(path, "name");
    return;
  }
  if (!path.empty() && path != "0") {
    throw Mistake("weir has one database: the URL's path is empty or /0");
  }
  address.places.push_back(ParsePlace(hosts, kDefaultPort));
}

std::string ToString(const Place& place) {
  if (place.host.empty()) return place.path;
  const bool is_ipv6 = place.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

}  // namespace

std::string ToString(const Address& address) {
  if (address.places[0].host.empty()) return "unix://" + address.places[0].path;
  std::string text = address.uses_tls ? "rediss" : "redis";
  if (!address.master.empty()) text += "+sentinel";
  text += "://";
  if (!address.username.empty()) text += address.username + "@";
  for (std::size_t i = 0; i < address.places.size(); ++i) {
    text += (i == 0 ? "" : ",") + ToString(address.places[i]);
  }
  if (!address.master.empty()) text += "/" + address.master;
  return text;
}

Address ParseUrl(std::string_view url) {
  const bool has_scheme = url.find("://") != std::string_view::npos;
  const auto [name, rest] = Cut(url, "://");
  std::string scheme(name);
  for (char& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (has_scheme && (scheme == "http" || scheme == "https")) {
    throw Mistake("weir's HTTP has no client here: docs/http.md says how to ask it");
  }
  if (!has_scheme || std::ranges::count(kSchemes, scheme) == 0) {
    throw Mistake(
        "the URL does not begin with one of redis, rediss, unix, redis+sentinel, rediss+sentinel "
        "and ://");
  }
  if (std::ranges::any_of(rest, [](char c) {
        return c == '#' || (static_cast<unsigned char>(c) <= ' ') || c == '\x7F';
      })) {
    throw Mistake("the URL has a blank or a '#': percent-encode them");
  }
  const auto [body, query] = Cut(rest, "?");
  Address address;
  address.uses_tls = scheme.starts_with("rediss");
  ReadQuery(query, address.uses_tls, address);
  if (scheme == "unix") {
    if (!body.starts_with('/') || body == "/") {
      throw Mistake("the URL of a Unix socket has an absolute path: unix:///path");
    }
    address.places.push_back({"", 0, Decode(body, "path")});
  } else {
    ReadHosts(body, scheme.ends_with("+sentinel"), address);
  }
  return address;
}

Place ParsePlace(std::string_view text, std::uint16_t default_port) {
  constexpr std::string_view kIpv6 = "0123456789abcdefABCDEF:.%";
  const Mistake mistake("the URL's host is name, name:port, or an IPv6 address in brackets");
  std::string_view host;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) throw mistake;
    host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (host.find_first_not_of(kIpv6) != std::string_view::npos) throw mistake;
  } else {
    host = text.substr(0, text.find(':'));
    text.remove_prefix(host.size());
    if (host.find_first_of("][/,@") != std::string_view::npos) throw mistake;
  }
  if (host.empty()) throw mistake;
  if (text.empty()) return {std::string(host), default_port};
  const std::optional<int> port =
      text.starts_with(':') ? ParseNumber(text.substr(1), 5) : std::nullopt;
  if (!port) throw mistake;
  if (*port < 1 || *port > 65535) throw Mistake("the port is a number from 1 to 65535");
  return {std::string(host), static_cast<std::uint16_t>(*port)};
}

milliseconds CheckDeadline(milliseconds deadline) {
  if (deadline <= milliseconds(0) || deadline > kDeadlineMax) {
    throw Mistake("the deadline is above 0, and an hour at most");
  }
  return deadline;
}

}  // namespace weir::client
