#include "server/commands/unknown_command.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

constexpr std::size_t kArgumentsBytesMax = 128;  // echoed bytes of an unknown command

// Commands of Redis that keep values, which weir does not.
constexpr auto kValueCommands = std::to_array<std::string_view>(
    {"APPEND", "BITCOUNT",    "BITFIELD",  "BITOP",         "BLPOP",   "BRPOP",
     "COPY",   "DECR",        "DECRBY",    "DUMP",          "EVAL",    "EVALSHA",
     "EXPIRE", "EXPIREAT",    "FCALL",     "FUNCTION",      "GET",     "GETBIT",
     "GETDEL", "GETEX",       "GETRANGE",  "GETSET",        "HDEL",    "HEXISTS",
     "HGET",   "HGETALL",     "HINCRBY",   "HKEYS",         "HLEN",    "HMGET",
     "HMSET",  "HSCAN",       "HSET",      "HSETNX",        "HVALS",   "INCR",
     "INCRBY", "INCRBYFLOAT", "LINDEX",    "LLEN",          "LPOP",    "LPUSH",
     "LRANGE", "LREM",        "LSET",      "LTRIM",         "MGET",    "MSET",
     "MSETNX", "PERSIST",     "PEXPIRE",   "PFADD",         "PFCOUNT", "PSETEX",
     "PTTL",   "RENAME",      "RESTORE",   "RPOP",          "RPUSH",   "SADD",
     "SCARD",  "SCRIPT",      "SETBIT",    "SETEX",         "SETNX",   "SETRANGE",
     "SET",    "SINTER",      "SISMEMBER", "SMEMBERS",      "SORT",    "SPOP",
     "SREM",   "SSCAN",       "STRLEN",    "SUNION",        "TTL",     "TYPE",
     "XADD",   "XLEN",        "XRANGE",    "XREAD",         "ZADD",    "ZCARD",
     "ZCOUNT", "ZINCRBY",     "ZRANGE",    "ZRANGEBYSCORE", "ZREM",    "ZREMRANGEBYSCORE",
     "ZSCORE"});

// What may follow Redis's text: empty, or what to type instead.
std::string Hint(std::string_view name) {
  if (name.size() > kNearestBytesMax) return "";
  const std::string upper = absl::AsciiStrToUpper(AbslView(name));
  const std::string own = "RL." + upper;
  if (upper == "THROTTLE") return "did you mean RL.ALLOW?";  // in the language of limits
  if (FindCommand(own) != nullptr) return absl::StrCat("did you mean ", own, "?");
  if (std::ranges::find(kValueCommands, upper) != kValueCommands.end()) {
    return "weir limits rates and stores no values: see RL.HELP";
  }
  if (!upper.starts_with("RL.")) return "";
  const std::string_view nearest = Nearest(upper, CommandTable(), [](const CommandSpec& spec) {
    return IsSubcommand(spec) ? std::string_view() : spec.name;
  });
  if (nearest.empty()) return "see RL.HELP";
  return absl::StrCat("did you mean ", AbslView(nearest), "?");
}

}  // namespace

std::string UnknownCommand(std::span<const std::string_view> words) {
  const CommandSpec* const container = FindCommand(words[0]);
  if (container && !IsSubcommand(*container)) {
    return absl::StrCat("ERR unknown subcommand '", AbslView(words[1].substr(0, kQuotedBytesMax)),
                        "'. Try ", AbslView(container->name), " HELP.");
  }
  std::string arguments;
  for (const std::string_view word : words.subspan(1)) {
    if (arguments.size() >= kArgumentsBytesMax) break;
    const std::string_view head = word.substr(0, kArgumentsBytesMax - arguments.size());
    absl::StrAppend(&arguments, "'", AbslView(head), "' ");
  }
  const std::string hint = Hint(words[0]);
  return absl::StrCat("ERR unknown command '", AbslView(words[0].substr(0, kQuotedBytesMax)),
                      "', with args beginning with: ", arguments, hint.empty() ? "" : "- ", hint);
}

}  // namespace weir
