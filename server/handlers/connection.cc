// The commands about the connection itself: HELLO, PING, ECHO, SELECT, RESET, QUIT.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/config/version.h"
#include "server/observe/client_name.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::string_view kHelloNeedsAuth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH "
    "<user> <pass> option can be used to authenticate the client and select the RESP protocol "
    "version at the same time";

// The arguments of HELLO.
struct Greeting {
  std::optional<std::int64_t> protocol;
  std::optional<std::string_view> user;
  std::string_view password;
  std::optional<std::string_view> client_name;
};

// The errors include their prefix, by which clients tell them apart.
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
      greeting.password = arguments[i + 2];
      i += 2;
    } else if (EqualsIgnoreCase(arguments[i], "SETNAME") && left >= 1) {
      greeting.client_name = arguments[++i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("ERR Syntax error in HELLO option ", Quote(arguments[i])));
    }
  }
  if (greeting.client_name && !IsClientName(*greeting.client_name)) {
    return absl::InvalidArgumentError(absl::StrCat("ERR ", kBadClientName));
  }
  return greeting;
}

}  // namespace

void Ping(Call& call) {
  if (call.client().is_subscribed_in_resp2()) {  // an answer in the form of a message
    call.reply.Array(2);
    call.reply.Bulk("pong");
    return call.reply.Bulk(call.arguments().empty() ? "" : call.arguments()[0]);
  }
  if (call.arguments().empty()) return call.reply.SimpleString("PONG");
  call.reply.Bulk(call.arguments()[0]);
}

void Echo(Call& call) { call.reply.Bulk(call.arguments()[0]); }

void Quit(Call& call) {
  call.reply.SimpleString("OK");
  call.client().Close();
}

void SayHello(Call& call) {
  const absl::StatusOr<Greeting> greeting = ReadGreeting(call.arguments());
  if (!greeting.ok()) return call.ReplyError(StdView(greeting.status().message()));
  if (greeting->user && !call.client().LogIn(call.words[0], *greeting->user, greeting->password)) {
    return call.ReplyError(kWrongPassword);
  }
  if (!call.client().user()) return call.ReplyError(kHelloNeedsAuth);
  ClientRecord& record = call.client().record();
  if (greeting->client_name) record.set_name(std::string(*greeting->client_name));
  if (greeting->protocol) {
    const int protocol = static_cast<int>(*greeting->protocol);
    record.protocol.store(protocol, std::memory_order_relaxed);
    call.reply.set_protocol(protocol);
  }
  call.reply.Map(7);
  call.reply.Field("server", "weir");
  call.reply.Field("version", kRedisVersion);
  call.reply.Field("proto", call.reply.protocol());
  call.reply.Field("id", static_cast<std::int64_t>(record.id));
  call.reply.Field("mode", "standalone");
  call.reply.Field("role", call.services().is_replica() ? "replica" : "master");
  call.reply.Bulk("modules");
  call.reply.Array(0);
}

void Reset(Call& call) {
  call.client().Reset();
  call.reply.set_protocol(2);
  call.reply.SimpleString("RESET");
}

void Select(Call& call) {
  const std::optional<std::int64_t> index = ParseInteger(call.arguments()[0]);
  if (!index) return call.Fail("value is not an integer or out of range");
  if (*index != 0) return call.Fail("DB index is out of range");
  call.reply.SimpleString("OK");
}

}  // namespace weir
