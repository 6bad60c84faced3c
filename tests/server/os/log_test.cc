// Goal: no input can forge, break or flood the log. Method: bytes and rates that would do so.
#include "server/os/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "tests/support/fake_clock.h"

namespace weir {
namespace {

TEST(LogTest, LinesHaveUtcTimeAndLevel) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo);
  spdlog::debug("not this");
  spdlog::info("listening on {}", "127.0.0.1:7379");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\."
                                    "[0-9]{3}Z info listening on 127\\.0\\.0\\.1:7379\n"));
}

TEST(LogTest, ALevelHidesThoseBelow) {
  const auto lines_at = [](LogLevel level) {
    testing::internal::CaptureStderr();
    ConfigureLog(level);
    spdlog::debug("d");
    spdlog::info("i");
    spdlog::warn("w");
    spdlog::error("e");
    const std::string text = testing::internal::GetCapturedStderr();
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(lines_at(LogLevel::kDebug), 4);
  EXPECT_EQ(lines_at(LogLevel::kInfo), 3);
  EXPECT_EQ(lines_at(LogLevel::kWarning), 2);
  EXPECT_EQ(lines_at(LogLevel::kError), 1);
}

TEST(LogTest, BytesFromOutsideArePrintedInAscii) {
  using namespace std::string_literals;
  EXPECT_EQ(EscapedForLog("user:42 \"x\""), "user:42 \"x\"");
  EXPECT_EQ(EscapedForLog("a\r\nb\tc\\d"), "a\\r\\nb\\tc\\\\d");
  EXPECT_EQ(EscapedForLog("\0\x1b[31m\x7f\xff"s), "\\x00\\x1b[31m\\x7f\\xff");
}

TEST(LogTest, BytesFromOutsideAreCut) {
  EXPECT_EQ(EscapedForLog(std::string(kLogBytesMax, 'x')), std::string(kLogBytesMax, 'x'));
  EXPECT_EQ(EscapedForLog(std::string(kLogBytesMax + 1, 'x')),
            std::string(kLogBytesMax, 'x') + "...");
  EXPECT_EQ(EscapedForLog(std::string(1'000'000, '\0')).size(), kLogBytesMax + 3);
  EXPECT_EQ(EscapedForLog("a\nb", 3), "a\\n...");
}

TEST(LogThrottleTest, LetsOneLineASecondThroughAndCountsTheOthers) {
  FakeClock clock;
  LogThrottle throttle(clock);
  EXPECT_EQ(throttle.Admit(), 0U);
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(throttle.Admit(), std::nullopt);
  clock.Advance(LogThrottle::kInterval - Nanos{1});
  EXPECT_EQ(throttle.Admit(), std::nullopt);
  clock.Advance(Nanos{1});
  EXPECT_EQ(throttle.Admit(), 20'001U);
  EXPECT_EQ(throttle.Admit(), std::nullopt);
}

TEST(LogThrottleTest, TheIntervalMayBeAnother) {
  FakeClock clock;
  LogThrottle throttle(clock, std::chrono::minutes{1});
  EXPECT_EQ(throttle.Admit(), 0U);
  clock.Advance(std::chrono::minutes{1} - Nanos{1});
  EXPECT_EQ(throttle.Admit(), std::nullopt);
  clock.Advance(Nanos{1});
  EXPECT_EQ(throttle.Admit(), 1U);
}

}  // namespace
}  // namespace weir
