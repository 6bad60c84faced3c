// The commands that clients send about their connection: greeting, authentication, names.
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/quote.h"
#include "core/status.h"
#include "protocol/arg_reader.h"
#include "protocol/integer.h"
#include "server/command.h"
#include "server/handlers.h"
#include "server/version.h"

namespace weir {
namespace {

constexpr std::size_t kClientNameBytesMax = 256;
constexpr std::string_view kDefaultUser = "default";
constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// A name that fits in a line of CLIENT LIST: printable, no space.
bool IsClientName(std::string_view name) {
  return name.size() <= kClientNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(AbslView(a), AbslView(b));
}

std::string BadName(std::string_view what) {
  return absl::StrCat(AbslView(what), " cannot contain spaces, newlines or special characters.");
}

// An error with a prefix other than ERR.
void FailWith(const Call& call, std::string_view error) {
  call.session.worker().counters.errors.Add();
  call.reply.Error(error);
}

// What HELLO asks for.
struct Greeting {
  std::optional<std::int64_t> protocol;
  std::optional<std::string_view> user;
  std::optional<std::string_view> client_name;
};

// The errors have their prefix: clients tell them apart by it.
absl::StatusOr<Greeting> ReadGreeting(std::span<const std::string_view> arguments) {
  Greeting greeting;
  if (arguments.empty()) return greeting;
  greeting.protocol = ParseInteger(arguments[0]);
  if (!greeting.protocol) {
    return absl::InvalidArgumentError("ERR Protocol version is not an integer or out of range");
  }
  if (*greeting.protocol < 2 || *greeting.protocol > 3) {
    return absl::InvalidArgumentError("NOPROTO unsupported protocol version");
  }
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t left = arguments.size() - i - 1;
    if (EqualsIgnoreCase(arguments[i], "AUTH") && left >= 2) {
      greeting.user = arguments[i + 1];
      i += 2;
    } else if (EqualsIgnoreCase(arguments[i], "SETNAME") && left >= 1) {
      greeting.client_name = arguments[++i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("ERR Syntax error in HELLO option ", Quote(arguments[i])));
    }
  }
  if (greeting.client_name && !IsClientName(*greeting.client_name)) {
    return absl::InvalidArgumentError(absl::StrCat("ERR ", BadName("Client names")));
  }
  return greeting;
}

}  // namespace

void Ping(Call& call) {
  if (call.arguments().empty()) return call.reply.SimpleString("PONG");
  call.reply.Bulk(call.arguments()[0]);
}

void Echo(Call& call) { call.reply.Bulk(call.arguments()[0]); }

void Quit(Call& call) {
  call.reply.SimpleString("OK");
  call.session.Close();
}

// The default user has no password, so whatever is given for it is right.
void Auth(Call& call) {
  const auto arguments = call.arguments();
  if (arguments.size() == 1) {
    return call.Fail(
        "AUTH <password> called without any password configured for the default user. Are you sure "
        "your configuration is correct?");
  }
  if (arguments[0] != kDefaultUser) return FailWith(call, kWrongPassword);
  call.reply.SimpleString("OK");
}

void Hello(Call& call) {
  const absl::StatusOr<Greeting> greeting = ReadGreeting(call.arguments());
  if (!greeting.ok()) return FailWith(call, StdView(greeting.status().message()));
  if (greeting->user && *greeting->user != kDefaultUser) return FailWith(call, kWrongPassword);
  ClientRecord& record = call.session.record();
  if (greeting->client_name) record.set_name(std::string(*greeting->client_name));
  if (greeting->protocol) {
    const int protocol = static_cast<int>(*greeting->protocol);
    record.protocol.store(protocol, std::memory_order_relaxed);
    call.reply.set_protocol(protocol);
  }
  call.reply.Map(7);
  call.reply.Bulk("server");
  call.reply.Bulk("weir");
  call.reply.Bulk("version");
  call.reply.Bulk(kRedisVersion);
  call.reply.Bulk("proto");
  call.reply.Integer(call.reply.protocol());
  call.reply.Bulk("id");
  call.reply.Integer(static_cast<std::int64_t>(record.id));
  call.reply.Bulk("mode");
  call.reply.Bulk("standalone");
  call.reply.Bulk("role");
  call.reply.Bulk("master");
  call.reply.Bulk("modules");
  call.reply.Array(0);
}

void Select(Call& call) {
  const std::optional<std::int64_t> index = ParseInteger(call.arguments()[0]);
  if (!index) return call.Fail("value is not an integer or out of range");
  if (*index != 0) return call.Fail("DB index is out of range");
  call.reply.SimpleString("OK");
}

void ClientId(Call& call) {
  call.reply.Integer(static_cast<std::int64_t>(call.session.record().id));
}

void ClientGetName(Call& call) {
  const std::string name = call.session.record().name();
  if (name.empty()) return call.reply.Null();
  call.reply.Bulk(name);
}

void ClientSetName(Call& call) {
  const std::string_view name = call.arguments()[0];
  if (!IsClientName(name)) return call.Fail(BadName("Client names"));
  call.session.record().set_name(std::string(name));
  call.reply.SimpleString("OK");
}

void ClientSetInfo(Call& call) {
  const std::string_view option = call.arguments()[0];
  const std::string_view value = call.arguments()[1];
  const bool name = EqualsIgnoreCase(option, "LIB-NAME");
  if (!name && !EqualsIgnoreCase(option, "LIB-VER")) {
    return call.Fail(absl::StrCat("Unrecognized option ", Quote(option)));
  }
  if (!IsClientName(value)) return call.Fail(BadName(name ? "lib-name" : "lib-ver"));
  ClientRecord& record = call.session.record();
  if (name) {
    record.set_library(std::string(value));
  } else {
    record.set_library_version(std::string(value));
  }
  call.reply.SimpleString("OK");
}

void ClientInfo(Call& call) { call.reply.Verbatim(call.session.record().Line(call.now) + "\n"); }

void ClientList(Call& call) {
  ArgReader arguments(call.arguments());
  std::string_view type = "normal";
  std::vector<std::int64_t> ids;
  if (arguments.TryKeyword("TYPE")) {
    type = arguments.Word("type");
  } else if (arguments.TryKeyword("ID")) {
    do {
      ids.push_back(arguments.Integer("client-id", 1, INT64_MAX));
    } while (!arguments.AtEnd());
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  constexpr std::string_view kTypes[] = {"normal", "master", "replica", "slave", "pubsub"};
  if (std::ranges::none_of(kTypes, [&](auto known) { return EqualsIgnoreCase(known, type); })) {
    return call.Fail(absl::StrCat("Unknown client type ", Quote(type)));
  }
  call.Charge(kWholeTableWork + ids.size());
  std::string lines;
  if (EqualsIgnoreCase(type, "normal")) {
    for (const auto& record : call.services().clients.All()) {
      const auto id = static_cast<std::int64_t>(record->id);
      if (!ids.empty() && std::ranges::find(ids, id) == ids.end()) continue;
      absl::StrAppend(&lines, record->Line(call.now), "\n");
    }
  }
  call.reply.Verbatim(lines);
}

}  // namespace weir
