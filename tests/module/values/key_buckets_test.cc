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

#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

constexpr std::uint32_t kLimits = 9;

LimitId Intern(LimitRegistry& registry, std::uint32_t number) {
  LimitHint hint;
  return *registry.Intern(LimitOf(std::to_string(number + 1) + "/s"), hint);
}

// What values share.
struct Home {
  LimitRegistry registry;
  HoldRecords hold_records{registry, 1'000};
  KeyBuckets::Shared shared{registry, hold_records};
};

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
    Home home;
    LimitRegistry& registry = home.registry;
    std::vector<LimitId> ids;
    for (std::uint32_t i = 0; i < kLimits; ++i) ids.push_back(Intern(registry, i));
    auto buckets = std::make_unique<KeyBuckets>(home.shared);
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
  Home home;
  LimitRegistry& registry = home.registry;
  KeyBuckets buckets(home.shared);
  buckets.Keep(Intern(registry, 0), {.low = 1});
  EXPECT_EQ(buckets.memory(), sizeof(KeyBuckets));
  EXPECT_LE(sizeof(KeyBuckets), 40U);  // 32 and the time of the last change
  buckets.Keep(Intern(registry, 1), {.low = 1});
  EXPECT_GE(buckets.memory(), sizeof(KeyBuckets) + 2 * sizeof(KeyBuckets::KeyBucket));
}

// A copy has the same holds, marks and sums; whatever is destroyed is uncounted.
TEST(KeyBucketsTest, HoldsAreCopiedAndCounted) {
  Home home;
  const HoldPart part = {.cost = 2, .sums = {1, 1}, .limit = Intern(home.registry, 0)};
  auto buckets = std::make_unique<KeyBuckets>(home.shared);
  EXPECT_EQ(buckets->holds(), nullptr);
  HoldTable& holds = buckets->MakeHolds();
  home.hold_records.Restore(holds, KeyBuckets::kKey, "open", {.granted = 3, .parts = {part}});
  home.hold_records.Restore(holds, KeyBuckets::kKey, "mark", {.settled = true, .parts = {part}});
  holds.RestoreSums(KeyBuckets::SlotOf(part.limit), {5, 6});
  EXPECT_GT(buckets->memory(), sizeof(KeyBuckets) + 2 * (sizeof(Hold) + sizeof(HoldPart)));
  const auto copy = std::make_unique<KeyBuckets>(*buckets);
  EXPECT_EQ(home.hold_records.counts().open(), 2U);
  EXPECT_EQ(home.hold_records.counts().marks(), 2U);
  buckets.reset();
  ASSERT_NE(copy->holds(), nullptr);
  const Hold* const open = copy->holds()->FindOpen(KeyBuckets::kKey, "open");
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->terms().granted, 3);
  EXPECT_EQ(open->parts()[0], part);
  EXPECT_NE(copy->holds()->FindMark(KeyBuckets::kKey, "mark"), nullptr);
  EXPECT_EQ(copy->holds()->SumsOf(KeyBuckets::SlotOf(part.limit)), (SettlementSums{5, 6}));
  EXPECT_EQ(home.hold_records.counts().open(), 1U);
  EXPECT_TRUE(home.registry.Idle(kLimits).empty()) << "holds keep their limits";
  copy->Clear();
  EXPECT_EQ(copy->holds(), nullptr);
  EXPECT_EQ(home.hold_records.counts().open() + home.hold_records.counts().marks(), 0U);
  EXPECT_EQ(home.hold_records.counts().bytes(), 0U);
  EXPECT_EQ(home.registry.Idle(kLimits).size(), 1U);
}

// A look is a copy of the buckets, which is valid until another hold is due or the value changes.
TEST(KeyBucketsTest, KeepsALookUntilMoreIsDue) {
  Home home;
  const LimitId limit = Intern(home.registry, 0);
  const auto at = [](int seconds) { return Instant{std::chrono::seconds{seconds}}; };
  KeyBuckets buckets(home.shared);
  EXPECT_EQ(buckets.FindLook(at(1), 0), nullptr) << "without holds";
  buckets.Keep(limit, {.low = 1});
  for (const int end : {5, 9}) {
    home.hold_records.Restore(buckets.MakeHolds(), KeyBuckets::kKey, std::to_string(end),
                              {.expiry = at(end), .parts = {{.cost = 1, .limit = limit}}});
  }
  EXPECT_EQ(buckets.FindLook(at(6), 0), nullptr);
  KeyBuckets& look = buckets.MakeLook(at(6), 0);
  look.Keep(limit, {.low = 2});
  EXPECT_EQ(*buckets.Find(limit), (Bucket{.low = 1}));
  EXPECT_EQ(buckets.FindLook(at(6), 0), &look);
  EXPECT_EQ(buckets.FindLook(at(9) - Nanos{1}, 0), &look);
  for (const int other : {5, 9}) EXPECT_EQ(buckets.FindLook(at(other), 0), nullptr) << other;
  EXPECT_EQ(buckets.FindLook(at(6), 1), nullptr) << "other policies";
  buckets.ForgetLook();
  EXPECT_EQ(buckets.FindLook(at(6), 0), nullptr);
}

}  // namespace
}  // namespace weir
