// Goal: one thread at a time has the mutex, and each that wants it gets it.
#include "core/base/light_mutex.h"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/mutex.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(LightMutexTest, TryLockFailsWhileAnotherThreadHasIt) {
  LightMutex mutex;
  const auto other_gets_it = [&] {
    bool is_taken = false;
    std::thread([&] {
      if (!mutex.TryLock()) return;
      is_taken = true;
      mutex.Unlock();
    }).join();
    return is_taken;
  };
  EXPECT_TRUE(other_gets_it());
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(other_gets_it());
  }
  EXPECT_TRUE(other_gets_it());
}

// A lost wake-up leaves a thread waiting forever. Holders give their processor away now and then,
// so that others find the mutex taken, even with one processor.
TEST(LightMutexTest, ThreadsThatWaitGetItOneAtATime) {
  constexpr std::size_t kThreads = 8;
  const auto rounds = static_cast<std::size_t>(Scaled(20'000));
  LightMutex mutex;
  std::size_t count = 0;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t round = 0; round < rounds; ++round) {
        const MutexLock lock(mutex);
        EXPECT_EQ(inside.fetch_add(1), 0);
        if (++count % 16 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * rounds);
}

}  // namespace
}  // namespace weir
