// Goal: a replica gets what it lacks, in the order that source.h says. Method: examples, each a
// list of the frames that Next and the copies append.
#include "replication/source.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replication/frame_bodies.h"
#include "tests/replication/frames.h"

namespace weir {
namespace {

class SourceTest : public testing::Test {
 protected:
  // Appends a frame about a partition to the ring.
  void Change(std::size_t partition) {
    ring_.Append(FrameKind::kChanges, kFrameTime, "body", Only(partition));
  }
  void Gap(std::uint16_t partition) {
    ring_.Append(FrameKind::kGap, kFrameTime, BodyOf(GapBody{partition}), Only(partition));
  }

  static Frame From(FrameKind kind, const std::string& body) {
    return {.kind = kind, .flags = 0, .offset = 0, .time = kFrameTime, .body = body};
  }
  // `policies_as_of`: the source's cursor if the replica has all policies.
  static bool Need(Source& source, const PartitionSet& needed,
                   std::optional<std::uint64_t> policies_as_of) {
    const std::string body =
        BodyOf(NeedBody{.partitions = needed, .policies_as_of = policies_as_of});
    return source.HandleFrame(From(FrameKind::kNeed, body));
  }
  static bool Ack(Source& source, const AckBody& ack) {
    const std::string body = BodyOf(ack);
    return source.HandleFrame(From(FrameKind::kAck, body));
  }

  // All that there is to send, as text: a kind and its offset; copies are answered with "copy".
  std::vector<std::string> Frames(Source& source) {
    std::string out;
    while (true) {
      const Source::Step step = source.Next(ring_, kFrameTime, out);
      if (step.want == Source::Want::kNothing) break;
      if (step.want == Source::Want::kPolicies) {
        as_of_.push_back(step.policies_as_of);
        source.AppendPolicies("copy", true, kFrameTime, out);
      } else {
        copied_.push_back(step.partition);
        source.AppendPartition("copy", true, kFrameTime, out);
      }
    }
    FrameReader reader;
    reader.Feed(out);
    std::vector<std::string> frames;
    while (const std::optional<Frame> frame = reader.Next()) {
      frames.push_back(NameOf(*frame) + " " + std::to_string(frame->offset));
    }
    EXPECT_EQ(reader.error(), "");
    return frames;
  }

  Ring ring_{10'000, 0};
  std::vector<std::uint16_t> copied_;
  std::vector<std::optional<std::uint64_t>> as_of_;  // of each list of policies

 private:
  static std::string NameOf(const Frame& frame) {
    switch (frame.kind) {
      case FrameKind::kChanges:
        return "changes";
      case FrameKind::kGap:
        return "gap";
      case FrameKind::kPolicies:
        return frame.is_whole() ? "all policies" : "policies";
      case FrameKind::kPartition:
        return "partition";
      case FrameKind::kSkip:
        return std::string("skip ") +
               (ReadSkipBody(frame.body)->lists_policies ? "with a list " : "") + "to " +
               std::to_string(ReadSkipBody(frame.body)->to);
      case FrameKind::kSynced:
        return "synced";
      default:
        return "?";
    }
  }
};

using Names = std::vector<std::string>;

TEST_F(SourceTest, AReplicaThatLacksNothingIsSynced) {
  Change(1);
  Change(1);
  Source source(32);
  EXPECT_EQ(Frames(source), Names{}) << "it has not said what it needs";
  EXPECT_TRUE(Need(source, {}, 32));
  EXPECT_EQ(Frames(source), (Names{"changes 32", "synced 64"}));
  EXPECT_TRUE(source.synced());
  EXPECT_EQ(Frames(source), Names{});
  Change(2);
  EXPECT_EQ(Frames(source), Names{"changes 64"});
  EXPECT_TRUE(source.synced());
}

TEST_F(SourceTest, AReplicaThatLacksPoliciesGetsTheirList) {
  for (const std::optional<std::uint64_t> as_of : {std::optional<std::uint64_t>{}, {7U}}) {
    Source source(0);
    EXPECT_TRUE(Need(source, {}, as_of));
    EXPECT_EQ(Frames(source), (Names{"all policies 0", "synced 0"}));
    EXPECT_EQ(as_of_.back(), as_of);
  }
}

TEST_F(SourceTest, IsLevelWhenTheReplicaHasEverything) {
  Source source(0);
  EXPECT_TRUE(Need(source, {}, 0));
  EXPECT_FALSE(source.is_level(ring_));
  Frames(source);
  EXPECT_TRUE(source.is_level(ring_));
  Change(1);
  EXPECT_FALSE(source.is_level(ring_));
  Frames(source);
  EXPECT_TRUE(source.is_level(ring_));
  Gap(2);
  EXPECT_FALSE(source.is_level(ring_));
  Frames(source);
  EXPECT_TRUE(source.is_level(ring_)) << "the partition was copied";
}

TEST_F(SourceTest, AShortBreakCostsTheFramesSince) {
  Change(1);
  Change(2);
  Change(3);
  Source source(32);
  EXPECT_TRUE(Need(source, Only(9), 32));
  EXPECT_EQ(Frames(source), (Names{"changes 32", "changes 64", "partition 96", "synced 96"}));
  EXPECT_EQ(copied_, std::vector<std::uint16_t>{9});
}

TEST_F(SourceTest, ALongBreakCostsThePartitionsThatHaveChanged) {
  ring_.SetCapacity(70);
  for (const std::size_t partition : {1U, 2U, 3U, 4U}) Change(partition);
  Source source(32);
  EXPECT_TRUE(Need(source, {}, 32));
  EXPECT_EQ(Frames(source), (Names{"skip to 128 32", "partition 128", "partition 128",
                                   "partition 128", "synced 128"}));
  EXPECT_EQ(copied_, (std::vector<std::uint16_t>{2, 3, 4}));
}

// Policies that were sent are not sent again unless they change.
TEST_F(SourceTest, AListOfPoliciesFollowsASkipOnlyIfOneHasChanged) {
  ring_.SetCapacity(70);
  Source source(0);
  EXPECT_TRUE(Need(source, {}, std::nullopt));
  EXPECT_EQ(Frames(source), (Names{"all policies 0", "synced 0"}));
  for (int i = 0; i < 4; ++i) Change(1);
  EXPECT_EQ(Frames(source), (Names{"skip to 128 0", "partition 128", "synced 128"}));
  ring_.Append(FrameKind::kPolicies, kFrameTime, "body", {});
  ring_.TouchPolicy(PolicyId{7});
  for (int i = 0; i < 4; ++i) Change(1);
  EXPECT_EQ(Frames(source), (Names{"skip with a list to 288 128", "all policies 288",
                                   "partition 288", "synced 288"}));
  EXPECT_EQ(as_of_.back(), 128U);
  EXPECT_EQ(ring_.policies().Of(PolicyId{7}), 160U);
  EXPECT_EQ(ring_.policies().Of(PolicyId{8}), 0U);
}

TEST_F(SourceTest, AReplicaOfTheLastHistoryGetsWhatHasChangedSinceAsFrames) {
  LastChanged last_changed;
  last_changed.Raise(3, 500);
  last_changed.Raise(4, 400);
  ring_ = Ring(10'000, 501, last_changed);
  Change(5);
  Source level(500);
  EXPECT_TRUE(Need(level, {}, 500));
  EXPECT_EQ(Frames(level), (Names{"skip to 501 500", "changes 501", "synced 533"}));
  Source behind(450);
  EXPECT_TRUE(Need(behind, {}, 450));
  EXPECT_EQ(Frames(behind),
            (Names{"skip to 501 450", "changes 501", "partition 533", "synced 533"}));
  EXPECT_EQ(copied_, std::vector<std::uint16_t>{3});
}

TEST_F(SourceTest, AGapCostsItsPartition) {
  Source source(0);
  EXPECT_TRUE(Need(source, {}, 0));
  EXPECT_EQ(Frames(source), Names{"synced 0"});
  Gap(5);
  Change(6);
  EXPECT_EQ(Frames(source), (Names{"gap 0", "changes 30", "partition 62", "synced 62"}));
  EXPECT_EQ(copied_, std::vector<std::uint16_t>{5});
}

TEST_F(SourceTest, FramesComeBetweenTheCopies) {
  Source source(0);
  PartitionSet two = Only(1);
  two.Add(2);
  EXPECT_TRUE(Need(source, two, std::nullopt));
  std::string out;
  ASSERT_EQ(source.Next(ring_, kFrameTime, out).want, Source::Want::kPolicies);
  source.AppendPolicies("", false, kFrameTime, out);
  ASSERT_EQ(source.Next(ring_, kFrameTime, out).want, Source::Want::kPolicies);
  source.AppendPolicies("", true, kFrameTime, out);
  ASSERT_EQ(source.Next(ring_, kFrameTime, out).partition, 1U);
  source.AppendOverrides("", kFrameTime, out);
  source.AppendPartition("", false, kFrameTime, out);
  source.AppendPartition("", true, kFrameTime, out);
  Change(1);
  EXPECT_EQ(source.partitions_left(), 1U);
  EXPECT_EQ(Frames(source), (Names{"changes 0", "partition 32", "synced 32"}));
}

TEST_F(SourceTest, AppendsNothingToALongOutput) {
  for (int i = 0; i < 100; ++i) Change(1);
  Source source(0);
  EXPECT_TRUE(Need(source, {}, std::nullopt));
  std::string out(Source::kOutBytes, 'x');
  EXPECT_EQ(source.Next(ring_, kFrameTime, out).want, Source::Want::kNothing);
  EXPECT_EQ(out.size(), Source::kOutBytes);
  EXPECT_EQ(source.cursor(), 0U);
  out.resize(Source::kOutBytes - 100);
  source.AppendPolicies("", true, kFrameTime, out);
  EXPECT_EQ(source.Next(ring_, kFrameTime, out).want, Source::Want::kNothing);
  EXPECT_GE(out.size(), Source::kOutBytes);
  EXPECT_LT(out.size(), Source::kOutBytes + kFrameBytesMin + 4);
}

// A busy host takes long to copy thousands of partitions, and the replica waits for a sign of life.
TEST_F(SourceTest, FillsAnOutputWithLessThanHalfOfAnEmptyTable) {
  Source source(0);
  EXPECT_TRUE(Need(source, PartitionSet::All(), 0));
  std::string out;
  while (source.Next(ring_, kFrameTime, out).want == Source::Want::kPartition) {
    source.AppendPartition("12", true, kFrameTime, out);
  }
  EXPECT_LT(kPartitionCount - source.partitions_left(), kPartitionCount / 2);
}

TEST_F(SourceTest, NotesWhatTheReplicaSays) {
  Change(1);
  Change(1);
  Source source(0);
  EXPECT_EQ(source.acked().offset, 0U);
  EXPECT_FALSE(Ack(source, {.offset = 32})) << "which was not sent";
  EXPECT_TRUE(Need(source, {}, 0));
  EXPECT_EQ(Frames(source).size(), 3U);
  EXPECT_TRUE(Ack(source, {.offset = 32, .newest = kFrameTime, .synced = true}));
  EXPECT_EQ(source.acked().offset, 32U);
  EXPECT_EQ(source.acked().newest, kFrameTime);
  EXPECT_TRUE(source.acked().synced);
  EXPECT_TRUE(Ack(source, {.offset = 64, .newest = kFrameTime}));
  EXPECT_FALSE(Ack(source, {.offset = 32, .newest = kFrameTime})) << "which falls";
  EXPECT_FALSE(source.HandleFrame(From(FrameKind::kAck, "x")));
  EXPECT_FALSE(source.HandleFrame(From(FrameKind::kNeed, "x")));
  EXPECT_FALSE(source.HandleFrame(From(FrameKind::kSynced, "x")));
  EXPECT_TRUE(source.HandleFrame(From(static_cast<FrameKind>(200), "x")));
}

// The replica acknowledges what is on its disk, which is less than what it has.
TEST_F(SourceTest, TheFirstAckMayBeBelowTheBeginningOfTheLink) {
  Change(1);
  Change(1);
  Source source(32);
  EXPECT_EQ(source.acked().offset, 32U);
  EXPECT_TRUE(Ack(source, {.offset = 7, .synced = true}));
  EXPECT_EQ(source.acked().offset, 7U);
  EXPECT_FALSE(Ack(source, {.offset = 6, .synced = true})) << "which falls";
}

TEST_F(SourceTest, HeartbeatsMoveNothing) {
  Change(1);
  Source source(32);
  std::string out;
  source.AppendHeartbeat(ring_.head(), 500, kFrameTime, out);
  FrameReader reader;
  reader.Feed(out);
  const std::optional<Frame> frame = reader.Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->offset, 32U);
  EXPECT_EQ(ReadHeartbeatBody(frame->body)->head, 32U);
  EXPECT_EQ(ReadHeartbeatBody(frame->body)->lease_ms, 500U);
  EXPECT_EQ(source.cursor(), 32U);
}

}  // namespace
}  // namespace weir
