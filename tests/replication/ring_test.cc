// Goal: the ring has the last frames, whole, at the offsets that their bytes give them, and knows
// where each partition last changed. Method: a model that keeps every frame, on random frames.
#include "replication/ring.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/replication/frames.h"

namespace weir {
namespace {

using std::chrono::seconds;

// Appends a frame that takes `bytes`.
void AppendOf(std::size_t bytes, Ring& ring, std::size_t partition = 0) {
  const std::string body(bytes - kFrameBytesMin, 'x');
  ring.Append(FrameKind::kChanges, kFrameTime, body, Only(partition));
}

TEST(RingTest, ReadsWhatTheModelHas) {
  CheckLaw(300, [] {
    const auto begin = *rc::gen::element<std::uint64_t>(0, 1, 99, std::uint64_t{1} << 40);
    Ring ring(*Between<std::size_t>(1, 400), begin);
    std::map<std::uint64_t, std::string> frames;  // all that there were, by offset
    for (int i = *Between(1, 60); i > 0; --i) {
      if (*Between(0, 9) == 0) ring.SetCapacity(*Between<std::size_t>(1, 400));
      const std::uint64_t offset = ring.head();
      const std::string body(*Between<std::size_t>(0, 150), static_cast<char>(*Between(0, 255)));
      ring.Append(FrameKind::kChanges, kFrameTime, body, {});
      const Frame frame = {
          .kind = FrameKind::kChanges, .offset = offset, .time = kFrameTime, .body = body};
      AppendFrame(frame, frames[offset]);
      RC_ASSERT(ring.head() == offset + frame.size());
      RC_ASSERT(ring.size() <= std::max(ring.capacity(), frame.size()));

      const auto from = *rc::gen::elementOf(frames);
      const std::size_t most = *Between<std::size_t>(0, 500);
      std::string out = "before";
      const auto read = ring.Read(from.first, most, out);
      RC_ASSERT(read.has_value() == (from.first >= ring.tail()));
      std::string expected = "before";
      std::uint64_t end = from.first;
      for (auto next = frames.find(end); read && next != frames.end(); ++next) {
        if (end != from.first && next->first + next->second.size() - from.first > most) break;
        expected += next->second;
        end += next->second.size();
      }
      RC_ASSERT(out == expected);
      if (read) RC_ASSERT(*read == end);
    }
  });
}

TEST(RingTest, KnowsTheTimesOfItsFrames) {
  Ring ring(100, 7);
  const auto add = [&](int after) {
    const std::uint64_t offset = ring.head();
    ring.Append(FrameKind::kChanges, kFrameTime + seconds{after}, "1234567", {});
    return offset;
  };
  const std::uint64_t first = add(1);
  const std::uint64_t second = add(2);
  EXPECT_EQ(ring.TimeAt(first), kFrameTime + seconds{1});
  EXPECT_EQ(ring.TimeAt(second), kFrameTime + seconds{2});
  EXPECT_EQ(ring.TimeAt(second + 1), std::nullopt) << "no frame begins there";
  EXPECT_EQ(ring.TimeAt(ring.head() - 1), std::nullopt) << "nor there";
  EXPECT_EQ(ring.TimeAt(ring.head()), std::nullopt);
  const std::uint64_t third = add(3);
  EXPECT_EQ(ring.tail(), second);
  EXPECT_EQ(ring.TimeAt(first), std::nullopt) << "it is gone";
  EXPECT_EQ(ring.TimeAt(third), kFrameTime + seconds{3});
}

TEST(RingTest, KeepsTheNewestThatFit) {
  Ring ring(100, 0);
  AppendOf(40, ring);
  AppendOf(40, ring);
  EXPECT_EQ(ring.tail(), 0U);
  AppendOf(40, ring);
  EXPECT_EQ(ring.tail(), 40U);
  EXPECT_EQ(ring.head(), 120U);
}

TEST(RingTest, KeepsAFrameThatIsTooLargeAlone) {
  Ring ring(100, 0);
  AppendOf(40, ring);
  AppendOf(1'000, ring);
  EXPECT_EQ(ring.tail(), 40U);
  std::string out;
  EXPECT_EQ(ring.Read(40, 10, out), 1'040U);
  EXPECT_EQ(out.size(), 1'000U);
  AppendOf(40, ring);
  EXPECT_EQ(ring.tail(), 1'040U);
  EXPECT_EQ(ring.size(), 40U);
}

TEST(RingTest, RefusesCursorsAtWhichNoFrameBegins) {
  Ring ring(1'000, 50);
  AppendOf(40, ring);
  AppendOf(40, ring);
  std::string out;
  for (std::uint64_t cursor = 0; cursor < 200; ++cursor) {
    const bool is_frame = cursor == 50 || cursor == 90 || cursor == 130;
    EXPECT_EQ(ring.Read(cursor, 1'000, out).has_value(), is_frame) << cursor;
  }
}

TEST(RingTest, KnowsWherePartitionsChanged) {
  Ring ring(100, 0);
  AppendOf(40, ring, 3);
  AppendOf(40, ring, 4095);
  AppendOf(40, ring, 3);
  EXPECT_EQ(ring.last_changed().Of(3), 120U);
  EXPECT_EQ(ring.last_changed().Of(4095), 80U);
  EXPECT_EQ(ring.last_changed().Of(0), 0U);
  EXPECT_EQ(ring.SkipFrom(79).changed.size(), 2U);
  EXPECT_EQ(ring.SkipFrom(80).changed, Only(3));
  EXPECT_EQ(ring.SkipFrom(119).changed, Only(3));
  EXPECT_EQ(ring.SkipFrom(119).to, 120U);
  EXPECT_TRUE(ring.SkipFrom(120).changed.empty());
}

TEST(RingTest, GoesOnAfterAPromotion) {
  LastChanged last_changed;
  last_changed.Raise(7, 1'000);
  Ring ring(100, 1'001, last_changed);
  EXPECT_EQ(ring.head(), 1'001U);
  EXPECT_EQ(ring.SkipFrom(999).changed, Only(7));
  AppendOf(40, ring, 8);
  EXPECT_EQ(ring.last_changed().Of(8), 1'041U);
  EXPECT_EQ(ring.SkipFrom(999).to, 1'001U) << "the ring has the frame of partition 8";
  EXPECT_EQ(ring.SkipFrom(999).changed, Only(7));
  EXPECT_TRUE(ring.SkipFrom(1'000).changed.empty());
  std::string out;
  EXPECT_FALSE(ring.Read(1'000, 100, out));
  EXPECT_EQ(ring.Read(1'001, 100, out), 1'041U);
  AppendOf(40, ring, 8);
  AppendOf(40, ring, 9);
  EXPECT_EQ(ring.SkipFrom(999).to, ring.head()) << "its first frame is gone";
  EXPECT_EQ(ring.SkipFrom(999).changed.size(), 3U);
}

}  // namespace
}  // namespace weir
