#include "replication/sink.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"

namespace weir {
namespace {

unsigned NumberOfKind(const Frame& frame) { return static_cast<unsigned>(frame.kind); }

}  // namespace

Sink::Sink(SinkTarget& target, const State& state, std::size_t copy_bytes_max)
    : target_(target),
      applied_(state.applied),
      last_changed_(state.last_changed),
      policies_as_of_(state.policies_as_of),
      policies_changed_(state.policies_changed),
      shown_(state.applied),
      complete_(state.complete),
      copy_bytes_max_(copy_bytes_max),
      exact_time_(state.exact_time) {}

bool Sink::Resume(std::uint64_t common, bool same) {
  if (common > applied_) return false;
  BeginLink();
  if (same && common == applied_) return true;
  open_.AddAll(last_changed_.Since(common));
  // A list comes ahead of the frames of its changes. So in another history this server may have
  // policies that the primary never had, though its own offset is not above `common`.
  if (!same || policies_as_of_ > common) policies_as_of_.reset();
  applied_ = common;
  if (shown_) shown_ = std::min(*shown_, common);
  return true;
}

void Sink::StartOver(std::uint64_t head, bool emptied) {
  BeginLink();
  open_ = PartitionSet::All();
  policies_as_of_.reset();
  applied_ = head;
  last_changed_ = LastChanged(head);
  policies_changed_ = head;
  shown_.reset();
  newest_ = Instant{};
  exact_time_ = Instant{};
  complete_ = complete_ && !emptied;
}

void Sink::AppendNeed(Instant now, std::string& out) const {
  const std::string body = BodyOf(NeedBody{.partitions = open_, .policies_as_of = policies_as_of_});
  AppendFrame({.kind = FrameKind::kNeed, .flags = 0, .offset = applied_, .time = now, .body = body},
              out);
}

void Sink::AppendAck(Instant now, const OnDisk& disk, std::string& out) const {
  const std::uint64_t kept = disk.is_awaited ? disk.offset.value_or(0) : applied_;
  const std::string body = BodyOf(AckBody{.offset = std::min(kept, applied_),
                                          .newest = newest_on_link_,
                                          .synced = synced_,
                                          .complete = complete_,
                                          .cannot_save = disk.fails});
  AppendFrame({.kind = FrameKind::kAck, .flags = 0, .offset = applied_, .time = now, .body = body},
              out);
}

void Sink::AppendTakeover(Instant now, std::string& out) const {
  const std::string body = BodyOf(TakeoverBody{.newest = newest_on_link_});
  AppendFrame(
      {.kind = FrameKind::kTakeover, .flags = 0, .offset = applied_, .time = now, .body = body},
      out);
}

bool Sink::Receive(std::string_view bytes) {
  reader_.Feed(bytes);
  while (error_.empty()) {
    const std::optional<Frame> frame = reader_.Next();
    if (!frame) {
      error_ = reader_.error();
      break;
    }
    Apply(*frame);
  }
  return error_.empty();
}

void Sink::BeginLink() {
  reader_ = FrameReader();
  error_.clear();
  synced_ = false;
  yielded_.reset();
  refusals_ = 0;
  copying_.reset();
  list_begun_ = false;
  newest_on_link_ = Instant{};
}

void Sink::UpdateShown() {
  if (has_all_policies() && open_.empty()) shown_ = applied_;
}

void Sink::Apply(const Frame& frame) {
  if (frame.offset != applied_) {
    error_ = absl::StrCat("a frame of kind ", NumberOfKind(frame), " at offset ", frame.offset,
                          ", after ", applied_);
    return;
  }
  const bool is_of_copy =
      frame.kind == FrameKind::kPartition || frame.kind == FrameKind::kOverrides;
  if (copying_ && !is_of_copy) {
    error_ = absl::StrCat("a frame of kind ", NumberOfKind(frame), " within a partition");
    return;
  }
  if (yielded_) {
    error_ = absl::StrCat("a frame of kind ", NumberOfKind(frame), " after the end of the history");
    return;
  }
  newest_on_link_ = std::max(newest_on_link_, frame.time);
  target_.SetTime(newest_on_link_);
  if (!ApplyBody(frame)) {
    error_ = absl::StrCat("a frame of kind ", NumberOfKind(frame), " with a damaged body");
    return;
  }
  newest_ = std::max(newest_, frame.time);
  const bool is_ahead = frame.kind == FrameKind::kHeartbeat && heartbeat_.head != applied_;
  if (synced_ && !is_ahead) exact_time_ = std::max(exact_time_, frame.time);
  UpdateShown();
}

bool Sink::ApplyBody(const Frame& frame) {
  if (frame.is_numbered()) {
    if (list_begun_) return false;
    PartitionSet touched;
    if (!ApplyNumbered(frame, touched)) return false;
    const bool had_all = has_all_policies();
    applied_ += frame.size();
    if (had_all) policies_as_of_ = applied_;
    last_changed_.Raise(touched, applied_);
    return true;
  }
  switch (frame.kind) {
    case FrameKind::kPolicies:
      return ApplyPolicyList(frame);
    case FrameKind::kOverrides:
      return ApplyOverrides(frame);
    case FrameKind::kPartition:
      return ApplyPartition(frame);
    case FrameKind::kHeartbeat: {
      const std::optional<HeartbeatBody> body = ReadHeartbeatBody(frame.body);
      heartbeat_ = body.value_or(heartbeat_);
      return body.has_value();
    }
    case FrameKind::kSkip:
      return ApplySkip(frame);
    case FrameKind::kSynced:
      return ApplySynced(frame);
    case FrameKind::kYield:
      return ApplyYield(frame);
    case FrameKind::kRefuse:
      ++refusals_;
      return true;
    default:
      return static_cast<std::uint8_t>(frame.kind) >= kOptionalKindMin;
  }
}

// Adds the partitions that the frame is about to `touched`.
bool Sink::ApplyNumbered(const Frame& frame, PartitionSet& touched) {
  switch (frame.kind) {
    case FrameKind::kChanges: {
      const std::optional<PartitionSet> changed = target_.ApplyChanges(frame.body, frame.time);
      touched = changed.value_or(touched);
      return changed.has_value();
    }
    case FrameKind::kFlush: {
      const std::optional<FlushBody> body = ReadFlushBody(frame.body);
      if (!body) return false;
      target_.Flush(body->generation);
      touched = PartitionSet::All();
      return true;
    }
    case FrameKind::kGap:
      return ApplyGap(frame, touched);
    case FrameKind::kPolicies:
      return ApplyPolicies(frame, touched);
    default:  // an optional kind
      return true;
  }
}

bool Sink::ApplyGap(const Frame& frame, PartitionSet& touched) {
  const std::optional<GapBody> body = ReadGapBody(frame.body);
  if (!body) return false;
  touched.Add(body->partition);
  open_.Add(body->partition);
  synced_ = false;
  return true;
}

bool Sink::ApplyPolicies(const Frame& frame, PartitionSet& touched) {
  const std::optional<SinkTarget::PoliciesTouched> about = target_.ApplyPolicies(frame.body);
  if (!about) return false;
  touched = about->partitions;
  if (about->policies) policies_changed_ = std::max(policies_changed_, applied_ + frame.size());
  return true;
}

bool Sink::ApplyPolicyList(const Frame& frame) {
  const SinkTarget::Part part = {.first = !list_begun_, .last = !frame.has_more()};
  if (!target_.ApplyPolicyList(frame.body, part)) return false;
  list_begun_ = !part.last;
  if (!part.last) return true;
  policies_as_of_ = applied_;
  policies_changed_ = std::max(policies_changed_, applied_ + 1);
  return true;
}

bool Sink::ApplyOverrides(const Frame& frame) {
  const std::optional<std::uint16_t> partition = target_.ApplyOverrides(frame.body, !copying_);
  return partition && AddPart(frame, *partition, false);
}

bool Sink::ApplyPartition(const Frame& frame) {
  const SinkTarget::Part part = {.first = !copying_, .last = !frame.has_more()};
  const std::optional<std::uint16_t> partition =
      target_.ApplyPartition(frame.body, part, frame.time);
  return partition && AddPart(frame, *partition, part.last);
}

// Counts a part of a copy of the partition, which the target has applied.
bool Sink::AddPart(const Frame& frame, std::uint16_t partition, bool is_last) {
  if (partition >= kPartitionCount) return false;
  copied_bytes_ = (copying_ ? copied_bytes_ : 0) + frame.body.size();
  if (!is_last) synced_ = false;
  open_.Add(partition);
  last_changed_.Raise(partition, applied_ + 1);
  if (copied_bytes_ > copy_bytes_max_ || (copying_ && *copying_ != partition)) return false;
  copying_ = is_last ? std::nullopt : std::optional(partition);
  if (is_last) open_.Remove(partition);
  return true;
}

bool Sink::ApplySkip(const Frame& frame) {
  const std::optional<SkipBody> body = ReadSkipBody(frame.body);
  if (!body || list_begun_ || body->to < applied_) return false;
  open_.AddAll(body->changed);
  last_changed_.Raise(body->changed, body->to);
  if (body->lists_policies) {
    policies_changed_ = std::max(policies_changed_, body->to);
  } else if (has_all_policies()) {
    policies_as_of_ = body->to;
  }
  synced_ = false;
  applied_ = body->to;
  return true;
}

bool Sink::ApplySynced(const Frame& frame) {
  const std::optional<SyncedBody> body = ReadSyncedBody(frame.body);
  if (!body || body->offset != applied_ || !open_.empty()) return false;
  if (!has_all_policies()) return false;
  synced_ = true;
  complete_ = true;
  return true;
}

bool Sink::ApplyYield(const Frame& frame) {
  const std::optional<YieldBody> body = ReadYieldBody(frame.body);
  if (!body || !synced_ || shown_ != applied_) return false;
  yielded_ = body->term;
  return true;
}

}  // namespace weir
