// Goal: no input can forge, break or flood the log. Method: bytes and rates that would do so.
#include "server/os/log.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
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

TEST(LogTest, AJsonLineIsOneObjectOfTimeLevelAndMessage) {
  using namespace std::string_literals;
  const std::string nasty = "a \"quoted\" \\ line\n\r\t\0 \x1b[31m \xff\xc3 \xc3\xa9 %v %*"s;
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo, LogLineFormat::kJson);
  spdlog::debug("not this");
  spdlog::warn(nasty);
  SetLogLevel(LogLevel::kError);
  spdlog::info("nor this");
  spdlog::error("");
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const nlohmann::ordered_json first = nlohmann::ordered_json::parse(line);
  std::vector<std::string> names;
  for (const auto& [name, value] : first.items()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("time", "level", "message"));
  EXPECT_THAT(first["time"].get<std::string>(),
              testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\."
                                    "[0-9]{3}Z"));
  EXPECT_EQ(first["level"], "warning");
  EXPECT_EQ(first["message"], "a \"quoted\" \\ line\n\r\t\0 \x1b[31m \uFFFD\uFFFD \u00E9 %v %*"s);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["message"], "");
  EXPECT_FALSE(std::getline(lines, line));
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

TEST(LogThrottleTest, AJumpOfTheTimeOfDecisionsNeitherMutesItNorLetsMoreThrough) {
  for (const int direction : {-1, 1}) {
    FakeClock clock;
    LogThrottle throttle(clock);
    EXPECT_EQ(throttle.Admit(), 0U);
    clock.Jump(std::chrono::hours{direction});
    EXPECT_EQ(throttle.Admit(), std::nullopt);
    clock.Advance(LogThrottle::kInterval);
    EXPECT_EQ(throttle.Admit(), 1U);
  }
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
