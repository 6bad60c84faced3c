// Goal: a policy keeps its id, and so its buckets, exactly as long as it exists; a failed change
// changes nothing; clients cannot change the policies of the file. Method: examples of each rule,
// with all policies compared before and after.
#include "core/policies/policies.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "tests/random/generators.h"
#include "tests/support/policy_limits.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using File = std::vector<std::pair<std::string, PolicyLimits>>;

class PoliciesTest : public testing::Test {
 protected:
  void Set(std::string_view name, const std::vector<std::string_view>& words) {
    const absl::Status set = policies_.Set(name, LimitsOf(words));
    EXPECT_TRUE(set.ok()) << set;
  }
  void Override(std::string_view name, std::string_view key,
                const std::vector<std::string_view>& words) {
    const absl::Status set = policies_.Override(name, key, LimitsOf(words));
    EXPECT_TRUE(set.ok()) << set;
  }
  // The names of the policies that the change retires.
  std::vector<std::string> Replace(const File& file) {
    const auto retired = policies_.ReplaceFile(file);
    EXPECT_TRUE(retired.ok()) << retired.status();
    std::vector<std::string> names;
    for (const auto& policy : *retired) names.push_back(policy->name);
    return names;
  }

  PolicyId IdOf(std::string_view name) {
    const auto policy = policies_.Find(name);
    return policy ? policy->id : kNoPolicy;
  }

  // All policies and overrides as text: "a*: 10/s, 5/m [k: 1/s]". A star marks a policy of the
  // file, a dash a retired policy.
  std::vector<std::string> State() {
    std::vector<std::string> state;
    std::size_t overrides = 0;
    for (const auto& policy : policies_.All()) {
      overrides += policy->overrides->size();
      std::string text = policy->name + (policy->retired ? "-:" : policy->from_file ? "*:" : ":");
      for (const PolicyLimit& limit : policy->limits) text += " " + PolicyLimitText(limit);
      policy->overrides->ForEach([&text](const std::string& key, const PolicyLimits& limits) {
        text += " [" + key + ":";
        for (const PolicyLimit& limit : limits) text += " " + PolicyLimitText(limit);
        text += "]";
        return true;
      });
      state.push_back(text);
    }
    EXPECT_EQ(policies_.size().policies, state.size());
    EXPECT_EQ(policies_.size().overrides, overrides);
    return state;
  }

  // Expects `status` to be this error, and nothing to have changed.
  void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& message,
                   const std::vector<std::string>& state) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(StdView(status.message()), message);
    EXPECT_EQ(State(), state);
  }

  Policies policies_{3};
};

// --- Ids ----------------------------------------------------------------------------------------

TEST_F(PoliciesTest, AreFoundByNameAndById) {
  EXPECT_EQ(policies_.Find("a"), nullptr);
  Set("a", {"10/s", "5/m,name=slow"});
  Set("b", {"1/s"});
  EXPECT_EQ(policies_.Find("a")->name, "a");
  EXPECT_EQ(policies_.FindById(IdOf("b"))->name, "b");
  EXPECT_EQ(policies_.FindById(PolicyId{77}), nullptr);
  EXPECT_THAT(State(), ElementsAre("a: 10/s 5/m,name=slow", "b: 1/s"));
}

TEST_F(PoliciesTest, EveryLimitIsThePolicysAtItsPosition) {
  Set("a", {"10/s", "5/m"});
  Override("a", "k", {"20/s", "6/m", "7/h"});
  const auto policy = policies_.Find("a");
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(policy->limits[i].limit.owner(), (LimitOwner{policy->id, i}));
  }
  const auto own = policy->overrides->Find("k");
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*own)[i].limit.owner(), (LimitOwner{policy->id, i}));
  }
}

TEST_F(PoliciesTest, SetKeepsTheId) {
  Set("a", {"10/s"});
  const auto before = policies_.Find("a");
  Override("a", "k", {"1/s"});
  Set("a", {"20/s", "5/m"});
  EXPECT_EQ(IdOf("a"), before->id);
  EXPECT_THAT(State(), ElementsAre("a: 20/s 5/m [k: 1/s]"));
  // A caller that holds the old version still sees its limits.
  EXPECT_EQ(before->limits.size(), 1U);
  EXPECT_EQ(before->overrides, policies_.Find("a")->overrides);
}

TEST_F(PoliciesTest, IdsAreNeverUsedAgain) {
  std::set<PolicyId> ids = {kNoPolicy, kThrottleOwner.policy};
  for (int round = 0; round < 100; ++round) {
    for (const char* name : {"a", "b"}) {
      Set(name, {"10/s"});
      EXPECT_TRUE(ids.insert(IdOf(name)).second);
    }
    const PolicyId id = IdOf("a");
    EXPECT_EQ(policies_.Delete("a").value(), id);
    EXPECT_EQ(policies_.FindById(id), nullptr);
    EXPECT_TRUE(policies_.Delete("b").ok());
    Replace({{"c", LimitsOf({"1/s"})}});
    EXPECT_TRUE(ids.insert(IdOf("c")).second);
    Replace({});
    EXPECT_TRUE(policies_.Delete("c").ok());
  }
}

TEST_F(PoliciesTest, DeletionTakesTheOverridesAlong) {
  Set("a", {"10/s"});
  for (const char* key : {"1", "2", "3"}) Override("a", key, {"1/s"});
  const std::shared_ptr<Overrides> kept = policies_.Find("a")->overrides;  // as by a memo
  EXPECT_TRUE(policies_.Delete("a").ok());
  policies_.FreeDeleted();
  EXPECT_TRUE(kept->empty());
  Set("a", {"10/s"});
  EXPECT_THAT(State(), ElementsAre("a: 10/s"));
  for (const char* key : {"1", "2", "3"}) Override("a", key, {"1/s"});  // There is room again.
}

// Readers look again when the version moves, so it must move with every change of a policy.
// Overrides are looked up each time anyway.
TEST_F(PoliciesTest, VersionMovesWithEveryChange) {
  std::uint64_t version = policies_.version();
  const auto moved = [&] { return std::exchange(version, policies_.version()) < version; };
  Set("a", {"10/s"});
  EXPECT_TRUE(moved());
  Set("a", {"20/s"});
  EXPECT_TRUE(moved());
  Override("a", "k", {"1/s"});
  EXPECT_FALSE(moved());
  EXPECT_TRUE(policies_.RemoveOverride("a", "k").value());
  EXPECT_FALSE(moved());
  EXPECT_FALSE(policies_.Delete("b").ok());
  EXPECT_FALSE(moved());
  EXPECT_TRUE(policies_.Delete("a").ok());
  EXPECT_TRUE(moved());
  Replace({{"a", LimitsOf({"1/s"})}});
  EXPECT_TRUE(moved());
  Replace({{"a", LimitsOf({"1/s"})}});
  EXPECT_FALSE(moved()) << "nothing has changed";
  Replace({});
  EXPECT_TRUE(moved());
}

// --- What fails ---------------------------------------------------------------------------------

TEST_F(PoliciesTest, MissingPoliciesAreNotFound) {
  Set("a", {"10/s"});
  const auto state = State();
  const std::string error = "unknown policy 'b': RL.POLICY SET makes one";
  ExpectError(policies_.Delete("b").status(), absl::StatusCode::kNotFound, error, state);
  ExpectError(policies_.Override("b", "k", LimitsOf({"1/s"})), absl::StatusCode::kNotFound, error,
              state);
  ExpectError(policies_.RemoveOverride("b", "k").status(), absl::StatusCode::kNotFound, error,
              state);
}

TEST_F(PoliciesTest, NamesAreLabels) {
  const std::string longest(kLabelBytesMax, 'x');
  Set(longest, {"10/s"});
  Set("A-z_0.9:x", {"10/s"});
  const auto state = State();
  for (const std::string& name :
       {std::string(), longest + "x", std::string("a b"), std::string("@a"), std::string("a,b"),
        std::string("\0", 1), std::string("\xc3\xa4")}) {
    const absl::Status set = policies_.Set(name, LimitsOf({"10/s"}));
    EXPECT_EQ(set.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(State(), state);
    EXPECT_EQ(policies_.ReplaceFile({{"good", LimitsOf({"1/s"})}, {name, LimitsOf({"1/s"})}})
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(State(), state);
  }
  EXPECT_EQ(StdView(policies_.Set("a b", LimitsOf({"10/s"})).message()),
            "policy name 'a b' must be 1 to 64 of letters, digits, _ - . :");
}

// An id is never used again, and the last one stands for CL.THROTTLE.
TEST_F(PoliciesTest, AreRefusedWhereNoIdIsLeft) {
  policies_.RestoreNextId(PolicyId{UINT32_MAX - 1});
  const auto two = policies_.ReplaceFile({{"a", LimitsOf({"1/s"})}, {"b", LimitsOf({"1/s"})}});
  EXPECT_EQ(two.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(policies_.ReplaceFile({{"a", LimitsOf({"1/s"})}}).ok());
  EXPECT_EQ(policies_.Set("b", LimitsOf({"1/s"})).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(policies_.ReplaceFile({{"a", LimitsOf({"2/s"})}}).ok());
}

TEST_F(PoliciesTest, AreBounded) {
  for (std::size_t i = 0; i < kPoliciesMax; ++i) Set("p" + std::to_string(i), {"10/s"});
  const absl::Status more = policies_.Set("more", LimitsOf({"1/s"}));
  EXPECT_EQ(more.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(StdView(more.message()), "too many policies: at most 10000");
  Set("p7", {"20/s"});  // not a new one
  // The file takes over a name, but there is no room for a new policy.
  EXPECT_THAT(Replace({{"p1", LimitsOf({"1/s"})}}), IsEmpty());
  EXPECT_EQ(policies_.ReplaceFile({{"more", LimitsOf({"1/s"})}, {"p1", LimitsOf({"2/s"})}})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(LimitText(policies_.Find("p1")->limits[0].limit), "1/s");
  // A retired policy counts until it is deleted.
  EXPECT_THAT(Replace({}), ElementsAre("p1"));
  EXPECT_FALSE(policies_.ReplaceFile({{"more", LimitsOf({"1/s"})}}).ok());
  EXPECT_TRUE(policies_.Delete("p1").ok());
  EXPECT_THAT(Replace({{"more", LimitsOf({"1/s"})}}), IsEmpty());
  EXPECT_EQ(policies_.All().size(), kPoliciesMax);
}

TEST_F(PoliciesTest, OnlyAPolicyThatIsUnusedIsDeletedAsSuch) {
  constexpr auto kUnused = Policies::Which::kUnused;
  Set("c", {"10/s"});
  Replace({{"a", LimitsOf({"1/s"})}, {"b", LimitsOf({"1/s"})}});
  EXPECT_THAT(Replace({}), ElementsAre("a", "b"));
  Override("a", "k", {"2/s"});
  const auto state = State();
  for (const char* name : {"a", "c"}) {
    ExpectError(policies_.Delete(name, kUnused).status(), absl::StatusCode::kFailedPrecondition,
                absl::StrCat("policy '", name, "' is in use"), state);
  }
  EXPECT_TRUE(policies_.Delete("b", kUnused).ok());
  EXPECT_TRUE(policies_.RemoveOverride("a", "k").value());
  EXPECT_TRUE(policies_.Delete("a", kUnused).ok());
  EXPECT_THAT(State(), ElementsAre("c: 10/s"));
}

TEST_F(PoliciesTest, OverridesAreBoundedOverAllPolicies) {
  Set("a", {"10/s"});
  Set("b", {"10/s"});
  Override("a", "1", {"1/s"});
  Override("b", "1", {"1/s"});
  Override("b", "2", {"1/s"});
  const auto state = State();
  for (const char* name : {"a", "b"}) {
    ExpectError(policies_.Override(name, "3", LimitsOf({"1/s"})),
                absl::StatusCode::kResourceExhausted, "too many overrides: at most 3", state);
  }
  Override("b", "2", {"2/s"});  // not a new one
  EXPECT_FALSE(policies_.RemoveOverride("a", "2").value());
  EXPECT_TRUE(policies_.RemoveOverride("a", "1").value());
  Override("b", "3", {"1/s"});
  EXPECT_THAT(State(), ElementsAre("a: 10/s", "b: 10/s [1: 1/s] [2: 2/s] [3: 1/s]"));
}

// --- Capacities ---------------------------------------------------------------------------------

TEST_F(PoliciesTest, RememberTheGreatestCapacityOfEachPosition) {
  const auto outgrown = [this](std::size_t position) {
    return policies_.Find("a")->limits[position].limit.outgrown();
  };
  using std::chrono::minutes;
  Set("a", {"10/m", "10/h"});
  EXPECT_EQ(outgrown(0), Nanos{0});
  Set("a", {"1/h"});
  EXPECT_EQ(outgrown(0), Nanos{0}) << "it holds more now";
  Set("a", {"10/m", "10/m"});
  EXPECT_EQ(outgrown(0), minutes{59});
  EXPECT_EQ(outgrown(1), minutes{59}) << "from before it was away";
  Set("a", {"10/m,fixed", "3/s"});
  EXPECT_EQ(outgrown(0), Nanos{0}) << "a window has no capacity";
  Set("a", {"3/m", "10/m"});
  EXPECT_EQ(outgrown(0), minutes{59});
  const std::uint64_t version = policies_.version();
  Override("a", "k", {"1/d"});
  EXPECT_NE(policies_.version(), version) << "or threads would go on with the former";
  EXPECT_EQ(outgrown(0), minutes{60 * 24 - 1});
  EXPECT_TRUE(HasHeldMore(*policies_.Find("a")));
  ASSERT_TRUE(policies_.Delete("a").ok());
  Set("a", {"10/m"});
  EXPECT_EQ(outgrown(0), Nanos{0}) << "it is another policy";
  EXPECT_FALSE(HasHeldMore(*policies_.Find("a")));
}

TEST_F(PoliciesTest, RememberTheLongestBanOfEachPosition) {
  const auto longest = [this] { return policies_.Find("a")->limits.front().limit.greatest_ban(); };
  using std::chrono::minutes;
  Set("a", {"10/m"});
  EXPECT_EQ(longest(), Nanos{0});
  EXPECT_FALSE(HasBannedLonger(*policies_.Find("a")));
  Set("a", {"10/m,ban=15m"});
  EXPECT_EQ(longest(), minutes{15});
  EXPECT_FALSE(HasBannedLonger(*policies_.Find("a")));
  Set("a", {"10/m,fixed"});
  EXPECT_EQ(longest(), minutes{15});
  EXPECT_TRUE(HasBannedLonger(*policies_.Find("a")));
  const std::uint64_t version = policies_.version();
  Override("a", "k", {"10/m,fixed,ban=1h"});
  EXPECT_NE(policies_.version(), version) << "or threads would go on with the former";
  EXPECT_EQ(longest(), minutes{60});
  Override("a", "k", {"10/m"});
  EXPECT_EQ(policies_.Find("a")->overrides->Find("k")->front().limit.greatest_ban(), minutes{60});
  Set("a", {"10/m,sliding"});
  EXPECT_EQ(longest(), Nanos{0}) << "its buckets have no bans";
}

// --- Overrides ----------------------------------------------------------------------------------

TEST_F(PoliciesTest, OverridesAreOfExactKeys) {
  Set("a", {"10/s"});
  const std::string binary("\0\xff", 2);
  Override("a", "user:1", {"1/s"});
  Override("a", "", {"2/s"});
  Override("a", binary, {"none"});
  const auto overrides = policies_.Find("a")->overrides;
  EXPECT_EQ(overrides->size(), 3U);
  for (const char* key : {"user:", "user:10", "USER:1"}) EXPECT_EQ(overrides->Find(key), nullptr);
  EXPECT_EQ(overrides->Find("")->front().limit.shape(), LimitOf("2/s").shape());
  EXPECT_FALSE(overrides->Find(binary)->front().limit.has_bucket());
  for (const std::string_view key :
       {std::string_view("user:1"), std::string_view(""), std::string_view(binary)}) {
    EXPECT_TRUE(policies_.RemoveOverride("a", key).value());
    EXPECT_FALSE(policies_.RemoveOverride("a", key).value());
  }
  EXPECT_TRUE(overrides->empty());
}

// --- The file -----------------------------------------------------------------------------------

TEST_F(PoliciesTest, NamesOfTheFileCannotBeSetOrDeleted) {
  Replace({{"a", LimitsOf({"10/s"})}});
  Set("b", {"1/s"});
  Override("a", "k", {"5/s"});  // a policy of the database
  const auto state = State();
  EXPECT_THAT(state, ElementsAre("a*: 10/s [k: 5/s]", "b: 1/s"));
  const std::string error =
      "policy 'a' belongs to the policy file: change it there, then run RL.POLICY RELOAD";
  ExpectError(policies_.Set("a", LimitsOf({"1/s"})), absl::StatusCode::kFailedPrecondition, error,
              state);
  ExpectError(policies_.Delete("a").status(), absl::StatusCode::kFailedPrecondition, error, state);
}

TEST_F(PoliciesTest, ANewFileReplacesTheOldOneAsAWhole) {
  EXPECT_THAT(Replace({{"left", LimitsOf({"1/s"})}, {"stays", LimitsOf({"2/s"})}}), IsEmpty());
  Set("own", {"3/s"});
  Set("taken", {"4/s"});
  Override("left", "k", {"9/s"});
  Override("stays", "k", {"9/s"});
  Override("taken", "k", {"9/s"});
  const PolicyId stays = IdOf("stays");
  const PolicyId taken = IdOf("taken");
  EXPECT_THAT(Replace({{"new", LimitsOf({"5/s"})},
                       {"stays", LimitsOf({"20/s", "1/m"})},
                       {"taken", LimitsOf({"40/s"})}}),
              ElementsAre("left"));
  EXPECT_THAT(State(), ElementsAre("left-: 1/s [k: 9/s]", "new*: 5/s", "own: 3/s",
                                   "stays*: 20/s 1/m [k: 9/s]", "taken*: 40/s [k: 9/s]"));
  EXPECT_EQ(IdOf("stays"), stays);
  EXPECT_EQ(IdOf("taken"), taken);
  // A policy that was once in the file does not fall back to its definition by SET.
  EXPECT_THAT(Replace({}), ElementsAre("new", "stays", "taken"));
  EXPECT_THAT(Replace({}), IsEmpty()) << "they are retired";
}

// A file that was cut short, or left out at one start, must not lift a ban.
TEST_F(PoliciesTest, ARetiredPolicyComesBackWithItsOverridesAndBuckets) {
  Replace({{"a", LimitsOf({"10/s"})}});
  Override("a", "banned", {"none"});
  const PolicyId id = IdOf("a");
  Replace({});
  EXPECT_THAT(State(), ElementsAre("a-: 10/s [banned: none]"));
  EXPECT_EQ(policies_.PresentLimit(LimitOf("10/s").OwnedBy({id, 0}), "k"),
            LimitOf("10/s").OwnedBy({id, 0}));
  Override("a", "k", {"1/s"});
  Replace({{"a", LimitsOf({"20/s"})}});
  EXPECT_THAT(State(), ElementsAre("a*: 20/s [banned: none] [k: 1/s]"));
  EXPECT_EQ(IdOf("a"), id);
}

TEST_F(PoliciesTest, SetTakesARetiredPolicyOverAndDeleteForgetsIt) {
  Replace({{"a", LimitsOf({"10/s"})}, {"b", LimitsOf({"10/s"})}});
  Override("a", "k", {"none"});
  Override("b", "k", {"none"});
  const PolicyId a = IdOf("a");
  const PolicyId b = IdOf("b");
  Replace({});
  Set("a", {"5/s"});
  EXPECT_EQ(IdOf("a"), a);
  EXPECT_THAT(policies_.Delete("b"), testing::Eq(absl::StatusOr<PolicyId>(b)));
  EXPECT_THAT(State(), ElementsAre("a: 5/s [k: none]"));
  Set("b", {"10/s"});
  EXPECT_NE(IdOf("b"), b);
}

// --- Present limits -----------------------------------------------------------------------------

class PresentLimitTest : public PoliciesTest {
 protected:
  // The present limit of a bucket of this limit, which was interned for the policy's position: its
  // text, or "gone".
  std::string Present(std::string_view limit, std::uint32_t position, std::string_view key = "k") {
    const Limit interned = LimitOf(limit).OwnedBy({id_, position});
    const std::optional<Limit> present = policies_.PresentLimit(interned, key);
    if (!present) return "gone";
    EXPECT_EQ(present->owner(), interned.owner());
    EXPECT_TRUE(present->SharesBucketsWith(interned));
    return LimitText(*present);
  }

  void SetUp() override {
    Set("p", {"10/s", "5/m,fixed", "6/m,sliding,shadow"});
    id_ = IdOf("p");
  }

  PolicyId id_{};
};

TEST_F(PresentLimitTest, ALimitWithoutAnOwnerIsUnchanged) {
  for (const char* text : {"10/s", "5/m,fixed", "10/s,shadow"}) {
    EXPECT_EQ(policies_.PresentLimit(LimitOf(text), "k"), LimitOf(text));
  }
  const Limit throttle = LimitOf("10/s").OwnedBy(kThrottleOwner);
  EXPECT_EQ(policies_.PresentLimit(throttle, "k"), throttle);
}

TEST_F(PresentLimitTest, HasTheNumbersOfItsPosition) {
  EXPECT_EQ(Present("99/h,burst=3", 0), "10/s");
  EXPECT_EQ(Present("99/m,fixed", 1), "5/m,fixed");
  EXPECT_EQ(Present("99/m,sliding,shadow", 2), "6/m,sliding,shadow");
}

// If the bucket's bytes mean something else than the position's present limit needs, no request can
// reach the bucket.
TEST_F(PresentLimitTest, IsGoneWhenItsBucketNoLongerApplies) {
  EXPECT_EQ(Present("10/s", 3), "gone");
  EXPECT_EQ(Present("10/s,fixed", 0), "gone");
  EXPECT_EQ(Present("5/m", 1), "gone");
  EXPECT_EQ(Present("5/h,fixed", 1), "gone");
  EXPECT_EQ(Present("5/m,fixed,aligned", 1), "gone");
  EXPECT_EQ(Present("5/m,sliding", 1), "gone");
  Set("p", {"unlimited"});
  EXPECT_EQ(Present("10/s", 0), "gone");
  EXPECT_TRUE(policies_.Delete("p").ok());
  EXPECT_EQ(Present("10/s", 0), "gone");
  Set("p", {"10/s"});
  EXPECT_EQ(Present("10/s", 0), "gone");
}

// "@p,shadow" has buckets apart from those of "@p"; a limit that is a shadow already has no others.
TEST_F(PresentLimitTest, ShadowsAreBesideTheRealOnes) {
  EXPECT_EQ(Present("99/s,shadow", 0), "10/s,shadow");
  EXPECT_EQ(Present("99/m,fixed,shadow", 1), "5/m,fixed,shadow");
  EXPECT_EQ(Present("99/m,sliding", 2), "gone");
}

TEST_F(PresentLimitTest, IsTheOverridesForItsKey) {
  Override("p", "k", {"20/s,burst=7"});
  Override("p", "banned", {"none"});
  EXPECT_EQ(Present("10/s", 0), "20/s,burst=7");
  EXPECT_EQ(Present("5/m,fixed", 1), "gone");
  EXPECT_EQ(Present("10/s", 0, "banned"), "gone");
  EXPECT_EQ(Present("99/s", 0, "other"), "10/s");
}

}  // namespace
}  // namespace weir
