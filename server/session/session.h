// One client's conversation in the Redis protocol: the commands that it sends, their replies, and
// its waits. ClientState has what commands know of the client, TurnWork the work of a turn,
// ReplyDelay and DelayedReplies the replies that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "server/observe/client_registry.h"
#include "server/session/client_session.h"
#include "server/session/client_state.h"
#include "server/session/delayed_replies.h"
#include "server/session/turn_work.h"
#include "server/session/worker.h"

namespace weir {

struct Call;
struct CommandSpec;
class VerdictReader;
class Waiter;

class Session final : public ClientSession {
 public:
  Session(Worker& worker, std::shared_ptr<ClientRecord> record);
  ~Session() override;

  // --- As every session ---

  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override;
  void FinishDelayed(std::string& replies, const WaitOutcome& outcome) override;
  [[nodiscard]] bool lacks_replies() const override;
  void EndWait(WaitEnd why) override;
  [[nodiscard]] bool has_news() const noexcept override {
    return client_.news() && client_.news()->outbox.has_bytes();
  }
  [[nodiscard]] bool is_logged_in() const noexcept override { return client_.user() != nullptr; }
  [[nodiscard]] std::optional<SyncHandOver> TakeHandOver() override {
    return std::exchange(hand_over_, std::nullopt);
  }
  // Those of a transaction, and of a request that waits.
  [[nodiscard]] std::size_t held_bytes() const override;
  void DropUnfinished() override { client_.transaction() = Transaction(); }
  void OnSent() override;

  // --- For a session of another protocol, which runs commands through this one ---

  // Executes one command, and appends its reply, unless `reader` takes it. Requires: the command
  // does not concern a transaction or the connection, and does not wait.
  Awaited ExecuteAlone(const ReadAhead::Command& command, Instant now, RespWriter& reply,
                       VerdictReader* reader = nullptr);
  // Returns whether the client may run the command; the message of an error is the whole line, with
  // its prefix. A command or key that is not permitted goes into the access log.
  [[nodiscard]] absl::Status PermissionError(const CommandSpec& spec,
                                             std::span<const std::string_view> words,
                                             bool in_transaction = false);
  // Ends a turn, of this session or of one that runs its commands through it: says what its output
  // waits for, counts it, and has its changes sent to the replicas.
  template <typename Origin>
  void EndTurn(Turn& turn, const DelayedReplies<Origin>& delayed, std::size_t output_bytes,
               HostInstant now) {
    turn.delayed_from = delayed.begin();
    turn.awaited = delayed.awaited();
    EndTurn(turn, output_bytes, now);
  }
  void EndTurn(const Turn& turn, std::size_t output_bytes, HostInstant now) {
    work_.End(turn.consumed, output_bytes, now);
    if (delay_.EndTurn()) worker_.services.RequestReplicationTick();
  }
  // True if a command must wait now for the end of a pause: of CLIENT PAUSE, or of a switch of
  // roles. A command that its user may not run need not wait. Cost: a load if nothing was ever
  // paused.
  [[nodiscard]] bool IsHeldBack(const ReadAhead::Command& command) const;

  // --- For the commands ---

  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  [[nodiscard]] ClientState& client() noexcept { return client_; }
  // Of the present turn.
  [[nodiscard]] TurnWork& work() noexcept { return work_; }
  // Of the reply to the present command.
  [[nodiscard]] ReplyDelay& delay() noexcept { return delay_; }
  // Takes the verdict of the present command in place of a reply; may be null.
  [[nodiscard]] VerdictReader* verdict_reader() const noexcept { return verdict_reader_; }
  // True unless the present command was given to ExecuteAlone.
  [[nodiscard]] bool may_wait() const noexcept { return !runs_alone_; }
  // Answers the present command when the waiter is ready; later commands wait, too.
  void Wait(std::unique_ptr<Waiter> waiter);
  // Runs one command of a transaction. Requires: ExecuteCommand has queued it.
  void RunQueued(const CommandSpec& spec, std::span<const std::string_view> words, Instant now,
                 RespWriter& reply);
  // Ends the conversation after the present command's reply, and gives the connection to
  // replication: the client is a replica.
  void HandOver(SyncHandOver to) {
    WEIR_CHECK(to.answer.error.empty());
    hand_over_ = std::move(to);
  }

 private:
  // The origin of a reply that waits.
  struct Delayed {
    const CommandSpec* spec;
    std::shared_ptr<const LateReply> late_reply;  // null: that reply is written already
  };

  void EndCommand() noexcept;
  // Requires: the command awaits something.
  void AddDelayed(std::size_t begin, std::size_t end);
  // The end of the client's own pause; or the next look at the link to an edge's primary, which
  // has no room for more requests.
  [[nodiscard]] HostInstant PausedUntil(HostInstant now) const;
  [[nodiscard]] bool FinishWait(const Clock::Reading& at, RespWriter& reply);
  void DropWaiter();
  void AnswerWaiter(ClientRecord::Blocked ended, Instant now, RespWriter& reply);
  void ExecuteUnlessSilent(const ReadAhead::Command& command, Instant now, std::string& out,
                           RespWriter& reply);
  void ExecuteCommand(const ReadAhead::Command& command, Instant now, RespWriter& reply);
  // Between MULTI and EXEC: queues a command, or runs EXEC and those that are not queued.
  void ExecuteInTransaction(const ReadAhead::Command& command, Instant now, RespWriter& reply);
  // The error of the first queued command that may not run now, because the server's state has
  // changed since it was queued.
  [[nodiscard]] absl::Status QueueError() const;
  // True if no rule of the user needs a look: the command is for everybody, or the user may run
  // all. If false, PermissionError decides.
  [[nodiscard]] bool IsSurelyPermitted(const CommandSpec& spec) const noexcept;
  // Returns whether the command may run now, with messages as above.
  [[nodiscard]] absl::Status StateError(const Call& call);
  // Answers an error if the command may not run now. Returns whether it did.
  [[nodiscard]] bool RefusedNow(Call& call);
  // Runs the command's handler, unless the command may not run now; counts the call and shows it to
  // the observers.
  void Run(Call& call);
  void EndStream(ParseResult parsed, std::string_view unread, RespWriter& reply);
  void AppendNews(std::string& out);
  void Refuse(const CommandSpec* spec, std::string_view error, RespWriter& reply);
  // Logs that a client is closed because it uses another protocol; the client gets no reply.
  void LogForeign(std::string_view request);

  Worker& worker_;
  RespParser parser_;
  ClientState client_;
  VerdictReader* verdict_reader_ = nullptr;
  std::unique_ptr<Waiter> waiter_;  // counts in Services::waiters
  std::optional<SyncHandOver> hand_over_;
  std::optional<WaitEnd> wait_ended_;  // EndWait has ended a wait that is not answered yet
  bool runs_alone_ = false;            // the present command may not wait
  bool silent_wait_ = false;           // the reply after the wait is not sent (CLIENT REPLY)
  bool said_secret_ = false;           // a command of the present turn may contain a password
  bool ending_ = false;                // WaitEnd::kClosing: no pause delays the client any more
  ReplyDelay delay_;                   // of the present command
  TurnWork work_;
  DelayedReplies<Delayed> delayed_;  // of the last turn
};

}  // namespace weir
