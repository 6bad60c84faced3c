// SAVE, BGSAVE, LASTSAVE: the state on disk.
#include <chrono>

#include "protocol/arg_reader.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::string_view kNothingKept =
    "nothing is kept on disk: see --data-dir and --durability";

}  // namespace

// The connection waits, its thread does not. It also waits for changes whose earlier save failed.
void Save(Call& call) {
  if (!call.services().state) return call.Fail(kNothingKept);
  call.AwaitSave();
  call.reply.SimpleString("OK");
}

void BgSave(Call& call) {
  ArgReader arguments(call.arguments());
  arguments.TryKeyword("SCHEDULE");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  if (!call.services().state) return call.Fail(kNothingKept);
  static_cast<void>(call.services().state->RequestSave());
  call.reply.SimpleString("Background saving started");
}

// Before the first save it returns the time of the start.
void LastSave(Call& call) {
  const Services& services = call.services();
  const Instant last = services.state
                           ? services.state->status().last_save.value_or(services.started)
                           : services.started;
  call.reply.Integer(std::chrono::floor<std::chrono::seconds>(last.time_since_epoch()).count());
}

}  // namespace weir
