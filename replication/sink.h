// The replica's end of a link: applies what its primary sends, and knows what it still lacks. A
// state machine without sockets or threads; source.h is the other end, and says why it is right.
//
// A sink outlives its links. It keeps the offset of the history up to which it has applied all
// frames, and the set of partitions that are *open*: those which may lack changes made before that
// offset, until they are copied. Both decide where the next link begins, so a sync that was cut
// continues where it was.
//
//     a link begins       Resume or StartOver; AppendNeed
//     bytes come          Receive; AppendAck
//     anything fails      error(): the caller closes the link, and begins another
//
// Bytes of a link may be anything: they are applied, or the link ends. Not thread-safe. Memory:
// 33 KiB, one frame while it comes, and with the target a copy whose last part has not come: of a
// partition kCopyBytesMax at most. Cost: the target's, and 2 ns a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "core/table/table_generation.h"
#include "replication/frame.h"
#include "replication/frame_bodies.h"
#include "replication/last_changed.h"
#include "replication/ring.h"

namespace weir {

// All parts of the copy of a partition, with its overrides; a primary that sends more ends the
// link. The largest partition, of ordinary keys and a key that has all its 65,536 holds of 64
// limits, takes less than half of it.
inline constexpr std::size_t kCopyBytesMax = std::size_t{512} << 20;

// The table and the policies of a replica.
//
// A body that is refused may have been applied in part. The link then ends, and the next one sends
// it again.
class SinkTarget {
 public:
  struct Part {
    bool first;
    bool last;
  };

  virtual ~SinkTarget() = default;

  // Takes the newest time of all frames of this link, before the body of the one that told it.
  virtual void SetTime(Instant newest) = 0;

  // Applies the records of a CHANGES body (records.h): each replaces or erases one bucket, hold or
  // sum. `time`: the primary's when it took them. Returns the partitions that they are in, or
  // nothing for a damaged body.
  virtual std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant time) = 0;

  // Take a part of a copy of a partition: some of its overrides, then a part of a PARTITION. The
  // last part replaces the partition, with its overrides, by the records of all parts: until then
  // the server keeps what it has acknowledged, in case it is promoted. Return that partition, or
  // nothing for a damaged body or one about several. Nothing comes between the parts; if the last
  // one does not come, the others are forgotten, and the partition is copied again.
  virtual std::optional<std::uint16_t> ApplyOverrides(std::string_view body, bool is_first) = 0;
  virtual std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part part,
                                                      Instant time) = 0;

  // Applies changes of policies and overrides. Returns what they are about, or nothing for a
  // damaged body.
  struct PoliciesTouched {
    PartitionSet partitions{};  // of overrides
    bool policies = false;      // policies themselves
  };
  virtual std::optional<PoliciesTouched> ApplyPolicies(std::string_view body) = 0;
  // Takes a part of a list of all policies: after the last part, a policy that none of the parts
  // named is gone, with its overrides. The parts may have other frames between them, but not
  // changes. Returns false for a damaged body, or one that names too many.
  virtual bool ApplyPolicyList(std::string_view body, Part part) = 0;

  // Empties the table: FLUSHALL. The primary's next generation is `generation`.
  virtual void Flush(TableGeneration generation) = 0;
};

// The state of a replica's disk, for its acknowledgements.
struct OnDisk {
  bool is_awaited = false;  // it acknowledges what is on its disk; else what is in its memory
  // All of its state as of this offset is on its disk. Nothing: it has saved nothing on this link.
  std::optional<std::uint64_t> offset{};
  bool fails = false;  // the last save failed
};

class Sink {
 public:
  // The state of a replica at its start.
  struct State {
    // The offset at which its table is exact, in the history that it names in FROM; 0 for an empty
    // server.
    std::uint64_t applied = 0;
    // A former primary takes the LastChanged of its ring. A server that has loaded its table knows
    // only LastChanged(applied + 1): what was saved may be newer than the offset that was saved.
    // The same is true of policies.
    LastChanged last_changed;
    std::uint64_t policies_changed = 0;
    // The offset at which its policies are exact. Nothing for loaded policies: the disk does not
    // tell which of them are retired, so the primary must list all.
    std::optional<std::uint64_t> policies_as_of = applied;
    // The table has been synced since it was empty, or is a former primary's.
    bool complete = false;
    Instant exact_time{};  // see exact_time()
  };
  // `copy_bytes_max` is lowered by tests only.
  Sink(SinkTarget& target, const State& state, std::size_t copy_bytes_max = kCopyBytesMax);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // --- The beginning of a link ---

  // Continues where this history and the primary's part, at `common`. What this server may have
  // that is newer must be copied. `same`: it is one history, with one id; so what is newer than
  // applied(), because it came with a copy, is yet to come in a frame. Returns false, with nothing
  // changed, for an offset above applied(): no primary may name that.
  [[nodiscard]] bool Resume(std::uint64_t common, bool same);
  // Begins in another history, at its head: all partitions must be copied. `emptied`: the table has
  // just been emptied, because the keys are hashed by another secret from now on.
  void StartOver(std::uint64_t head, bool emptied);

  // Append a frame for the primary. A NEED is the first one on each link. `now`: see Frame::time.
  void AppendNeed(Instant now, std::string& out) const;
  // An ACK echoes the times of frames immediately, even while its offset waits for the disk.
  void AppendAck(Instant now, const OnDisk& disk, std::string& out) const;
  // Appends a request to become the primary, because Sentinel has chosen this server. The primary
  // answers with a YIELD or a REFUSE, unless it is dead.
  void AppendTakeover(Instant now, std::string& out) const;

  // --- Bytes of the link ---

  // Applies the frames that are complete with these bytes. Returns false if the link must end, and
  // from then on until the next link begins.
  [[nodiscard]] bool Receive(std::string_view bytes);
  // The reason, a phrase like "a frame of unknown kind 5"; or empty.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  // --- What the replica has ---

  // The frames before this offset are applied.
  [[nodiscard]] std::uint64_t applied() const noexcept { return applied_; }
  // The last offset that all of the table and the policies were exact as of: applied(), unless
  // something is open. It is the one to show, to save and, at a promotion, to end the history with.
  // Nothing after StartOver until all is there.
  [[nodiscard]] std::optional<std::uint64_t> shown() const noexcept { return shown_; }
  // True from a SYNCED on, until a SKIP, a GAP or the next link.
  [[nodiscard]] bool synced() const noexcept { return synced_; }
  // True from the first SYNCED on after the table was empty.
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  // The term of the primary that has yielded to this server on this link, and so admits nothing
  // more; nothing until it has. All of its history is applied, and no frame follows.
  [[nodiscard]] const std::optional<std::uint64_t>& yielded() const noexcept { return yielded_; }
  // How often the primary has refused to yield to this server on this link. It answers requests in
  // their order.
  [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
  // The open partitions.
  [[nodiscard]] const PartitionSet& need() const noexcept { return open_; }
  [[nodiscard]] std::size_t partitions_left() const noexcept { return open_.size(); }
  // Where each partition has last changed, an upper bound. A partition that was copied at applied()
  // may have changes that no frame of the old history will bring to the others. So it counts as
  // changed one later, and a promoted replica's ring begins there: every other replica passes
  // through a SKIP, which names that partition.
  [[nodiscard]] const LastChanged& last_changed() const noexcept { return last_changed_; }
  // The ring of this server once it is promoted.
  [[nodiscard]] Ring PromotedRing(std::size_t capacity) const {
    return {capacity, applied_ + 1, last_changed_, PoliciesChanged(policies_changed_)};
  }
  // The latest time of a frame since StartOver, of any primary: what a promoted server's time must
  // not be below.
  [[nodiscard]] Instant newest() const noexcept { return newest_; }
  // This server has all changes that its primary made before this time; Instant{}: it was never in
  // sync. The time of a heartbeat does not count while changes are on their way.
  [[nodiscard]] Instant exact_time() const noexcept { return exact_time_; }
  // The latest on this link, which ACK echoes; Instant{} before the first. For TimeShift::Add.
  [[nodiscard]] Instant newest_on_link() const noexcept { return newest_on_link_; }
  // The primary's head and lease as of the last heartbeat.
  [[nodiscard]] const HeartbeatBody& heartbeat() const noexcept { return heartbeat_; }

 private:
  void BeginLink();
  void Fail(std::string error);
  void UpdateShown();
  [[nodiscard]] bool has_all_policies() const noexcept { return policies_as_of_ == applied_; }
  void Apply(const Frame& frame);
  [[nodiscard]] bool ApplyBody(const Frame& frame);
  [[nodiscard]] bool ApplyNumbered(const Frame& frame, PartitionSet& touched);
  [[nodiscard]] bool ApplyGap(const Frame& frame, PartitionSet& touched);
  [[nodiscard]] bool ApplyPolicies(const Frame& frame, PartitionSet& touched);
  [[nodiscard]] bool ApplyPolicyList(const Frame& frame);
  [[nodiscard]] bool ApplyOverrides(const Frame& frame);
  [[nodiscard]] bool ApplyPartition(const Frame& frame);
  [[nodiscard]] bool AddPart(const Frame& frame, std::uint16_t partition, bool is_last);
  [[nodiscard]] bool ApplySkip(const Frame& frame);
  [[nodiscard]] bool ApplySynced(const Frame& frame);
  [[nodiscard]] bool ApplyYield(const Frame& frame);

  SinkTarget& target_;
  FrameReader reader_;
  std::string error_;

  std::uint64_t applied_;
  LastChanged last_changed_;
  PartitionSet open_;  // a partition that is open has changed after shown_: last_changed_ says so
  // The offset as of which all policies are here: applied_, unless a list is needed. Nothing: the
  // list must have all.
  std::optional<std::uint64_t> policies_as_of_;
  std::uint64_t policies_changed_;  // of any policy, as last_changed_
  std::optional<std::uint64_t> shown_;
  bool synced_ = false;
  std::optional<std::uint64_t> yielded_;
  std::size_t refusals_ = 0;
  bool complete_;

  std::optional<std::uint16_t> copying_;  // the partition of which parts are missing
  std::size_t copied_bytes_ = 0;          // of the parts that have come
  const std::size_t copy_bytes_max_;
  bool list_begun_ = false;  // parts of the list of policies are missing

  Instant newest_{};
  Instant newest_on_link_{};
  Instant exact_time_{};
  HeartbeatBody heartbeat_;
};

}  // namespace weir
