// The latest frames of a primary's history, by offset, and for each partition the offset of its
// last change.
//
// The frames lie in one buffer of `capacity` bytes, a frame that is larger alone in one of its own
// size. The buffer's pages are the system's until the frames reach them. The oldest frames go to
// make room for a new one. What is gone need not be read again: SkipFrom names the partitions that
// a reader must get as a whole instead.
//
// Not thread-safe: the caller has a mutex. No function calls another party, waits or logs. Cost of
// Append: one CRC and two copies of the body, amortised O(1) for the frames that go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "replication/frame.h"
#include "replication/last_changed.h"

namespace weir {

class Ring {
 public:
  // Makes an empty ring. `head`: the offset of its first frame. For a new history it is 0; for a
  // promoted replica see Sink::PromotedRing. Copies last_changed, and keeps the copy (32 KiB) until
  // the first frame is gone. Requires: capacity > 0.
  Ring(std::size_t capacity, std::uint64_t head, const LastChanged& last_changed = LastChanged(),
       PoliciesChanged policies = PoliciesChanged());

  // Appends a frame, which gets the offset head(). `touched`: the partitions that it is about.
  // Requires: a numbered frame.
  void Append(FrameKind kind, Instant time, std::string_view body, const PartitionSet& touched);
  // Says that the last frame is about that policy.
  void TouchPolicy(PolicyId policy) { policies_.Raise(policy, head_); }

  // The offset of the next frame, and that of the oldest frame that is still here.
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
  [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(head_ - tail_);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  // Appends the frames from `cursor` on to `out`: as many as fit into `bytes_max`, but at least one
  // if there is one. Returns the offset of the frame after them. Returns nothing, with `out`
  // unchanged, if the frame at `cursor` is gone, if none begins there, or if it lies past the head.
  [[nodiscard]] std::optional<std::uint64_t> Read(std::uint64_t cursor, std::size_t bytes_max,
                                                  std::string& out) const;

  // Where a reader continues if Read returns nothing for its cursor, and what may have changed in
  // between. It continues at the head; or at the first frame that was ever appended, if that is
  // still here and the cursor is before it. So a replica of a server that was promoted gets what
  // has changed since as frames. About 2 us.
  struct Skip {
    std::uint64_t to = 0;
    PartitionSet changed;
    bool has_policies = false;  // policies may have changed, too
  };
  [[nodiscard]] Skip SkipFrom(std::uint64_t cursor) const noexcept;

  // The time of the frame that begins at `offset`; nothing if it is gone, or if none begins there.
  [[nodiscard]] std::optional<Instant> TimeAt(std::uint64_t offset) const;

  [[nodiscard]] const LastChanged& last_changed() const noexcept { return last_changed_; }
  [[nodiscard]] const PoliciesChanged& policies() const noexcept { return policies_; }

  // The oldest frames go if there are too many for it. Copies the others. Requires: capacity > 0.
  void SetCapacity(std::size_t capacity);

 private:
  [[nodiscard]] std::size_t SizeAt(std::uint64_t offset) const;
  void CopyOut(std::uint64_t from, std::size_t count, char* to) const;
  void DropUntil(std::size_t bytes_max);
  void MoveTo(std::size_t room);

  std::size_t capacity_;
  std::uint64_t head_;
  std::uint64_t tail_;
  LastChanged last_changed_;
  PoliciesChanged policies_;
  // As of the first frame that was ever appended; null once that is gone.
  std::unique_ptr<const LastChanged> changed_before_;
  std::uint64_t policies_before_;  // the latest change of a policy then
  // The byte at offset x is bytes_[x % room_].
  std::size_t room_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::string frame_;  // the one that is being appended
};

}  // namespace weir
