// A command that is being executed: a row of the table (core/commands/command_spec.h), the words,
// the session that sent them, and where the reply goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/commands/command_spec.h"
#include "core/words/request.h"
#include "protocol/resp_writer.h"
#include "server/session/session.h"

namespace weir {

// One command being executed.
struct Call {
  const CommandSpec& spec;
  std::span<const std::string_view> words;  // as sent, the command's name (and subcommand's) first
  Instant now;                              // the execution time
  Session& session;
  RespWriter& reply;
  std::span<const HashedKey> keys = {};  // as ReadAhead::Command's
  bool queued = false;                   // it is one of a transaction's, so it may not wait
  bool failed = false;                   // it has answered an error

  [[nodiscard]] Services& services() const { return session.worker().services; }
  // The words behind the command's name, or behind that and the subcommand's.
  [[nodiscard]] std::span<const std::string_view> arguments() const;
  // Says that the command is more work than one unit (kWorkPerTurn), so that the turn ends sooner.
  void Charge(std::size_t units) const { session.Charge(units); }
  // Whether the buckets of these keys may be looked for: that is a visit of their partitions, and a
  // command of several keys, or one of a transaction, must not visit more than kSlotsPerCommand
  // slots. Answers an error where it may not.
  [[nodiscard]] bool MayLookAt(std::span<const std::string_view> names);
  // Says that the command may have changed what is kept on disk: where every change has to be there
  // before it is answered, the reply waits for that.
  void MarkDirty() const { session.DelayReplyUntilSaved(); }
  // The reply waits for a save, however the server is set.
  void AwaitSave() const { session.AwaitSave(); }
  // "ERR <message>"; returns so that a handler can say `return call.Fail(...)`.
  void Fail(std::string_view message);
  void Fail(const absl::Status& status);
  // An error with a prefix of its own: "NOPROTO ...".
  void ReplyError(std::string_view error);
  // The error of what may not be answered because it cannot be saved.
  void FailUnsaved();
  // While nothing may be changed: answers a request that would be admitted with that error, and
  // changes nothing. Returns whether it did.
  [[nodiscard]] bool RefusedUnsaved(const Request& request, Instant execution_time);
};

// The error of whatever may not be answered because it cannot be saved.
[[nodiscard]] std::string CannotSave(std::string_view reason);

}  // namespace weir
