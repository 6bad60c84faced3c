#include "core/base/thread_role.h"

#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(ThreadRoleTest, TheThreadThatMakesItHasIt) {
  const ThreadRole role;
  role.AssertHeld();
}

TEST(ThreadRoleTest, AnotherThreadMayTakeItOver) {
  ThreadRole role;
  std::thread([&role] {
    role.TakeOver();
    role.AssertHeld();
  }).join();
}

TEST(ThreadRoleDeathTest, AThreadWithoutItEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ThreadRole never_given;
  EXPECT_DEATH(std::thread([&never_given] { never_given.AssertHeld(); }).join(), "check failed");
  ThreadRole given;
  std::thread([&given] { given.TakeOver(); }).join();
  EXPECT_DEATH(given.AssertHeld(), "check failed");
}

}  // namespace
}  // namespace weir
