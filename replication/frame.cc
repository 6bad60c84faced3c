#include "replication/frame.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include <zlib.h>

#include "core/base/check.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kCheckBytes = sizeof(std::uint32_t);
// The least value of `length`.
constexpr std::size_t kLengthMin = kFrameBytesMin - kLengthBytes;
static_assert(kLengthMin == 24);
static_assert(kLengthMin + kPartitionBodyBytesMax <= UINT32_MAX);

// A buffer above this is given back once it has been read.
constexpr std::size_t kBufferKeptBytes = std::size_t{1} << 20;

constexpr auto kTimeMax = static_cast<std::uint64_t>(kInstantMax.time_since_epoch().count());

std::uint32_t CheckOf(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

bool IsOptional(FrameKind kind) { return static_cast<std::uint8_t>(kind) >= kOptionalKindMin; }

bool IsKnown(FrameKind kind) {
  switch (kind) {
    case FrameKind::kChanges:
    case FrameKind::kPolicies:
    case FrameKind::kFlush:
    case FrameKind::kGap:
    case FrameKind::kPartition:
    case FrameKind::kHeartbeat:
    case FrameKind::kSynced:
    case FrameKind::kYield:
    case FrameKind::kOverrides:
    case FrameKind::kSkip:
    case FrameKind::kAck:
    case FrameKind::kNeed:
    case FrameKind::kTakeover:
    case FrameKind::kRefuse:
      return true;
  }
  return false;
}

bool MayHaveFlags(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kPartition:
      return (frame.flags & ~kMoreFlag) == 0;
    case FrameKind::kPolicies:  // a frame of the history stands alone
      return (frame.flags & ~(kMoreFlag | kWholeFlag)) == 0 && frame.flags != kMoreFlag;
    default:
      return frame.flags == 0 || IsOptional(frame.kind);
  }
}

}  // namespace

bool Frame::is_numbered() const noexcept {
  switch (kind) {
    case FrameKind::kChanges:
    case FrameKind::kFlush:
    case FrameKind::kGap:
      return true;
    case FrameKind::kPolicies:
      return !is_whole();
    default:
      return IsOptional(kind) && static_cast<std::uint8_t>(kind) < kOptionalNumberedKindEnd;
  }
}

void AppendFrame(const Frame& frame, std::string& out) {
  WEIR_CHECK(frame.body.size() <= BodyBytesMax(frame.kind));
  WEIR_CHECK(frame.time >= Instant{});
  WEIR_CHECK(frame.time <= kInstantMax);
  WEIR_CHECK(MayHaveFlags(frame));
  const std::size_t begin = out.size();
  AppendNumber(static_cast<std::uint32_t>(kLengthMin + frame.body.size()), out);
  AppendNumber(static_cast<std::uint8_t>(frame.kind), out);
  AppendNumber(frame.flags, out);
  AppendNumber(std::uint16_t{0}, out);
  AppendNumber(frame.offset, out);
  AppendNumber(static_cast<std::uint64_t>(frame.time.time_since_epoch().count()), out);
  out += frame.body;
  AppendNumber(CheckOf(std::string_view(out).substr(begin)), out);
  WEIR_CHECK(out.size() - begin == frame.size());
}

std::size_t FrameSizeFrom(std::string_view bytes) noexcept {
  WEIR_CHECK(bytes.size() >= kLengthBytes);
  return kLengthBytes + RecordReader(bytes).Take<std::uint32_t>();
}

void FrameReader::Feed(std::string_view bytes) {
  if (!error_.empty()) return;
  if (begin_ == buffer_.size()) {
    if (buffer_.capacity() > kBufferKeptBytes) std::string().swap(buffer_);
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ >= buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

std::optional<Frame> FrameReader::Next() {
  const std::string_view unread = std::string_view(buffer_).substr(begin_);
  if (!error_.empty() || unread.size() <= kLengthBytes) return std::nullopt;
  RecordReader reader(unread);
  const std::size_t length = reader.Take<std::uint32_t>();
  Frame frame;
  frame.kind = static_cast<FrameKind>(reader.Take<std::uint8_t>());
  const auto kind = static_cast<unsigned>(frame.kind);
  if (!IsKnown(frame.kind) && !IsOptional(frame.kind)) {
    return Fail(absl::StrCat("a frame of unknown kind ", kind));
  }
  if (length < kLengthMin || length - kLengthMin > BodyBytesMax(frame.kind)) {
    return Fail(absl::StrCat("a frame of kind ", kind, " and length ", length));
  }
  if (unread.size() < kLengthBytes + length) return std::nullopt;
  frame.flags = reader.Take<std::uint8_t>();
  const auto reserved = reader.Take<std::uint16_t>();
  frame.offset = reader.Take<std::uint64_t>();
  const auto time = reader.Take<std::uint64_t>();
  frame.body = reader.TakeBytes(length - kLengthMin);
  const auto check = reader.Take<std::uint32_t>();
  if (check != CheckOf(unread.substr(0, frame.size() - kCheckBytes))) {
    return Fail(absl::StrCat("a frame of kind ", kind, " with a wrong check"));
  }
  if (!MayHaveFlags(frame) || (reserved != 0 && !IsOptional(frame.kind))) {
    return Fail(absl::StrCat("a frame of kind ", kind, " with unknown flags"));
  }
  if (time > kTimeMax) return Fail(absl::StrCat("a frame of kind ", kind, " of no time"));
  frame.time = Instant{Nanos{static_cast<Nanos::rep>(time)}};
  begin_ += frame.size();
  return frame;
}

std::optional<Frame> FrameReader::Fail(std::string error) {
  error_ = std::move(error);
  return std::nullopt;
}

}  // namespace weir
