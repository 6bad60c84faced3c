#include "server/session/call.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "server/commands/command_table.h"

namespace weir {

std::string LowerName(const CommandSpec& spec) {
  return absl::AsciiStrToLower(AbslView(spec.name));
}

std::string WrongArity(const CommandSpec& spec) {
  return absl::StrCat("ERR wrong number of arguments for '", LowerName(spec), "' command");
}

std::string CannotSave(std::string_view reason) {
  return absl::StrCat("MISCONF cannot save to disk: ", AbslView(reason));
}

std::span<const std::string_view> Call::arguments() const {
  return words.subspan(IsSubcommand(spec) ? 2 : 1);
}

void Call::Fail(std::string_view message) { FailAs(absl::StrCat("ERR ", AbslView(message))); }

void Call::FailAs(std::string_view error) {
  failed = true;
  session.worker().Fail(reply, error);
}

void Call::FailUnsaved() { FailAs(CannotSave(services().state->status().error)); }

bool Call::RefusedUnsaved(const Request& request, Instant execution_time) {
  if (!services().refuses_changes()) return false;
  if (!services().limiter.Peek(request, execution_time).allowed) return false;
  FailUnsaved();
  return true;
}

void Call::Fail(const absl::Status& status) { Fail(StdView(status.message())); }

}  // namespace weir
