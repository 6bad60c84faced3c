// Frames: the pieces of the stream between a primary and a replica, in both directions.
//
//     frame = length:u32 kind:u8 flags:u8 0:u16 offset:u64 time:u64 body check:u32
//
// Numbers are big-endian. `length` counts the bytes that follow it: 24 and the body's. `check` is
// the CRC-32 of zlib over all bytes before it. A frame takes 28 bytes more than its body, which has
// at most 512 KiB, or 16 MiB for a PARTITION.
//
// A history is a sequence of *numbered* frames, those that a primary keeps in its ring (ring.h):
// CHANGES, FLUSH and GAP, POLICIES without the flag "whole", and unknown kinds from 128 to 191.
// Offsets count their bytes. The other frames lie beside the history and never move an offset. The
// offset of each frame is that of the history at its place in the stream: the bytes of all numbered
// frames before it. From a replica it is the offset that the replica has applied.
//
// docs/replication-format.md has the bodies, with worked examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"

namespace weir {

enum class FrameKind : std::uint8_t {
  kChanges = 1,
  kPolicies = 3,
  kFlush = 4,
  kGap = 6,
  kPartition = 16,
  kHeartbeat = 17,
  kSynced = 18,
  kYield = 19,
  kOverrides = 20,
  kSkip = 21,
  // From the replica.
  kAck = 32,
  kNeed = 33,
  kTakeover = 34,
  // Optional, from the primary.
  kRefuse = 192,
};

// A reader passes over kinds from this one on if it does not know them.
inline constexpr std::uint8_t kOptionalKindMin = 128;
// The optional kinds that are numbered are below this one.
inline constexpr std::uint8_t kOptionalNumberedKindEnd = 192;

// The flags of a frame.
inline constexpr std::uint8_t kMoreFlag = 1;   // PARTITION, POLICIES: another part follows
inline constexpr std::uint8_t kWholeFlag = 2;  // POLICIES: the list of all; others are gone

inline constexpr std::size_t kFrameBytesMin = 28;  // of a frame without a body
inline constexpr std::size_t kBodyBytesMax = std::size_t{512} << 10;
inline constexpr std::size_t kPartitionBodyBytesMax = std::size_t{16} << 20;

[[nodiscard]] constexpr std::size_t BodyBytesMax(FrameKind kind) noexcept {
  return kind == FrameKind::kPartition ? kPartitionBodyBytesMax : kBodyBytesMax;
}

struct Frame {
  FrameKind kind = FrameKind::kHeartbeat;  // possibly an unknown one from kOptionalKindMin on
  std::uint8_t flags = 0;
  std::uint64_t offset = 0;
  Instant time{};  // the primary's, when it made the frame; in [Instant{}, kInstantMax]
  std::string_view body{};

  [[nodiscard]] std::size_t size() const noexcept { return kFrameBytesMin + body.size(); }
  [[nodiscard]] bool has_more() const noexcept { return (flags & kMoreFlag) != 0; }
  [[nodiscard]] bool is_whole() const noexcept { return (flags & kWholeFlag) != 0; }
  // Whether it moves the offset of the history, by size().
  [[nodiscard]] bool is_numbered() const noexcept;
};

// Appends the bytes of a frame. Cost: a copy of the body and its CRC, about 1 ns a byte.
// Requires: a body of at most BodyBytesMax(kind), a time in [Instant{}, kInstantMax].
void AppendFrame(const Frame& frame, std::string& out);

// The size of the frame that begins with these bytes of its own, unchecked. Requires: 4 bytes.
[[nodiscard]] std::size_t FrameSizeFrom(std::string_view bytes) noexcept;

// Frames out of the bytes of a link, however they are cut.
//
// Takes any bytes. Fails for a length that no frame of that kind has, an unknown kind below 128, a
// flag that the kind does not have, a wrong checksum, or an invalid time; then it stays failed.
// Memory: what was fed and not read yet, which is at most one frame and one segment if the caller
// reads all frames after each Feed. Not thread-safe. Cost: one copy and one CRC of the bytes.
class FrameReader {
 public:
  void Feed(std::string_view bytes);

  // The next whole frame, or nothing until more is fed, and after an error. Its body is valid until
  // the next Feed. Unknown kinds from 128 on are returned, too.
  [[nodiscard]] std::optional<Frame> Next();

  // The reason for which it has failed, a phrase like "a frame of unknown kind 5"; or empty.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  std::optional<Frame> Fail(std::string error);

  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not read yet
  std::string error_;
};

}  // namespace weir
