// Goal: a text is made once in its lifetime, and no reader gets one that is older. Method: a time
// that the test chooses.
#include "server/observe/recent_text.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;

class RecentTextTest : public testing::Test {
 protected:
  // The text at a time, which is the number of its making.
  std::string At(int millis) {
    return *text_.Get(HostInstant{milliseconds{millis}}, [&] { return std::to_string(++made_); });
  }

  RecentText text_{milliseconds{500}};
  int made_ = 0;
};

TEST_F(RecentTextTest, IsSharedWhileItIsYoung) {
  EXPECT_EQ(At(1000), "1");
  EXPECT_EQ(At(1000), "1");
  EXPECT_EQ(At(1499), "1");
  EXPECT_EQ(At(1500), "2");
  EXPECT_EQ(At(1999), "2");
  EXPECT_EQ(At(9999), "3");
}

TEST_F(RecentTextTest, IsMadeAgainWhenTheClockWentBack) {
  EXPECT_EQ(At(1000), "1");
  EXPECT_EQ(At(999), "2");
}

TEST_F(RecentTextTest, AReaderKeepsItsText) {
  const auto text = text_.Get(HostInstant{}, [] { return std::string("old"); });
  static_cast<void>(text_.Get(HostInstant{milliseconds{500}}, [] { return std::string("new"); }));
  EXPECT_EQ(*text, "old");
}

}  // namespace
}  // namespace weir
