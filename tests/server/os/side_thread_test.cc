// Goal: one task at a time runs, on another thread, and the end waits for it. Method: tasks that
// wait for the test.
#include "server/os/side_thread.h"

#include <latch>
#include <thread>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(SideThreadTest, OneTaskAtATimeRunsOnAnotherThread) {
  std::latch goes_on(1);
  std::latch is_done(1);
  SideThread side;
  std::thread::id where;
  const auto task = [&] {
    where = std::this_thread::get_id();
    goes_on.wait();
  };
  ASSERT_TRUE(side.Run(task, [&] { is_done.count_down(); }).ok());
  EXPECT_EQ(side.Run([] {}, [] {}).code(), absl::StatusCode::kUnavailable);
  goes_on.count_down();
  is_done.wait();
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_TRUE(side.Run([] {}, [] {}).ok());
}

TEST(SideThreadTest, TheEndWaitsForTheTask) {
  bool ended = false;
  {
    SideThread side;
    ASSERT_TRUE(side.Run([] {}, [&ended] { ended = true; }).ok());
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weir
