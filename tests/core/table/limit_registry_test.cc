// Goal: an id means one limit while any caller may use it, and is reused only after that. Method:
// examples; a random history beside a plain map from ids to their limits.
#include "core/table/limit_registry.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/random/generators.h"

namespace weir {
namespace {

class LimitRegistryTest : public testing::Test {
 protected:
  // Makes a distinct limit for each number.
  static Limit Numbered(std::int64_t number) {
    return TokenBucketOf(1, kPeriodMin + Nanos{number}, 1);
  }
  static LimitId Id(std::int64_t number) { return static_cast<LimitId>(number); }

  LimitId Intern(const Limit& limit) {
    LimitHint hint;
    return registry_->Intern(limit, hint).value();
  }
  std::optional<LimitId> Find(const Limit& limit) const {
    LimitHint hint;
    return registry_->Find(limit, hint);
  }
  std::size_t Reclaim(const std::vector<LimitId>& ids) { return registry_->Reclaim(ids); }

  std::unique_ptr<LimitRegistry> registry_ = std::make_unique<LimitRegistry>();
};

TEST_F(LimitRegistryTest, OneIdALimit) {
  const LimitId id = Intern(LimitOf("10/s"));
  EXPECT_EQ(Intern(LimitOf("10/s")), id);
  EXPECT_EQ(Find(LimitOf("10/s")), id);
  EXPECT_EQ(registry_->Get(id), LimitOf("10/s"));
  EXPECT_EQ(registry_->size(), 1u);
}

TEST_F(LimitRegistryTest, EveryPartOfTheShapeTellsLimitsApart) {
  const std::vector<LimitShape> shapes = {
      {.count = 10, .period = std::chrono::seconds{1}, .burst = 10},
      {.count = 11, .period = std::chrono::seconds{1}, .burst = 10},
      {.count = 10, .period = std::chrono::seconds{2}, .burst = 10},
      {.count = 10, .period = std::chrono::seconds{1}, .burst = 11},
      {.shadow = true, .count = 10, .period = std::chrono::seconds{1}, .burst = 10},
      {.algorithm = Algorithm::kFixedWindow, .count = 10, .period = std::chrono::seconds{1}},
      {.algorithm = Algorithm::kFixedWindow,
       .aligned = true,
       .count = 10,
       .period = std::chrono::seconds{1}},
      {.algorithm = Algorithm::kSlidingWindow, .count = 10, .period = std::chrono::seconds{1}}};
  std::set<LimitId> ids;
  for (const LimitShape& shape : shapes) ids.insert(Intern(*Limit::Create(shape)));
  EXPECT_EQ(ids.size(), shapes.size());
  for (const LimitId id : ids) EXPECT_EQ(Find(registry_->Get(id)), id);
}

TEST_F(LimitRegistryTest, FindInternsNothing) {
  EXPECT_EQ(Find(LimitOf("10/s")), std::nullopt);
  EXPECT_EQ(registry_->size(), 0u);
}

TEST_F(LimitRegistryTest, GrowingMovesNoLimit) {
  constexpr std::int64_t kMany = 5'000;  // several chunks
  const Limit& first = registry_->Get(Intern(Numbered(0)));
  for (std::int64_t i = 1; i < kMany; ++i) EXPECT_EQ(Intern(Numbered(i)), Id(i));
  EXPECT_EQ(&registry_->Get(Id(0)), &first);
  for (std::int64_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(Find(Numbered(i)), Id(i));
    EXPECT_EQ(registry_->Get(Id(i)), Numbered(i));
  }
}

// --- Hints --------------------------------------------------------------------------------------

TEST_F(LimitRegistryTest, HintIsBroughtUpToDate) {
  LimitHint hint;
  EXPECT_EQ(registry_->Find(LimitOf("10/s"), hint), std::nullopt);
  const LimitId id = registry_->Intern(LimitOf("10/s"), hint).value();
  EXPECT_EQ(hint.id, id);
  EXPECT_NE(hint.generation, LimitHint{}.generation);
  LimitHint other;
  EXPECT_EQ(registry_->Find(LimitOf("10/s"), other), id);
  EXPECT_EQ(other.generation, hint.generation);
  EXPECT_EQ(registry_->Find(LimitOf("10/s"), hint), id);
}

TEST_F(LimitRegistryTest, StaleHintFindsNothingAndThenTheNewId) {
  LimitHint hint;
  const LimitId id = registry_->Intern(LimitOf("1/s"), hint).value();
  EXPECT_EQ(Reclaim({id}), 1u);
  EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), std::nullopt);
  EXPECT_EQ(Intern(LimitOf("2/s")), id);
  EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), std::nullopt);
  const LimitId next = Intern(LimitOf("1/s"));
  EXPECT_NE(next, id);
  EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), next);
}

// A hint remembers that its limit has no id, however many others get one.
TEST_F(LimitRegistryTest, HintOfALimitWithoutAnId) {
  LimitHint hint;
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), std::nullopt);
    EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), std::nullopt);
    Intern(Numbered(i));
  }
  const LimitId id = Intern(LimitOf("1/s"));
  EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), id);
}

// The id is given to the same limit again: the old hint must be refreshed, but is right.
TEST_F(LimitRegistryTest, HintOfALimitThatCameBack) {
  LimitHint hint;
  const LimitId id = registry_->Intern(LimitOf("1/s"), hint).value();
  const LimitHint old = hint;
  Reclaim({id});
  EXPECT_EQ(Intern(LimitOf("1/s")), id);
  EXPECT_EQ(registry_->Find(LimitOf("1/s"), hint), id);
  EXPECT_NE(hint.generation, old.generation);
}

// --- Idle and Reclaim ---------------------------------------------------------------------------

TEST_F(LimitRegistryTest, IdleAreTheInternedOnesWithoutBuckets) {
  for (std::int64_t i = 0; i < 6; ++i) Intern(Numbered(i));
  registry_->AddBucket(Id(1));
  registry_->AddBucket(Id(1));
  registry_->AddBucket(Id(3));
  registry_->RemoveBucket(Id(1));
  EXPECT_THAT(registry_->Idle(100), testing::ElementsAre(Id(0), Id(2), Id(4), Id(5)));
  EXPECT_THAT(registry_->Idle(2), testing::ElementsAre(Id(0), Id(2)));
  EXPECT_THAT(registry_->Idle(2),
              testing::ElementsAre(Id(4), Id(5)));  // continues where it stopped
  registry_->RemoveBucket(Id(1));
  registry_->RemoveBucket(Id(3));
  EXPECT_EQ(Reclaim({Id(2)}), 1u);
  EXPECT_THAT(registry_->Idle(100),
              testing::UnorderedElementsAre(Id(0), Id(1), Id(3), Id(4), Id(5)));
}

TEST_F(LimitRegistryTest, ReclaimLeavesLimitsWithBuckets) {
  for (std::int64_t i = 0; i < 4; ++i) Intern(Numbered(i));
  registry_->AddBucket(Id(2));
  EXPECT_EQ(Reclaim({Id(0), Id(2), Id(3)}), 2u);
  EXPECT_EQ(registry_->size(), 2u);
  EXPECT_EQ(Find(Numbered(0)), std::nullopt);
  EXPECT_EQ(Find(Numbered(1)), Id(1));
  EXPECT_EQ(Find(Numbered(2)), Id(2));
}

TEST_F(LimitRegistryTest, ReclaimTakesAnIdBackOnce) {
  Intern(Numbered(0));
  EXPECT_EQ(Reclaim({Id(0), Id(0)}), 1u);
  EXPECT_EQ(Reclaim({Id(0)}), 0u);
  EXPECT_EQ(Intern(Numbered(1)), Id(0));
  EXPECT_EQ(Intern(Numbered(2)), Id(1));
}

TEST_F(LimitRegistryTest, RandomHistoriesKeepEveryId) {
  CheckLaw(1'000, [] {
    LimitRegistry registry(5);
    std::map<std::int64_t, std::pair<LimitId, int>> known;  // limit -> id and buckets
    std::map<std::int64_t, LimitHint> hints;
    const auto operation = rc::gen::pair(Between(0, 5), Between<std::int64_t>(0, 9));
    for (const auto& [what, number] :
         *rc::gen::container<std::vector<std::pair<int, std::int64_t>>>(operation)) {
      const auto entry = known.find(number);
      LimitHint once;
      LimitHint& hint = what % 2 == 0 ? hints[number] : once;
      const std::optional<LimitId> found = registry.Find(Numbered(number), hint);
      RC_ASSERT(found.has_value() == (entry != known.end()));
      if (found) RC_ASSERT(*found == entry->second.first);
      if (what < 3) {
        const absl::StatusOr<LimitId> id = registry.Intern(Numbered(number), hint);
        RC_ASSERT(id.ok() == (found.has_value() || known.size() < 5));
        if (!id.ok()) continue;
        registry.AddBucket(*id);
        ++known.try_emplace(number, *id, 0).first->second.second;
      } else if (what < 5 && found && entry->second.second > 0) {
        registry.RemoveBucket(*found);
        --entry->second.second;
      } else {
        const std::size_t idle =
            std::erase_if(known, [](const auto& limit) { return limit.second.second == 0; });
        RC_ASSERT(registry.Reclaim(registry.Idle(SIZE_MAX)) == idle);
      }
      RC_ASSERT(registry.size() == known.size());
      for (const auto& [limit, id] : known) RC_ASSERT(registry.Get(id.first) == Numbered(limit));
    }
  });
}

// --- The cap ------------------------------------------------------------------------------------

TEST_F(LimitRegistryTest, OneMoreThanTheMostIsAnError) {
  registry_ = std::make_unique<LimitRegistry>(2);
  Intern(Numbered(0));
  Intern(Numbered(1));
  LimitHint hint;
  const absl::StatusOr<LimitId> refused = registry_->Intern(Numbered(2), hint);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(hint.generation, LimitHint{}.generation);
  EXPECT_EQ(registry_->Intern(Numbered(1), hint).value(), Id(1));
  EXPECT_EQ(Reclaim({Id(0)}), 1u);
  EXPECT_EQ(Intern(Numbered(2)), Id(0));
}

// --- Users --------------------------------------------------------------------------------------

class IntroducerTest : public LimitRegistryTest {
 protected:
  IntroducerTest() { registry_ = std::make_unique<LimitRegistry>(100); }

  // Interns up to `count` new limits; returns how many were accepted.
  std::size_t Introduce(Introducer who, std::size_t count) {
    std::size_t interned = 0;
    for (; interned < count; ++interned, ++next_) {
      LimitHint hint;
      const absl::StatusOr<LimitId> id = registry_->Intern(Numbered(next_), hint, who);
      if (!id.ok()) {
        refusal_ = std::string(id.status().message());
        break;
      }
      registry_->AddBucket(*id);
    }
    return interned;
  }

  static constexpr Introducer kAnn{7};
  std::int64_t next_ = 0;
  std::string refusal_;
};

TEST_F(IntroducerTest, AUserHasATenthAndAllOfThemNineTenths) {
  EXPECT_EQ(Introduce(kAnn, 100), 10U);
  EXPECT_EQ(refusal_, "too many distinct limits (10 introduced by this user are in use)");
  Introducer other = kAnn;
  for (int others = 0; others < 8; ++others) {
    other = Next(other);
    EXPECT_EQ(Introduce(other, 100), 10U);
  }
  EXPECT_EQ(Introduce(Next(other), 100), 0U);
  EXPECT_EQ(refusal_, "too many distinct limits (90 introduced by users are in use)");
  EXPECT_EQ(Introduce(kNoIntroducer, 100), 10U);
  EXPECT_EQ(refusal_, "too many distinct limits (100 are in use)");
}

TEST_F(IntroducerTest, ASoleUserHasNineTenths) {
  EXPECT_EQ(Introduce(kSoleIntroducer, 100), 90U);
  EXPECT_EQ(Introduce(kNoIntroducer, 100), 10U);
}

// An interned limit costs nothing more. Limits of policies count for no user.
TEST_F(IntroducerTest, KnownLimitsAndPolicysCountForNoUser) {
  EXPECT_EQ(Introduce(kAnn, 10), 10U);
  LimitHint hint;
  EXPECT_TRUE(registry_->Intern(Numbered(3), hint, kAnn).ok());
  for (std::uint32_t position = 0; position < 90; ++position) {
    const Limit owned = LimitOf("5/s").OwnedBy({PolicyId{1}, position});
    EXPECT_TRUE(registry_->Intern(owned, hint = {}, kAnn).ok());
  }
}

TEST_F(IntroducerTest, LimitsTakenBackCountNoMore) {
  EXPECT_EQ(Introduce(kAnn, 100), 10U);
  for (int id = 0; id < 4; ++id) registry_->RemoveBucket(Id(id));
  EXPECT_EQ(registry_->idle(), 4U);
  EXPECT_EQ(Introduce(kAnn, 100), 0U);
  EXPECT_EQ(registry_->Reclaim(registry_->Idle(100)), 4U);
  EXPECT_EQ(registry_->idle(), 0U);
  EXPECT_EQ(Introduce(kAnn, 100), 4U);
}

TEST_F(IntroducerTest, ALowerBoundRefusesNewOnesOnly) {
  EXPECT_EQ(Introduce(kSoleIntroducer, 50), 50U);
  registry_->set_limits_max(40);
  EXPECT_EQ(Introduce(kNoIntroducer, 1), 0U);
  EXPECT_EQ(registry_->size(), 50U);
  registry_->set_limits_max(100);
  EXPECT_EQ(Introduce(kNoIntroducer, 1), 1U);
}

TEST_F(LimitRegistryTest, MostLimitsThatThereCanBe) {
  registry_ = std::make_unique<LimitRegistry>(kLimitsMax + 1);  // Counts as kLimitsMax.
  for (std::size_t i = 0; i < kLimitsMax; ++i) Intern(Numbered(static_cast<std::int64_t>(i)));
  LimitHint hint;
  EXPECT_EQ(registry_->Intern(Numbered(kLimitsMax), hint).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Find(Numbered(0)), Id(0));
  EXPECT_EQ(Find(Numbered(kLimitsMax - 1)), Id(kLimitsMax - 1));
  EXPECT_EQ(registry_->Idle(SIZE_MAX).size(), kLimitsMax);
}

}  // namespace
}  // namespace weir
