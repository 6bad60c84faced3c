// Goal: one task at a time runs, on another thread, and the end waits for all of them. Method:
// tasks that wait for the test.
#include "server/os/side_thread.h"

#include <latch>
#include <thread>
#include <vector>

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

TEST(SideThreadTest, TasksRunOneAfterTheOther) {
  std::latch goes_on(1);
  std::latch are_done(3);
  std::vector<int> order;
  SideThread side(3);
  for (int i = 0; i < 3; ++i) {
    const auto task = [&, i] {
      if (i == 0) goes_on.wait();
      order.push_back(2 * i);
    };
    const auto done = [&, i] {
      order.push_back(2 * i + 1);
      are_done.count_down();
    };
    ASSERT_TRUE(side.Run(task, done).ok());
  }
  EXPECT_EQ(side.Run([] {}, [] {}).code(), absl::StatusCode::kUnavailable);
  goes_on.count_down();
  are_done.wait();
  EXPECT_EQ(order, std::vector({0, 1, 2, 3, 4, 5}));
  std::latch is_done(1);
  ASSERT_TRUE(side.Run([] {}, [&] { is_done.count_down(); }).ok());
  is_done.wait();
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
