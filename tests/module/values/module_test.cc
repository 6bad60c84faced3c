// Goal: limits without a bucket in any value give their ids back, even in a module that had very
// many limits. Method: as many limits as allowed, interned and released.
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

TEST(ModuleTest, LimitsAreReclaimedRegularly) {
  Module module{ModuleOptions{}};
  for (std::size_t i = 0; i < 100'000; ++i) {
    module.ReclaimLimits();
    Intern(module, i);
  }
  EXPECT_LT(module.registry.size(), 10'000U);
}

// More than half of all possible limits are in use, so waiting for twice as many would never end.
TEST(ModuleTest, LimitsAreReclaimedWhenTheRegistryIsNearlyFull) {
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
