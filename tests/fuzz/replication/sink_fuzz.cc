// Property: any bytes of a link are applied, or end it; what is applied is what the frames say, and
// the sink's account of it holds together. Frames whose check is wrong are tried, too, as if it was
// right, since no fuzzer finds a CRC.
//
// The input is frames: kind, flags and length of the body in a byte each, then the body; a length
// of 255 is that of the rest of the input, and a kind of 255 stands for it as it is. Records that
// are read are written again, and read as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "replication/history.h"
#include "replication/policy_records.h"
#include "replication/records.h"
#include "replication/sink.h"
#include "replication/source.h"

namespace weir {
namespace {

constexpr Instant kNow{std::chrono::hours{24 * 365 * 56}};

bool Same(const LimiterChanges& a, const LimiterChanges& b) {
  return a.buckets.size() == b.buckets.size() && a.holds.size() == b.holds.size() &&
         a.sums.size() == b.sums.size();
}

// Written again, the records of a body read as the same.
void CheckRecords(const LimiterChanges& changes, RecordsKind kind) {
  const auto limit_of = [&](LimitId id) { return &*changes.limits.at(NumberOf(id)).limit; };
  const auto check = [&](const RecordsWriter::Body& body) {
    WEIR_CHECK(body.is_last);
    const std::optional<LimiterChanges> again = ReadRecords(body.bytes, kind);
    WEIR_CHECK(again.has_value());
    WEIR_CHECK(Same(*again, changes));
  };
  RecordsWriter writer;
  if (kind == RecordsKind::kPartition) {
    writer.WritePartition(changes, changes.rewritten_partitions.at(0), limit_of,
                          kPartitionPartBytes, check);
  } else {
    LimiterChanges sorted = changes;
    std::ranges::stable_sort(sorted.buckets, {}, &BucketChange::partition);
    std::ranges::stable_sort(sorted.holds, {}, &HoldChange::partition);
    std::ranges::stable_sort(sorted.sums, {}, &SumsChange::partition);
    writer.WriteChanges(sorted, limit_of, kChangesBytes, check);
  }
}

class ReadingTarget final : public SinkTarget {
 public:
  void SetTime(Instant) override {}
  std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant) override {
    const std::optional<LimiterChanges> changes = ReadRecords(body, RecordsKind::kChanges);
    if (!changes) return std::nullopt;
    CheckRecords(*changes, RecordsKind::kChanges);
    PartitionSet touched;
    for (const BucketChange& change : changes->buckets) touched.Add(change.partition);
    for (const HoldChange& change : changes->holds) touched.Add(change.partition);
    for (const SumsChange& change : changes->sums) touched.Add(change.partition);
    return touched;
  }
  std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part, Instant) override {
    const std::optional<LimiterChanges> copy = ReadRecords(body, RecordsKind::kPartition);
    if (!copy) return std::nullopt;
    CheckRecords(*copy, RecordsKind::kPartition);
    return copy->rewritten_partitions.at(0);
  }
  std::optional<std::uint16_t> ApplyOverrides(std::string_view body, bool) override {
    const std::optional<OverridesBody> copy = ReadOverrides(body);
    if (!copy) return std::nullopt;
    WriteOverrides(copy->partition, copy->overrides, kPoliciesBytes,
                   [&](std::string_view again) { WEIR_CHECK(ReadOverrides(again).has_value()); });
    return copy->partition;
  }
  std::optional<PoliciesTouched> ApplyPolicies(std::string_view body) override {
    const std::optional<PolicyChanges> changes = ReadPolicies(body);
    if (!changes) return std::nullopt;
    WritePolicies(*changes, kPoliciesBytes, [&](std::string_view again, bool is_last) {
      WEIR_CHECK(is_last);
      WEIR_CHECK(ReadPolicies(again).has_value());
    });
    return PoliciesTouched{.policies = true};
  }
  bool ApplyPolicyList(std::string_view body, Part) override {
    return ApplyPolicies(body).has_value();
  }
  void Flush(TableGeneration) override {}
};

void CheckAccount(const Sink& sink) {
  if (sink.shown()) WEIR_CHECK(*sink.shown() <= sink.applied());
  WEIR_CHECK(!sink.synced() || sink.complete());
  WEIR_CHECK(sink.error().empty() || sink.error().size() < 100);
  WEIR_CHECK(sink.partitions_left() == sink.need().size());
  // Every open partition has changed since the offset that is shown.
  if (sink.shown()) WEIR_CHECK(sink.last_changed().Since(*sink.shown()).Contains(sink.need()));
}

void FuzzOne(std::string_view input) {
  if (const std::optional<History> history = ReadHistoryValue(input)) {
    const std::string again = HistoryValue(*history);
    // Older servers left out the last byte, which is 0 then.
    WEIR_CHECK(again == input || (again.back() == '\0' && again.substr(0, input.size()) == input));
  }
  ReadingTarget target;
  Sink sink(target, {.applied = 100, .last_changed = LastChanged(90)});
  WEIR_CHECK(sink.Resume(100, true));
  Source source(0);
  constexpr std::size_t kHeadBytes = 3;
  while (input.size() >= kHeadBytes && sink.error().empty()) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
    Frame frame = {.kind = static_cast<FrameKind>(at(0)),
                   .flags = at(1),
                   .offset = sink.applied(),
                   .time = kNow,
                   .body = {}};
    const std::size_t size = at(2) == 255 ? input.size() : at(2);
    input.remove_prefix(kHeadBytes);
    if (frame.kind == FrameKind{255}) {
      WEIR_CHECK(sink.Receive(input) == sink.error().empty());
      break;
    }
    frame.body = input.substr(0, std::min(size, input.size()));
    input.remove_prefix(frame.body.size());
    (void)source.HandleFrame(frame);
    // Flags that the writer would refuse are for the raw bytes.
    const bool is_policies = frame.kind == FrameKind::kPolicies;
    if (is_policies) frame.flags &= kMoreFlag | kWholeFlag;
    if (is_policies && frame.flags == kMoreFlag) frame.flags = 0;
    if (frame.kind == FrameKind::kPartition) frame.flags &= kMoreFlag;
    if (!is_policies && frame.kind != FrameKind::kPartition) frame.flags = 0;
    std::string bytes;
    AppendFrame(frame, bytes);
    const bool is_fine = sink.Receive(bytes);
    WEIR_CHECK(is_fine == sink.error().empty());
    CheckAccount(sink);
  }
  CheckAccount(sink);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
