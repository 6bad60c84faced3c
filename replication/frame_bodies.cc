#include "replication/frame_bodies.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

constexpr std::uint8_t kSynced = 1;
constexpr std::uint8_t kComplete = 2;
constexpr std::uint8_t kCannotSave = 4;

constexpr std::uint64_t kNoOffset = UINT64_MAX;

static_assert(kPartitionSetBytes == PartitionSet::kWords * sizeof(std::uint64_t));

void AppendPartitions(const PartitionSet& partitions, std::string& out) {
  for (std::size_t word = 0; word < PartitionSet::kWords; ++word) {
    const std::uint64_t bits = partitions.Word(word);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      out.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> shift)));
    }
  }
}

// `bytes` may be too short; then the reader that they come from is not complete.
PartitionSet PartitionsIn(std::string_view bytes) {
  PartitionSet partitions;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t bits = static_cast<std::uint8_t>(bytes[i]);
    partitions.AddWord(i / 8, bits << (8 * (i % 8)));
  }
  return partitions;
}

void AppendInstant(Instant time, std::string& bytes) {
  WEIR_CHECK(time >= Instant{});
  WEIR_CHECK(time <= kInstantMax);
  AppendNumber(static_cast<std::uint64_t>(time.time_since_epoch().count()), bytes);
}

// Nothing for a time that AppendInstant does not write.
std::optional<Instant> TakeInstant(RecordReader& reader) {
  const auto nanos = reader.Take<std::uint64_t>();
  if (nanos > static_cast<std::uint64_t>(kInstantMax.time_since_epoch().count())) {
    return std::nullopt;
  }
  return Instant{Nanos{static_cast<Nanos::rep>(nanos)}};
}

}  // namespace

std::string BodyOf(const FlushBody& body) {
  std::string bytes;
  AppendNumber(NumberOf(body.generation), bytes);
  return bytes;
}

std::string BodyOf(const GapBody& body) {
  WEIR_CHECK(body.partition < kPartitionCount);
  std::string bytes;
  AppendNumber(body.partition, bytes);
  return bytes;
}

std::string BodyOf(const HeartbeatBody& body) {
  std::string bytes;
  AppendNumber(body.head, bytes);
  AppendNumber(body.lease_ms, bytes);
  return bytes;
}

std::string BodyOf(const SyncedBody& body) {
  std::string bytes;
  AppendNumber(body.offset, bytes);
  return bytes;
}

std::string BodyOf(const YieldBody& body) {
  std::string bytes;
  AppendNumber(body.term, bytes);
  return bytes;
}

std::string BodyOf(const SkipBody& body) {
  std::string bytes;
  AppendNumber(body.to, bytes);
  AppendNumber(static_cast<std::uint8_t>(body.lists_policies ? 1 : 0), bytes);
  AppendPartitions(body.changed, bytes);
  return bytes;
}

std::string BodyOf(const TakeoverBody& body) {
  std::string bytes;
  AppendInstant(body.newest, bytes);
  return bytes;
}

std::string BodyOf(const AckBody& body) {
  std::string bytes;
  AppendNumber(body.offset, bytes);
  AppendInstant(body.newest, bytes);
  const unsigned state = (body.synced ? kSynced : 0U) | (body.complete ? kComplete : 0U) |
                         (body.cannot_save ? kCannotSave : 0U);
  AppendNumber(static_cast<std::uint8_t>(state), bytes);
  return bytes;
}

std::string BodyOf(const NeedBody& body) {
  std::string bytes;
  AppendNumber(body.policies_as_of.value_or(kNoOffset), bytes);
  AppendPartitions(body.partitions, bytes);
  return bytes;
}

std::optional<FlushBody> ReadFlushBody(std::string_view bytes) {
  RecordReader reader(bytes);
  const FlushBody body = {TableGeneration{reader.Take<std::uint32_t>()}};
  if (!reader.Complete()) return std::nullopt;
  return body;
}

std::optional<GapBody> ReadGapBody(std::string_view bytes) {
  RecordReader reader(bytes);
  const GapBody body = {reader.Take<std::uint16_t>()};
  if (!reader.Complete() || body.partition >= kPartitionCount) return std::nullopt;
  return body;
}

std::optional<HeartbeatBody> ReadHeartbeatBody(std::string_view bytes) {
  RecordReader reader(bytes);
  HeartbeatBody body;
  body.head = reader.Take<std::uint64_t>();
  body.lease_ms = reader.Take<std::uint32_t>();
  if (!reader.Complete()) return std::nullopt;
  return body;
}

std::optional<SyncedBody> ReadSyncedBody(std::string_view bytes) {
  RecordReader reader(bytes);
  const SyncedBody body = {reader.Take<std::uint64_t>()};
  if (!reader.Complete()) return std::nullopt;
  return body;
}

std::optional<YieldBody> ReadYieldBody(std::string_view bytes) {
  RecordReader reader(bytes);
  const YieldBody body = {reader.Take<std::uint64_t>()};
  if (!reader.Complete()) return std::nullopt;
  return body;
}

std::optional<SkipBody> ReadSkipBody(std::string_view bytes) {
  RecordReader reader(bytes);
  SkipBody body;
  body.to = reader.Take<std::uint64_t>();
  const auto list = reader.Take<std::uint8_t>();
  body.changed = PartitionsIn(reader.TakeBytes(kPartitionSetBytes));
  if (!reader.Complete() || list > 1) return std::nullopt;
  body.lists_policies = list == 1;
  return body;
}

std::optional<TakeoverBody> ReadTakeoverBody(std::string_view bytes) {
  RecordReader reader(bytes);
  const std::optional<Instant> newest = TakeInstant(reader);
  if (!reader.Complete() || !newest) return std::nullopt;
  return TakeoverBody{*newest};
}

std::optional<AckBody> ReadAckBody(std::string_view bytes) {
  RecordReader reader(bytes);
  AckBody body;
  body.offset = reader.Take<std::uint64_t>();
  const std::optional<Instant> newest = TakeInstant(reader);
  const auto state = reader.Take<std::uint8_t>();
  if (!reader.Complete() || !newest || state > (kSynced | kComplete | kCannotSave)) {
    return std::nullopt;
  }
  body.newest = *newest;
  body.synced = (state & kSynced) != 0;
  body.complete = (state & kComplete) != 0;
  body.cannot_save = (state & kCannotSave) != 0;
  return body;
}

std::optional<NeedBody> ReadNeedBody(std::string_view bytes) {
  RecordReader reader(bytes);
  NeedBody body;
  const auto offset = reader.Take<std::uint64_t>();
  if (offset != kNoOffset) body.policies_as_of = offset;
  body.partitions = PartitionsIn(reader.TakeBytes(kPartitionSetBytes));
  if (!reader.Complete()) return std::nullopt;
  return body;
}

}  // namespace weir
