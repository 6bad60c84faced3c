// SLOWLOG: shows the latest commands that took long.
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::int64_t kEntriesDefault = 10;
constexpr std::size_t kReplyBytesMax = 512 * 1024;  // the last entry may exceed it

void WriteEntry(RespWriter& reply, const SlowLog::Entry& entry) {
  using std::chrono::floor;
  reply.Array(6);
  reply.Integer(static_cast<std::int64_t>(entry.id));
  reply.Integer(floor<std::chrono::seconds>(entry.at.time_since_epoch()).count());
  reply.Integer(floor<std::chrono::microseconds>(entry.duration).count());
  reply.Array(entry.arguments.size());
  for (const std::string& argument : entry.arguments) reply.Bulk(argument);
  reply.Bulk(entry.address);
  reply.Bulk(entry.client_name);
}

}  // namespace

void SlowlogGet(Call& call) {
  std::int64_t count = kEntriesDefault;
  if (!call.arguments().empty()) {
    const std::optional<std::int64_t> asked = ParseInteger(call.arguments()[0]);
    if (!asked || *asked < -1) return call.Fail("count should be greater than or equal to -1");
    count = *asked == -1 ? std::numeric_limits<std::int64_t>::max() : *asked;
  }
  const auto entries =
      call.services().observers.slow_log.Latest(static_cast<std::size_t>(count), kReplyBytesMax);
  call.Charge(entries.size());
  call.reply.Array(entries.size());
  for (const SlowLog::Entry& entry : entries) WriteEntry(call.reply, entry);
}

void SlowlogLen(Call& call) {
  call.reply.Integer(static_cast<std::int64_t>(call.services().observers.slow_log.size()));
}

void SlowlogReset(Call& call) {
  call.services().observers.slow_log.Reset();
  call.reply.SimpleString("OK");
}

}  // namespace weir
