#include "weir/core/settings.h"

#include <string>

#include "weir/errors.h"

namespace weir {

Fail ParseFail(std::string_view word) {
  if (word != "open" && word != "closed") throw Mistake("fail is 'open' or 'closed'");
  return word == "open" ? Fail::kOpen : Fail::kClosed;
}

namespace client {
namespace {

Place HostPlace(const Options& options) {
  std::string host = options.host.value_or("127.0.0.1");
  if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
  if (options.port) host += ":" + std::to_string(*options.port);
  return ParsePlace(host, kDefaultPort);
}

// The places that the options name, without a URL.
Address PlacesOf(const Options& options) {
  const bool has_host = options.host || options.port;
  const bool has_sentinels = !options.sentinels.empty() || options.master;
  Address address;
  if (options.unix_socket) {
    if (has_host || has_sentinels) {
      throw Mistake("a Unix socket has no host, port or sentinels");
    }
    if (options.unix_socket->empty()) throw Mistake("the path of the Unix socket is empty");
    address.places.push_back({"", 0, *options.unix_socket});
  } else if (has_sentinels) {
    if (options.sentinels.empty() || options.master.value_or("").empty()) {
      throw Mistake("sentinels need the name of their master, and that needs sentinels");
    }
    if (has_host) throw Mistake("sentinels are in place of host and port");
    for (const std::string& each : options.sentinels) {
      address.places.push_back(ParsePlace(each, kSentinelPort));
    }
    address.master = *options.master;
  } else {
    address.places.push_back(HostPlace(options));
  }
  return address;
}

[[noreturn]] void SaidTwice(const std::string& name) {
  throw Mistake("both the URL and an option say " + name);
}

// Adds what is besides the places.
void AddOptions(const Options& options, Address& address) {
  if (options.username) {
    if (!address.username.empty()) SaidTwice("username");
    address.username = *options.username;
  }
  if (options.password) {
    if (address.password) SaidTwice("password");
    address.password = options.password;
  }
  if (options.deadline) {
    if (address.deadline) SaidTwice("deadline");
    address.deadline = CheckDeadline(*options.deadline);
  }
  if (options.fail) {
    if (address.fail) SaidTwice("fail");
    address.fail = options.fail;
  }
  if (options.tls) {
    if (!address.ca.empty() && !options.tls->ca.empty()) SaidTwice("ca");
    address.uses_tls = true;
  }
  if (address.uses_tls && address.places[0].host.empty()) throw Mistake("a Unix socket has no TLS");
}

}  // namespace

Settings Check(const Options& options) {
  if (options.url && (options.host || options.port || options.unix_socket || options.master ||
                      !options.sentinels.empty())) {
    throw Mistake("a Limiter has a URL, or host and port, unix_socket, or sentinels");
  }
  Settings settings;
  settings.address = options.url ? ParseUrl(*options.url) : PlacesOf(options);
  AddOptions(options, settings.address);
  settings.tls = options.tls.value_or(Tls{});
  if (!settings.address.ca.empty()) settings.tls.ca = settings.address.ca;
  settings.deadline = settings.address.deadline.value_or(settings.deadline);
  settings.fail = settings.address.fail.value_or(settings.fail);
  settings.on_unavailable = options.on_unavailable;
  settings.clock = options.clock ? options.clock : Clock::now;
  settings.every = options.every;
  return settings;
}

}  // namespace client
}  // namespace weir
