// The bodies of the frames that are about offsets and partitions; records.h has the others.
//
//     FLUSH      generation:u32
//     GAP        partition:u16
//     HEARTBEAT  head:u64 lease:u32 ms
//     SYNCED     offset:u64
//     YIELD      term:u64
//     SKIP       to:u64 list:u8 partitions                list: 1 if a list of policies follows
//     ACK        offset:u64 newest:u64 ns state:u8        state: 1 synced, 2 complete,
//                                                              4 cannot save
//     NEED       policies:u64 partitions
//     TAKEOVER   newest:u64 ns
//     partitions = 512 bytes, a bit a partition: that of partition p is the bit p % 8, from the
//                  lowest, of the byte p / 8
//
// The functions that read accept any bytes, and return nothing for a body that the functions here
// never write. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "core/table/table_generation.h"

namespace weir {

struct FlushBody {
  TableGeneration generation{};  // that begins with the flush
};

struct GapBody {
  std::uint16_t partition = 0;  // below kPartitionCount
};

struct HeartbeatBody {
  std::uint64_t head = 0;  // of the primary's ring
  std::uint32_t lease_ms = 0;
};

struct SyncedBody {
  std::uint64_t offset = 0;  // that of the frame
};

struct YieldBody {
  std::uint64_t term = 0;  // of the primary that yields
};

struct SkipBody {
  std::uint64_t to = 0;         // the offset of the next frame
  PartitionSet changed{};       // since the replica's offset
  bool lists_policies = false;  // policies have changed, too: their list follows
};

struct AckBody {
  std::uint64_t offset = 0;  // applied; with `--durability always` also on the replica's disk
  Instant newest{};          // the latest time of a frame on this link
  bool synced = false;       // all of its table is as of `offset`, or newer
  bool complete = false;     // it has been synced since its table was empty
  bool cannot_save = false;  // its last save to disk failed
};

struct NeedBody {
  PartitionSet partitions{};  // to be copied
  // The replica has all policies as of that offset; if that is not the frame's, it needs a list.
  // Nothing (2^64 - 1 in bytes): it may have none of them.
  std::optional<std::uint64_t> policies_as_of{};
};

struct TakeoverBody {
  Instant newest{};  // as in AckBody: it tells how old the request is
};

inline constexpr std::size_t kPartitionSetBytes = kPartitionCount / 8;

[[nodiscard]] std::string BodyOf(const FlushBody& body);
[[nodiscard]] std::string BodyOf(const GapBody& body);
[[nodiscard]] std::string BodyOf(const HeartbeatBody& body);
[[nodiscard]] std::string BodyOf(const SyncedBody& body);
[[nodiscard]] std::string BodyOf(const YieldBody& body);
[[nodiscard]] std::string BodyOf(const SkipBody& body);
[[nodiscard]] std::string BodyOf(const AckBody& body);
[[nodiscard]] std::string BodyOf(const NeedBody& body);
[[nodiscard]] std::string BodyOf(const TakeoverBody& body);

[[nodiscard]] std::optional<FlushBody> ReadFlushBody(std::string_view bytes);
[[nodiscard]] std::optional<GapBody> ReadGapBody(std::string_view bytes);
[[nodiscard]] std::optional<HeartbeatBody> ReadHeartbeatBody(std::string_view bytes);
[[nodiscard]] std::optional<SyncedBody> ReadSyncedBody(std::string_view bytes);
[[nodiscard]] std::optional<YieldBody> ReadYieldBody(std::string_view bytes);
[[nodiscard]] std::optional<SkipBody> ReadSkipBody(std::string_view bytes);
[[nodiscard]] std::optional<AckBody> ReadAckBody(std::string_view bytes);
[[nodiscard]] std::optional<NeedBody> ReadNeedBody(std::string_view bytes);
[[nodiscard]] std::optional<TakeoverBody> ReadTakeoverBody(std::string_view bytes);

}  // namespace weir
