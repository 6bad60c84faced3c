#include "http2/frame_watch.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http2/preface.h"
#include "tests/support/http2_client.h"

namespace weir {
namespace {

constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kReset = 3;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kUnknown = 77;
constexpr std::size_t kAnyNumber = 1'000'000;

class FrameWatch : public testing::Test {
 protected:
  FrameWatch() { EXPECT_EQ(watch_.Look(kHttp2Preface, now_, kAnyNumber).units, 0U); }

  // How many of `count` such frames pass before the flood is found.
  int Passing(const std::string& frame, int count) {
    for (int passed = 0; passed < count; ++passed) {
      const std::size_t bytes = watch_.Look(frame, now_, kAnyNumber).bytes;
      if (watch_.flood() != Http2Flood::kNone) return passed;
      EXPECT_EQ(bytes, frame.size());
    }
    return count;
  }

  Http2FrameWatch watch_;
  HostInstant now_{std::chrono::hours(1)};
};

TEST_F(FrameWatch, CountsUnitsOfWorkAcrossCuts) {
  const std::string frames = Http2Frame(kHeaders, 4, 1, "abc") + Http2Frame(kData, 0, 1, "") +
                             Http2Frame(kData, 9, 1, std::string("\2xyzuv", 6)) +
                             Http2Frame(kPing, 0, 0, "12345678");
  std::size_t found = 0;
  for (const char& byte : frames) found += watch_.Look({&byte, 1}, now_, kAnyNumber).units;
  EXPECT_EQ(found, 3U);
}

TEST_F(FrameWatch, StopsBehindTheLastFrameThatIsAskedFor) {
  const std::string frame = Http2Frame(kPing, 0, 0, "12345678");
  const Http2FrameWatch::Read read = watch_.Look(frame + frame + frame, now_, 2);
  EXPECT_EQ(read.units, 2U);
  EXPECT_EQ(read.bytes, 2 * frame.size());
}

TEST_F(FrameWatch, FindsTooManyResets) {
  const std::string reset = Http2Frame(kReset, 0, 1, std::string_view("\0\0\0\2", 4));
  EXPECT_EQ(Passing(reset, 20'000), 10'000);
  EXPECT_EQ(watch_.flood(), Http2Flood::kResets);
}

TEST_F(FrameWatch, PermitsAResetForEachCallAndSomeEachSecond) {
  const std::string reset = Http2Frame(kReset, 0, 1, std::string_view("\0\0\0\2", 4));
  EXPECT_EQ(Passing(reset, 10'000), 10'000);
  for (int call = 0; call < 30'000; ++call) {
    watch_.CountCall();
    ASSERT_EQ(Passing(reset, 1), 1);
  }
  now_ += std::chrono::seconds(2);
  EXPECT_EQ(Passing(reset, 3'000), 2'000);
}

TEST_F(FrameWatch, FindsTooManyFramesThatControl) {
  const std::string padding_only = Http2Frame(kData, 8, 1, std::string_view("\3\0\0\0", 4));
  const std::string frames[] = {Http2Frame(kPing, 0, 0, "12345678"), Http2Frame(kData, 0, 1),
                                Http2Frame(kData, 1, 1), padding_only,
                                Http2Frame(kUnknown, 0, 0, "x")};
  for (const std::string& frame : frames) {
    watch_ = Http2FrameWatch();
    EXPECT_EQ(watch_.Look(kHttp2Preface, now_, kAnyNumber).units, 0U);
    EXPECT_EQ(Passing(frame, 2'000), 1'000);
    EXPECT_EQ(watch_.flood(), Http2Flood::kControl);
  }
}

TEST_F(FrameWatch, PermitsTenFramesThatControlForEachCall) {
  const std::string ping = Http2Frame(kPing, 0, 0, "12345678");
  EXPECT_EQ(Passing(ping, 1'000), 1'000);
  for (int call = 0; call < 1'000; ++call) {
    watch_.CountCall();
    ASSERT_EQ(Passing(ping, 10), 10);
  }
  EXPECT_EQ(Passing(ping, 1), 0);
}

TEST_F(FrameWatch, PermitsAnEmptyEndOfEachCall) {
  const std::string call = Http2Frame(kHeaders, 4, 1, "abc") + Http2Frame(kData, 1, 1);
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(watch_.Look(call, now_, kAnyNumber).units, 1U);
  EXPECT_EQ(watch_.flood(), Http2Flood::kNone);
}

TEST_F(FrameWatch, PermitsAnyNumberOfCallsAndTheirData) {
  EXPECT_EQ(Passing(Http2Frame(kHeaders, 4, 1, "abc"), 20'000), 20'000);
  EXPECT_EQ(Passing(Http2Frame(kData, 1, 1, "x"), 20'000), 20'000);
}

}  // namespace
}  // namespace weir
