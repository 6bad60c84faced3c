// Goal: the memory that a transaction takes of a client's input is bounded, and any command that
// could not be queued aborts it. Method: up to each bound and one step beyond.
#include "server/session/transaction.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/isolation.h"
#include "core/policies/policies.h"
#include "core/policies/policy.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TransactionTest : public testing::Test {
 protected:
  TransactionTest() { transaction_.Open(); }
  absl::Status Queue(const std::vector<std::string_view>& words) {
    const CommandSpec& spec = *FindCommand(words[0]);
    return transaction_.Queue(spec, words, Transaction::UnitsOf(spec, words, policies_));
  }

  // The units of these words.
  std::size_t UnitsOf(const std::string& line) {
    const std::vector<std::string> texts = absl::StrSplit(line, ' ');
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    return Transaction::UnitsOf(*FindRequested(words), words, policies_);
  }

  Policies policies_;

  Transaction transaction_;
};

TEST_F(TransactionTest, KeepsTheWordsAndTheirOrder) {
  std::string key = "a";
  ASSERT_TRUE(Queue({"RL.ALLOW", key, "1/s"}).ok());
  key = "b";
  ASSERT_TRUE(Queue({"PING"}).ok());
  ASSERT_TRUE(Queue({"ECHO", ""}).ok());
  EXPECT_THAT(transaction_.queued(),
              ElementsAre(FindCommand("RL.ALLOW"), FindCommand("PING"), FindCommand("ECHO")));
  EXPECT_THAT(transaction_.WordsOfAll(), ElementsAre(ElementsAre("RL.ALLOW", "a", "1/s"),
                                                     ElementsAre("PING"), ElementsAre("ECHO", "")));
  EXPECT_FALSE(transaction_.is_aborted());
}

TEST_F(TransactionTest, KeepsNothingOnceAborted) {
  ASSERT_TRUE(Queue({"PING"}).ok());
  transaction_.Abort();
  EXPECT_THAT(transaction_.queued(), IsEmpty());
  EXPECT_TRUE(Queue({"PING"}).ok()) << "as in Redis";
  EXPECT_THAT(transaction_.queued(), IsEmpty());
  EXPECT_THAT(transaction_.WordsOfAll(), IsEmpty());
}

TEST_F(TransactionTest, UnitsAreBounded) {
  for (std::size_t i = 0; i < Transaction::kUnitsMax; ++i) ASSERT_TRUE(Queue({"PING"}).ok());
  const absl::Status full = Queue({"PING"});
  EXPECT_THAT(full.message(), HasSubstr("transaction is too large: at most 4096 commands"));
  EXPECT_TRUE(transaction_.is_aborted());
}

// Others wait while a transaction runs, so what counts is the work, and not the commands.
TEST_F(TransactionTest, UnitsAreThoseOfTheWork) {
  const std::vector<std::string> limits = {"1/s", "2/s", "3/s", "4/s", "5/s"};
  std::string five_times_eight;
  for (int i = 0; i < 8; ++i) five_times_eight += " @five";
  const std::vector<std::string_view> words(limits.begin(), limits.end());
  ASSERT_TRUE(policies_.Set("five", ParsePolicyLimits(words).value()).ok());
  ASSERT_TRUE(policies_.Set("one", ParsePolicyLimits(std::span(words).first(1)).value()).ok());
  EXPECT_EQ(UnitsOf("PING"), 1U);
  EXPECT_EQ(UnitsOf("RL.ALLOW k 10/s COST 5"), 1U);
  EXPECT_EQ(UnitsOf("RL.ALLOW k @one"), 1U);
  EXPECT_EQ(UnitsOf("RL.ALLOW k @none"), 1U) << "an error";
  EXPECT_EQ(UnitsOf("RL.ALLOW k @five"), 2U);
  EXPECT_EQ(UnitsOf("RL.ALLOW k @five,keep=3 AND l @one"), 3U);
  EXPECT_EQ(UnitsOf("RL.ALLOW k 1/s 2/s 3/s 4/s 5/s 6/s"), 2U);
  ASSERT_TRUE(policies_.Override("one", "l", ParsePolicyLimits(words).value()).ok());
  EXPECT_EQ(UnitsOf("RL.ALLOW k @one AND l @one"), 4U) << "one key has five";
  EXPECT_EQ(UnitsOf("RL.COMMIT k HOLD id"), 8U);
  EXPECT_EQ(UnitsOf("RL.COMMIT k HOLD id" + five_times_eight), 13U);
  EXPECT_EQ(UnitsOf("RL.POLICY GET five"), 64U);
  EXPECT_EQ(UnitsOf("PUBLISH channel text"), 64U);
  EXPECT_EQ(UnitsOf("RL.CANCEL k AND l AND m HOLD id"), 24U);
  EXPECT_EQ(UnitsOf("RL.INSPECT k"), 64U);
  EXPECT_EQ(UnitsOf("FLUSHALL"), 64U);
  EXPECT_EQ(UnitsOf("CLIENT LIST"), 1024U);
}

TEST_F(TransactionTest, BytesAreBounded) {
  const std::string word(64 * 1024, 'x');
  std::size_t queued = 0;
  while (Queue({"ECHO", word}).ok()) ++queued;
  EXPECT_EQ(queued, Transaction::kBytesMax / word.size() - 1) << "words cost more than their bytes";
  EXPECT_TRUE(transaction_.is_aborted());
}

TEST_F(TransactionTest, WatchedKeysAreBounded) {
  WatchedKey key_and_bucket;
  key_and_bucket.buckets.push_back({LimitId{0}, Limit::Unlimited(), Bucket()});
  for (std::size_t i = 0; i < Transaction::kWatchedMax / 2; ++i) {
    key_and_bucket.key.hash = i + 1;
    ASSERT_TRUE(transaction_.Watch(key_and_bucket).ok());
  }
  EXPECT_THAT(transaction_.Watch({}).message(), HasSubstr("at most 4096 keys and buckets"));
  transaction_.Unwatch();
  EXPECT_TRUE(transaction_.watched().empty());
  EXPECT_TRUE(transaction_.Watch({}).ok());
}

// EXEC visits the slots of all watched keys again.
TEST_F(TransactionTest, SlotsThatExecWillVisitAreBounded) {
  WatchedKey one;
  one.visits = Transaction::kWatchedVisitsMax - 5;
  one.key.hash = 1;
  ASSERT_TRUE(transaction_.Watch(one).ok());
  WatchedKey two;
  two.visits = 6;
  two.key.hash = 2;
  EXPECT_FALSE(transaction_.Watch(two).ok());
  two.visits = 5;
  EXPECT_TRUE(transaction_.Watch(two).ok()) << "the refused one is not watched";
}

TEST(TransactionAbortTest, OnlyAnOpenOneAborts) {
  Transaction transaction;
  transaction.Abort();
  EXPECT_FALSE(transaction.is_aborted());
  transaction.Open();
  transaction.Abort();
  EXPECT_TRUE(transaction.is_aborted());
}

// The reported memory is the heap that it uses, and all of it is freed.
TEST_F(TransactionTest, HoldsMemoryForWhatItKeeps) {
  EXPECT_EQ(transaction_.held_bytes(), 0U);
  const std::string text(10'000, 'x');
  ASSERT_TRUE(Queue({"ECHO", text}).ok());
  EXPECT_GE(transaction_.held_bytes(), text.size());
  EXPECT_LT(transaction_.held_bytes(), 2 * text.size());
  transaction_.Abort();
  EXPECT_EQ(transaction_.held_bytes(), 0U);

  ASSERT_TRUE(transaction_.Watch({}).ok());
  EXPECT_GE(transaction_.held_bytes(), sizeof(WatchedKey));
  transaction_.Unwatch();
  EXPECT_EQ(transaction_.held_bytes(), 0U);
}

TEST_F(TransactionTest, BeginsOnce) { EXPECT_DEATH(transaction_.Open(), "!open_"); }

#ifndef NDEBUG
TEST(TransactionOrderTest, NothingIsQueuedBefore) {
  Transaction transaction;
  EXPECT_DEATH(static_cast<void>(transaction.Queue(*FindCommand("PING"), {}, 1)), "open_");
}
#endif

}  // namespace
}  // namespace weir
