// One client's conversation: bytes in, bytes out. It knows no socket: a connection, a test or a
// fuzzer moves the bytes.
//
//     Session session(worker, record);
//     const Session::Turn turn = session.Execute(unread, out);
//     unread.remove_prefix(turn.consumed);    // then send `out`, and do as turn.next says
//
// The clock is read once a turn, so all commands of one chunk of input have the same execution
// time. A session belongs to one thread, that of its worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "server/access/access_list.h"
#include "server/observe/client_registry.h"
#include "server/session/transaction.h"
#include "server/session/worker.h"

namespace weir {

struct Call;
struct CommandSpec;
class ServerWaiter;

// A turn ends after kWorkPerTurn units of work or kReplyBytesPerTurn bytes of replies; then other
// clients have their turn. So a client that does not read costs at most these bytes and one reply.
// A command is one unit of work, about a microsecond. Commands that repeat a step charge more units
// (Call::Charge): one per key or name, one per word of a decision beyond its first limit, and
// kWholeTableWork if they visit every partition. The command that exceeds the bound is the last one
// of the turn.
inline constexpr std::size_t kWorkPerTurn = 1024;
// Slots visited to find a key's buckets (Limiter::SlotsVisited) are work, too: kSlotsPerUnit are
// one unit. A command, or a whole transaction, visits at most kSlotsPerCommand slots
// (Call::MayLookAt), so a turn visits fewer than 100,000, which takes about 2 ms.
inline constexpr std::size_t kSlotsPerUnit = 32;
inline constexpr std::size_t kSlotsPerCommand = 50'000;
inline constexpr std::size_t kWholeTableWork = 64;
inline constexpr std::size_t kReplyBytesPerTurn = 64 * 1024;

class Session {
 public:
  // The connection's next step after it has sent the output.
  enum class Next {
    kRead,      // receive more
    kContinue,  // the turn is over, but input is left: call Execute again
    kWait,      // call Execute again at `wake`; receive until then
    kPause,     // call Execute again at `wake`; without receiving, so that the end of the input is
                // not seen before the replies are sent
    kClose,     // close; nothing after this is executed
  };
  struct Turn {
    std::size_t consumed = 0;  // bytes at the front of the input that are no longer needed
    Next next = Next::kRead;
    Instant wake{};  // for kWait and kPause
    // If set, the output from this byte on must wait for a save that begins after the turn.
    std::optional<std::size_t> unsaved_from = {};
    bool had_secret = false;  // the consumed bytes may contain a password
  };

  Session(Worker& worker, std::shared_ptr<ClientRecord> record);
  ~Session();

  // Executes the complete commands at the front of `unread`, the bytes that no turn has consumed,
  // and appends their replies to `out`.
  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out);

  // Called if the save that replies of the last turn wait for has failed. Replaces the reply of
  // SAVE, and with `changes` each reply to a change, by an error with the reason; their commands
  // count as failed. `replies`: the output from `unsaved_from` on.
  void ReplaceUnsaved(std::string& replies, std::string_view reason, bool changes) const;

  // Ends a wait or a pause, because the client has gone or the server is shutting down. Returns
  // reserved tokens; the next Execute answers the waiting command with an error.
  void EndWait();

  // True if there is output that the client has not asked for. The next Execute appends it, even
  // without input.
  [[nodiscard]] bool has_news() const noexcept { return monitor_ && monitor_->has_lines(); }

  // Heap bytes of unfinished requests: a transaction, and a request that waits.
  [[nodiscard]] std::size_t held_bytes() const;

  // Frees the transaction, before the connection closes.
  void DropTransaction() { transaction_ = Transaction(); }

  // Called when the kernel has all output so far.
  void OnSent();

  // --- For the commands ---

  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  [[nodiscard]] Transaction& transaction() noexcept { return transaction_; }
  // Makes the next command's time begin now instead of at the end of the last command.
  void RestartStopwatch() noexcept { command_begin_ = worker_.services.clock.Stopwatch(); }
  // Runs one command of a transaction. Requires: ExecuteCommand has queued it.
  void RunQueued(const CommandSpec& spec, std::span<const std::string_view> words, Instant now,
                 RespWriter& reply);
  // The client's user; null before it has logged in.
  [[nodiscard]] const std::shared_ptr<const User>& user() const noexcept { return user_; }
  // The user as an introducer of limits.
  [[nodiscard]] Introducer introducer() const noexcept { return introducer_; }
  // `password_hash`: User::HashOf of the password that the client gave; empty if it gave none.
  void set_user(std::shared_ptr<const User> user, const std::string& password_hash = {});
  // Executes no further commands of the client until then.
  void PauseUntil(Instant until) noexcept { paused_until_ = until; }
  // CLIENT REPLY: which replies are sent, including the one to the present command.
  enum class Replies : std::uint8_t { kOn, kOff, kSkipThis, kSkipThisAndNext };
  void set_replies(Replies replies) noexcept { replies_ = replies; }
  [[nodiscard]] Replies replies() const noexcept { return replies_; }
  // MONITOR: shows the client all commands until RESET.
  void StartMonitoring();
  // RESET: returns to the state of a new connection, except for its number.
  void Reset();
  [[nodiscard]] ClientRecord& record() noexcept { return *record_; }
  // Ends the conversation after the present command's reply.
  void Close();
  // Adds to the work of the present turn.
  void Charge(std::size_t units) noexcept { work_ += units; }
  // The number of slots that the present command, or transaction, has visited.
  [[nodiscard]] std::uint64_t slots_visited() const noexcept {
    return Limiter::SlotsVisited() - slots_before_command_;
  }
  // The implementation of Call::MarkDirty and Call::AwaitSave.
  void DelayReplyUntilSaved() noexcept;
  void AwaitSave() noexcept { awaited_ = Awaited::kSave; }
  // Answers the present command when the waiter is ready; later commands wait, too.
  void Wait(std::unique_ptr<ServerWaiter> waiter);

 private:
  // A reply of the turn that waits for a save, as a range of bytes counted from `unsaved_from`.
  enum class Awaited : std::uint8_t { kNothing, kSaveOfChange, kSave };
  struct Unsaved {
    std::size_t begin;
    std::size_t end;
    Awaited awaited;
    const CommandSpec* spec;
  };
  void AddUnsaved(std::size_t begin, std::size_t end);
  void MarkUnsaved(Turn& turn);
  [[nodiscard]] bool FinishWait(Instant now, RespWriter& reply);
  [[nodiscard]] bool IsPaused(Instant now) const;
  void ExecuteUnlessSilent(const ReadAhead::Command& command, Instant now, std::string& out,
                           RespWriter& reply);
  void ExecuteCommand(const ReadAhead::Command& command, Instant now, RespWriter& reply);
  // Drops the commands that were read ahead; they will be parsed again.
  void DropReadAhead();
  [[nodiscard]] std::string PermissionError(const CommandSpec& spec,
                                            std::span<const std::string_view> words, Instant now,
                                            bool in_transaction);
  void Run(Call& call);
  void RefreshUser();
  // The error if the command may not run now, or an empty text.
  [[nodiscard]] std::string StateError(const Call& call);
  // Runs the command's handler, counts the call and shows it to the observers.
  void RunHandler(Call& call);
  void EndStream(ParseResult parsed, std::string_view unread, RespWriter& reply);
  void AppendNews(std::string& out);
  void CountTurn(std::uint64_t commands_before, std::size_t input_bytes, std::size_t output_bytes,
                 Instant now);
  void Refuse(const CommandSpec* spec, const std::string& error, RespWriter& reply);
  // Logs that a client is closed because it uses another protocol; the client gets no reply.
  void LogForeign(std::string_view request);

  Worker& worker_;
  std::shared_ptr<ClientRecord> record_;
  RespParser parser_;
  Transaction transaction_;
  std::shared_ptr<const User> user_;
  Introducer introducer_ = kSoleIntroducer;
  std::string password_hash_;
  std::uint64_t users_version_;  // of the access list when user_ was looked up
  Instant paused_until_{};
  Replies replies_ = Replies::kOn;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<ServerWaiter> waiter_;
  bool wait_ended_ = false;   // EndWait has ended a wait that is not answered yet
  bool silent_wait_ = false;  // the reply after the wait is not sent (CLIENT REPLY)
  bool said_secret_ = false;  // a command of the present turn may contain a password
  bool closing_ = false;
  bool ending_ = false;                  // EndWait was called: no pause delays the client any more
  Awaited awaited_ = Awaited::kNothing;  // the save that the present command's reply waits for
  std::vector<Unsaved> unsaved_;         // of the last turn
  std::size_t work_ = 0;                 // units of the present turn
  std::uint64_t slots_before_command_ = 0;
  Nanos command_begin_{0};  // the stopwatch at the end of the last command
};

}  // namespace weir
