// Goal: every monitor gets every line, and a monitor that does not read is closed before its lines
// exceed their bound. Method: monitors without a session; their wake-ups are counted.
#include "server/observe/monitors.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/os/log.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using Words = std::vector<std::string_view>;

constexpr Instant kShown{Nanos{1'339'518'083'107'412'999}};

std::shared_ptr<ClientRecord> NewRecord() {
  return std::make_shared<ClientRecord>(
      ClientArrival{1, "127.0.0.1:60866", "own", 7, kShown, Face::kResp});
}

TEST(MonitorsTest, WritesALineAsRedisDoes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Monitors::Line(kShown, "127.0.0.1:60866", Words{"keys", "*"}),
            R"(1339518083.107412 [0 127.0.0.1:60866] "keys" "*")");
  EXPECT_EQ(
      Monitors::Line(Instant{Nanos{5'000}}, "unix:/x", Words{"a\"\\\n\r\t\a\b\0\x7f\xff z"sv, ""}),
      R"(0.000005 [0 unix:/x] "a\"\\\n\r\t\a\b\x00\x7f\xff z" "")");
}

TEST(MonitorsTest, EveryMonitorGetsEveryLineAndIsWokenUpOnce) {
  const FakeClock clock;
  Monitors monitors(clock);
  EXPECT_FALSE(monitors.any());
  const auto record = NewRecord();
  int wakes = 0;
  record->set_on_wake([&wakes] { ++wakes; });
  auto one = std::make_unique<Monitor>(monitors, record);
  Monitor two(monitors, NewRecord());
  EXPECT_TRUE(monitors.any());
  EXPECT_TRUE(record->monitors.load());
  monitors.Show(kShown, "x", Words{"PING"});
  monitors.Show(kShown, "x", Words{"ECHO"});
  EXPECT_EQ(wakes, 1);
  const std::string lines =
      "+1339518083.107412 [0 x] \"PING\"\r\n+1339518083.107412 [0 x] \"ECHO\"\r\n";
  EXPECT_TRUE(one->has_lines());
  EXPECT_EQ(one->Take(), lines);
  EXPECT_FALSE(one->has_lines());
  EXPECT_EQ(two.Take(), lines);
  one.reset();
  EXPECT_FALSE(record->monitors.load());
  EXPECT_TRUE(monitors.any());
}

TEST(MonitorsTest, AMonitorThatDoesNotReadIsClosed) {
  const FakeClock clock;
  Monitors monitors(clock);
  const auto deaf = NewRecord();
  const auto reader = NewRecord();
  Monitor slow(monitors, deaf);
  Monitor quick(monitors, reader);
  const std::string word(1000, 'x');
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kWarning);
  std::size_t bytes_max = 0;
  for (std::size_t sent = 0; sent < 4 * Monitors::kBytesOfOneMax; sent += word.size()) {
    monitors.Show(kShown, "x", Words{word});
    const std::size_t taken = quick.Take().size();
    quick.OnSent();
    if (!deaf->killed) bytes_max += taken;
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("it does not read what it monitors"));
  EXPECT_TRUE(deaf->killed.load());
  EXPECT_FALSE(reader->killed.load());
  EXPECT_LE(bytes_max, Monitors::kBytesOfOneMax);
  EXPECT_GT(bytes_max, Monitors::kBytesOfOneMax / 2);
  EXPECT_EQ(slow.Take(), "");
}

// Lines that a connection took but could not send yet count, too.
TEST(MonitorsTest, TakenLinesCountUntilTheyAreSent) {
  const FakeClock clock;
  Monitors monitors(clock);
  const auto deaf = NewRecord();
  Monitor slow(monitors, deaf);
  const std::string word(400, 'x');
  std::size_t taken = 0;
  while (!deaf->killed && taken <= Monitors::kBytesOfOneMax) {
    monitors.Show(kShown, "x", Words{word});
    taken += slow.Take().size();
  }
  EXPECT_TRUE(deaf->killed.load());
}

// Any number of monitors hold no more together, and a monitor that reads is not closed because of
// others.
TEST(MonitorsTest, AllTogetherHoldNoMoreThanTheyMay) {
  const FakeClock clock;
  Monitors monitors(clock);
  const auto reader = NewRecord();
  Monitor quick(monitors, reader);
  std::vector<std::shared_ptr<ClientRecord>> records;
  std::vector<std::unique_ptr<Monitor>> deaf;
  for (int i = 0; i < 200; ++i) {
    deaf.push_back(std::make_unique<Monitor>(monitors, records.emplace_back(NewRecord())));
  }
  const std::string word(400, 'x');
  for (std::size_t sent = 0; sent < Monitors::kBytesOfOneMax / 2; sent += word.size()) {
    monitors.Show(kShown, "x", Words{word});
    EXPECT_FALSE(quick.Take().empty());
    quick.OnSent();
  }
  EXPECT_FALSE(reader->killed.load());
  EXPECT_TRUE(
      std::ranges::any_of(records, [](const auto& record) { return record->killed.load(); }));
  std::size_t held = 0;
  for (const auto& monitor : deaf) held += monitor->Take().size();
  EXPECT_LE(held, Monitors::kBytesOfAllMax);
  EXPECT_GT(held, Monitors::kBytesOfAllMax / 2);
}

TEST(MonitorsTest, ALineIsBounded) {
  EXPECT_THAT(Monitors::Line(kShown, "x", Words{"ECHO", std::string(600, 'y')}),
              testing::EndsWith(" \"ECHO\" \"" + std::string(512, 'y') + "... (88 more bytes)\""));
  const std::string word(512, '\0');
  const std::string line = Monitors::Line(kShown, "x", Words(100, word));
  EXPECT_LE(line.size(), Monitors::kLineBytesMax + 100);
  EXPECT_THAT(line, testing::EndsWith("\\x00\" \"... (99 more arguments)\""));
}

TEST(MonitorsTest, AUnixSocketIsSpelledAsRedisDoes) {
  EXPECT_THAT(Monitors::Line(kShown, "/run/weir.sock:0", Words{"PING"}),
              testing::EndsWith(" [0 unix:/run/weir.sock] \"PING\""));
}

TEST(MonitorsTest, MonitorsComeAndGoWhileOthersExecute) {
  const FakeClock clock;
  Monitors monitors(clock);
  std::thread other([&monitors] {
    for (int i = 0; i < 2000; ++i) {
      if (monitors.any()) monitors.Show(kShown, "x", Words{"PING"});
    }
  });
  for (int i = 0; i < 200; ++i) {
    Monitor monitor(monitors, NewRecord());
    const std::string lines = monitor.Take();
    EXPECT_TRUE(lines.empty() || lines.ends_with("\"PING\"\r\n"));
  }
  other.join();
  EXPECT_FALSE(monitors.any());
}

}  // namespace
}  // namespace weir
