// Goal: a value is known for a minute and no longer, at least the last 100,000 of them, and of
// several checks at once one is the first. Method: times that the test chooses; more values than
// there is room for; threads with the same value.
#include "server/state/admitted_checks.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

class AdmittedChecksTest : public testing::Test {
 protected:
  [[nodiscard]] AdmittedChecks::Id IdOf(std::string_view value,
                                        std::string_view route = "r") const {
    return AdmittedChecks::IdOf(route, value, hasher_);
  }
  bool IsAdmitted(std::string_view value, Nanos at, std::string_view route = "r") {
    return AdmittedChecks::Claim(checks_, IdOf(value, route), HostInstant{at}).is_admitted();
  }
  void Admit(std::string_view value, Nanos at) {
    AdmittedChecks::Claim(checks_, IdOf(value), HostInstant{at}).Admit();
  }

  const KeyHasher hasher_{HashSecret{}};
  AdmittedChecks checks_;
};

TEST_F(AdmittedChecksTest, AValueIsKnownForAMinute) {
  EXPECT_FALSE(IsAdmitted("a", 0s));
  Admit("a", 5s);
  EXPECT_TRUE(IsAdmitted("a", 5s));
  EXPECT_TRUE(IsAdmitted("a", 65s - 1ns));
  EXPECT_FALSE(IsAdmitted("a", 65s));
  EXPECT_FALSE(IsAdmitted("b", 5s));
  EXPECT_FALSE(IsAdmitted("a", 5s, "s")) << "of another route";
  // The value may be admitted again.
  Admit("a", 65s);
  EXPECT_TRUE(IsAdmitted("a", 124s));
}

// A value that is admitted again counts as new.
TEST_F(AdmittedChecksTest, TheLastAreKnownAndTheMemoryIsBounded) {
  for (std::size_t i = 0; i < 10; ++i) Admit("again" + std::to_string(i), 0s);
  for (std::size_t i = 0; i < kAdmittedChecks; ++i) Admit(std::to_string(i), 0s);
  for (std::size_t i = 0; i < 10; ++i) Admit("again" + std::to_string(i), 0s);
  for (std::size_t i = kAdmittedChecks; i < 2 * kAdmittedChecks - 10; ++i) {
    Admit(std::to_string(i), 0s);
  }
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(IsAdmitted("again" + std::to_string(i), 0s));
  std::size_t known = 0;
  for (std::size_t i = 0; i < 2 * kAdmittedChecks - 10; ++i) {
    const bool is_known = IsAdmitted(std::to_string(i), 0s);
    EXPECT_TRUE(is_known || i < kAdmittedChecks) << i;
    known += is_known ? 1 : 0;
  }
  EXPECT_LE(known, kAdmittedChecks * 4 / 3);
}

TEST_F(AdmittedChecksTest, OfSeveralAtOnceOneIsTheFirst) {
  for (int round = 0; round < 100; ++round) {
    const std::string value = std::to_string(round);
    std::atomic<int> first = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        AdmittedChecks::Claim claim(checks_, IdOf(value), HostInstant{});
        if (claim.is_admitted()) return;
        ++first;
        claim.Admit();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(first, 1);
  }
}

}  // namespace
}  // namespace weir
