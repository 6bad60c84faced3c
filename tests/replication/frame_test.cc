// Goal: frames are read as they were written, however the bytes are cut, and nothing else is read
// as a frame. Method: random frames in random segments; frames cut, changed in each bit, and with
// numbers that none has.
#include "replication/frame.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "core/base/record_bytes.h"
#include "replication/frame_bodies.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/replication/frames.h"

namespace weir {
namespace {

Frame ChangesOf(std::string_view body) {
  return {.kind = FrameKind::kChanges, .flags = 0, .offset = 7, .time = kFrameTime, .body = body};
}

// The error that these bytes lead to; empty if they may be the beginning of a stream.
std::string ErrorOf(std::string_view bytes) {
  FrameReader reader;
  reader.Feed(bytes);
  while (reader.Next()) continue;
  return reader.error();
}

TEST(FrameTest, FramesAreReadFromAnySegments) {
  CheckLaw(500, [] {
    std::vector<std::string> bodies;
    std::string stream;
    for (int count = *Between(1, 8); count > 0; --count) {
      bodies.emplace_back(*Between<std::size_t>(0, 300), static_cast<char>(*Between(0, 255)));
      AppendFrame(ChangesOf(bodies.back()), stream);
    }
    FrameReader reader;
    std::size_t read = 0;
    for (std::string_view rest = stream; !rest.empty();) {
      const std::size_t count = *Between<std::size_t>(1, rest.size());
      reader.Feed(rest.substr(0, count));
      rest.remove_prefix(count);
      while (const auto frame = reader.Next()) {
        RC_ASSERT(read < bodies.size());
        RC_ASSERT(frame->body == bodies[read++]);
        RC_ASSERT(frame->kind == FrameKind::kChanges);
        RC_ASSERT(frame->offset == 7U);
        RC_ASSERT(frame->time == kFrameTime);
      }
    }
    RC_ASSERT(read == bodies.size());
    RC_ASSERT(reader.error().empty());
  });
}

TEST(FrameTest, AFrameTakes28BytesMoreThanItsBody) {
  EXPECT_EQ(BytesOf(ChangesOf("")).size(), kFrameBytesMin);
  EXPECT_EQ(BytesOf(ChangesOf("abc")).size(), kFrameBytesMin + 3);
  EXPECT_EQ(FrameSizeFrom(BytesOf(ChangesOf("abc"))), kFrameBytesMin + 3);
}

TEST(FrameTest, AChangedBitIsAnErrorOrAnUnfinishedFrame) {
  const std::string bytes = BytesOf(ChangesOf("body"));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    FrameReader reader;
    reader.Feed(changed);
    EXPECT_FALSE(reader.Next()) << bit;
    // A greater length may be that of a frame that is not all here.
    EXPECT_TRUE(bit < 32 || !reader.error().empty()) << bit;
  }
}

TEST(FrameTest, StaysFailed) {
  std::string bytes = BytesOf(ChangesOf("body"));
  bytes.back() = static_cast<char>(~bytes.back());
  FrameReader reader;
  reader.Feed(bytes);
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.error(), "a frame of kind 1 with a wrong check");
  reader.Feed(BytesOf(ChangesOf("")));
  EXPECT_FALSE(reader.Next());
}

TEST(FrameTest, RefusesLengthsThatNoFrameHas) {
  const auto begin_of = [](FrameKind kind, std::uint32_t length) {
    std::string bytes;
    AppendNumber(length, bytes);
    AppendNumber(static_cast<std::uint8_t>(kind), bytes);
    return bytes;
  };
  constexpr std::uint32_t kMin = 24;
  const auto max_of = [](FrameKind kind) {
    return kMin + static_cast<std::uint32_t>(BodyBytesMax(kind));
  };
  EXPECT_EQ(ErrorOf(begin_of(FrameKind::kChanges, kMin)), "");
  EXPECT_EQ(ErrorOf(begin_of(FrameKind::kChanges, kMin - 1)), "a frame of kind 1 and length 23");
  EXPECT_EQ(ErrorOf(begin_of(FrameKind::kChanges, 0)), "a frame of kind 1 and length 0");
  EXPECT_EQ(ErrorOf(begin_of(FrameKind::kChanges, max_of(FrameKind::kChanges))), "");
  EXPECT_NE(ErrorOf(begin_of(FrameKind::kChanges, max_of(FrameKind::kChanges) + 1)), "");
  EXPECT_EQ(ErrorOf(begin_of(FrameKind::kPartition, max_of(FrameKind::kPartition))), "");
  EXPECT_NE(ErrorOf(begin_of(FrameKind::kPartition, max_of(FrameKind::kPartition) + 1)), "");
  EXPECT_NE(ErrorOf(begin_of(FrameKind::kChanges, UINT32_MAX)), "");
}

TEST(FrameTest, UnknownKindsArePassedOverFrom128On) {
  std::string bytes =
      BytesOf({.kind = static_cast<FrameKind>(200), .flags = 0xFF, .time = kFrameTime});
  FrameReader reader;
  reader.Feed(bytes);
  ASSERT_TRUE(reader.Next());
  bytes[4] = 127;
  EXPECT_EQ(ErrorOf(bytes), "a frame of unknown kind 127");
}

TEST(FrameTest, NumbersTheFramesOfTheHistory) {
  const auto is_numbered = [](unsigned kind, std::uint8_t flags = 0) {
    return Frame{.kind = static_cast<FrameKind>(kind), .flags = flags}.is_numbered();
  };
  for (const unsigned kind : {1U, 3U, 4U, 6U, 128U, 191U}) EXPECT_TRUE(is_numbered(kind)) << kind;
  for (const unsigned kind : {16U, 17U, 18U, 21U, 32U, 33U, 192U, 255U}) {
    EXPECT_FALSE(is_numbered(kind)) << kind;
  }
  EXPECT_FALSE(is_numbered(3, kWholeFlag));
}

TEST(FrameTest, BodiesAreReadOnlyWhole) {
  PartitionSet some;
  some.Add(0);
  some.Add(9);
  some.Add(4095);
  const auto expect_only_whole = [](const std::string& body, auto read) {
    EXPECT_TRUE(read(body));
    for (std::size_t length = 0; length < body.size(); ++length) {
      EXPECT_FALSE(read(std::string_view(body).substr(0, length))) << length;
    }
    EXPECT_FALSE(read(body + '\0'));
  };
  expect_only_whole(BodyOf(FlushBody{TableGeneration{7}}), ReadFlushBody);
  expect_only_whole(BodyOf(GapBody{4095}), ReadGapBody);
  expect_only_whole(BodyOf(HeartbeatBody{1, 2}), ReadHeartbeatBody);
  expect_only_whole(BodyOf(SyncedBody{1}), ReadSyncedBody);
  expect_only_whole(BodyOf(SkipBody{1, some}), ReadSkipBody);
  expect_only_whole(BodyOf(AckBody{1, kFrameTime, true, false}), ReadAckBody);
  expect_only_whole(BodyOf(NeedBody{some, 7}), ReadNeedBody);

  EXPECT_EQ(ReadSkipBody(BodyOf(SkipBody{5, some}))->changed, some);
  EXPECT_EQ(ReadSkipBody(BodyOf(SkipBody{5, some}))->to, 5U);
  EXPECT_FALSE(ReadSkipBody(BodyOf(SkipBody{5, some}))->lists_policies);
  EXPECT_TRUE(ReadSkipBody(BodyOf(SkipBody{5, some, true}))->lists_policies);
  EXPECT_EQ(ReadNeedBody(BodyOf(NeedBody{some, 7}))->partitions, some);
  EXPECT_EQ(ReadNeedBody(BodyOf(NeedBody{some, 7}))->policies_as_of, 7U);
  EXPECT_EQ(ReadNeedBody(BodyOf(NeedBody{}))->policies_as_of, std::nullopt);
  EXPECT_EQ(ReadHeartbeatBody(BodyOf(HeartbeatBody{1, 2}))->lease_ms, 2U);
  EXPECT_EQ(ReadFlushBody(BodyOf(FlushBody{TableGeneration{7}}))->generation, TableGeneration{7});
  EXPECT_EQ(ReadAckBody(BodyOf(AckBody{1, kFrameTime, false, true}))->newest, kFrameTime);
  EXPECT_TRUE(ReadAckBody(BodyOf(AckBody{1, kFrameTime, false, true}))->complete);
  EXPECT_TRUE(ReadAckBody(BodyOf(AckBody{1, kFrameTime, true, false}))->synced);
  EXPECT_FALSE(ReadAckBody(BodyOf(AckBody{1, kFrameTime, true, true}))->cannot_save);
  EXPECT_TRUE(ReadAckBody(BodyOf(AckBody{1, kFrameTime, false, false, true}))->cannot_save);
}

TEST(FrameTest, RefusesNumbersThatNoBodyHas) {
  std::string gap;
  AppendNumber(static_cast<std::uint16_t>(kPartitionCount), gap);
  EXPECT_FALSE(ReadGapBody(gap));
  std::string ack = BodyOf(AckBody{1, kFrameTime, true, true});
  ack.back() = 8;
  EXPECT_FALSE(ReadAckBody(ack));
  std::string future = BodyOf(AckBody{1, kFrameTime, true, true});
  future[8] = static_cast<char>(0x80);
  EXPECT_FALSE(ReadAckBody(future));
}

}  // namespace
}  // namespace weir
