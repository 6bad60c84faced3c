#include "server/command.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/status.h"
#include "server/command_table.h"

namespace weir {

std::string CannotSave(std::string_view reason) {
  return absl::StrCat("MISCONF cannot save to disk: ", AbslView(reason));
}

std::span<const std::string_view> Call::arguments() const {
  return words.subspan(IsSubcommand(spec) ? 2 : 1);
}

void Call::Fail(std::string_view message) const {
  session.worker().counters.errors.Add();
  reply.Error(absl::StrCat("ERR ", AbslView(message)));
}

void Call::FailUnsaved() const {
  session.worker().counters.errors.Add();
  reply.Error(CannotSave(services().state->status().error));
}

void Call::Fail(const absl::Status& status) const { Fail(StdView(status.message())); }

}  // namespace weir
