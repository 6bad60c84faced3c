// Goal: a role change goes on when its term is on disk, and not before, unless that is given up.
#include "server/replicas/saved_term.h"

#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr std::chrono::minutes kLong{10};

bool Never() { return false; }
bool Always() { return true; }

TEST(SavedTermTest, AwaitsATermThatAnotherThreadSaves) {
  SavedTerm saved;
  saved.Note(3);
  std::thread saver([&] {
    saved.Note(4);
    saved.Note(5);
  });
  EXPECT_TRUE(saved.Await(5, kLong, Never));
  saver.join();
  EXPECT_EQ(saved.latest(), 5U);
}

TEST(SavedTermTest, ALaterTermIsAsGood) {
  SavedTerm saved;
  saved.Note(5);
  EXPECT_TRUE(saved.Await(4, kLong, Never));
}

TEST(SavedTermTest, AnEarlierTermTakesNothingBack) {
  SavedTerm saved;
  saved.Note(5);
  saved.Note(4);
  EXPECT_EQ(saved.latest(), 5U);
}

TEST(SavedTermTest, GivesUpWhenTheDiskFailsOrTheTimeIsUp) {
  SavedTerm saved;
  EXPECT_FALSE(saved.Await(1, kLong, Always));
  EXPECT_FALSE(saved.Await(1, std::chrono::milliseconds{0}, Never));
}

}  // namespace
}  // namespace weir
