// Goal: the server accepts no more clients than the limit on open files allows. Method: limits on
// both sides of each edge, and the limit of this process.
#include "server/os/descriptor_limit.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(DescriptorLimitTest, ClientsGetWhatIsNotReserved) {
  EXPECT_EQ(ClientsWithin(10'064, 10'000, 8), 10'000);
  EXPECT_EQ(ClientsWithin(10'063, 10'000, 8), 9'999);
  EXPECT_EQ(ClientsWithin(1024, 10'000, 1), 960);
  EXPECT_EQ(ClientsWithin(1'000'000, 10'000, 8), 10'000);
  EXPECT_EQ(ClientsWithin(64, 10'000, 8), 0);
}

TEST(DescriptorLimitTest, ManyThreadsNeedMore) {
  EXPECT_EQ(ClientsWithin(1024, 10'000, 64), 960 - 56 * kDescriptorsPerThread);
}

TEST(DescriptorLimitTest, TheLimitThatIsNeededIsEnough) {
  for (const std::int64_t threads : {1, 8, 9, 64}) {
    for (const std::int64_t clients : {1, 100, 10'000}) {
      const std::int64_t needed = DescriptorsFor(clients, threads);
      EXPECT_EQ(ClientsWithin(needed, clients, threads), clients);
      EXPECT_EQ(ClientsWithin(needed - 1, clients, threads), clients - 1);
    }
  }
}

TEST(DescriptorLimitTest, TheSoftLimitIsRaisedAsFarAsNeededAndAllowed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseDescriptorLimit(10, 1), 100);  // never lowered
  EXPECT_EQ(RaiseDescriptorLimit(100, 1), 164);
  const std::int64_t highest = RaiseDescriptorLimit(1'000'000'000, 1);
  EXPECT_EQ(highest, static_cast<std::int64_t>(std::min<rlim_t>(before.rlim_max, 1'000'000'064)));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(DescriptorLimitTest, RoomIsMadeForClientsAndTheState) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const bool keeps_state : {false, true}) {
    const std::int64_t others = kDescriptorsReserved + (keeps_state ? kDescriptorsForState : 0);
    EXPECT_EQ(FitClientsToDescriptors(1, 1, keeps_state).clients, 1);
    const DescriptorBudget room = FitClientsToDescriptors(1'000'000'000, 1, keeps_state);
    EXPECT_EQ(room.clients, std::min<std::int64_t>(room.limit - others, 1'000'000'000));
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

// The limit that the error names is sufficient.
TEST(DescriptorLimitTest, WhatOneClientNeedsIsEnough) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const bool keeps_state : {false, true}) {
    for (const std::int64_t missing : {0, 1}) {
      rlimit limit = before;
      limit.rlim_cur = static_cast<rlim_t>(DescriptorsFor(1, 1, keeps_state) - missing);
      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
      // Wants no more clients, so that the limit is not raised.
      EXPECT_EQ(FitClientsToDescriptors(1 - missing, 1, keeps_state).clients, 1 - missing);
    }
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace weir
