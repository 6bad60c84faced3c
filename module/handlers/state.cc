// RL.STATE: the command that replicas and AOF files get in place of the clients' commands.
#include "core/words/number_word.h"
#include "module/handlers/call.h"
#include "module/handlers/command_table.h"
#include "module/values/open_key.h"
#include "module/values/state_bytes.h"

namespace weir {
namespace {

// A time that a key expires at, in ms; "-1" is never.
absl::StatusOr<std::int64_t> ReadExpiry(std::string_view word) {
  if (word == "-1") return redis::kNoExpiry;
  return ReadNumber("expiry", word, 0, INT64_MAX);
}

}  // namespace

// RL.STATE key expiry-ms state: sets the buckets and holds of the key, and when it expires (-1:
// never). Only primaries and AOF files send it.
void RlState(Call& call) {
  const auto arguments = call.arguments();
  const absl::StatusOr<std::int64_t> expiry = ReadExpiry(arguments[1]);
  if (!expiry.ok()) return call.Fail(expiry.status());
  const auto state = ReadStateBytes(arguments[2], TheModule().policies);
  if (!state) return call.Fail("invalid state of a key");
  OpenKey key(TheModule(), call.context, call.NameOf(arguments[0]), redis::kWrite);
  if (key.is_of_another_type()) return call.FailWrongType();
  key.Replace(*state);
  key.CommitAsTold(*expiry);
  call.reply.SimpleString("OK");
}

}  // namespace weir
