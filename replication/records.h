// Buckets, holds and sums <-> the bodies of CHANGES and PARTITION frames.
//
//     body    = limits section*
//     limits  = count:varint (bytes:varint value)*         value: core/words/limit_bytes.h
//     section = partition:u16 flags:u8  count:varint bucket*  count:varint hold*
//               count:varint sums*                         flags: 1 in a PARTITION, 0 in CHANGES
//     bucket  = tag:u8 hash:u64 limit:varint [high:u32 low:u32 extra:varint]
//     hold    = hash:u64 bytes:u8 id bytes:varint value    value: core/table/hold_bytes.h
//     sums    = tag:u8 hash:u64 limit:varint [given-back:u64 cut-off:u64]
//     tag     = algorithm: 2 bits, erased: 1 bit, went back: 1 bit; the lowest first
//
// Numbers are big-endian; varint.h has the others. A body begins with the limits that it names, and
// its records, also the parts of holds, name a limit by its place there. So it can be read without
// any other, and the primary may give an id to another limit at any time. An erased bucket or sum
// has no value; a hold that is gone has one of 0 bytes. The tag of sums has no other bit than
// "erased".
//
// A PARTITION is about one partition, in one section of each of its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

#include "core/limiter/limiter_changes.h"
#include "core/rules/limit.h"
#include "core/table/partition_set.h"
#include "replication/frame.h"

namespace weir {

// A body may exceed the size that its writer was given by one record and that record's limits.
inline constexpr std::size_t kRecordBytesMax = std::size_t{64} << 10;
// The size to give for CHANGES.
inline constexpr std::size_t kChangesBytes = kBodyBytesMax - kRecordBytesMax;
// The size to give for a part of a PARTITION: a partition of ordinary size fits into one part.
inline constexpr std::size_t kPartitionPartBytes = kPartitionBodyBytesMax / 4;

// Makes bodies, and keeps its memory for the next ones: about the size of a body, and 8 bytes for
// each id up to the greatest that it has met. Not thread-safe. Cost: about 40 ns a bucket, and 1 us
// for each limit that a body names.
class RecordsWriter {
 public:
  // The limit of an id, or null if it is no longer known. Called once for each id and body.
  using LimitOf = absl::FunctionRef<const Limit*(LimitId)>;
  struct Body {
    std::string_view bytes;  // valid during the call
    const PartitionSet& partitions;
    bool is_last;
  };
  using Take = absl::FunctionRef<void(const Body&)>;

  // Calls `take` for each body of about `bytes` that these changes fill; not at all if there are
  // none. Leaves out the rewritten partitions: each is a GAP. Leaves out an erased bucket and gone
  // sums whose limit is not known; the changes are to be taken before an id is taken back. Requires
  // that the limits of all others are known, and the order of partitions that LimiterChanges has.
  void WriteChanges(const LimiterChanges& changes, LimitOf limit_of, std::size_t bytes, Take take);

  // Calls `take` for each part of a copy of a partition; for an empty partition once. Requires: the
  // changes are all buckets, holds and sums of that partition, in any order, and nothing else.
  void WritePartition(const LimiterChanges& copy, std::uint16_t partition, LimitOf limit_of,
                      std::size_t bytes, Take take);

 private:
  // The counts of a section whose records are being written.
  struct OpenSection {
    std::uint16_t partition;
    std::uint8_t flags;
  };
  struct Index {
    std::uint32_t body = 0;  // the number of the body in which the limit has that index
    std::uint32_t index = 0;
  };

  [[nodiscard]] std::optional<std::uint32_t> IndexOf(LimitId id, LimitOf limit_of);
  template <typename Record>
  void WriteRun(const Record* begin, const Record* end, int kind, LimitOf limit_of);
  bool Append(const BucketChange& change, LimitOf limit_of);
  bool Append(const HoldChange& change, LimitOf limit_of);
  bool Append(const SumsChange& change, LimitOf limit_of);
  void BeginBody();
  void EndBody(bool is_last);
  void BeginSection();
  void EndRun(int kind, std::uint32_t count);
  void EndSection();
  [[nodiscard]] bool IsFull() const;

  std::size_t bytes_ = 0;
  const Take* take_ = nullptr;

  std::uint32_t body_ = 0;    // the number of the body; 0: none yet
  std::uint32_t limits_ = 0;  // in its dictionary
  std::string dictionary_;    // its limits
  std::string sections_;      // those that are complete, and the open one's complete runs
  std::string run_;           // the records of one kind
  std::string whole_;         // the body, put together
  PartitionSet partitions_;   // that it is about
  OpenSection section_{};
  int runs_ = 0;                // of the open section that are complete
  std::vector<Index> indices_;  // by id
};

// Whether the body is that of a CHANGES frame, or of a part of a PARTITION.
enum class RecordsKind : std::uint8_t { kChanges, kPartition };

// Reads a body. The ids of limits in the result are their places in its `limits`; the order is that
// of the body, and records may repeat: then the last one counts. Of a PARTITION,
// `rewritten_partitions` names its partition. Returns nothing for bytes that no writer writes: an
// index or a partition that is too great, an algorithm that is not the limit's, a hold without an
// id, bytes too many or too few. Two limits may share buckets: an id was taken back, and another
// one given out. Whether a bucket is one that its limit can have left is not checked. Cost: about
// 20 ns a bucket, 1 us a limit.
[[nodiscard]] std::optional<LimiterChanges> ReadRecords(std::string_view body, RecordsKind kind);

}  // namespace weir
