// A client that sends transactions. The tests of a server (Conversation) and of every host
// (tests/commands/client.h) share it.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {

template <typename Client>
class TransactionFixture : public testing::Test {
 protected:
  void Multi() { EXPECT_EQ(client_.Run("MULTI"), "+OK\r\n"); }
  void Queue(std::string_view line) { EXPECT_EQ(client_.Run(line), "+QUEUED\r\n") << line; }
  std::string Exec() { return client_.Run("EXEC"); }

  Client client_;
};

}  // namespace weir
