// Goal: a loop serves one owner after the other, without a descriptor or a thread that is made
// later. Method: sockets, timers and posts on a loop while the process may open nothing.
#include "server/net/loop_thread.h"

#include <chrono>
#include <memory>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "tests/server/scarcity.h"

namespace weir {
namespace {

TEST(LoopThreadTest, OneOwnerFollowsTheOther) {
  LoopThread loop("loop");
  const NoThreads no_threads;
  const NoDescriptors no_descriptors;
  int expired = 0;
  for (int owner = 0; owner < 3; ++owner) {
    asio::steady_timer timer(loop.context());
    loop.Begin([&] {
      timer.expires_after(std::chrono::milliseconds{1});
      timer.async_wait([&](std::error_code) {
        ++expired;
        loop.context().stop();
      });
      loop.context().run();
    });
    loop.Await();
    loop.Clear();
  }
  EXPECT_EQ(expired, 3);
}

TEST(LoopThreadTest, WhatIsLeftRunsBeforeItsOwnerEnds) {
  LoopThread loop("loop");
  const auto owned = std::make_shared<int>(0);
  asio::steady_timer timer(loop.context());
  loop.Begin([&] { loop.context().run(); });
  loop.context().stop();
  loop.Await();
  timer.expires_after(std::chrono::hours{1});
  timer.async_wait([owned](std::error_code) { ++*owned; });
  asio::post(loop.context(), [owned, &loop] {
    ++*owned;
    asio::post(loop.context(), [owned] { ++*owned; });
  });
  timer.cancel();
  loop.Clear();
  EXPECT_EQ(*owned, 3);
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace weir
