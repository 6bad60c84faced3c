// Goal: the figures of MEMORY describe this process and the stored buckets.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

TEST(MemoryTest, AKeyTakesWhatItsBucketsTake) {
  Conversation client;
  EXPECT_EQ(client.Run("MEMORY USAGE k"), "$-1\r\n");
  client.Run("RL.ALLOW k 10/s");
  EXPECT_EQ(client.Run("MEMORY USAGE k"), ":25\r\n");
  client.Run("RL.ALLOW k 10/s 10/m 10/h");
  EXPECT_EQ(client.Run("memory usage k samples 0"), ":75\r\n");
  client.server().clock.Advance(std::chrono::hours{1});
  EXPECT_EQ(client.Run("MEMORY USAGE k SAMPLES 5"), "$-1\r\n");
}

TEST(MemoryTest, StatsAreTrueOfTheBuckets) {
  Conversation client;
  client.Run("RL.ALLOW a 10/s 10/m AND b 10/s");
  const RespValue stats = client.Ask("MEMORY STATS");
  std::map<std::string, std::int64_t> figures;
  for (std::size_t i = 0; i + 1 < stats.elements.size(); i += 2) {
    figures[stats.elements[i].text] = stats.elements[i + 1].number;
  }
  EXPECT_EQ(figures["keys.count"], 3);
  EXPECT_GE(figures["keys.bytes-per-key"], 25);
  EXPECT_GE(figures["peak.allocated"], figures["allocator.resident"]);
  EXPECT_GE(figures["allocator.active"], figures["allocator.allocated"]);
  for (const auto& [name, bytes] : figures) EXPECT_GE(bytes, 0) << name;
}

}  // namespace
}  // namespace weir
