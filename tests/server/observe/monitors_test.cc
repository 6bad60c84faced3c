// Goal: every monitor gets every line, as Redis writes it. Method: monitors without a session.
#include "server/observe/monitors.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using Words = std::vector<std::string_view>;

constexpr Instant kShown{Nanos{1'339'518'083'107'412'999}};

std::shared_ptr<ClientRecord> NewRecord() {
  return std::make_shared<ClientRecord>(
      ClientArrival{1, "127.0.0.1:60866", "own", 7, HostInstant{}, Face::kResp});
}

TEST(MonitorsTest, WritesALineAsRedisDoes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Monitors::Line(kShown, "127.0.0.1:60866", Words{"keys", "*"}),
            R"(1339518083.107412 [0 127.0.0.1:60866] "keys" "*")");
  EXPECT_EQ(
      Monitors::Line(Instant{Nanos{5'000}}, "unix:/x", Words{"a\"\\\n\r\t\a\b\0\x7f\xff z"sv, ""}),
      R"(0.000005 [0 unix:/x] "a\"\\\n\r\t\a\b\x00\x7f\xff z" "")");
}

TEST(MonitorsTest, EveryMonitorGetsEveryLineUnlessItWantsNoReplies) {
  const FakeClock clock;
  Outboxes all(clock);
  Monitors monitors;
  EXPECT_FALSE(monitors.any());
  const auto record = NewRecord();
  Outbox one(all, record);
  Outbox two(all, NewRecord());
  {
    const Monitor first(monitors, one);
    const Monitor second(monitors, two);
    EXPECT_TRUE(monitors.any());
    EXPECT_TRUE(record->monitors.load());
    monitors.Show(kShown, "x", Words{"PING"});
    monitors.Show(kShown, "x", Words{"ECHO"});
    record->is_silent = true;
    monitors.Show(kShown, "x", Words{"TIME"});
  }
  const std::string lines =
      "+1339518083.107412 [0 x] \"PING\"\r\n+1339518083.107412 [0 x] \"ECHO\"\r\n";
  EXPECT_EQ(one.Take(), lines);
  EXPECT_EQ(two.Take(), lines + "+1339518083.107412 [0 x] \"TIME\"\r\n");
  EXPECT_FALSE(record->monitors.load());
  EXPECT_FALSE(monitors.any());
}

TEST(MonitorsTest, AMonitorThatIsBehindIsToldHowMuchItMisses) {
  const FakeClock clock;
  Outboxes all(clock);
  Monitors monitors;
  const auto record = NewRecord();
  Outbox outbox(all, record);
  const Monitor monitor(monitors, outbox);
  const std::string word(500, 'x');
  std::size_t missed = 0;
  for (int i = 0; i < 1000; ++i) missed += monitors.Show(kShown, "x", Words{"ECHO", word});
  EXPECT_GT(missed, 400U);
  EXPECT_FALSE(record->killed);
  EXPECT_EQ(std::ranges::count(outbox.Take(), '\n') + static_cast<std::ptrdiff_t>(missed), 1000);
  outbox.OnSent();
  EXPECT_EQ(monitors.Show(kShown, "x", Words{"PING"}), 0U);
  monitors.Show(kShown, "x", Words{"PING"});
  const std::string ping = "+1339518083.107412 [0 x] \"PING\"\r\n";
  EXPECT_EQ(outbox.Take(), "+1339518083.107412 [0 x] \"... (" + std::to_string(missed) +
                               " more commands)\"\r\n" + ping + ping);
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
  Outboxes all(clock);
  Monitors monitors;
  std::thread other([&monitors] {
    for (int i = 0; i < 2000; ++i) {
      if (monitors.any()) monitors.Show(kShown, "x", Words{"PING"});
    }
  });
  for (int i = 0; i < 200; ++i) {
    Outbox outbox(all, NewRecord());
    const Monitor monitor(monitors, outbox);
    const std::string lines = outbox.Take();
    EXPECT_TRUE(lines.empty() || lines.ends_with("\"PING\"\r\n"));
  }
  other.join();
  EXPECT_FALSE(monitors.any());
}

}  // namespace
}  // namespace weir
