// Goal: jobs run one after the other on one thread, which is there before them. Method: jobs that
// note their thread, while the system has no other thread.
#include "server/os/waiting_thread.h"

#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/scarcity.h"

namespace weir {
namespace {

TEST(WaitingThreadTest, JobsRunOnOneThreadThatIsThereBefore) {
  WaitingThread thread("waiting");
  const NoThreads none;
  std::vector<std::thread::id> ran;
  for (int i = 0; i < 3; ++i) {
    thread.Await();  // There may be no job.
    thread.Begin([&] { ran.push_back(std::this_thread::get_id()); });
    thread.Await();
  }
  ASSERT_EQ(ran.size(), 3U);
  EXPECT_NE(ran[0], std::this_thread::get_id());
  EXPECT_EQ(ran[1], ran[0]);
  EXPECT_EQ(ran[2], ran[0]);
}

TEST(WaitingThreadTest, TheEndWaitsForTheJob) {
  bool ended = false;
  {
    WaitingThread thread("waiting");
    thread.Begin([&] {
      std::this_thread::yield();
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
}

TEST(WaitingThreadTest, ItBeginsWithTheServerOrNotAtAll) {
  const NoThreads none;
  EXPECT_THROW(WaitingThread("waiting"), std::system_error);
}

}  // namespace
}  // namespace weir
