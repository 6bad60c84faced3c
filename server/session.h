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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "server/client_registry.h"
#include "server/worker.h"

namespace weir {

struct CommandSpec;
class Waiter;

// A turn ends after so much work, or when so many bytes of replies wait to be sent: then other
// clients have theirs, and a client that does not read its replies cannot make us hold more than
// these and one reply. A command is one unit of work, about a microsecond; those that do the same
// again and again charge more (Call::Charge): a unit a key or a name, kWholeTableWork if they visit
// every partition. The command that goes over is the turn's last.
inline constexpr std::size_t kWorkPerTurn = 1024;
inline constexpr std::size_t kWholeTableWork = 64;
inline constexpr std::size_t kReplyBytesPerTurn = 64 * 1024;

class Session {
 public:
  // What the connection does when it has sent the output.
  enum class Next {
    kRead,      // receive more
    kContinue,  // the turn is over, but the input is not: call Execute again
    kWait,      // call Execute again at `wake`, with what has been received meanwhile
    kClose,     // close; nothing after this is executed
  };
  struct Turn {
    std::size_t consumed = 0;  // bytes at the front of the input that are done with
    Next next = Next::kRead;
    Instant wake{};  // of kWait
    // Not 0: the replies from `sendable` on have to wait until the save of this ticket has ended.
    std::uint64_t ticket = 0;
    std::size_t sendable = 0;
  };

  Session(Worker& worker, std::shared_ptr<ClientRecord> record);
  ~Session();

  // Executes the complete commands at the front of `unread`, which is what was left unconsumed plus
  // what came since, and appends their replies to `out`.
  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out);

  // The save that the last turn's replies have waited for has failed: puts an error in the place of
  // each reply that may not say what it does: SAVE's, and if `changes` those to changes. `replies`:
  // those from `sendable` on.
  void ReplaceUnsaved(std::string& replies, std::string_view reason, bool changes) const;

  // Ends a wait: the client has gone, or the server is about to. What was reserved for it is given
  // back; the next Execute answers with an error.
  void EndWait();

  // For the commands.
  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  [[nodiscard]] ClientRecord& record() noexcept { return *record_; }
  // Ends the conversation after the present command's reply.
  void Close() noexcept { closing_ = true; }
  // Adds to the work of the present turn.
  void Charge(std::size_t units) noexcept { work_ += units; }
  // What Call::Changed and Call::AwaitSave do.
  void AwaitSaveOfChange() noexcept;
  void AwaitSave() noexcept { awaited_ = Awaited::kSave; }
  // Answers the present command when the waiter is ready; later commands have to wait, too.
  void Wait(std::unique_ptr<Waiter> waiter);

 private:
  // A reply of the present turn that waits for a save: where it lies, from `sendable` on.
  enum class Awaited : std::uint8_t { kNothing, kSaveOfChange, kSave };
  struct Unsaved {
    std::size_t begin;
    std::size_t end;
    Awaited awaited;
  };
  void NoteUnsaved(std::size_t begin, std::size_t end);
  void AskForSave(Turn& turn);
  [[nodiscard]] bool FinishWait(Instant now, RespWriter& reply);
  void ExecuteCommand(std::span<const std::string_view> words, Instant now, RespWriter& reply);
  // Says in the log, and not to the client, why it is closed.
  void LogForeign(std::string_view request);

  Worker& worker_;
  std::shared_ptr<ClientRecord> record_;
  RespParser parser_;
  std::unique_ptr<Waiter> waiter_;
  bool wait_ended_ = false;  // by EndWait, and not answered yet
  bool closing_ = false;
  Awaited awaited_ = Awaited::kNothing;  // by the present command's reply
  std::vector<Unsaved> unsaved_;         // of the last turn
  std::size_t work_ = 0;                 // of the present turn
};

}  // namespace weir
