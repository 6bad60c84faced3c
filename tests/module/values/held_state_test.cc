// Goal: the bytes of a key with holds are read back as the same holds and buckets, even on a node
// with other ids; a change makes of the state before it the state after it; any other bytes are
// refused. Method: bytes computed by hand; random changes of one value, told to another; each of
// some bytes changed.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "core/rules/held_limit.h"
#include "module/values/module.h"
#include "module/values/open_key.h"
#include "module/values/state_bytes.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using namespace std::string_view_literals;

// A node with one value, which may have holds.
class HeldNode {
 public:
  // `limits_before`: the number of other limits that have ids already.
  explicit HeldNode(int limits_before = 0) : module_({}) {
    for (int i = 0; i < limits_before; ++i) Intern(LimitOf(std::to_string(i + 1) + "/365d"));
    EXPECT_TRUE(module_.policies.Set("free", LimitsOf({"5/s"})).ok());
  }

  LimitId Intern(const Limit& limit) {
    LimitHint hint;
    return *module_.registry.Intern(limit, hint);
  }
  [[nodiscard]] Limit OfPolicy() const { return module_.policies.Find("free")->limits[0].limit; }
  [[nodiscard]] std::string Bytes() { return StateBytes(value_, module_.limit_texts); }
  // As a key does at the end of a change.
  std::string TakeChange() {
    std::string bytes = ChangeBytes(value_, module_.limit_texts);
    value_.EndHoldChanges();
    return bytes;
  }
  bool Read(std::string_view bytes) {
    const std::optional<SavedState> state = ReadStateBytes(bytes, module_.policies);
    if (!state) return false;
    if (!state->is_change) value_.Clear();
    FillValue(module_, *state, value_);
    return true;
  }
  void Open(std::string_view id, const SavedHold& hold) {
    HoldTable& holds = value_.MakeHolds();
    module_.hold_records.Restore(holds, KeyBuckets::kKey, id, hold);
  }
  [[nodiscard]] HoldTable& holds() { return value_.MakeHolds(); }
  [[nodiscard]] KeyBuckets& value() { return value_; }
  [[nodiscard]] Module& module() { return module_; }

 private:
  Module module_;
  KeyBuckets value_{module_.values};
};

constexpr std::string_view kDocumented =
    "\0\x02\0\0\0\0\x02"
    // The limits: one with a bucket and sums, one without either.
    "\x04"
    "10/s\x03\x05\x06\x07\x08\x01\x02\x03\x04\0\0\0\x09"
    "\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\x0b"
    "\x06"
    "2,held\0"
    // The hold `b`: a mark of 1 token of 2,held.
    "\x01"
    "b\0\x2a"
    "\x01\0\0\0\0\0\0\0\x0c\0\0\0\x0d\0\0\0\0\0\0\0\x0e\0\0\0\0\0\0\0\0\x01"
    "\0\0\0\x01\0\0\0\0\0\0\0\x01"
    // The hold `req`: 3 tokens of 10/s.
    "\x03req\0\x46"
    "\0\0\0\0\0\0\0\0\x0f\0\0\0\x10\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\x03\x01"
    "\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x12\0\0\0\x13\0\0\0\x14"
    "\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05"sv;

void MakeDocumented(HeldNode& node) {
  const LimitId bucket = node.Intern(LimitOf("10/s"));
  const LimitId held = node.Intern(LimitOf("2,held"));
  node.value().Keep(bucket, {.low = 0x01020304, .high = 0x05060708, .extra = 9});
  node.Open("req", {.request = 0x11,
                    .granted = 3,
                    .expiry = Instant{Nanos{0x0f}},
                    .order = 0x10,
                    .parts = {{.cost = 3,
                               .sums = {4, 5},
                               .left = {.low = 0x13, .high = 0x12, .extra = 0x14},
                               .limit = bucket}}});
  node.Open("b", {.settled = true,
                  .request = 0x0e,
                  .expiry = Instant{Nanos{0x0c}},
                  .order = 0x0d,
                  .parts = {{.cost = 1, .limit = held}}});
  node.holds().RestoreSums(KeyBuckets::SlotOf(bucket), {10, 11});
}

TEST(HeldStateTest, HasExactlyTheDocumentedBytes) {
  HeldNode node;
  MakeDocumented(node);
  EXPECT_EQ(node.Bytes(), kDocumented);
  HeldNode other(3);
  ASSERT_TRUE(other.Read(kDocumented));
  EXPECT_EQ(other.Bytes(), kDocumented);
}

// Older modules take the first byte for the length of a text, and refuse an empty one.
TEST(HeldStateTest, WithoutHoldsItIsOfTheFirstVersion) {
  HeldNode node;
  MakeDocumented(node);
  HoldTable& holds = node.holds();
  node.module().hold_records.ForgetOpen(holds, holds.open().First());
  node.module().hold_records.ForgetMark(holds, holds.marks().First());
  const std::string first =
      "\x04"
      "10/s\x05\x06\x07\x08\x01\x02\x03\x04";
  EXPECT_EQ(node.Bytes(), first + std::string("\0\0\0\x09", 4));
  EXPECT_EQ(node.TakeChange(), node.Bytes());
  EXPECT_EQ(node.value().holds(), nullptr);
}

TEST(HeldStateTest, BucketsOfHeldLimitsAreCountedFromTheOpenHolds) {
  HeldNode node;
  const LimitId held = node.Intern(LimitOf("5,held"));
  const Instant soon{std::chrono::seconds{5}};
  const Instant later{std::chrono::seconds{9}};
  node.Open("a", {.expiry = later, .order = 1, .parts = {{.cost = 2, .limit = held}}});
  node.Open("b", {.expiry = soon, .order = 2, .parts = {{.cost = 1, .limit = held}}});
  HeldNode other(2);
  ASSERT_TRUE(other.Read(node.Bytes()));
  const Bucket* const bucket = other.value().Find(other.Intern(LimitOf("5,held")));
  ASSERT_NE(bucket, nullptr);
  EXPECT_EQ(*bucket, AddHeld(AddHeld({}, 2, later), 1, soon));
}

// A replica that receives a cancel, or a shorter renewal, also knows the end of the last open hold.
TEST(HeldStateTest, AHeldLimitEndsWithItsLastOpenHoldOnAReplica) {
  HeldNode node;
  HeldNode replica(2);
  const LimitId held = node.Intern(LimitOf("5,held"));
  const LimitId there = replica.Intern(LimitOf("5,held"));
  const auto at = [](int seconds) { return Instant{std::chrono::seconds{seconds}}; };
  const auto told = [&](const std::string& bytes) {
    EXPECT_TRUE(replica.Read(bytes));
    const Bucket* const bucket = replica.value().Find(there);
    return bucket ? *bucket : Bucket{};
  };
  node.Open("long", {.expiry = at(9), .order = 1, .parts = {{.cost = 2, .limit = held}}});
  node.Open("short", {.expiry = at(5), .order = 2, .parts = {{.cost = 1, .limit = held}}});
  EXPECT_EQ(told(node.Bytes()), AddHeld({}, 3, at(9)));
  HoldTable& holds = node.holds();
  holds.Renew(*holds.FindOpen(KeyBuckets::kKey, "short"), at(4));
  EXPECT_EQ(told(node.TakeChange()), AddHeld({}, 3, at(9)));
  node.module().hold_records.ForgetOpen(holds, *holds.FindOpen(KeyBuckets::kKey, "long"));
  EXPECT_EQ(told(node.TakeChange()), AddHeld({}, 1, at(4)));
}

// The holds of deleted policies are left out, as RL.POLICY DEL drops them.
TEST(HeldStateTest, HoldsOfUnknownPoliciesAreLeftOut) {
  HeldNode node;
  const LimitId own = node.Intern(LimitOf("10/s"));
  const LimitId of_policy = node.Intern(node.OfPolicy());
  node.Open("a", {.expiry = kInstantMax, .parts = {{.limit = own}}});
  node.Open("b", {.expiry = kInstantMax, .parts = {{.limit = own}, {.limit = of_policy}}});
  const std::string bytes = node.Bytes();
  HeldNode other;
  ASSERT_TRUE(other.module().policies.Delete("free").ok());
  ASSERT_TRUE(other.Read(bytes));
  EXPECT_EQ(other.holds().open().size(), 1U);
  ASSERT_TRUE(node.module().policies.Delete("free").ok());
  EXPECT_EQ(node.Bytes(), other.Bytes());
}

// Its slots would be lost at its end.
TEST(HeldStateTest, SliceOfAHeldLimitIsRefused) {
  for (const std::string_view limit : {"10/s", "2,held"}) {
    HeldNode node;
    const LimitId id = node.Intern(LimitOf(limit));
    node.Open("a", {.expiry = kInstantMax, .parts = {{.cost = 1, .limit = id}}});
    std::string bytes = node.Bytes();
    EXPECT_TRUE(HeldNode().Read(bytes));
    const std::size_t flags = bytes.rfind("a\0"sv) + 3;  // behind the id and the value's length
    bytes[flags] = '\x04';
    EXPECT_EQ(HeldNode().Read(bytes), limit == "10/s") << limit;
  }
}

TEST(HeldStateTest, DamageIsRefusedOrReadAsAnotherValidValue) {
  HeldNode node;
  MakeDocumented(node);
  const std::string bytes = node.Bytes();
  const std::size_t holds_begin = bytes.find(
      "\x01"
      "b\0\x2a"sv);
  const std::size_t second_begin = bytes.find("\x03req"sv);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(HeldNode().Read(std::string_view(bytes).substr(0, i)),
              i == 0 || i == holds_begin || i == second_begin)
        << i;  // whole holds
    for (const int value : {0, 1, 2, 3, 4, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(value);
      HeldNode other;
      if (!other.Read(damaged)) continue;
      HeldNode again(1);
      EXPECT_TRUE(again.Read(other.Bytes())) << i << " " << value;
      EXPECT_EQ(again.Bytes(), other.Bytes()) << i << " " << value;
    }
  }
  EXPECT_FALSE(HeldNode().Read("\0\x03\0\0\0\0\0"sv)) << "a later version";
  EXPECT_FALSE(HeldNode().Read("\0\x02\x02\0\0\0\0"sv)) << "another kind";
  EXPECT_TRUE(
      HeldNode().Read("\0\x02\x01\0\0\0\0\x01"
                      "a\0\0"sv))
      << "what is not there may go";
  EXPECT_FALSE(
      HeldNode().Read("\0\x02\0\0\0\0\0\x01"
                      "a\0\0"sv))
      << "only a change says gone";
}

// Law: the changes of a value, told one after the other, leave another node with the same bytes.
TEST(HeldStateTest, ChangesTellTheSameState) {
  CheckLaw(1'000, [] {
    HeldNode node;
    HeldNode replica(3);
    const std::vector<Limit> limits = {LimitOf("10/s"), LimitOf("3/d,fixed"), LimitOf("9,held"),
                                       node.OfPolicy()};
    std::vector<LimitId> ids;
    for (const Limit& limit : limits) ids.push_back(node.Intern(limit));
    KeyBuckets& value = node.value();
    for (int turn = *Between(1, 25); turn > 0; --turn) {
      for (int change = *Between(1, 3); change > 0; --change) {
        const std::string id(1, static_cast<char>('a' + *Between(0, 5)));
        HoldTable& holds = node.holds();
        Hold* const open = holds.FindOpen(KeyBuckets::kKey, id);
        Hold* const mark = holds.FindMark(KeyBuckets::kKey, id);
        const LimitId limit = ids[*Between<std::size_t>(0, ids.size() - 1)];
        const Instant expiry{Nanos{*Between<std::int64_t>(0, 9)}};
        const int how = *Between(0, 4);
        if (!open && !mark) {
          const HoldPart part = {
              .cost = 1, .sums = holds.SumsOf(KeyBuckets::SlotOf(limit)), .limit = limit};
          node.module().registry.AddBucket(limit);
          node.module().hold_records.counts().AddRestored();
          const Hold& opened = holds.Open({.key = KeyBuckets::kKey, .request = 7, .expiry = expiry},
                                          id, {&part, 1}, {});
          node.module().hold_records.counts().AddBytes(kNoIntroducer, opened.bytes());
        } else if (mark) {
          node.module().hold_records.ForgetMark(holds, *mark);
        } else if (how == 0) {
          node.module().hold_records.ForgetOpen(holds, *open);
        } else if (how == 1) {
          holds.Mark(*open, expiry);
          node.module().hold_records.counts().Remove(kNoIntroducer);
          node.module().hold_records.counts().AddMark();
        } else if (how == 2) {
          const SlotKey named = KeyBuckets::SlotOf(open->parts().front().limit);
          SettlementSums sums = holds.SumsOf(named);
          sums.given_back += 3;
          holds.SetSums(named, sums);
        } else {
          holds.Renew(*open, expiry);
        }
        if (how == 3 && limit != ids[2]) value.Keep(limit, {.low = 1, .high = 2});
        if (how == 4) value.EraseIf([&](LimitId one, const Bucket&) { return one == limit; });
      }
      const std::string whole = node.Bytes();
      const std::string change = node.TakeChange();
      RC_ASSERT(node.Bytes() == whole);
      RC_ASSERT(replica.Read(change));
      RC_ASSERT(replica.Bytes() == whole);
    }
  });
}

}  // namespace
}  // namespace weir
