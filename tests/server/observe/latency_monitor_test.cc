// Goal: for each event the monitor keeps the seconds in which it was slow, with the longest time of
// each second, up to a bound. Method: samples at seconds that the test chooses.
#include "server/observe/latency_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using Event = LatencyMonitor::Event;
using Sample = LatencyMonitor::Sample;

constexpr HostInstant kStart{seconds{1000}};

TEST(LatencyMonitorTest, IsOffAtZero) {
  LatencyMonitor monitor(Nanos{0});
  EXPECT_FALSE(monitor.is_on());
  EXPECT_FALSE(monitor.IsSlow(std::chrono::hours{1}));
  monitor.set_threshold(milliseconds{5});
  EXPECT_TRUE(monitor.is_on());
  EXPECT_TRUE(monitor.IsSlow(milliseconds{5}));
  EXPECT_FALSE(monitor.IsSlow(milliseconds{5} - Nanos{1}));
}

TEST(LatencyMonitorTest, KeepsTheLongestOfEachSecond) {
  LatencyMonitor monitor(milliseconds{1});
  monitor.Add(Event::kCommand, kStart, milliseconds{7});
  monitor.Add(Event::kCommand, kStart + milliseconds{999}, milliseconds{9});
  monitor.Add(Event::kCommand, kStart + seconds{2}, milliseconds{3});
  monitor.Add(Event::kCommand, kStart, milliseconds{4});  // of a thread that comes late
  const auto history = monitor.Of(Event::kCommand);
  ASSERT_TRUE(history.has_value());
  EXPECT_THAT(history->samples, ElementsAre(Sample{1000, 9}, Sample{1002, 4}));
  EXPECT_EQ(history->millis_max, 9);
  EXPECT_FALSE(monitor.Of(Event::kFastCommand).has_value());
  EXPECT_EQ(monitor.All().size(), 1U);
}

TEST(LatencyMonitorTest, KeepsTheLatestSeconds) {
  LatencyMonitor monitor(milliseconds{1});
  monitor.Add(Event::kFastCommand, kStart, milliseconds{50});
  for (std::size_t i = 1; i <= LatencyMonitor::kSamplesMax; ++i) {
    monitor.Add(Event::kFastCommand, kStart + seconds{i}, milliseconds{i});
  }
  const auto history = monitor.Of(Event::kFastCommand);
  EXPECT_EQ(history->samples.size(), LatencyMonitor::kSamplesMax);
  EXPECT_EQ(history->samples.front(), (Sample{1001, 1}));
  EXPECT_EQ(history->millis_max, 160);
}

TEST(LatencyMonitorTest, ResetsOneEvent) {
  LatencyMonitor monitor(milliseconds{1});
  monitor.Add(Event::kCommand, kStart, milliseconds{7});
  monitor.Add(Event::kFastCommand, kStart, milliseconds{8});
  EXPECT_TRUE(monitor.Reset(Event::kCommand));
  EXPECT_FALSE(monitor.Reset(Event::kCommand));
  ASSERT_EQ(monitor.All().size(), 1U);
  EXPECT_EQ(monitor.All()[0].event, Event::kFastCommand);
}

TEST(LatencyMonitorTest, FindsEventsByTheirNames) {
  EXPECT_EQ(LatencyMonitor::FindEvent("command"), Event::kCommand);
  EXPECT_EQ(LatencyMonitor::FindEvent("fast-command"), Event::kFastCommand);
  EXPECT_EQ(LatencyMonitor::FindEvent("fork"), std::nullopt);
}

}  // namespace
}  // namespace weir
