// Goal: a key's value stores its buckets like a map, and the registry counts the buckets of each
// limit. Method: random use beside a std::map; ids are reclaimed only when no value uses them.
#include "module/values/key_buckets.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "tests/support/generators.h"
#include "tests/support/property.h"

namespace weir {
namespace {

constexpr std::uint32_t kLimits = 9;

LimitId Intern(LimitRegistry& registry, std::uint32_t number) {
  LimitHint hint;
  return *registry.Intern(LimitOf(std::to_string(number + 1) + "/s"), hint);
}

std::map<LimitId, Bucket> Contents(const KeyBuckets& buckets) {
  std::map<LimitId, Bucket> contents;
  LimitId before{};
  for (const KeyBuckets::KeyBucket& one : buckets) {
    RC_ASSERT(contents.empty() || one.limit > before);
    before = one.limit;
    contents[one.limit] = one.bucket;
  }
  return contents;
}

TEST(KeyBucketsTest, IsAMap) {
  CheckLaw(2'000, [] {
    LimitRegistry registry;
    std::vector<LimitId> ids;
    for (std::uint32_t i = 0; i < kLimits; ++i) ids.push_back(Intern(registry, i));
    auto buckets = std::make_unique<KeyBuckets>(registry);
    std::map<LimitId, Bucket> model;
    for (int turn = *Between(0, 30); turn > 0; --turn) {
      const LimitId id = ids[*Between<std::uint32_t>(0, kLimits - 1)];
      switch (*Between(0, 5)) {
        case 0:
          RC_ASSERT(buckets->EraseIf([&](LimitId one, const Bucket&) {
            return NumberOf(one) % 3 == NumberOf(id) % 3;
          }) == std::erase_if(model, [&](const auto& one) {
                      return NumberOf(one.first) % 3 == NumberOf(id) % 3;
                    }));
          break;
        case 1:
          buckets = std::make_unique<KeyBuckets>(*buckets);  // destroys the original
          break;
        default:
          model[id] = {.low = *Between<std::uint32_t>(0, 9), .high = 1, .extra = NumberOf(id)};
          buckets->Keep(id, model[id]);
      }
      RC_ASSERT(Contents(*buckets) == model);
      for (const LimitId one : ids) {
        const Bucket* const found = buckets->Find(one);
        RC_ASSERT((found != nullptr) == model.contains(one));
        if (found) RC_ASSERT(*found == model[one]);
      }
    }
    // The limits of stored buckets stay interned; without a bucket, no limit does.
    RC_ASSERT(registry.Reclaim(registry.Idle(kLimits)) == kLimits - model.size());
    buckets.reset();
    RC_ASSERT(registry.Reclaim(registry.Idle(kLimits)) == model.size());
  });
}

TEST(KeyBucketsTest, OneBucketNeedsNoOtherMemory) {
  LimitRegistry registry;
  KeyBuckets buckets(registry);
  buckets.Keep(Intern(registry, 0), {.low = 1});
  EXPECT_EQ(buckets.memory(), sizeof(KeyBuckets));
  EXPECT_LE(sizeof(KeyBuckets), 32U);
  buckets.Keep(Intern(registry, 1), {.low = 1});
  EXPECT_GE(buckets.memory(), sizeof(KeyBuckets) + 2 * sizeof(KeyBuckets::KeyBucket));
}

}  // namespace
}  // namespace weir
