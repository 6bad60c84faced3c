#include "replication/source.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {

Source::Step Source::Next(const Ring& ring, Instant now, std::string& out) {
  WEIR_CHECK(!copies_);
  WEIR_CHECK(cursor_ <= ring.head());
  if (out.size() >= kOutBytes || !knows_need_) return {};
  if (due_list_) return {.want = Want::kPolicies, .policies_as_of = due_list_->policies_as_of};
  while (cursor_ != ring.head()) {
    AppendRing(ring, now, out);
    if (out.size() >= kOutBytes) return {};
    if (due_list_) return {.want = Want::kPolicies, .policies_as_of = due_list_->policies_as_of};
  }
  if (!set_.empty()) {
    const std::size_t partition = set_.FirstFrom(next_partition_);
    set_.Remove(partition);
    next_partition_ = partition + 1;
    copies_ = true;
    return {.want = Want::kPartition, .partition = static_cast<std::uint16_t>(partition)};
  }
  if (!synced_) {
    Append(FrameKind::kSynced, 0, now, BodyOf(SyncedBody{.offset = cursor_}), out);
    synced_ = true;
  }
  return {};
}

void Source::AppendPolicies(std::string_view body, bool is_last, Instant now, std::string& out) {
  WEIR_CHECK(due_list_.has_value());
  WEIR_CHECK(!copies_);
  const unsigned flags = kWholeFlag | (is_last ? 0U : kMoreFlag);
  Append(FrameKind::kPolicies, static_cast<std::uint8_t>(flags), now, body, out);
  if (is_last) due_list_.reset();
}

void Source::AppendOverrides(std::string_view body, Instant now, std::string& out) {
  WEIR_CHECK(copies_);
  Append(FrameKind::kOverrides, 0, now, body, out);
}

void Source::AppendPartition(std::string_view body, bool is_last, Instant now, std::string& out) {
  WEIR_CHECK(copies_);
  Append(FrameKind::kPartition, is_last ? 0 : kMoreFlag, now, body, out);
  copies_ = !is_last;
}

void Source::AppendHeartbeat(std::uint64_t head, std::uint32_t lease_ms, Instant now,
                             std::string& out) {
  WEIR_CHECK(!copies_);
  const HeartbeatBody body = {.head = head, .lease_ms = lease_ms};
  Append(FrameKind::kHeartbeat, 0, now, BodyOf(body), out);
}

void Source::AppendYield(std::uint64_t term, Instant now, std::string& out) {
  WEIR_CHECK(synced_);
  Append(FrameKind::kYield, 0, now, BodyOf(YieldBody{.term = term}), out);
}

void Source::AppendRefusal(Instant now, std::string& out) {
  WEIR_CHECK(!copies_);
  Append(FrameKind::kRefuse, 0, now, {}, out);
}

bool Source::HandleFrame(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kAck:
      return HandleAck(frame);
    case FrameKind::kNeed:
      return HandleNeed(frame);
    case FrameKind::kTakeover:
      takeover_ = ReadTakeoverBody(frame.body);
      return takeover_.has_value();
    default:
      return static_cast<std::uint8_t>(frame.kind) >= kOptionalKindMin;
  }
}

// Appends frames of the ring, or a SKIP. Requires: the cursor is not at the head.
void Source::AppendRing(const Ring& ring, Instant now, std::string& out) {
  const std::size_t begin = out.size();
  const std::optional<std::uint64_t> cursor = ring.Read(cursor_, kOutBytes - begin, out);
  if (!cursor) return Skip(ring, now, out);
  WEIR_CHECK(*cursor > cursor_);
  cursor_ = *cursor;
  sent_ = std::max(sent_, cursor_);
  CollectGaps(std::string_view(out).substr(begin));
}

void Source::Skip(const Ring& ring, Instant now, std::string& out) {
  const Ring::Skip skip = ring.SkipFrom(cursor_);
  const SkipBody body = {
      .to = skip.to, .changed = skip.changed, .lists_policies = skip.has_policies};
  Append(FrameKind::kSkip, 0, now, BodyOf(body), out);
  if (body.lists_policies) due_list_ = DueList{cursor_};
  set_.AddAll(body.changed);
  cursor_ = body.to;
  sent_ = std::max(sent_, cursor_);
  synced_ = false;
}

void Source::CollectGaps(std::string_view frames) {
  while (!frames.empty()) {
    const std::size_t size = FrameSizeFrom(frames);
    constexpr std::size_t kKindAt = 4;
    constexpr std::size_t kBodyAt = kFrameBytesMin - 4;
    if (static_cast<FrameKind>(frames[kKindAt]) == FrameKind::kGap) {
      const auto gap = ReadGapBody(frames.substr(kBodyAt, size - kFrameBytesMin));
      WEIR_CHECK(gap.has_value());
      set_.Add(gap->partition);
      synced_ = false;
    }
    frames.remove_prefix(size);
  }
}

// Appends a frame beside the history.
void Source::Append(FrameKind kind, std::uint8_t flags, Instant now, std::string_view body,
                    std::string& out) {
  const Frame frame = {.kind = kind, .flags = flags, .offset = cursor_, .time = now, .body = body};
  WEIR_CHECK(!frame.is_numbered());
  AppendFrame(frame, out);
}

bool Source::HandleAck(const Frame& frame) {
  const std::optional<AckBody> ack = ReadAckBody(frame.body);
  if (!ack || ack->offset > sent_ || ack->newest < acked_.newest) return false;
  // A replica may have less on its disk than the offset at which the link begins.
  if (has_acked_ && ack->offset < acked_.offset) return false;
  has_acked_ = true;
  acked_ = *ack;
  return true;
}

bool Source::HandleNeed(const Frame& frame) {
  const std::optional<NeedBody> need = ReadNeedBody(frame.body);
  if (!need) return false;
  set_.AddAll(need->partitions);
  knows_need_ = true;
  if (need->policies_as_of != cursor_) due_list_ = DueList{need->policies_as_of};
  synced_ = synced_ && need->partitions.empty() && !due_list_;
  return true;
}

}  // namespace weir
