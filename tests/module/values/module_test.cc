// Goal: limits that no value carries give their ids back, also to a module that had very many.
// Method: as many limits as there may be, interned and let go.
#include "module/values/module.h"

#include <chrono>
#include <cstdint>

#include "gtest/gtest.h"

namespace weir {
namespace {

LimitId Intern(Module& module, std::size_t number) {
  LimitHint hint;
  const absl::StatusOr<Limit> limit = Limit::Create({.count = static_cast<std::int64_t>(number) + 1,
                                                     .period = std::chrono::hours{24},
                                                     .burst = 1});
  const absl::StatusOr<LimitId> id = module.registry.Intern(*limit, hint);
  EXPECT_TRUE(id.ok()) << number;
  return id.value_or(LimitId{});
}

TEST(ModuleTest, LimitsAreReclaimedNowAndThen) {
  Module module{ModuleOptions{}};
  for (std::size_t i = 0; i < 100'000; ++i) {
    module.ReclaimLimits();
    Intern(module, i);
  }
  EXPECT_LT(module.registry.size(), 10'000U);
}

// With more than half of all limits in use, twice as many are more than there can be.
TEST(ModuleTest, LimitsAreReclaimedWhereThereIsRoomForNoMore) {
  Module module{ModuleOptions{}};
  for (std::size_t i = 0; i < kLimitsMax; ++i) {
    module.ReclaimLimits();
    module.registry.AddBucket(Intern(module, i));
  }
  for (std::uint32_t id = 0; id < kLimitsMax; ++id) module.registry.RemoveBucket(LimitId{id});
  for (int i = 0; i < 100'000; ++i) module.ReclaimLimits();
  EXPECT_EQ(module.registry.size(), 0U);
  Intern(module, kLimitsMax);
}

}  // namespace
}  // namespace weir
