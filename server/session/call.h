// A command that is being executed: its row of the table (core/commands/command_spec.h), its words,
// the session that sent it, and the writer of the reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/commands/command_spec.h"
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
  std::span<const HashedKey> keys = {};  // see ReadAhead::Command
  bool queued = false;                   // it belongs to a transaction, so it may not wait
  bool failed = false;                   // its reply is an error

  [[nodiscard]] Services& services() const { return session.worker().services; }
  [[nodiscard]] ClientState& client() const { return session.client(); }
  // The words behind the command's name and, if it has one, the subcommand's.
  [[nodiscard]] std::span<const std::string_view> arguments() const {
    return words.subspan(spec.Is(kSubcommand) ? 2 : 1);
  }
  // Adds units of work (kWorkPerTurn) to the one of every command, so that the turn ends sooner.
  void Charge(std::size_t units) const { session.work().Charge(units); }
  // Returns whether the buckets and holds of these keys may be looked for; if not, answers an
  // error. The look-up visits whole partitions, and a command with several keys, or in a
  // transaction, must not make more than kSlotsPerCommand visits.
  [[nodiscard]] bool MayLookAt(std::span<const std::string_view> names,
                               KeyWork work = KeyWork::kLook);
  // Says that the command may have changed the state on disk. With --durability always its reply
  // waits for a save, with --ack-replicas for replicas.
  void MarkDirty() const { session.delay().AwaitChange(); }
  // Makes the reply wait for a save, with any durability.
  void AwaitSave() const { session.delay().AwaitSave(); }
  // Makes the reply wait for a save, and for the thread of saves, which writes it at that end. It
  // must be among the tasks of that thread already.
  void AwaitLateReply(std::shared_ptr<const LateReply> late_reply);
  // Makes the primary's answer to an edge the reply.
  void AwaitUpstream(std::shared_ptr<const LateReply> late_reply);
  // Answers "ERR <message>". Returns nothing, so that a handler can write `return call.Fail(...)`.
  void Fail(std::string_view message);
  void Fail(const absl::Status& status);
  // Answers an error with a prefix of its own: "NOPROTO ...".
  void ReplyError(std::string_view error);
  // While changes are refused, answers with that error. Returns whether it did.
  [[nodiscard]] bool RefusedChange();
};

// The error that takes the place of a reply whose wait has failed.
[[nodiscard]] std::string ErrorOfWait(Replaced why, const WaitOutcome& outcome);

}  // namespace weir
