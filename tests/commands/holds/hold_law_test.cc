// Goal: a command about holds may be sent again when its reply was lost: it is the same answer, and
// nothing more has changed. Method: random histories on two hosts, of which one gets each command
// about holds once, and the other up to three times at the same instant.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/commands/client.h"
#include "tests/random/property.h"

namespace weir {
namespace {

struct HoldTurn {
  int millis = 0;  // that pass before it
  std::string command;
  int times = 1;
};

std::string AnyGroup(const std::string& key) {
  std::string group = key;
  for (int limits = *rc::gen::inRange(1, 3); limits > 0; --limits) {
    group += *rc::gen::element<std::string>(" 10/s", " 7/m,fixed,aligned", " 9/m,sliding",
                                            " 3,held", " 4/s,shadow", " 10/s,cost=2");
  }
  if (*rc::gen::arbitrary<bool>()) group += " COST " + std::to_string(*rc::gen::inRange(0, 6));
  return group;
}

// Keys, limits and true costs of a settlement.
std::string AnySettlement() {
  std::string words = *rc::gen::element<std::string>("k", "l", "k AND l");
  if (words.size() == 1 && *rc::gen::arbitrary<bool>()) {
    words += *rc::gen::element<std::string>(" 10/s", " 7/m,fixed,aligned", " 3,held", " 50/h");
  }
  if (*rc::gen::arbitrary<bool>()) words += " COST " + std::to_string(*rc::gen::inRange(0, 12));
  return words;
}

HoldTurn AnyHoldTurn() {
  HoldTurn turn;
  turn.millis = *rc::gen::element(0, 0, 1, 99, 100, 1000, 30'000, 61'000);
  const std::string hold = " HOLD " + *rc::gen::element<std::string>("a", "b", "c");
  const std::string ttl = " TTL " + *rc::gen::element<std::string>("1", "100", "2000", "120000");
  turn.times = *rc::gen::inRange(1, 4);
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
    case 1:
      turn.command =
          "RL.RESERVE " + AnyGroup(*rc::gen::element<std::string>("k", "l")) + hold + ttl;
      break;
    case 2:
      turn.command = "RL.RESERVE " + AnyGroup("k") + " AND " + AnyGroup("l") + hold + ttl;
      break;
    case 3:
      turn.command = "RL.TAKE " + AnyGroup("k") + " UPTO 5" + hold + ttl;
      break;
    case 4:
      turn.command = *rc::gen::arbitrary<bool>()
                         ? "RL.COMMIT " + AnySettlement() + hold
                         : "RL.CANCEL " + *rc::gen::element<std::string>("k", "k AND l") + hold;
      break;
    default:
      turn.command = *rc::gen::element<std::string>("RL.ALLOW k 10/s COST 3", "RL.REFUND k 10/s",
                                                    "RL.CHARGE k 10/s COST 4", "RL.RESET l");
      turn.times = 1;
  }
  return turn;
}

TEST(HoldLawTest, L21RepeatedCommandIsTheSameAnswerAndChangesNothingMore) {
  // Each case of the module starts two processes.
  CheckLaw(Host::IsModule() ? 40 : 400, [] {
    Client once;
    Client often;
    for (int turns = *rc::gen::inRange(1, 30); turns > 0; --turns) {
      const HoldTurn turn = AnyHoldTurn();
      RC_LOG() << turn.millis << " ms, " << turn.times << " times: " << turn.command << '\n';
      once.clock().Advance(std::chrono::milliseconds{turn.millis});
      often.clock().Advance(std::chrono::milliseconds{turn.millis});
      const std::string answer = once.Show(turn.command);
      for (int time = 0; time < turn.times; ++time) RC_ASSERT(often.Show(turn.command) == answer);
      for (const char* look :
           {"RL.INSPECT k", "RL.INSPECT l", "RL.INSPECT k HOLDS", "RL.INSPECT l HOLDS", "DBSIZE"}) {
        RC_ASSERT(often.Show(look) == once.Show(look));
      }
    }
  });
}

}  // namespace
}  // namespace weir
