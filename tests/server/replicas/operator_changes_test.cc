// Goal: `changes` in the reply of RL.SLICE grows with each change of an operator and never goes
// back, over restarts and promotions, also where the new primary lacks changes of the old one.
// Method: servers in this process whose wall clocks the test sets.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/server/replicas/kept_server.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Nanos kWall = seconds{1'795'896'000};

// A reply of `lines` lines, on a connection of its own: its last line.
std::string LastLine(KeptServer& server, std::string_view words, int lines) {
  LoopbackClient client(server.port());
  client.Send(std::string(words) + "\r\n");
  std::string line;
  for (; lines > 0; --lines) {
    line.clear();
    while (!line.ends_with("\r\n")) {
      const std::string byte = client.Receive(1);
      if (byte.empty()) return line;
      line += byte;
    }
  }
  return line;
}

// What the server tells as `changes`, in a reply that grants nothing.
std::uint64_t Changes(KeptServer& server) {
  const std::string line =
      LastLine(server, "RL.SLICE k 5/m,ban=15m NEED 0 UNIT 1 UPTO 1 HOLD a TTL 500", 8);
  EXPECT_EQ(line.substr(0, 1), ":") << line;
  return line.starts_with(':') ? std::stoull(line.substr(1)) : 0;
}

void Reset(KeptServer& server, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(LastLine(server, "RL.RESET k", 1).starts_with(':'));
  }
}

bool IsPrimary(KeptServer& server) { return !server.status().link; }

class OperatorChangesTest : public testing::Test {
 protected:
  [[nodiscard]] Options OptionsIn(std::string_view name, std::uint16_t primary_port = 0) const {
    Options options = LoopbackOptions();
    options.data_dir = directory_.path() + "/" + std::string(name);
    options.durability = Durability::kSnapshot;
    options.snapshot_interval = milliseconds{50};
    if (primary_port != 0) options.replicaof = {"127.0.0.1", primary_port};
    return options;
  }

  TemporaryDirectory directory_;
};

TEST_F(OperatorChangesTest, EachCountsOne) {
  KeptServer server(OptionsIn("a"), kWall);
  const std::uint64_t first = Changes(server);
  EXPECT_EQ(Changes(server), first) << "no operator has changed anything";
  Reset(server, 3);
  EXPECT_EQ(Changes(server), first + 3);
  EXPECT_EQ(LastLine(server, "RL.POLICY SET p 10/s", 1), "+OK\r\n");
  EXPECT_EQ(LastLine(server, "RL.POLICY OVERRIDE p k 20/s", 1), "+OK\r\n");
  EXPECT_EQ(LastLine(server, "FLUSHALL", 1), "+OK\r\n");
  EXPECT_EQ(Changes(server), first + 6);
}

// An hour back, and not at all: either way the time continues from that of the last run.
TEST_F(OperatorChangesTest, ARestartGoesOnWhateverTheWallClockSays) {
  std::uint64_t told = 0;
  for (const Nanos wall : {kWall, kWall - hours{1}, kWall - hours{1}}) {
    KeptServer server(OptionsIn("a"), wall);
    const std::uint64_t first = Changes(server);
    EXPECT_GT(first, told);
    Reset(server, 20);
    told = Changes(server);
    EXPECT_EQ(told, first + 20);
  }
}

// The hosts' clocks differ by hours, and the replica need not have the last resets.
TEST_F(OperatorChangesTest, APromotionGoesOnWithoutTheLastChanges) {
  for (const Nanos ahead : {Nanos{hours{2}}, -Nanos{hours{2}}}) {
    const std::string name = ahead > Nanos{0} ? "ahead" : "behind";
    SCOPED_TRACE(name);
    KeptServer first(OptionsIn("p_" + name), kWall);
    KeptServer second(OptionsIn(name, first.port()), kWall + ahead);
    ASSERT_TRUE(Eventually([&] { return IsConnected(second); }));
    first.Decide("RL.ALLOW u 5/h");
    ASSERT_TRUE(Eventually([&] { return IsLevel(second, first); }));
    Reset(first, 50);
    const std::uint64_t told = Changes(first);
    second.BecomePrimary();
    const std::uint64_t promoted = Changes(second);
    EXPECT_GT(promoted, told);
    Reset(second, 1);
    EXPECT_EQ(Changes(second), promoted + 1);
    // And back to a server that has told numbers before.
    const std::string follow = "REPLICAOF 127.0.0.1 " + std::to_string(second.port());
    EXPECT_EQ(LastLine(first, follow, 1), "+OK\r\n");
    ASSERT_TRUE(Eventually([&] { return !IsPrimary(first) && IsConnected(first); }));
    first.BecomePrimary();
    EXPECT_GT(Changes(first), promoted + 1);
  }
}

}  // namespace
}  // namespace weir
