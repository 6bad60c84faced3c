#include "http2/frame_watch.h"

#include <algorithm>

#include "http2/preface.h"

namespace weir {
namespace {

// Types and flags of frames, RFC 9113, section 6.
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kReset = 3;
constexpr std::uint8_t kContinuation = 9;
constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kPadded = 0x8;
constexpr std::size_t kHeadBytes = 9;

constexpr int kContinuationsMax = 8;

}  // namespace

bool Http2FrameAllowance::Take(HostInstant now) noexcept {
  debt_ = std::max(Nanos{0}, debt_ - (now - last_));
  last_ = now;
  if (debt_ + interval_ > debt_max_) return false;
  debt_ += interval_;
  return true;
}

void Http2FrameAllowance::GiveBack(std::int64_t frames) noexcept {
  debt_ = std::max(Nanos{0}, debt_ - interval_ * frames);
}

Http2FrameWatch::Http2FrameWatch() noexcept : skip_(kHttp2Preface.size()) {}

Http2FrameWatch::Read Http2FrameWatch::Look(std::string_view input, HostInstant now,
                                            std::size_t units_max) {
  Read read;
  while (read.bytes < input.size() && flood_ == Http2Flood::kNone) {
    if (skip_ > 0) {
      const std::size_t skipped = std::min(skip_, input.size() - read.bytes);
      skip_ -= skipped;
      read.bytes += skipped;
      continue;
    }
    if (head_bytes_ == 0 && read.units == units_max) return read;
    const bool is_whole = TakeHeadByte(static_cast<std::uint8_t>(input[read.bytes++]));
    if (is_whole && Count(now)) ++read.units;
  }
  return read;
}

bool Http2FrameWatch::TakeHeadByte(std::uint8_t byte) noexcept {
  const std::size_t at = head_bytes_++;
  if (at == 0) length_ = 0;
  if (at < 3) length_ = length_ << 8 | byte;
  if (at == 3) type_ = byte;
  if (at == 4) flags_ = byte;
  const bool has_padding = type_ == kData && (flags_ & kPadded) != 0 && length_ > 0;
  if (at == kHeadBytes) padding_ = byte;
  if (at + 1 < kHeadBytes + (has_padding ? 1 : 0)) return false;
  skip_ = length_ - (has_padding ? 1 : 0);
  if (!has_padding) padding_ = 0;
  head_bytes_ = 0;
  return true;
}

bool Http2FrameWatch::Count(HostInstant now) noexcept {
  if (type_ == kContinuation) {
    if (++continuations_ > kContinuationsMax) flood_ = Http2Flood::kControl;
    return false;
  }
  if (type_ == kHeaders) {
    continuations_ = 0;
    ++ends_permitted_;
    return true;
  }
  if (type_ == kReset) {
    if (!resets_.Take(now)) flood_ = Http2Flood::kResets;
    return true;
  }
  const bool has_padding = (flags_ & kPadded) != 0;
  const bool is_empty = length_ <= (has_padding ? 1U + padding_ : 0U);
  if (type_ == kData && !is_empty) return false;
  if (type_ == kData && (flags_ & kEndStream) != 0 && ends_permitted_ > 0) {
    --ends_permitted_;
    return false;
  }
  if (!control_.Take(now)) flood_ = Http2Flood::kControl;
  return true;
}

}  // namespace weir
