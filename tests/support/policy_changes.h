// A test of every host: a change of a policy is visible to all clients at once.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/dialogue.h"
#include "tests/support/resp_value.h"

namespace weir {

// Each change that `client` makes is in force for the next request of `other`, a second client of
// the same host.
inline void ExpectChangesAreInForce(Dialogue& client, Dialogue& other) {
  const auto unknown = testing::StartsWith("-ERR unknown policy 'p'");
  EXPECT_THAT(other.Run("RL.PEEK k @p"), unknown);
  EXPECT_EQ(client.Run("RL.POLICY SET p 10/s"), "+OK\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k @p"), Five("1 9 0 100 0"));
  EXPECT_EQ(client.Run("RL.POLICY SET p 20/s 5/s"), "+OK\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k @p"), Five("1 4 0 200 1"));
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDE p k 7/s"), "+OK\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k @p"), Five("1 6 0 143 0"));
  EXPECT_EQ(other.Run("RL.PEEK l @p"), Five("1 4 0 200 1"));
  EXPECT_EQ(client.Run("RL.POLICY UNOVERRIDE p k"), ":1\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k @p"), Five("1 4 0 200 1"));
  EXPECT_EQ(client.Run("RL.POLICY DEL p"), "+OK\r\n");
  EXPECT_THAT(other.Run("RL.PEEK k @p"), unknown);
}

}  // namespace weir
