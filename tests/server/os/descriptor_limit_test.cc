// Goal: the server accepts no more clients than the limit on open files allows. Method: limits on
// both sides of each edge, and the limit of this process.
#include "server/os/descriptor_limit.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace weir {
namespace {

// Of a server with one thread and one listener.
constexpr std::int64_t kOthers = 32 + 24 + 33 + 3 + 1;

TEST(DescriptorLimitTest, ClientsGetWhatIsNotReserved) {
  EXPECT_EQ(ClientsWithin(10'000 + kOthers, 10'000, {}), 10'000);
  EXPECT_EQ(ClientsWithin(9'999 + kOthers, 10'000, {}), 9'999);
  EXPECT_EQ(ClientsWithin(1'000'000, 10'000, {}), 10'000);
  EXPECT_EQ(ClientsWithin(kOthers, 10'000, {}), 0);
}

TEST(DescriptorLimitTest, EachPartNeedsItsOwn) {
  EXPECT_EQ(DescriptorsFor(10, {}), 10 + kOthers);
  EXPECT_EQ(DescriptorsFor(10, {.threads = 64}), 10 + kOthers + 63 * 3);
  EXPECT_EQ(DescriptorsFor(10, {.listeners = 5}), 10 + kOthers + 4);
  EXPECT_EQ(DescriptorsFor(10, {.keeps_state = true}), 10 + kOthers + 64);
}

TEST(DescriptorLimitTest, TheLimitThatIsNeededIsEnough) {
  for (const std::int64_t threads : {1, 8, 9, 64}) {
    for (const std::int64_t clients : {1, 100, 10'000}) {
      const DescriptorUse use = {.threads = threads};
      const std::int64_t needed = DescriptorsFor(clients, use);
      EXPECT_EQ(ClientsWithin(needed, clients, use), clients);
      EXPECT_EQ(ClientsWithin(needed - 1, clients, use), clients - 1);
    }
  }
}

TEST(DescriptorLimitTest, TheSoftLimitIsRaisedAsFarAsNeededAndAllowed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 120;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseDescriptorLimit(10, {}), 120);  // never lowered
  EXPECT_EQ(RaiseDescriptorLimit(100, {}), 100 + kOthers);
  const std::int64_t highest = RaiseDescriptorLimit(1'000'000'000, {});
  EXPECT_EQ(highest,
            static_cast<std::int64_t>(std::min<rlim_t>(before.rlim_max, 1'000'000'000 + kOthers)));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(DescriptorLimitTest, RoomIsMadeForClientsAndTheState) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const bool keeps_state : {false, true}) {
    const DescriptorUse use = {.keeps_state = keeps_state};
    EXPECT_EQ(FitClientsToDescriptors(1, use).clients, 1);
    const DescriptorBudget room = FitClientsToDescriptors(1'000'000'000, use);
    EXPECT_EQ(room.clients,
              std::min<std::int64_t>(room.limit - DescriptorsFor(0, use), 1'000'000'000));
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

// The limit that the error names is sufficient.
TEST(DescriptorLimitTest, WhatOneClientNeedsIsEnough) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const bool keeps_state : {false, true}) {
    const DescriptorUse use = {.keeps_state = keeps_state};
    for (const std::int64_t missing : {0, 1}) {
      rlimit limit = before;
      limit.rlim_cur = static_cast<rlim_t>(DescriptorsFor(1, use) - missing);
      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
      // Wants no more clients, so that the limit is not raised.
      EXPECT_EQ(FitClientsToDescriptors(1 - missing, use).clients, 1 - missing);
    }
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace weir
