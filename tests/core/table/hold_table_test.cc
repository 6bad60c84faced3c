// Goal: holds are found by name and by expiry, whatever was inserted, renewed and removed, and take
// little memory. Method: random changes beside a list; the bytes that the allocator counts.
#include "core/table/hold_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>
#include <malloc.h>

#include "core/base/id_type.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

constexpr Instant At(std::int64_t nanos) { return Instant{Nanos{nanos}}; }

class HoldTableTest : public testing::Test {
 protected:
  Hold& Open(std::uint64_t key, std::string_view id, Instant expiry,
             std::span<const HoldPart> parts = {}, std::span<const HoldInterval> intervals = {}) {
    return table_.Open({.key = key, .expiry = expiry}, id, parts, intervals);
  }

  HoldTable table_;
};

TEST_F(HoldTableTest, FindsAHoldByItsKeyAndId) {
  Hold& a = Open(1, "a", At(5));
  Hold& b = Open(1, "b", At(5));
  Hold& other = Open(2, "a", At(5));
  EXPECT_EQ(table_.FindOpen(1, "a"), &a);
  EXPECT_EQ(table_.FindOpen(1, "b"), &b);
  EXPECT_EQ(table_.FindOpen(2, "a"), &other);
  EXPECT_EQ(table_.FindOpen(2, "b"), nullptr);
  EXPECT_EQ(table_.FindOpen(1, ""), nullptr);
  EXPECT_EQ(table_.CountOpen(1), 2U);
  EXPECT_EQ(table_.CountOpen(3), 0U);
}

// Names that are there, that are not, near to each other and far, before the first and behind the
// last.
TEST_F(HoldTableTest, AFinderFindsWhatFindFinds) {
  CheckLaw(500, [] {
    const auto name = rc::gen::pair(rc::gen::inRange<std::uint64_t>(1, 4), rc::gen::inRange(0, 40));
    HoldSet set;
    const auto there = *rc::gen::unique<std::vector<std::pair<std::uint64_t, int>>>(name);
    for (const auto& [key, id] : there) {
      set.Insert(Hold::Make({.key = key, .expiry = At(5)}, std::to_string(id), {}, {}), At(5));
    }
    std::vector<std::pair<std::uint64_t, std::string>> sought;
    for (const auto& [key, id] :
         *rc::gen::container<std::vector<std::pair<std::uint64_t, int>>>(name)) {
      sought.emplace_back(key, std::to_string(id));
    }
    std::ranges::sort(sought);
    HoldSet::Finder finder(set);
    for (const auto& [key, id] : sought) RC_ASSERT(finder.Find(key, id) == set.Find(key, id));
  });
}

TEST_F(HoldTableTest, KeepsThePartsAndTheId) {
  const HoldPart parts[] = {{.cost = 5, .sums = {7, 8}, .left = {1, 2, 3}, .limit = LimitId{4}},
                            {.cost = 6, .sums = {}, .left = {}, .limit = LimitId{9}}};
  const HoldInterval intervals[] = {{3, 7}, {1, 1}};
  const std::string id(kHoldIdBytesMax, '\0');
  for (const bool owned : {false, true}) {
    const Hold& hold =
        Open(owned ? 1 : 2, id, At(5), parts,
             owned ? std::span<const HoldInterval>(intervals) : std::span<const HoldInterval>());
    EXPECT_EQ(hold.id(), id);
    ASSERT_EQ(hold.parts().size(), 2U);
    EXPECT_EQ(hold.parts()[1].cost, 6U);
    const Limit limit = LimitOf("3/s");
    const Estimate estimate = hold.EstimateOf(0, limit);
    EXPECT_EQ(estimate.cost, 5U);
    EXPECT_EQ(estimate.left, (Bucket{1, 2, 3}));
    EXPECT_EQ(estimate.sums, (SettlementSums{7, 8}));
    EXPECT_EQ(estimate.period, owned ? 3 : limit.emission().period);
    EXPECT_EQ(estimate.denominator, owned ? 7U : limit.emission().denominator);
  }
}

TEST_F(HoldTableTest, HoldIsExpiredFromItsInstantOn) {
  Open(1, "a", At(5));
  EXPECT_FALSE(table_.open().HasExpired(At(5) - Nanos{1}));
  EXPECT_TRUE(table_.open().HasExpired(At(5)));
}

TEST_F(HoldTableTest, EqualExpiriesComeInTheOrderOfTheReservations) {
  for (const char* id : {"c", "a", "b"}) Open(1, id, At(5));
  std::string order;
  while (!table_.open().empty()) {
    order += table_.open().First().id();
    table_.RemoveOpen(table_.open().First());
  }
  EXPECT_EQ(order, "cab");
}

TEST_F(HoldTableTest, MarkStaysWhereTheOpenHoldWas) {
  Hold& a = Open(1, "a", At(500));
  table_.Mark(a, At(60));
  EXPECT_EQ(table_.FindOpen(1, "a"), nullptr);
  ASSERT_EQ(table_.FindMark(1, "a"), &a);
  EXPECT_EQ(a.expiry(), At(60));
  EXPECT_EQ(table_.CountOpen(1), 0U);
  table_.RemoveMark(a);
  EXPECT_TRUE(table_.empty());
}

// Also on a key with so many holds that they have an index. Nothing else keeps the id of the limit
// in use, so sums that last longer would be of another limit, or of none.
TEST_F(HoldTableTest, SumsOfABucketLastAsLongAsAnOpenHoldOfItsKeyNamesIt) {
  const HoldPart named[] = {{.cost = 5, .sums = {}, .left = {}, .limit = LimitId{3}}};
  const HoldPart others[] = {{.cost = 5, .sums = {}, .left = {}, .limit = LimitId{4}}};
  const SettlementSums sums{5, 6};
  for (const std::uint64_t crowd : {0, 60}) {
    SCOPED_TRACE(crowd);
    const std::uint64_t key = crowd + 1;
    const SlotKey bucket{key, LimitId{3}};
    const SlotKey other{key, LimitId{4}};
    const SlotKey of_other_key{key + 1, LimitId{3}};
    for (std::uint64_t i = 0; i < crowd; ++i) Open(key, absl::StrCat(i), At(9), others);
    EXPECT_FALSE(table_.KeepsSums(bucket));
    Hold& a = Open(key, "a", At(5), named);
    Hold& b = Open(key, "b", At(5), named);
    Open(key, "c", At(9), others);
    Open(key + 1, "a", At(9), named);
    EXPECT_TRUE(table_.KeepsSums(bucket));
    for (const SlotKey& each : {bucket, other, of_other_key}) table_.SetSums(each, sums);
    EXPECT_TRUE(table_.HasOtherOpen(a));
    table_.Mark(a, At(5));
    EXPECT_EQ(table_.SumsOf(bucket), sums);
    table_.RemoveOpen(b);
    EXPECT_GT(table_.CountOpen(key), 0U);
    EXPECT_EQ(table_.SumsOf(bucket), SettlementSums{});
    EXPECT_FALSE(table_.KeepsSums(bucket));
    EXPECT_EQ(table_.SumsOf(other), sums);
    EXPECT_EQ(table_.SumsOf(of_other_key), sums);
    const std::vector<Hold*> rest = table_.ExpiredOf(key, At(9));
    table_.TakeManyOpen(key, rest);
    for (Hold* const hold : rest) Hold::Delete{}(hold);
    EXPECT_EQ(table_.SumsOf(other), SettlementSums{});
    EXPECT_EQ(table_.SumsOf(of_other_key), sums);
  }
}

// Orders are modulo 2^32, and a load reads holds in the order of their names.
TEST_F(HoldTableTest, RestoredHoldsKeepTheirOrder) {
  const auto restore = [&](std::string_view id, std::uint32_t order, bool settled) {
    table_.Restore({.key = 1, .expiry = At(5), .order = order}, id, {.settled = settled});
  };
  restore("a", 1, false);
  restore("b", UINT32_MAX, false);
  restore("c", 0, false);
  restore("mark", 77, true);
  Open(1, "d", At(5));
  std::string order;
  while (!table_.open().empty()) {
    order += table_.open().First().id();
    table_.RemoveOpen(table_.open().First());
  }
  EXPECT_EQ(order, "bcad");
  EXPECT_NE(table_.FindMark(1, "mark"), nullptr);
}

TEST(HoldChangesTest, TakesEachNameOnceAndInOrder) {
  HoldChanges changes;
  for (const char* id : {"b", "a", "b", "a\xFF", "a"}) changes.AddHold(7, id, 0);
  changes.AddHold(6, "z", 0);
  changes.AddSums({7, LimitId{3}}, 0);
  changes.AddSums({7, LimitId{2}}, 0);
  changes.AddSums({7, LimitId{3}}, 0);
  EXPECT_EQ(changes.size(), 6U);
  std::string taken;
  changes.Take(
      [&](std::uint64_t key, const std::string& id) { taken += std::to_string(key) + id + " "; },
      [&](const SlotKey& bucket) { taken += std::to_string(NumberOf(bucket.limit)) + " "; });
  EXPECT_EQ(taken, "6z 7a 7a\xFF 7b 2 3 ");
  EXPECT_EQ(changes.size(), 0U);
}

TEST(HoldChangesTest, OverflowsBeyondWhatIsThere) {
  for (const std::size_t there : {std::size_t{0}, std::size_t{100}}) {
    HoldChanges changes;
    const std::size_t most = HoldChanges::kGoneMax + there;
    for (std::size_t i = 0; i < most; ++i) changes.AddHold(1, std::to_string(i), there);
    changes.AddHold(1, "0", there);
    EXPECT_FALSE(changes.overflowed());
    EXPECT_EQ(changes.size(), most);
    changes.AddSums({1, LimitId{3}}, there);
    EXPECT_TRUE(changes.overflowed());
    changes.AddHold(1, "more", there);
    EXPECT_EQ(changes.size(), 0U);
    changes.Clear();
    EXPECT_FALSE(changes.overflowed());
  }
}

TEST(HoldSetTest, RandomChanges) {
  CheckLaw(500, [] {
    HoldTable table;
    std::map<std::pair<std::uint64_t, std::string>, std::pair<Instant, int>> model;
    int opened = 0;
    for (int step = 0; step < 100; ++step) {
      const auto key = *Between<std::uint64_t>(0, 3);
      const std::string id = std::to_string(*Between(0, 7));
      const Instant expiry = At(*Between<std::int64_t>(0, 20));
      Hold* const found = table.FindOpen(key, id);
      RC_ASSERT((found != nullptr) == model.contains({key, id}));
      if (!found) {
        table.Open({.key = key, .expiry = expiry}, id, {}, {});
        model[{key, id}] = {expiry, opened++};
      } else if (*Between(0, 1) == 0) {
        table.Renew(*found, expiry);
        model.at({key, id}).first = expiry;
      } else {
        table.RemoveOpen(*found);
        model.erase({key, id});
      }
      RC_ASSERT(table.open().size() == model.size());
      std::vector<std::string> ids;
      for (const auto& [name, hold] : model) {
        if (name.first == key) ids.push_back(name.second);
      }
      std::vector<std::string> got;
      table.open().ForEachOf(key, [&](const Hold& hold) {
        got.emplace_back(hold.id());
        return true;
      });
      RC_ASSERT(got == ids);
      if (model.empty()) continue;
      const auto first =
          std::ranges::min_element(model, {}, [](const auto& hold) { return hold.second; });
      const Hold& earliest = table.open().First();
      RC_ASSERT(earliest.key() == first->first.first);
      RC_ASSERT(earliest.id() == first->first.second);
    }
  });
}

// Bytes for a hold, with an id of 16 bytes: at most 160 for one limit and 240 for three.
TEST(HoldSetTest, TakesFewBytes) {
  constexpr std::size_t kHolds = 10'000;
  for (const auto& [limits, bytes_max] : {std::pair<std::size_t, std::size_t>{1, 160}, {3, 240}}) {
    const std::size_t before = mallinfo2().uordblks;
    HoldTable table;
    const std::vector<HoldPart> parts(limits);
    for (std::size_t i = 0; i < kHolds; ++i) {
      const std::uint64_t key = i * 0x9E3779B97F4A7C15;
      table.Open({.key = key, .expiry = At(static_cast<std::int64_t>(i))}, "0123456789abcdef",
                 parts, {});
    }
    const std::size_t bytes = (mallinfo2().uordblks - before) / kHolds;
    if (bytes == 0) GTEST_SKIP() << "the allocator does not count";
    RecordProperty("bytes_" + std::to_string(limits), static_cast<int>(bytes));
    EXPECT_LE(bytes, bytes_max) << limits << " limits";
  }
}

TEST(HoldTableExpiryTest, LatestExpiryIsThatOfTheLastHold) {
  HoldTable table;
  EXPECT_EQ(table.LatestExpiry(), Instant{});
  const auto at = [](int seconds) { return Instant{std::chrono::seconds{seconds}}; };
  Hold& first = table.Open({.key = 1, .expiry = at(5)}, "first", {}, {});
  Hold& last = table.Open({.key = 1, .expiry = at(9)}, "last", {}, {});
  EXPECT_EQ(table.LatestExpiry(), at(9));
  table.Renew(first, at(20));
  EXPECT_EQ(table.LatestExpiry(), at(20));
  table.Mark(first, at(3));
  EXPECT_EQ(table.LatestExpiry(), at(9));
  for (int i = 0; i < 70; ++i) {
    table.Open({.key = 2, .expiry = at(7)}, "id" + std::to_string(i), {}, {});
  }
  EXPECT_EQ(table.LatestExpiry(), at(9));
  table.RemoveOpen(last);
  EXPECT_EQ(table.LatestExpiry(), at(7));
}

// Random holds of two keys and two held limits, beside a list; of few holds and of a crowd.
TEST(HoldTableLawTest, KnowsWhatTheOpenHoldsOfAKeyHaveTaken) {
  struct Listed {
    std::uint64_t key;
    Instant expiry;
    std::uint64_t tokens[2];
  };
  CheckLaw(120, [] {
    HoldTable table;
    std::map<std::string, Listed> list;
    const int ids = *Between(3, 60);
    for (int step = 0; step < 150; ++step) {
      const std::string id = std::to_string(*Between(0, ids));
      const Instant expiry = At(*Between<std::int64_t>(1, 30));
      const auto listed = list.find(id);
      const int what = *Between(0, 9);
      if (listed == list.end()) {
        Listed hold{*Between<std::uint64_t>(0, 1), expiry, {}};
        std::vector<HoldPart> parts;
        for (std::uint32_t limit = 0; limit < 2; ++limit) {
          HoldPart& part = parts.emplace_back();
          part.limit = LimitId{limit};
          part.cost = hold.tokens[limit] = *Between<std::uint64_t>(0, 3);
          part.SetHeld();
        }
        table.Open({.key = hold.key, .expiry = expiry}, id, parts, {});
        list[id] = hold;
      } else if (what < 4) {
        table.Renew(*table.FindOpen(listed->second.key, id), expiry);
        listed->second.expiry = expiry;
      } else if (what < 6) {
        table.Mark(*table.FindOpen(listed->second.key, id), expiry);
        table.RemoveMark(*table.FindMark(listed->second.key, id));
        list.erase(listed);
      } else if (what == 6) {
        const std::uint64_t key = listed->second.key;
        const auto gone = table.ExpiredOf(key, expiry);
        for (std::size_t i = 0; i + 1 < gone.size(); ++i) {
          RC_ASSERT(gone[i]->expiry() <= gone[i + 1]->expiry());
        }
        const std::size_t due = std::erase_if(list, [&](const auto& entry) {
          return entry.second.key == key && entry.second.expiry <= expiry;
        });
        RC_ASSERT(gone.size() == due);
        table.TakeManyOpen(key, gone);
        for (Hold* const hold : gone) Hold::Delete{}(hold);
      }
      for (std::uint64_t key = 0; key < 2; ++key) {
        HeldTokens want[2];
        std::size_t open = 0;
        Instant next = Instant::max();
        for (const auto& [name, hold] : list) {
          if (hold.key != key) continue;
          ++open;
          if (hold.expiry > At(15)) next = std::min(next, hold.expiry);
          for (int limit = 0; limit < 2; ++limit) {
            if (hold.tokens[limit] == 0) continue;
            want[limit].tokens += hold.tokens[limit];
            want[limit].end = std::max(want[limit].end, hold.expiry);
          }
        }
        RC_ASSERT(table.CountOpen(key) == open);
        RC_ASSERT(table.WeightOf(key) == 2 * open);
        RC_ASSERT(table.NextExpiry(key, At(15)) == next);
        RC_ASSERT(table.HeldOf(key, LimitId{0}) == want[0]);
        RC_ASSERT(table.HeldOf(key, LimitId{1}) == want[1]);
      }
    }
  });
}

}  // namespace
}  // namespace weir
