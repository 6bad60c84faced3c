// Goal: a replica that was in sync and is not heard is away until it is heard again, or forgotten.
// Method: lists of replicas as a primary shows them, at known times.
#include "server/health/replica_roll.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr HostInstant kRollCall{seconds{10'000}};
constexpr Nanos kAway = ReplicaRoll::kAwayAfter;

ReplicaStatus Replica(std::string ip, bool online = true, Nanos lag = {}) {
  return {.ip = std::move(ip), .port = 7379, .online = online, .lag = lag};
}

class ReplicaRollTest : public testing::Test {
 protected:
  std::vector<std::string> Call(Nanos after, const std::vector<ReplicaStatus>& connected) {
    return roll_.Call(kRollCall + after, connected);
  }

  ReplicaRoll roll_;
};

TEST_F(ReplicaRollTest, OneThatLeavesIsAwayUntilItIsBack) {
  EXPECT_THAT(Call({}, {Replica("10.0.0.3"), Replica("10.0.0.2")}), IsEmpty());
  EXPECT_THAT(Call(kAway - Nanos{1}, {}), IsEmpty()) << "a link may be closed and made again";
  EXPECT_THAT(Call(kAway, {}), ElementsAre("10.0.0.2:7379", "10.0.0.3:7379"));
  EXPECT_THAT(Call(2 * kAway, {Replica("10.0.0.2", false)}), ElementsAre("10.0.0.3:7379"));
  EXPECT_THAT(Call(2 * kAway, {Replica("10.0.0.2"), Replica("10.0.0.3")}), IsEmpty());
}

TEST_F(ReplicaRollTest, OneThatIsConnectedAndSilentIsAway) {
  EXPECT_THAT(Call({}, {Replica("a")}), IsEmpty());
  EXPECT_THAT(Call(kAway, {Replica("a", true, kAway - Nanos{1})}), IsEmpty());
  EXPECT_THAT(Call(kAway, {Replica("a", true, kAway)}), IsEmpty()) << "it was heard since";
  EXPECT_THAT(Call(2 * kAway + Nanos{1}, {Replica("a", true, 2 * kAway)}), ElementsAre("a:7379"));
}

TEST_F(ReplicaRollTest, OneThatWasNeverInSyncIsNotMissed) {
  EXPECT_THAT(Call({}, {Replica("a", false)}), IsEmpty());
  EXPECT_THAT(Call(kAway, {}), IsEmpty());
}

TEST_F(ReplicaRollTest, OneThatStaysAwayIsForgotten) {
  static_cast<void>(Call({}, {Replica("a")}));
  EXPECT_THAT(Call(ReplicaRoll::kForgottenAfter - Nanos{1}, {}), ElementsAre("a:7379"));
  EXPECT_THAT(Call(ReplicaRoll::kForgottenAfter, {}), IsEmpty());
  EXPECT_THAT(Call(2 * ReplicaRoll::kForgottenAfter, {}), IsEmpty());
}

TEST_F(ReplicaRollTest, AServerThatIsNoPrimaryMissesNone) {
  static_cast<void>(Call({}, {Replica("a")}));
  roll_.Clear();
  EXPECT_THAT(Call(kAway, {}), IsEmpty());
}

TEST_F(ReplicaRollTest, ItHasABound) {
  for (std::size_t i = 0; i <= ReplicaRoll::kNamesMax; ++i) {
    static_cast<void>(Call(Nanos{static_cast<Nanos::rep>(i)}, {Replica(absl::StrCat("r", i))}));
  }
  const std::vector<std::string> away = Call(2 * kAway, {});
  EXPECT_EQ(away.size(), ReplicaRoll::kNamesMax);
  EXPECT_EQ(std::ranges::count(away, "r0:7379"), 0) << "the one that is unheard for longest";
}

}  // namespace
}  // namespace weir
