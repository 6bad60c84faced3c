// One replica as its primary sees it: which bytes to send it next. A state machine without sockets
// or threads; sink.h is the other end.
//
// It has a cursor, the offset of the next frame of the ring that the replica gets, and a set of
// partitions that the replica must get as a whole. While its output is short, it sends
//     1. nothing, until the replica has said what it needs
//     2. a list of all policies, if the replica needs one: those that have changed since it had all
//        of them, and the ids of the others
//     3. the frames of the ring from the cursor on. A GAP on the way adds its partition to the set.
//        If the ring has no frame at the cursor, a SKIP moves the cursor to the frame that
//        Ring::SkipFrom names, and adds the partitions that have changed in between to the set. If
//        a policy has, a list follows
//     4. a copy of a partition of the set, with the overrides whose keys are of it
//     5. SYNCED, once the set is empty.
// So a new replica, one that was away, one that is too slow and a former primary differ only in
// where the cursor and the set begin, and memory is bounded by the ring and one partition. Nothing
// is sent twice unless it changes in between. So a sync ends on every link that carries more than
// the changes.
//
// Why it is right: a copy, of a partition or the list of policies, holds every change made before
// it, and every later change is in a frame that has yet to come, since the ring takes the changes
// that are not taken yet. A frame made before the copy but sent after it may put an older value
// back for a moment; but then the value that the copy had was not taken yet either, and its frame
// follows. So as of every offset that the replica applies after the copy, each value is the one as
// of that offset or a later one, whether or not values grow. SYNCED, which follows all copies, says
// this.
//
// Not thread-safe. Next reads the ring, so its caller holds the ring's mutex; it makes no copy, so
// that mutex need not be held while a partition is locked. The loop of a sender:
//
//     while (true) {
//       const Source::Step step = (ring's mutex is held, source.Next(ring, now, out));
//       if (step.want == Source::Want::kNothing) break;
//       if (step.want == Source::Want::kPolicies) {
//         source.AppendPolicies(body, is_last, now, out);  // for each part of a list made now
//       } else {
//         source.AppendOverrides(body, now, out);           // the same of step.partition
//         source.AppendPartition(body, is_last, now, out);
//       }
//     }
//     (sends `out` and removes what was sent)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "replication/frame.h"
#include "replication/frame_bodies.h"
#include "replication/ring.h"

namespace weir {

class Source {
 public:
  // Next adds nothing to an output of this size. One frame or copy may exceed it. The size is
  // small, so that a replica hears its primary often while the primary copies many empty partitions
  // on a busy host.
  static constexpr std::size_t kOutBytes = std::size_t{32} << 10;

  // `cursor`: the offset that both have agreed on (History::Common) or, for a replica that starts
  // over, the ring's head. Requires: it is not past the head of the ring that Next reads.
  explicit Source(std::uint64_t cursor) noexcept : cursor_(cursor), sent_(cursor) {
    acked_.offset = cursor;
  }

  enum class Want {
    kNothing,    // until the ring grows, the replica says something, or `out` is shorter
    kPolicies,   // AppendPolicies, until the last part
    kPartition,  // AppendOverrides, if there are some, and AppendPartition, until the last part
  };
  struct Step {
    Want want = Want::kNothing;
    std::uint16_t partition = 0;
    // Of kPolicies: the policies that have not changed since are only to be named.
    std::optional<std::uint64_t> policies_as_of{};
  };
  // Appends what the ring has for the replica, and returns what else it must get. The copy that is
  // asked for is to be made after this call. `now`: the primary's time, as for a frame.
  [[nodiscard]] Step Next(const Ring& ring, Instant now, std::string& out);

  // Append a part of what Next has asked for: of a copy that was made, at `now`, in one piece. No
  // other frame may lie between the parts of a partition. Requires: that Next asked for it, and a
  // body of a size that frames have.
  void AppendPolicies(std::string_view body, bool is_last, Instant now, std::string& out);
  void AppendOverrides(std::string_view body, Instant now, std::string& out);
  void AppendPartition(std::string_view body, bool is_last, Instant now, std::string& out);

  // Appends a sign of life. `head`: the ring's. `lease_ms`: see HeartbeatBody. Requires: Next has
  // not asked for a copy, or its last part was appended.
  void AppendHeartbeat(std::uint64_t head, std::uint32_t lease_ms, Instant now, std::string& out);

  // True if the replica has been sent all that the ring has, and SYNCED.
  [[nodiscard]] bool is_level(const Ring& ring) const noexcept {
    return synced_ && cursor_ == ring.head();
  }
  // Appends the end of the history: the replica is the primary from here on. `term`: that of the
  // primary that yields. The last frame. Requires: is_level, of a ring that no longer grows.
  void AppendYield(std::uint64_t term, Instant now, std::string& out);

  // Appends the answer to a TAKEOVER that the primary does not grant. Requires: as AppendHeartbeat.
  void AppendRefusal(Instant now, std::string& out);

  // Handles a frame of the replica. Returns false for one that no replica sends: a kind that is
  // not ACK, NEED or TAKEOVER, a damaged body, an offset that was not sent or that falls.
  [[nodiscard]] bool HandleFrame(const Frame& frame);
  // The request of the replica to become the primary, if one has come since the last call.
  [[nodiscard]] std::optional<TakeoverBody> TakeTakeover() noexcept {
    return std::exchange(takeover_, std::nullopt);
  }

  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  // The last ACK; at first the offset that the link began with, and all else false.
  [[nodiscard]] const AckBody& acked() const noexcept { return acked_; }
  // True once SYNCED was appended, until a SKIP, a GAP or a NEED.
  [[nodiscard]] bool synced() const noexcept { return synced_; }
  // The number of partitions that are yet to be copied.
  [[nodiscard]] std::size_t partitions_left() const noexcept { return set_.size(); }

 private:
  // A list of policies that is to be sent.
  struct DueList {
    std::optional<std::uint64_t> policies_as_of;
  };

  void AppendRing(const Ring& ring, Instant now, std::string& out);
  void Skip(const Ring& ring, Instant now, std::string& out);
  void CollectGaps(std::string_view frames);
  void Append(FrameKind kind, std::uint8_t flags, Instant now, std::string_view body,
              std::string& out);
  [[nodiscard]] bool HandleAck(const Frame& frame);
  [[nodiscard]] bool HandleNeed(const Frame& frame);

  std::uint64_t cursor_;
  std::uint64_t sent_;  // the greatest offset that the replica may have applied
  PartitionSet set_;
  std::size_t next_partition_ = 0;  // where the search for one of the set continues
  bool copies_ = false;             // a partition was asked for, and its last part is missing
  bool knows_need_ = false;         // a NEED has come
  bool synced_ = false;
  std::optional<TakeoverBody> takeover_;
  bool has_acked_ = false;
  std::optional<DueList> due_list_;
  AckBody acked_;
};

}  // namespace weir
