// Goal: docs/replication-format.md is true. Method: its examples, byte by byte, against the frames
// that are written; and the frames of the page are read.
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "replication/frame_bodies.h"
#include "replication/history.h"
#include "replication/policy_records.h"
#include "replication/records.h"
#include "tests/random/generators.h"
#include "tests/replication/frames.h"
#include "tests/support/bytes_of_hex.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

struct Example {
  std::string title;  // up to the colon
  std::string bytes;
};

// Each is a line "title: description", and lines of hexadecimal digits up to an empty one.
std::vector<Example> ExamplesOfThePage() {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/replication-format.md");
  std::string line;
  while (std::getline(file, line) && line != "## Examples") continue;
  std::vector<Example> examples;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    Example& example = examples.emplace_back(Example{line.substr(0, colon), ""});
    while (std::getline(file, line) && !line.empty() && !line.starts_with("```")) {
      example.bytes += BytesOfHex(line);
    }
  }
  return examples;
}

constexpr std::uint16_t kPartition = 0xABC;
constexpr std::uint64_t kHash = 0x0123456789ABCDEF;

// A key with two limits and an open hold, as it is after a take and a reservation.
LimiterChanges ChangesOfAKey() {
  const Bucket bucket = DecideLimit(LimitOf("3/s"), Bucket{}, kFrameTime, 1, Nanos{0}).bucket;
  LimiterChanges changes;
  changes.buckets = {{.key = {kHash, LimitId{7}},
                      .partition = kPartition,
                      .algorithm = Algorithm::kTokenBucket,
                      .went_back = false,
                      .erased = false,
                      .bucket = bucket},
                     {.key = {kHash, LimitId{8}},
                      .partition = kPartition,
                      .algorithm = Algorithm::kFixedWindow,
                      .went_back = true,
                      .erased = true,
                      .bucket = {}}};
  SavedHold& hold =
      changes.holds.emplace_back(HoldChange{kPartition, kHash, "req-81", {}}).hold.emplace();
  hold.request = 0xFEDCBA9876543210;
  hold.expiry = kFrameTime + std::chrono::minutes{1};
  hold.order = 4;
  hold.parts.push_back({.cost = 1, .left = bucket, .limit = LimitId{7}});
  changes.holds.push_back({kPartition, kHash, "req-82", std::nullopt});
  changes.sums = {{kPartition, {kHash, LimitId{7}}, SettlementSums{.given_back = 333'333'333}}};
  return changes;
}

const Limit* LimitOfId(LimitId id) {
  static const Limit kSeven = LimitOf("3/s");
  static const Limit kEight = LimitOf("1000/h,fixed").OwnedBy({PolicyId{5}, 1});
  return id == LimitId{7} ? &kSeven : &kEight;
}

std::string ChangesBody() {
  std::string bytes;
  RecordsWriter().WriteChanges(ChangesOfAKey(), LimitOfId, kChangesBytes,
                               [&](const RecordsWriter::Body& body) { bytes = body.bytes; });
  return bytes;
}

std::string PartitionBody() {
  LimiterChanges copy = ChangesOfAKey();
  copy.buckets.pop_back();
  copy.holds.clear();
  copy.sums.clear();
  std::string bytes;
  RecordsWriter().WritePartition(copy, kPartition, LimitOfId, kPartitionPartBytes,
                                 [&](const RecordsWriter::Body& body) { bytes = body.bytes; });
  return bytes;
}

std::string PoliciesBody() {
  PolicyChanges changes;
  changes.next_id = PolicyId{7};
  changes.policies = {
      {PolicyId{5},
       std::make_shared<const Policy>(
           Policy{.name = "free", .id = PolicyId{5}, .limits = LimitsOf({"3/s", "1000/h,fixed"})})},
      {PolicyId{6}, nullptr}};
  changes.overrides = {
      {PolicyId{5}, "user:42", std::make_shared<const PolicyLimits>(LimitsOf({"10/s,burst=50"}))}};
  std::string bytes;
  WritePolicies(changes, kPoliciesBytes, [&](std::string_view body, bool) { bytes = body; });
  return bytes;
}

std::string ListBody() {
  PolicyChanges list;
  list.next_id = PolicyId{7};
  list.policies = {
      {PolicyId{5}, std::make_shared<const Policy>(
                        Policy{.name = "free", .id = PolicyId{5}, .limits = LimitsOf({"3/s"})})}};
  list.kept = {PolicyId{6}};
  std::string bytes;
  WritePolicies(list, kPoliciesBytes, [&](std::string_view body, bool) { bytes = body; });
  return bytes;
}

std::string OverridesBytes() {
  const auto limits = std::make_shared<const PolicyLimits>(LimitsOf({"10/s,burst=50"}));
  std::string bytes;
  WriteOverrides(PartitionOfOverride("user:42"), {{PolicyId{5}, "user:42", limits}}, kPoliciesBytes,
                 [&](std::string_view body) { bytes = body; });
  return bytes;
}

std::vector<Example> ExamplesAsWritten() {
  PartitionSet some = Only(0);
  some.Add(9);
  const auto bytes_of = [](FrameKind kind, std::uint64_t offset, const std::string& body,
                           std::uint8_t flags = 0) {
    return BytesOf(
        {.kind = kind, .flags = flags, .offset = offset, .time = kFrameTime, .body = body});
  };
  const AckBody ack = {.offset = 1'000, .newest = kFrameTime, .synced = true, .complete = true};
  return {
      {"changes", bytes_of(FrameKind::kChanges, 1'000, ChangesBody())},
      {"policies", bytes_of(FrameKind::kPolicies, 1'000, PoliciesBody())},
      {"all policies", bytes_of(FrameKind::kPolicies, 1'000, ListBody(), kWholeFlag)},
      {"flush", bytes_of(FrameKind::kFlush, 1'000, BodyOf(FlushBody{TableGeneration{2}}))},
      {"gap", bytes_of(FrameKind::kGap, 1'000, BodyOf(GapBody{kPartition}))},
      {"overrides", bytes_of(FrameKind::kOverrides, 1'000, OverridesBytes())},
      {"partition", bytes_of(FrameKind::kPartition, 1'000, PartitionBody())},
      {"heartbeat", bytes_of(FrameKind::kHeartbeat, 1'000,
                             BodyOf(HeartbeatBody{.head = 1'240, .lease_ms = 2'000}))},
      {"synced", bytes_of(FrameKind::kSynced, 1'000, BodyOf(SyncedBody{1'000}))},
      {"yield", bytes_of(FrameKind::kYield, 1'000, BodyOf(YieldBody{.term = 3}))},
      {"skip", bytes_of(FrameKind::kSkip, 1'000,
                        BodyOf(SkipBody{.to = 5'000, .changed = some, .lists_policies = true}))},
      {"ack", bytes_of(FrameKind::kAck, 1'000, BodyOf(ack))},
      {"need", bytes_of(FrameKind::kNeed, 1'000,
                        BodyOf(NeedBody{.partitions = some, .policies_as_of = 900}))},
      {"history", HistoryValue({.term = 3,
                                .seen_term = 4,
                                .id = "0123456789abcdef0123456789abcdef01234567",
                                .previous = "89abcdef0123456789abcdef0123456789abcdef",
                                .until = 800,
                                .offset = 1'000,
                                .is_replica = true,
                                .sentinel_floor = 6,
                                .primary = {"10.0.0.1", 7379}})},
  };
}

TEST(ReplicationFormatPageTest, ItsExamplesAreWhatIsWritten) {
  const std::vector<Example> page = ExamplesOfThePage();
  const std::vector<Example> written = ExamplesAsWritten();
  ASSERT_EQ(page.size(), written.size()) << "docs/replication-format.md";
  for (std::size_t i = 0; i < page.size(); ++i) {
    EXPECT_EQ(page[i].title, written[i].title) << "example " << i;
    EXPECT_EQ(absl::BytesToHexString(page[i].bytes), absl::BytesToHexString(written[i].bytes))
        << page[i].title;
  }
}

TEST(ReplicationFormatPageTest, ItsExamplesAreRead) {
  const std::vector<Example> page = ExamplesOfThePage();
  ASSERT_FALSE(page.empty());
  FrameReader reader;
  const auto body_of = [&](std::size_t i) {
    reader.Feed(page.at(i).bytes);
    const std::optional<Frame> frame = reader.Next();
    return frame ? std::string(frame->body) : std::string();
  };
  const std::optional<LimiterChanges> changes = ReadRecords(body_of(0), RecordsKind::kChanges);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->buckets.size(), 2U);
  EXPECT_EQ(changes->limits[1].limit, *LimitOfId(LimitId{8}));
  EXPECT_EQ(changes->holds[0].hold->parts[0].limit, LimitId{0});
  EXPECT_EQ(ReadPolicies(body_of(1))->overrides[0].key, "user:42");
  EXPECT_EQ(ReadPolicies(body_of(2))->policies[0].policy->name, "free");
  EXPECT_EQ(ReadFlushBody(body_of(3))->generation, TableGeneration{2});
  EXPECT_EQ(ReadGapBody(body_of(4))->partition, kPartition);
  EXPECT_EQ(ReadOverrides(body_of(5))->overrides[0].key, "user:42");
  EXPECT_TRUE(ReadRecords(body_of(6), RecordsKind::kPartition));
  EXPECT_EQ(ReadHeartbeatBody(body_of(7))->head, 1'240U);
  EXPECT_EQ(ReadSyncedBody(body_of(8))->offset, 1'000U);
  EXPECT_EQ(ReadYieldBody(body_of(9))->term, 3U);
  EXPECT_EQ(ReadSkipBody(body_of(10))->to, 5'000U);
  EXPECT_EQ(ReadAckBody(body_of(11))->offset, 1'000U);
  EXPECT_EQ(ReadNeedBody(body_of(12))->partitions.size(), 2U);
  EXPECT_EQ(ReadHistoryValue(page.at(13).bytes)->primary.host, "10.0.0.1");
}

}  // namespace
}  // namespace weir
