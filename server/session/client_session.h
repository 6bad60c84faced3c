// One client's side of a connection, in any protocol: bytes in, bytes out. It knows no socket: a
// connection, a test or a fuzzer moves the bytes.
//
//     const ClientSession::Turn turn = session.Execute(unread, out);
//     unread.remove_prefix(turn.consumed);    // then send `out`, and do as turn.next says
//
// The clock is read once a turn, so all requests of one chunk of input have the same execution
// time. A session belongs to one thread, that of its worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/observe/client_registry.h"
#include "server/session/delayed_replies.h"
#include "server/session/worker.h"
#include "server/state/replication.h"

namespace weir {

// A turn ends after kWorkPerTurn units of work or kReplyBytesPerTurn bytes of replies; then other
// clients have their turn. So a client that does not read costs at most these bytes and one reply.
// A command is one unit of work, about a microsecond. Commands that repeat a step charge more units
// (Call::Charge): one per key or name, one per word of a decision beyond its first limit, and
// kWholeTableWork if they visit every partition. The command that exceeds the bound is the last one
// of the turn.
inline constexpr std::size_t kWorkPerTurn = 1024;
inline constexpr std::size_t kReplyBytesPerTurn = 64 * 1024;

class ClientSession {
 public:
  // The connection's next step after it has sent the output.
  enum class Next {
    kRead,      // receive more
    kContinue,  // the turn is over, but input is left: call Execute again
    kWait,      // call Execute again at `wake`; receive until then
    kPause,     // call Execute again at `wake`; without receiving, so that the end of the input is
                // not seen before the replies are sent
    kClose,     // close; nothing after this is executed
    kHandOver,  // the client is a replica now: give the socket, and the input that is not consumed,
                // to replication, with TakeHandOver(); nothing after this is executed
  };
  struct Turn {
    std::size_t consumed = 0;  // bytes at the front of the input that are no longer needed
    Next next = Next::kRead;
    HostInstant wake{};  // for kWait and kPause
    // If set, the output from this byte on must wait: for a save that begins after the turn, for
    // replicas that acknowledge its changes, or for both.
    std::optional<std::size_t> delayed_from = {};
    Awaited awaited = {};
    bool had_secret = false;  // the consumed bytes may contain a password
    // A request was completed, so the time that the next one may take begins; and the consumed
    // bytes end within a request.
    bool completed = false;
    bool in_request = false;
  };

  ClientSession() = default;
  virtual ~ClientSession() = default;
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  // Executes the complete requests at the front of `unread`, the bytes that no turn has consumed,
  // and appends their replies to `out`.
  [[nodiscard]] virtual Turn Execute(std::string_view unread, std::string& out) = 0;

  // Called when the waits of the last turn have ended, if one of them has failed or if there are
  // late replies. A session may also write the replies in its next turn. Fills in the late replies,
  // and replaces the replies that the outcome makes wrong by an error with the reason; their
  // commands count as failed. `replies`: the output from `delayed_from` on.
  virtual void FinishDelayed(std::string& replies, const WaitOutcome& outcome) = 0;

  // True while a turn that awaits an edge's primary lacks one of its replies.
  [[nodiscard]] virtual bool lacks_replies() const { return false; }

  // The reasons that end a wait: the client has gone or the server is shutting down, which ends a
  // pause, too; or the server has become a replica.
  enum class WaitEnd : std::uint8_t { kClosing, kDemoted };
  // Returns reserved tokens; the next Execute answers the waiting request with an error.
  virtual void EndWait(WaitEnd why) = 0;

  // True if there is output that the client has not asked for. The next Execute appends it, even
  // without input.
  [[nodiscard]] virtual bool has_news() const noexcept = 0;

  // True if has_news() must be asked twice a second, since a time or the server's state may change
  // it.
  [[nodiscard]] virtual bool wants_ticks() const noexcept { return false; }

  // True while the client waits for answers or messages between two requests. It is not idle then.
  [[nodiscard]] virtual bool has_calls() const noexcept { return false; }

  // True once a client that does not read its replies is closed, at the next tick.
  [[nodiscard]] virtual bool is_over() const noexcept { return false; }

  // After a turn with kHandOver: the request of the replica and its answer. Once; else nothing.
  [[nodiscard]] virtual std::optional<SyncHandOver> TakeHandOver() { return std::nullopt; }

  // False before the client has logged in, if it must.
  [[nodiscard]] virtual bool is_logged_in() const noexcept = 0;

  // The last bytes to a client that is closed because its request takes too long.
  [[nodiscard]] virtual std::string_view late_reply() const noexcept { return {}; }

  // Heap bytes of unfinished requests.
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;

  // Frees unfinished requests, before the connection closes.
  virtual void DropUnfinished() = 0;

  // Called when the kernel has all output so far.
  virtual void OnSent() = 0;
};

// Makes the session of a new client; `record` is that of its connection. Called on the worker's
// thread.
using SessionMaker = std::function<std::unique_ptr<ClientSession>(
    Worker& worker, std::shared_ptr<ClientRecord> record)>;

}  // namespace weir
