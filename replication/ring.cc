#include "replication/ring.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

// The bytes of a frame before its offset, through its offset, and through its time.
constexpr std::size_t kBeforeOffset = 8;
constexpr std::size_t kThroughOffset = kBeforeOffset + sizeof(std::uint64_t);
constexpr std::size_t kThroughTime = kThroughOffset + sizeof(std::uint64_t);
static_assert(kThroughTime <= kFrameBytesMin);

}  // namespace

Ring::Ring(std::size_t capacity, std::uint64_t head, const LastChanged& last_changed,
           PoliciesChanged policies)
    : capacity_(capacity),
      head_(head),
      tail_(head),
      last_changed_(last_changed),
      policies_(std::move(policies)),
      changed_before_(std::make_unique<LastChanged>(last_changed)),
      policies_before_(policies_.newest()) {
  WEIR_CHECK(capacity > 0);
  MoveTo(capacity);
}

void Ring::Append(FrameKind kind, Instant time, std::string_view body,
                  const PartitionSet& touched) {
  const Frame frame = {.kind = kind, .flags = 0, .offset = head_, .time = time, .body = body};
  WEIR_CHECK(frame.is_numbered());
  frame_.clear();
  AppendFrame(frame, frame_);
  DropUntil(capacity_ - std::min(frame_.size(), capacity_));
  const std::size_t room = std::max(capacity_, frame_.size());
  if (room != room_) MoveTo(room);
  const std::size_t begin = head_ % room_;
  const std::size_t first = std::min(frame_.size(), room_ - begin);
  std::memcpy(&bytes_[begin], frame_.data(), first);
  std::memcpy(bytes_.get(), frame_.data() + first, frame_.size() - first);
  head_ += frame_.size();
  WEIR_CHECK(size() <= room_);
  last_changed_.Raise(touched, head_);
}

std::optional<std::uint64_t> Ring::Read(std::uint64_t cursor, std::size_t bytes_max,
                                        std::string& out) const {
  if (cursor == head_) return cursor;
  if (cursor < tail_ || cursor > head_ || head_ - cursor < kFrameBytesMin) return std::nullopt;
  // A frame names its own offset.
  std::array<char, kThroughOffset> begin;
  CopyOut(cursor, begin.size(), begin.data());
  RecordReader reader({begin.data(), begin.size()});
  reader.TakeBytes(kBeforeOffset);
  if (reader.Take<std::uint64_t>() != cursor) return std::nullopt;

  std::uint64_t end = cursor;
  do {
    const std::size_t next = SizeAt(end);
    if (end != cursor && end + next - cursor > bytes_max) break;
    end += next;
  } while (end < head_);
  WEIR_CHECK(end <= head_);
  const auto count = static_cast<std::size_t>(end - cursor);
  const std::size_t size_before = out.size();
  out.resize(size_before + count);
  CopyOut(cursor, count, out.data() + size_before);
  return end;
}

Ring::Skip Ring::SkipFrom(std::uint64_t cursor) const noexcept {
  if (changed_before_ && cursor < tail_) {
    return {tail_, changed_before_->Since(cursor), policies_before_ > cursor};
  }
  return {head_, last_changed_.Since(cursor), policies_.newest() > cursor};
}

std::optional<Instant> Ring::TimeAt(std::uint64_t offset) const {
  if (offset < tail_ || offset >= head_ || head_ - offset < kFrameBytesMin) return std::nullopt;
  std::array<char, kThroughTime> bytes;
  CopyOut(offset, bytes.size(), bytes.data());
  RecordReader reader({bytes.data(), bytes.size()});
  reader.TakeBytes(kBeforeOffset);
  if (reader.Take<std::uint64_t>() != offset) return std::nullopt;  // A frame names its own offset.
  return Instant{Nanos{static_cast<Nanos::rep>(reader.Take<std::uint64_t>())}};
}

void Ring::SetCapacity(std::size_t capacity) {
  WEIR_CHECK(capacity > 0);
  capacity_ = capacity;
  DropUntil(capacity_);
  MoveTo(capacity_);
}

// Requires: a frame begins at `offset`.
std::size_t Ring::SizeAt(std::uint64_t offset) const {
  std::array<char, sizeof(std::uint32_t)> length;
  CopyOut(offset, length.size(), length.data());
  return FrameSizeFrom({length.data(), length.size()});
}

void Ring::CopyOut(std::uint64_t from, std::size_t count, char* to) const {
  WEIR_DCHECK(from >= tail_);
  WEIR_DCHECK(from + count <= head_);
  const std::size_t begin = from % room_;
  const std::size_t first = std::min(count, room_ - begin);
  std::memcpy(to, &bytes_[begin], first);
  std::memcpy(to + first, bytes_.get(), count - first);
}

void Ring::DropUntil(std::size_t bytes_max) {
  if (size() > bytes_max) changed_before_.reset();
  while (size() > bytes_max) tail_ += SizeAt(tail_);
  WEIR_CHECK(tail_ <= head_);
}

// Requires: size() <= room.
void Ring::MoveTo(std::size_t room) {
  WEIR_CHECK(size() <= room);
  auto bytes = std::make_unique_for_overwrite<char[]>(room);
  const std::size_t begin = tail_ % room;
  const std::size_t first = std::min(size(), room - begin);
  if (size() > 0) {
    CopyOut(tail_, first, &bytes[begin]);
    CopyOut(tail_ + first, size() - first, bytes.get());
  }
  bytes_ = std::move(bytes);
  room_ = room;
}

}  // namespace weir
