// INFO, MODULE, MONITOR, SCRIPT KILL, SHUTDOWN, TIME, and the commands that weir answers with an
// error.
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "protocol/arg_reader.h"
#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/config/version.h"
#include "server/handlers/info.h"
#include "server/session/call.h"

namespace weir {

void Info(Call& call) {
  call.Charge(kWholeTableWork);
  call.reply.Verbatim(InfoText(call.services(), call.now, call.arguments()));
}

void ModuleList(Call& call) { call.reply.Array(0); }

// Refused in a transaction: the lines of a monitor come after the reply of EXEC.
void MonitorCommands(Call& call) {
  if (call.queued) return call.Fail("MONITOR isn't allowed for DENY BLOCKING client");
  call.client().StartMonitoring();
  call.reply.SimpleString("OK");
}

void Refuse(Call& call) { call.ReplyError(call.spec.refusal); }

// Sends no reply if it succeeds, as in Redis: the connection ends.
void Shutdown(Call& call) {
  ArgReader arguments(call.arguments());
  const bool abort = arguments.TryKeyword("ABORT");  // then the only argument
  bool save = false;
  bool no_save = false;
  while (!abort && !arguments.AtEnd()) {
    if (arguments.TryKeyword("SAVE")) {
      save = true;
    } else if (arguments.TryKeyword("NOSAVE")) {
      no_save = true;
    } else if (!arguments.TryKeyword("NOW") && !arguments.TryKeyword("FORCE")) {
      arguments.Fail("syntax error");
    }
    if (save && no_save) arguments.Fail("syntax error");
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  if (abort) return call.Fail("No shutdown in progress.");
  call.client().Close();
  call.services().request_shutdown(!no_save);
}

void Time(Call& call) {
  const auto since_epoch = call.now.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch - seconds);
  call.reply.Array(2);
  call.reply.Bulk(absl::StrCat(seconds.count()));
  call.reply.Bulk(absl::StrCat(micros.count()));
}

}  // namespace weir
