// Goal: a replica knows what it has and what it lacks, and a link ends at the first byte that is
// wrong. Method: examples, with a target that takes "p" as a body about partition p.
#include "replication/sink.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "replication/frame_bodies.h"
#include "tests/replication/frames.h"

namespace weir {
namespace {

using std::chrono::seconds;

constexpr std::uint16_t kBad = '!';  // a body that is refused

class NotingTarget final : public SinkTarget {
 public:
  void SetTime(Instant newest) override { time = newest; }
  std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant at) override {
    EXPECT_GE(time, at) << "told before";
    calls.push_back("changes " + std::string(body));
    if (body[0] == kBad) return std::nullopt;
    return Only(static_cast<std::size_t>(body[0]));
  }
  std::optional<std::uint16_t> ApplyOverrides(std::string_view body, bool is_first) override {
    calls.push_back("overrides " + std::string(body) + (is_first ? " first" : ""));
    if (body[0] == kBad) return std::nullopt;
    return body[0];
  }
  std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part part,
                                              Instant at) override {
    EXPECT_GE(time, at) << "told before";
    calls.push_back("partition " + std::string(body) + TextOf(part));
    if (body[0] == kBad) return std::nullopt;
    return body[0];
  }
  // "po" is about an override of partition 'o', and about policies.
  std::optional<PoliciesTouched> ApplyPolicies(std::string_view body) override {
    calls.push_back("policies " + std::string(body));
    if (body[0] == kBad) return std::nullopt;
    PoliciesTouched touched{.policies = body[0] == 'p'};
    if (body.size() > 1) touched.partitions.Add(static_cast<std::size_t>(body[1]));
    return touched;
  }
  bool ApplyPolicyList(std::string_view body, Part part) override {
    calls.push_back("all policies " + std::string(body) + TextOf(part));
    return body[0] != kBad;
  }
  void Flush(TableGeneration) override { calls.emplace_back("flush"); }

  std::vector<std::string> calls;
  Instant time;

 private:
  static std::string TextOf(Part part) {
    return std::string(part.first ? " first" : "") + (part.last ? " last" : "");
  }
};

class SinkTest : public testing::Test {
 protected:
  SinkTest() { EXPECT_TRUE(sink_.Resume(kBegin, true)); }

  // Gives the sink a frame at the offset that it expects.
  bool Get(FrameKind kind, std::string_view body, std::uint8_t flags = 0) {
    return sink_.Receive(BytesOf({.kind = kind,
                                  .flags = flags,
                                  .offset = sink_.applied(),
                                  .time = kFrameTime,
                                  .body = body}));
  }
  bool GetSynced() { return Get(FrameKind::kSynced, BodyOf(SyncedBody{sink_.applied()})); }
  bool GetSkip(std::uint64_t to, const PartitionSet& changed, bool lists_policies = false) {
    return Get(FrameKind::kSkip, BodyOf(SkipBody{to, changed, lists_policies}));
  }
  // The NEED that the sink would send now.
  [[nodiscard]] NeedBody Need() const { return NeedOf(sink_); }
  [[nodiscard]] static NeedBody NeedOf(const Sink& sink) {
    std::string out;
    sink.AppendNeed(kFrameTime, out);
    FrameReader reader;
    reader.Feed(out);
    return ReadNeedBody(reader.Next().value().body).value();
  }
  bool GetAllPolicies() { return Get(FrameKind::kPolicies, "all", kWholeFlag); }

  static constexpr std::uint64_t kBegin = 100;
  NotingTarget target_;
  Sink sink_{target_, {.applied = kBegin, .last_changed = LastChanged()}};
};

TEST_F(SinkTest, AppliesFramesAndCountsThoseOfTheHistory) {
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(Get(FrameKind::kPolicies, "new"));
  EXPECT_EQ(sink_.last_changed().Of('e'), sink_.applied()) << "an override";
  EXPECT_TRUE(Get(FrameKind::kFlush, BodyOf(FlushBody{})));
  EXPECT_EQ(sink_.applied(), kBegin + 29 + 31 + 32);
  EXPECT_EQ(sink_.last_changed().Of('a'), sink_.applied());
  EXPECT_EQ(target_.calls, (std::vector<std::string>{"changes a", "policies new", "flush"}));
  EXPECT_TRUE(Get(FrameKind::kHeartbeat, BodyOf(HeartbeatBody{.head = 7, .lease_ms = 9})));
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(sink_.applied(), kBegin + 92);
  EXPECT_EQ(sink_.heartbeat().head, 7U);
  EXPECT_EQ(sink_.newest(), kFrameTime);
  EXPECT_EQ(sink_.newest_on_link(), kFrameTime);
}

TEST_F(SinkTest, KnowsHowOldItsStateIs) {
  const auto get_at = [this](int after, FrameKind kind, std::string_view body) {
    return sink_.Receive(BytesOf({.kind = kind,
                                  .flags = 0,
                                  .offset = sink_.applied(),
                                  .time = kFrameTime + seconds{after},
                                  .body = body}));
  };
  EXPECT_TRUE(get_at(1, FrameKind::kHeartbeat, BodyOf(HeartbeatBody{.head = kBegin})));
  EXPECT_EQ(sink_.exact_time(), Instant{}) << "it was never in sync";
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(GetSynced());
  EXPECT_EQ(sink_.exact_time(), kFrameTime);
  EXPECT_TRUE(get_at(2, FrameKind::kHeartbeat, BodyOf(HeartbeatBody{.head = kBegin})));
  EXPECT_EQ(sink_.exact_time(), kFrameTime + seconds{2});
  EXPECT_TRUE(get_at(3, FrameKind::kHeartbeat, BodyOf(HeartbeatBody{.head = kBegin + 29})));
  EXPECT_EQ(sink_.exact_time(), kFrameTime + seconds{2}) << "changes are on their way";
  EXPECT_EQ(sink_.newest(), kFrameTime + seconds{3});
  EXPECT_TRUE(get_at(4, FrameKind::kChanges, "a"));
  EXPECT_EQ(sink_.exact_time(), kFrameTime + seconds{4});
  EXPECT_TRUE(sink_.Resume(sink_.applied(), true));
  EXPECT_EQ(sink_.exact_time(), kFrameTime + seconds{4});
  sink_.StartOver(7, false);
  EXPECT_EQ(sink_.exact_time(), Instant{}) << "of the other history";
}

TEST_F(SinkTest, IsCompleteOnceItHasBeenSynced) {
  EXPECT_FALSE(sink_.complete());
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(GetSynced());
  EXPECT_TRUE(sink_.synced());
  EXPECT_TRUE(sink_.complete());
  EXPECT_TRUE(GetSkip(500, Only('a')));
  EXPECT_FALSE(sink_.synced());
  EXPECT_TRUE(sink_.complete());
  sink_.StartOver(1'000, false);
  EXPECT_TRUE(sink_.complete());
  sink_.StartOver(1'000, true);
  EXPECT_FALSE(sink_.complete());
}

TEST_F(SinkTest, ShowsTheLastOffsetAtWhichAllWasExact) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_EQ(sink_.shown(), 129U);
  EXPECT_TRUE(Get(FrameKind::kGap, BodyOf(GapBody{'b'})));
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_EQ(sink_.shown(), 129U);
  EXPECT_EQ(sink_.need(), Only('b'));
  EXPECT_TRUE(Get(FrameKind::kPartition, "b"));
  EXPECT_EQ(sink_.shown(), sink_.applied());
  EXPECT_TRUE(GetSkip(900, {}));
  EXPECT_EQ(sink_.shown(), 900U);
  EXPECT_TRUE(GetSkip(1'000, {}, true));
  EXPECT_EQ(sink_.shown(), 900U) << "policies are missing";
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(sink_.shown(), 1'000U);
  sink_.StartOver(2'000, false);
  EXPECT_EQ(sink_.shown(), std::nullopt);
  EXPECT_EQ(sink_.partitions_left(), kPartitionCount);
}

TEST_F(SinkTest, SaysAsOfWhenItHasAllPolicies) {
  EXPECT_EQ(Need().policies_as_of, kBegin);
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(GetSkip(1'000, {}));
  EXPECT_EQ(Need().policies_as_of, 1'000U);
  EXPECT_TRUE(GetSkip(2'000, {}, true));
  EXPECT_EQ(Need().policies_as_of, 1'000U) << "the list is missing";
  EXPECT_TRUE(Get(FrameKind::kPolicies, "all", kWholeFlag | kMoreFlag));
  EXPECT_TRUE(sink_.Resume(2'000, true));
  EXPECT_EQ(Need().policies_as_of, 1'000U) << "it was cut";
  EXPECT_FALSE(GetSynced());
  EXPECT_TRUE(sink_.Resume(2'000, true));
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(Need().policies_as_of, 2'000U);
  EXPECT_TRUE(GetSynced());
  sink_.StartOver(3'000, false);
  EXPECT_EQ(Need().policies_as_of, std::nullopt);
}

// A list comes ahead of its frames, so another history may lack any part of it.
TEST_F(SinkTest, TellsNoPoliciesOfAnotherHistory) {
  EXPECT_TRUE(Get(FrameKind::kPolicies, "policy"));
  const std::uint64_t changed = sink_.applied();
  EXPECT_TRUE(Get(FrameKind::kPolicies, "override"));
  EXPECT_EQ(sink_.PromotedRing(100).policies().newest(), changed);
  EXPECT_TRUE(sink_.Resume(sink_.applied(), true));
  EXPECT_EQ(Need().policies_as_of, sink_.applied());
  EXPECT_TRUE(sink_.Resume(sink_.applied(), false));
  EXPECT_EQ(Need().policies_as_of, std::nullopt);
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(sink_.Resume(sink_.applied(), false));
  EXPECT_EQ(Need().policies_as_of, std::nullopt) << "a frame after the list changes nothing";
}

TEST_F(SinkTest, ALoadedStateNeedsTheWholeListOfPolicies) {
  Sink loaded(
      target_,
      {.applied = kBegin, .last_changed = LastChanged(kBegin + 1), .policies_as_of = std::nullopt});
  EXPECT_TRUE(loaded.Resume(kBegin, true));
  EXPECT_EQ(NeedOf(loaded).policies_as_of, std::nullopt);
  EXPECT_EQ(loaded.shown(), kBegin);
}

TEST_F(SinkTest, TheListOfPoliciesCountsAsNewerInAnotherHistory) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(sink_.PromotedRing(100).policies().newest(), kBegin + 1);
  EXPECT_TRUE(GetSkip(500, {}, true));
  EXPECT_EQ(sink_.PromotedRing(100).policies().newest(), 500U);
}

// A list at an offset may have changes that its primary had not taken yet, and that die with it.
// The history that continues from that very offset, or from a later one, never has them.
TEST_F(SinkTest, TellsNoPoliciesOfAListOfAnotherHistory) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_EQ(Need().policies_as_of, kBegin) << "they are yet to come in frames";
  EXPECT_TRUE(GetSkip(500, {}, true));
  EXPECT_TRUE(sink_.Resume(500, true));
  EXPECT_EQ(Need().policies_as_of, kBegin) << "or have come before the head";
  EXPECT_TRUE(sink_.Resume(300, false));
  EXPECT_EQ(Need().policies_as_of, std::nullopt);

  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(Need().policies_as_of, 300U);
  EXPECT_TRUE(sink_.Resume(300, false));
  EXPECT_EQ(Need().policies_as_of, std::nullopt);
  EXPECT_FALSE(GetSynced());
}

// As TellsNoPoliciesOfAListOfAnotherHistory, but with loaded policies.
TEST_F(SinkTest, TellsNoLoadedPoliciesOfAnotherHistory) {
  const Sink::State loaded = {
      .applied = kBegin, .last_changed = LastChanged(kBegin + 1), .policies_changed = kBegin + 1};
  for (const bool same : {true, false}) {
    Sink sink(target_, loaded);
    EXPECT_TRUE(sink.Resume(kBegin, same));
    std::string out;
    sink.AppendNeed(kFrameTime, out);
    FrameReader reader;
    reader.Feed(out);
    const NeedBody need = ReadNeedBody(reader.Next().value().body).value();
    EXPECT_EQ(need.policies_as_of, same ? std::optional(kBegin) : std::nullopt);
    EXPECT_EQ(need.partitions.empty(), same);
  }
}

TEST_F(SinkTest, ForgetsOffsetsOfPoliciesWhenItStartsOver) {
  EXPECT_TRUE(GetSkip(5'000, {}, true));
  sink_.StartOver(1'000, false);
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_EQ(sink_.PromotedRing(100).policies().newest(), 1'001U);
}

TEST_F(SinkTest, OpenPartitionsOutliveTheLink) {
  EXPECT_TRUE(GetAllPolicies());
  PartitionSet two = Only('a');
  two.Add('b');
  EXPECT_TRUE(GetSkip(1'000, two));
  EXPECT_TRUE(Get(FrameKind::kPartition, "a"));
  EXPECT_TRUE(sink_.Resume(1'000, true));
  EXPECT_EQ(sink_.need(), Only('b'));
}

TEST_F(SinkTest, APartitionIsOpenUntilItsLastPart) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kPartition, "a1", kMoreFlag));
  EXPECT_EQ(sink_.need(), Only('a'));
  EXPECT_TRUE(Get(FrameKind::kPartition, "a2"));
  EXPECT_TRUE(sink_.need().empty());
  EXPECT_EQ(target_.calls[1], "partition a1 first");
  EXPECT_EQ(target_.calls[2], "partition a2 last");
}

TEST_F(SinkTest, OverridesAreTheFirstPartsOfAPartition) {
  EXPECT_TRUE(Get(FrameKind::kOverrides, "a1"));
  EXPECT_EQ(sink_.need(), Only('a'));
  EXPECT_TRUE(Get(FrameKind::kOverrides, "a2"));
  EXPECT_TRUE(Get(FrameKind::kPartition, "a3"));
  EXPECT_TRUE(sink_.need().empty());
  EXPECT_EQ(sink_.last_changed().Of('a'), kBegin + 1);
  EXPECT_EQ(target_.calls,
            (std::vector<std::string>{"overrides a1 first", "overrides a2", "partition a3 last"}));
  EXPECT_TRUE(Get(FrameKind::kOverrides, "b"));
  EXPECT_FALSE(Get(FrameKind::kPartition, "a")) << "of another partition";
}

// A primary that never sends the last part must not use up the memory.
TEST_F(SinkTest, EndsTheLinkAtACopyThatIsTooLong) {
  constexpr std::size_t kParts = 10;
  for (const FrameKind kind : {FrameKind::kPartition, FrameKind::kOverrides}) {
    Sink sink(target_, {.applied = kBegin, .last_changed = LastChanged()}, kParts * 2);
    const bool has_flag = kind == FrameKind::kPartition;
    const std::string part = BytesOf({.kind = kind,
                                      .flags = has_flag ? kMoreFlag : std::uint8_t{0},
                                      .offset = kBegin,
                                      .time = kFrameTime,
                                      .body = "a1"});
    for (int copies = 0; copies < 2; ++copies) {  // The next copy may be as long.
      EXPECT_TRUE(sink.Resume(kBegin, true));
      for (std::size_t i = 0; i < kParts; ++i) EXPECT_TRUE(sink.Receive(part));
    }
    EXPECT_FALSE(sink.Receive(part));
  }
}

TEST_F(SinkTest, ForgetsWhatItHasBeyondTheCommonOffset) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(Get(FrameKind::kChanges, "b"));
  EXPECT_FALSE(sink_.Resume(159, false));
  EXPECT_TRUE(sink_.Resume(129, false));
  EXPECT_EQ(sink_.applied(), 129U);
  EXPECT_EQ(sink_.shown(), 129U);
  EXPECT_EQ(sink_.need(), Only('b'));
}

// A copy may have changes that were in no frame yet.
TEST_F(SinkTest, ACopyCountsAsNewerInAnotherHistory) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kPartition, "a"));
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_TRUE(sink_.need().empty());
  EXPECT_EQ(sink_.PromotedRing(100).SkipFrom(kBegin).changed, Only('a'));
  EXPECT_EQ(sink_.PromotedRing(100).head(), kBegin + 1);
  EXPECT_TRUE(sink_.Resume(kBegin, false));
  EXPECT_EQ(sink_.need(), Only('a'));
}

TEST_F(SinkTest, SaysWhatItHas) {
  EXPECT_TRUE(GetSkip(1'000, Only('a')));
  std::string out;
  sink_.AppendNeed(kFrameTime, out);
  sink_.AppendAck(kFrameTime, {}, out);
  FrameReader reader;
  reader.Feed(out);
  const std::optional<Frame> need = reader.Next();
  ASSERT_TRUE(need);
  EXPECT_EQ(ReadNeedBody(need->body)->partitions, Only('a'));
  const std::optional<Frame> ack = reader.Next();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->offset, 1'000U);
  EXPECT_EQ(ReadAckBody(ack->body)->offset, 1'000U);
  EXPECT_EQ(ReadAckBody(ack->body)->newest, kFrameTime);
}

// A loss of power must not forget what an ACK has counted.
TEST_F(SinkTest, AcknowledgesWhatIsOnTheDiskWhereThatIsAwaited) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  const auto ack = [&](std::optional<std::uint64_t> saved, bool fails = false) {
    std::string out;
    sink_.AppendAck(kFrameTime, {.is_awaited = true, .offset = saved, .fails = fails}, out);
    FrameReader reader;
    reader.Feed(out);
    return *ReadAckBody(reader.Next()->body);
  };
  EXPECT_TRUE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(GetSynced());
  ASSERT_GT(sink_.applied(), kBegin);
  EXPECT_EQ(ack({}).offset, 0U) << "nothing is on disk";
  EXPECT_TRUE(ack({}).synced);
  EXPECT_EQ(ack({}).newest, kFrameTime) << "leases do not wait for a disk";
  EXPECT_EQ(ack(kBegin - 1).offset, kBegin - 1);
  EXPECT_EQ(ack(kBegin).offset, kBegin);
  EXPECT_EQ(ack(sink_.applied()).offset, sink_.applied());
  EXPECT_EQ(ack(sink_.applied() + 1).offset, sink_.applied());
  EXPECT_FALSE(ack(kBegin).cannot_save);
  EXPECT_TRUE(ack(kBegin, true).cannot_save);
}

// The time of an earlier primary says nothing about the lease of the present one.
TEST_F(SinkTest, EchoesTimesOfThisLinkOnly) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(sink_.Resume(kBegin, false));
  EXPECT_EQ(sink_.newest(), kFrameTime);
  EXPECT_EQ(sink_.newest_on_link(), Instant{});
}

TEST_F(SinkTest, IsYieldedToOnceItHasEverything) {
  const std::string yield = BodyOf(YieldBody{.term = 7});
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_FALSE(Get(FrameKind::kYield, yield)) << "it is not synced";
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(GetSynced());
  EXPECT_EQ(sink_.yielded(), std::nullopt);
  EXPECT_TRUE(Get(FrameKind::kYield, yield));
  EXPECT_EQ(sink_.yielded(), 7U);
  EXPECT_FALSE(Get(FrameKind::kChanges, "a")) << "the history has ended";
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_EQ(sink_.yielded(), std::nullopt) << "it belongs to a link";
}

TEST_F(SinkTest, CountsRefusalsToYield) {
  EXPECT_EQ(sink_.refusals(), 0U);
  EXPECT_TRUE(Get(FrameKind::kRefuse, ""));
  EXPECT_TRUE(Get(FrameKind::kRefuse, ""));
  EXPECT_EQ(sink_.refusals(), 2U);
  EXPECT_TRUE(sink_.Resume(sink_.applied(), true));
  EXPECT_EQ(sink_.refusals(), 0U) << "they belong to a link";
}

TEST_F(SinkTest, EndsTheLinkAtAMistake) {
  const auto error_after = [this](FrameKind kind, std::string_view body, std::uint8_t flags = 0) {
    EXPECT_TRUE(sink_.Resume(sink_.applied(), true));
    EXPECT_FALSE(Get(kind, body, flags));
    return sink_.error();
  };
  EXPECT_EQ(error_after(FrameKind::kChanges, "!"), "a frame of kind 1 with a damaged body");
  EXPECT_NE(error_after(FrameKind::kPolicies, "!"), "");
  EXPECT_NE(error_after(FrameKind::kPolicies, "!", kWholeFlag), "");
  EXPECT_NE(error_after(FrameKind::kOverrides, "!"), "");
  EXPECT_NE(error_after(FrameKind::kPartition, "!"), "");
  for (const FrameKind kind : {FrameKind::kFlush, FrameKind::kGap, FrameKind::kHeartbeat,
                               FrameKind::kSkip, FrameKind::kSynced, FrameKind::kYield}) {
    EXPECT_NE(error_after(kind, "x"), "");
  }
  EXPECT_NE(error_after(FrameKind::kAck, BodyOf(AckBody{})), "") << "from a replica";
  EXPECT_NE(error_after(FrameKind::kSkip, BodyOf(SkipBody{.to = kBegin - 1})), "");
  EXPECT_NE(error_after(FrameKind::kSynced, BodyOf(SyncedBody{kBegin + 1})), "");
  EXPECT_FALSE(GetAllPolicies()) << "it stays failed";
}

TEST_F(SinkTest, EndsTheLinkAtAFrameThatDoesNotFollow) {
  EXPECT_FALSE(sink_.Receive(BytesOf({.kind = FrameKind::kChanges,
                                      .flags = 0,
                                      .offset = kBegin + 1,
                                      .time = kFrameTime,
                                      .body = "a"})));
  EXPECT_EQ(sink_.error(), "a frame of kind 1 at offset 101, after 100");
  EXPECT_TRUE(target_.calls.empty());
}

TEST_F(SinkTest, EndsTheLinkIfItIsSaidToBeSyncedWhileItIsNot) {
  EXPECT_TRUE(GetAllPolicies());
  EXPECT_TRUE(Get(FrameKind::kGap, BodyOf(GapBody{5})));
  EXPECT_FALSE(GetSynced());
}

TEST_F(SinkTest, EndsTheLinkIfACopyIsTornApart) {
  EXPECT_TRUE(Get(FrameKind::kPartition, "a", kMoreFlag));
  EXPECT_FALSE(Get(FrameKind::kChanges, "a"));
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_TRUE(Get(FrameKind::kOverrides, "a"));
  EXPECT_FALSE(Get(FrameKind::kHeartbeat, BodyOf(HeartbeatBody{})));
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_TRUE(Get(FrameKind::kPartition, "a", kMoreFlag));
  EXPECT_FALSE(Get(FrameKind::kPartition, "b"));
  EXPECT_EQ(sink_.partitions_left(), 2U);
  EXPECT_TRUE(sink_.Resume(kBegin, true));
  EXPECT_TRUE(Get(FrameKind::kPolicies, "all", kWholeFlag | kMoreFlag));
  EXPECT_FALSE(Get(FrameKind::kPolicies, "new"));
}

TEST_F(SinkTest, PassesOverUnknownKindsFrom128On) {
  EXPECT_TRUE(Get(static_cast<FrameKind>(193), "x"));
  EXPECT_EQ(sink_.applied(), kBegin);
  EXPECT_TRUE(Get(static_cast<FrameKind>(128), "x"));
  EXPECT_EQ(sink_.applied(), kBegin + 29);
}

}  // namespace
}  // namespace weir
