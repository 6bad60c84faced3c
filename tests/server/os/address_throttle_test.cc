// Goal: each address has its line a minute, whatever others do, and memory stays bounded. Method: a
// fake clock, and attackers with more addresses than there are places.
#include "server/os/address_throttle.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace weir {
namespace {

constexpr int kPlaces = AddressThrottle::kAddressesMax;

class AddressThrottleTest : public testing::Test {
 protected:
  static std::string Address(int number) { return "10.0.0." + std::to_string(number); }
  // Admits a line of each address from `first` on; returns how many passed.
  int AdmitEach(int first, int count) {
    int passed = 0;
    for (int i = first; i < first + count; ++i) passed += throttle_.Admit(Address(i)) ? 1 : 0;
    return passed;
  }

  FakeClock clock_;
  AddressThrottle throttle_{clock_};
};

TEST_F(AddressThrottleTest, AnAddressHasOneLineAMinuteAndTheCountOfThoseBetween) {
  EXPECT_EQ(throttle_.Admit("10.0.0.1"), 0U);
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(throttle_.Admit("10.0.0.1"), std::nullopt);
  EXPECT_EQ(throttle_.Admit("10.0.0.2"), 0U);
  clock_.Advance(AddressThrottle::kInterval - Nanos{1});
  EXPECT_EQ(throttle_.Admit("10.0.0.1"), std::nullopt);
  clock_.Advance(Nanos{1});
  EXPECT_EQ(throttle_.Admit("10.0.0.1"), 20'001U);
  EXPECT_EQ(throttle_.Admit("10.0.0.1"), std::nullopt);
  EXPECT_EQ(throttle_.Admit("10.0.0.2"), 0U);
}

TEST_F(AddressThrottleTest, AddressesBeyondThePlacesShareOneLineAMinute) {
  EXPECT_EQ(AdmitEach(0, kPlaces), kPlaces);
  EXPECT_EQ(AdmitEach(kPlaces, 10'000), 1);
  EXPECT_EQ(AdmitEach(0, kPlaces), 0) << "those with a place have kept it";
}

TEST_F(AddressThrottleTest, ANewAddressTakesThePlaceOfOneThatIsAMinuteOld) {
  EXPECT_EQ(AdmitEach(0, 1), 1);
  clock_.Advance(AddressThrottle::kInterval / 2);
  EXPECT_EQ(AdmitEach(1, kPlaces - 1), kPlaces - 1);
  clock_.Advance(AddressThrottle::kInterval / 2);
  EXPECT_EQ(throttle_.Admit("new"), 0U);
  EXPECT_EQ(throttle_.Admit("new"), std::nullopt);
  EXPECT_EQ(AdmitEach(1, kPlaces - 1), 0) << "the others have not given theirs up";
}

// The next line of addresses without a place has the lines of one that has lost its place.
TEST_F(AddressThrottleTest, NoSuppressedLineGoesUncounted) {
  EXPECT_EQ(AdmitEach(0, kPlaces), kPlaces);
  EXPECT_EQ(AdmitEach(0, kPlaces), 0);
  clock_.Advance(AddressThrottle::kInterval);
  EXPECT_EQ(AdmitEach(kPlaces, kPlaces), kPlaces);
  EXPECT_EQ(throttle_.Admit("other"), static_cast<std::uint64_t>(kPlaces));
}

TEST_F(AddressThrottleTest, OnlyTheFirstBytesOfAnAddressAreKept) {
  const std::string path(AddressThrottle::kAddressBytesMax, 'x');
  EXPECT_EQ(throttle_.Admit(path), 0U);
  EXPECT_EQ(throttle_.Admit(path + "y"), std::nullopt);
}

TEST_F(AddressThrottleTest, AJumpOfTheTimeOfDecisionsChangesNothing) {
  EXPECT_EQ(throttle_.Admit("a"), 0U);
  clock_.Jump(std::chrono::hours{1});
  EXPECT_EQ(throttle_.Admit("a"), std::nullopt);
  clock_.Jump(-std::chrono::hours{2});
  clock_.Advance(AddressThrottle::kInterval);
  EXPECT_EQ(throttle_.Admit("a"), 1U);
}

}  // namespace
}  // namespace weir
