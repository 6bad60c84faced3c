// Replication as sessions see it: the role of this server, the numbers of INFO and ROLE, and the
// requests that change something: REPLICAOF, FAILOVER and RL.SYNC.
//
// The server implements it with threads and sockets; a test implements it with values. Every
// function may be called on any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "replication/failover_request.h"
#include "replication/ping_refusal.h"
#include "server/config/options.h"
#include "server/state/ack_waits.h"

namespace weir {

// What the server decides, and what it refuses.
enum class ServerRole : std::uint8_t {
  kPrimary,
  kReplica,  // it follows a primary, or wants to: commands that change something are refused
  // It was a primary, and has heard of one of a later term: it refuses the same, until a command
  // gives it a role. For others it is a primary that is out of order.
  kDeposed,
  // It starts, and is to be a primary unless Sentinel says otherwise: it answers LOADING meanwhile.
  kGated,
  // An edge: its primary decides, and it on slices of the primary's tokens (server/edge/).
  kEdge,
};

// The channel of Sentinel's messages.
inline constexpr std::string_view kHelloChannel = "__sentinel__:hello";

// The states of a replica's link, in the words of ROLE.
enum class LinkState : std::uint8_t { kConnect, kConnecting, kHandshake, kSync, kConnected };
inline constexpr std::array<std::string_view, 5> kLinkStateWords = {
    "connect", "connecting", "handshake", "sync", "connected"};
[[nodiscard]] constexpr std::string_view WordOf(LinkState state) noexcept {
  return kLinkStateWords[static_cast<std::size_t>(state)];
}

// The id of no history: a server that has none, or no earlier one, shows it.
inline constexpr std::string_view kNoReplid = "0000000000000000000000000000000000000000";
static_assert(kNoReplid.size() == 40);

// A replica, as its primary sees it.
struct ReplicaStatus {
  std::string run_id{};
  std::string ip{};          // announced, or that of its socket
  std::uint16_t port = 0;    // announced
  bool online = false;       // it was synced; false: it gets its first state
  bool synced = false;       // it has everything as of `offset`
  bool cannot_save = false;  // its last save failed
  std::uint64_t offset = 0;  // applied and acknowledged
  Nanos lag{0};              // since its last ACK
  Instant echoed{};          // the latest time of this server that its ACKs have confirmed
};

// The frames of the history that a primary keeps.
struct BacklogStatus {
  bool active = false;             // false until the first replica comes
  std::uint64_t first_offset = 0;  // of the oldest byte
  std::uint64_t bytes = 0;         // of all frames kept
};

// A replica's link to its primary.
struct LinkStatus {
  HostAndPort primary{};
  LinkState state = LinkState::kConnect;
  bool up = false;                       // as is_link_up()
  bool complete = false;                 // as is_complete()
  std::optional<Nanos> since_last_io{};  // none: nothing has come yet
  Nanos down_for{0};                     // while it is not up
  std::uint64_t read_offset = 0;         // of the last frame that was read
  std::uint64_t partitions_left = 0;     // to be sent whole, until it is synced
  std::optional<Nanos> data_age{};       // it has all older changes; none: it was never in sync
  Nanos time_shift{0};                   // of the decisions' clock (FollowedClock)
};

// The states of a planned switch, in the words of INFO.
enum class FailoverState : std::uint8_t { kNone, kWaiting, kYielding };
inline constexpr std::array<std::string_view, 3> kFailoverStateWords = {
    "no-failover", "waiting-for-sync", "failover-in-progress"};
[[nodiscard]] constexpr std::string_view WordOf(FailoverState state) noexcept {
  return kFailoverStateWords[static_cast<std::size_t>(state)];
}

// One moment of replication. A default-constructed one is that of a primary without replicas.
struct ReplicationStatus {
  std::uint64_t term = 0;               // 0: this server never had a replica
  std::string replid{kNoReplid};        // of the history, 40 hex digits
  std::string replid2{kNoReplid};       // of the history before
  std::optional<std::uint64_t> until;   // the end of that one
  std::uint64_t offset = 0;             // a primary: the head; a replica: what it shows Sentinel
  std::optional<LinkStatus> link;       // set: the server is a replica
  std::vector<ReplicaStatus> replicas;  // in the order in which they came
  BacklogStatus backlog;
  std::uint64_t partitions_sent = 0;  // whole, to all replicas since the start
  // The age of the oldest change that a failover now would forget. The best replica in sync may
  // lack it or, if no replica is in sync, the best one that was. Nothing: no replica was in sync
  // since this server became a primary.
  std::optional<Nanos> loss_bound;
  std::uint64_t good_replicas = 0;  // synced, and heard within min-replicas-max-lag
  FailoverState failover = FailoverState::kNone;
  bool deposed = false;  // ServerRole::kDeposed
  // A replica that may lack what it has acknowledged, while ack-replicas counts acknowledgements:
  // Sentinel must not promote it.
  bool distrusted = false;
  std::optional<std::uint64_t> sentinel_epoch;  // as SentinelWatch::floor
};

// The position of a replica in a history.
struct HistoryPosition {
  std::string replid{};  // 40 hex digits, in lower case
  std::uint64_t offset = 0;

  friend bool operator==(const HistoryPosition&, const HistoryPosition&) = default;
};

// RL.SYNC, read and checked.
struct SyncRequest {
  std::uint32_t oldest_version = 0;  // of the stream that the replica speaks, from 1 on
  std::uint32_t newest_version = 0;  // >= oldest_version
  std::string run_id{};              // 40 hex digits
  std::string ip{};                  // announced; empty: that of its socket
  std::uint16_t port = 0;            // announced, from 1 on
  std::uint64_t term = 0;
  std::array<unsigned char, 16> key_fingerprint{};  // of the replica's hash secret
  std::optional<HistoryPosition> from{};            // none: it has no state to go on from
  // A command has told the replica to follow this server, whatever state either has.
  bool was_told = false;
  HostInstant connected_at{};  // when this server has accepted the connection
};

// The first word of an error of RL.SYNC: the servers hash keys with different secrets, and both
// have a state.
inline constexpr std::string_view kOtherGroupCode = "OTHERGROUP";

// The last word of an accepted reply to RL.SYNC: whether the replica continues from `common`, or
// gets all that there is.
inline constexpr std::string_view kSyncResume = "resume";
inline constexpr std::string_view kSyncFresh = "fresh";

// The answer to RL.SYNC.
struct SyncAnswer {
  std::string error{};          // with its prefix, "NOMASTERLINK ..."; empty: accepted
  bool needs_operator = false;  // it lasts until an operator changes one of the two
  std::uint32_t version = 0;
  std::uint64_t term = 0;
  std::string replid{};
  std::uint64_t common = 0;      // the offset up to which the histories are one; 0 if not `resume`
  std::uint64_t head = 0;        // the primary's offset
  std::uint32_t generation = 0;  // of the table
  std::string secret{};          // the hash secret, if the replica has another one; else empty
  bool resume = false;           // the histories have a common part
};

// What the owner of an accepted connection must know.
struct SyncHandOver {
  SyncRequest request{};
  SyncAnswer answer{};
  std::string input{};  // bytes behind the request that came with it
};

// What a primary's replicator tells the threads that serve requests. Thread-safe.
struct PrimaryCell {
  AckWaits acks;                     // whose ticks are the replicator's
  std::atomic<bool> is_idle{false};  // the next tick is far away: a change should begin one
  // The time until which there are enough replicas (min-replicas-to-write, ack-replicas), by the
  // clock of decisions.
  std::atomic<Instant> admits_until{kInstantMax};
};

class Replication {
 public:
  virtual ~Replication() = default;
  Replication(const Replication&) = delete;
  Replication& operator=(const Replication&) = delete;

  // One load, because each command asks. What was set before the role is there with it. A command
  // that began before a change may still run: see RunBetweenTurns (server/net/io_thread.h).
  [[nodiscard]] ServerRole role() const noexcept { return role_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_replica() const noexcept { return role() == ServerRole::kReplica; }
  // False while the server has no whole state yet and answers LOADING: a replica, or a server that
  // waits for Sentinel at its start and has no state. True on a primary.
  [[nodiscard]] bool is_complete() const noexcept {
    return is_complete_.load(std::memory_order_relaxed);
  }
  // True while a replica hears from its primary. Of no meaning on a primary.
  [[nodiscard]] bool is_link_up() const noexcept {
    return is_link_up_.load(std::memory_order_relaxed);
  }

  // The time until which a primary has the replicas that it needs to admit requests, by the clock
  // of decisions; kInstantMax if it needs none. One relaxed load. Of no meaning on a replica.
  [[nodiscard]] Instant admits_until() const noexcept {
    return cell_.admits_until.load(std::memory_order_relaxed);
  }

  // The waits for replicas that acknowledge changes.
  [[nodiscard]] AckWaits& acks() noexcept { return cell_.acks; }
  // As AckWaits::Add, and requests a tick.
  [[nodiscard]] std::shared_ptr<AckWait> AwaitAcks(std::size_t needed, std::function<void()> wake) {
    std::shared_ptr<AckWait> wait = acks().Add(needed, std::move(wake));
    if (!wait->is_over()) RequestTick();
    return wait;
  }

  // Requests a tick if the next one is far away, as after a time without changes. One relaxed load
  // otherwise.
  void RequestTickIfIdle() {
    std::atomic<bool>& is_idle = cell_.is_idle;
    if (is_idle.load(std::memory_order_relaxed) && is_idle.exchange(false)) RequestTick();
  }
  // True if clients have had buckets here since the start. One relaxed load.
  [[nodiscard]] bool had_buckets() const noexcept {
    return had_buckets_.load(std::memory_order_relaxed);
  }
  void set_had_buckets() noexcept { had_buckets_.store(true, std::memory_order_relaxed); }

  // Cost: a lock and a copy.
  [[nodiscard]] virtual ReplicationStatus status() const = 0;

  // Whether that is an address of this server, which cannot follow itself. A host's name may be one
  // without being known for it.
  [[nodiscard]] virtual bool IsOwn(const HostAndPort& address) const = 0;

  // Asks the server to follow a primary, or none: to become a primary. Returns at once; status()
  // has the new role soon after. Requests are carried out in their order.
  virtual void Follow(std::optional<HostAndPort> primary) = 0;

  // The same for a client that is a Sentinel: while the link to the primary lives, that yields
  // first, so that nothing is lost. A replica without the whole state stays one.
  virtual void BecomePrimaryForSentinel() = 0;
  // Takes a message of the channel kHelloChannel.
  virtual void OnHello(std::string message) = 0;
  [[nodiscard]] PingRefusal ping_refusal() const noexcept {
    return ping_refusal_.load(std::memory_order_relaxed);
  }

  // Begins a planned switch: a replica becomes the primary, and this server its replica, so that
  // nothing is lost. Returns at once, with an error if there is no such replica.
  [[nodiscard]] virtual absl::Status Failover(const FailoverRequest& request) = 0;
  // Ends a switch that waits for its replica, as above.
  [[nodiscard]] virtual absl::Status AbortFailover() = 0;

  // Ends the connections of all replicas, or that to the primary, which begin again soon. Returns
  // their number.
  virtual std::size_t CloseReplicas() = 0;
  virtual std::size_t CloseLink() = 0;

  // Answers RL.SYNC: calls `answered` once, at once or later on another thread. If it is accepted,
  // the connection goes over to replication once the reply is sent
  // (ClientSession::Next::kHandOver).
  using SyncAnswered = std::function<void(SyncAnswer answer)>;
  virtual void AnswerSync(SyncRequest request, SyncAnswered answered) = 0;

 protected:
  Replication() = default;

  // Lets replication take the changes immediately: a tick of AckWaits, if there can be one.
  virtual void RequestTick() {}

  [[nodiscard]] PrimaryCell& cell() noexcept { return cell_; }
  void set_role(ServerRole role) noexcept { role_.store(role, std::memory_order_release); }
  void set_ping_refusal(PingRefusal why) noexcept {
    ping_refusal_.store(why, std::memory_order_relaxed);
  }
  void set_is_complete(bool is) noexcept { is_complete_.store(is, std::memory_order_relaxed); }
  void set_is_link_up(bool is) noexcept { is_link_up_.store(is, std::memory_order_relaxed); }

 private:
  std::atomic<ServerRole> role_{ServerRole::kPrimary};
  std::atomic<PingRefusal> ping_refusal_{PingRefusal::kNone};
  std::atomic<bool> is_complete_{true};
  std::atomic<bool> is_link_up_{false};
  std::atomic<bool> had_buckets_{false};
  PrimaryCell cell_;
};

}  // namespace weir
