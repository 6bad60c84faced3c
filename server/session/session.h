// One client's conversation: bytes in, bytes out. It knows no socket: a connection, a test or a
// fuzzer moves the bytes.
//
//     Session session(worker, record);
//     const Session::Turn turn = session.Execute(unread, out);
//     unread.remove_prefix(turn.consumed);                  // then send `out`; close if turn.next
//     says so
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

// A turn ends after so much work, or when so many bytes of replies wait to be sent: then other
// clients have theirs, and a client that does not read its replies cannot make us hold more than
// these and one reply. A command is one unit of work, about a microsecond; those that do the same
// again and again charge more (Call::Charge): a unit a key or a name, a unit a word of a decision
// beyond its first limit, kWholeTableWork if they visit every partition. The command that goes over
// is the turn's last.
inline constexpr std::size_t kWorkPerTurn = 1024;
// Slots that are visited to find a key's buckets (Limiter::SlotsVisited) are work, too. One
// command, and all of a transaction, visits at most so many (Call::MayLookAt), so a turn visits
// fewer than 100,000: about 2 ms.
inline constexpr std::size_t kSlotsPerUnit = 32;
inline constexpr std::size_t kSlotsPerCommand = 50'000;
inline constexpr std::size_t kWholeTableWork = 64;
inline constexpr std::size_t kReplyBytesPerTurn = 64 * 1024;

class Session {
 public:
  // The connection's next step when it has sent the output.
  enum class Next {
    kRead,      // receive more
    kContinue,  // the turn is over, but the input is not: call Execute again
    kWait,      // call Execute again at `wake`, with what has been received meanwhile
    kPause,     // the same, but need not receive: a client that sends no more still gets replies
    kClose,     // close; nothing after this is executed
  };
  struct Turn {
    std::size_t consumed = 0;  // bytes at the front of the input that are done with
    Next next = Next::kRead;
    Instant wake{};  // of kWait and kPause
    // Set: the output from there on has to wait for a save that begins after the turn.
    std::optional<std::size_t> unsaved_from = {};
    bool had_secret = false;  // what was consumed may have a password in it
  };

  Session(Worker& worker, std::shared_ptr<ClientRecord> record);
  ~Session();

  // Executes the complete commands at the front of `unread`, which is what was left unconsumed plus
  // what came since, and appends their replies to `out`.
  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out);

  // The save that the last turn's replies have waited for has failed: puts an error in the place of
  // each reply that may not say what it does: SAVE's, and if `changes` those to changes. Their
  // commands count as failed. `replies`: those from `unsaved_from` on.
  void ReplaceUnsaved(std::string& replies, std::string_view reason, bool changes) const;

  // Ends a wait, and whatever holds the client up: it has gone, or the server is about to. What was
  // reserved for it is given back; the next Execute answers with an error.
  void EndWait();

  // There is something for the client that it has not asked for: the next Execute appends it, with
  // no more input, too.
  [[nodiscard]] bool has_news() const noexcept { return monitor_ && monitor_->has_lines(); }

  // Heap bytes of requests that are not done yet: a transaction, one that waits.
  [[nodiscard]] std::size_t held_bytes() const;

  // The client has gone, or is about to.
  void DropTransaction() { transaction_ = Transaction(); }

  // All output up to now is with the kernel.
  void OnSent();

  // For the commands.
  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  [[nodiscard]] Transaction& transaction() noexcept { return transaction_; }
  // The next command's time begins now, and not when the last one ended.
  void RestartStopwatch() noexcept { command_begin_ = worker_.services.clock.Stopwatch(); }
  // Runs one command of a transaction. Requires: ExecuteCommand has let it be queued.
  void RunQueued(const CommandSpec& spec, std::span<const std::string_view> words, Instant now,
                 RespWriter& reply);
  // The client's user; null before it has logged in.
  [[nodiscard]] const std::shared_ptr<const User>& user() const noexcept { return user_; }
  // The user, for the registry of limits.
  [[nodiscard]] Introducer introducer() const noexcept { return introducer_; }
  // `password_hash`: of the password given, as User::HashOf makes it; empty: none was.
  void set_user(std::shared_ptr<const User> user, const std::string& password_hash = {});
  // Executes nothing more of the client's until then.
  void PauseUntil(Instant until) noexcept { paused_until_ = until; }
  // CLIENT REPLY: whether and which replies are sent, that to the present command included.
  enum class Replies : std::uint8_t { kOn, kOff, kSkipThis, kSkipThisAndNext };
  void set_replies(Replies replies) noexcept { replies_ = replies; }
  [[nodiscard]] Replies replies() const noexcept { return replies_; }
  // MONITOR: from now on the client sees all commands, until RESET.
  void StartMonitoring();
  // Makes everything as on a new connection, except its number. Called by RESET.
  void Reset();
  [[nodiscard]] ClientRecord& record() noexcept { return *record_; }
  // Ends the conversation after the present command's reply.
  void Close();
  // Adds to the work of the present turn.
  void Charge(std::size_t units) noexcept { work_ += units; }
  // The slots that the present command, or transaction, has visited.
  [[nodiscard]] std::uint64_t slots_visited() const noexcept {
    return Limiter::SlotsVisited() - slots_before_command_;
  }
  // The implementation of Call::Changed and Call::AwaitSave.
  void DelayReplyUntilSaved() noexcept;
  void AwaitSave() noexcept { awaited_ = Awaited::kSave; }
  // Answers the present command when the waiter is ready; later commands have to wait, too.
  void Wait(std::unique_ptr<ServerWaiter> waiter);

 private:
  // A reply of the turn that waits for a save: where it lies, counted from `unsaved_from`.
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
  // The commands that were read ahead have to be parsed again.
  void DropReadAhead();
  [[nodiscard]] std::string PermissionError(const CommandSpec& spec,
                                            std::span<const std::string_view> words, Instant now,
                                            bool in_transaction);
  void Run(Call& call);
  void RefreshUser();
  // Why it may not run now, or nothing.
  [[nodiscard]] std::string StateError(const Call& call);
  // Counts the call, and shows it to the observers.
  void RunHandler(Call& call);
  void EndStream(ParseResult parsed, std::string_view unread, RespWriter& reply);
  void AppendNews(std::string& out);
  void CountTurn(std::uint64_t commands_before, std::size_t input_bytes, std::size_t output_bytes,
                 Instant now);
  void Refuse(const CommandSpec* spec, const std::string& error, RespWriter& reply);
  // Says in the log, and not to the client, why it is closed.
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
  bool wait_ended_ = false;   // by EndWait, and not answered yet
  bool silent_wait_ = false;  // what it waits for is not to be answered
  bool said_secret_ = false;
  bool closing_ = false;
  bool ending_ = false;                  // EndWait was called: nothing holds the client up any more
  Awaited awaited_ = Awaited::kNothing;  // by the present command's reply
  std::vector<Unsaved> unsaved_;         // of the last turn
  std::size_t work_ = 0;                 // of the present turn
  std::uint64_t slots_before_command_ = 0;
  Nanos command_begin_{0};  // the stopwatch when the last command of the turn ended
};

}  // namespace weir
