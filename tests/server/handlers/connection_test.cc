// Goal: HELLO names the server, the version of Redis that it is like, and the number of the
// connection. Method: exact bytes in both protocols. Everything else about connections is as in
// Redis: tests/e2e/differential_commands.py.
#include <string>

#include <gtest/gtest.h>

#include "server/config/version.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

// The greeting of connection `id`.
std::string Greeting(int protocol, int id) {
  const std::string version =
      "$" + std::to_string(kRedisVersion.size()) + "\r\n" + std::string(kRedisVersion) + "\r\n";
  return std::string(protocol == 3 ? "%7" : "*14") +
         "\r\n$6\r\nserver\r\n$4\r\nweir\r\n$7\r\nversion\r\n" + version +
         "$5\r\nproto\r\n:" + std::to_string(protocol) + "\r\n$2\r\nid\r\n:" + std::to_string(id) +
         "\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*"
         "0\r\n";
}

TEST(HelloTest, GreetsInTheProtocolAskedFor) {
  Conversation one;
  Conversation two(one.server());
  EXPECT_EQ(one.Run("HELLO 3"), Greeting(3, 1));
  EXPECT_EQ(two.Run("HELLO"), Greeting(2, 2));
  EXPECT_EQ(one.Run("HELLO"), Greeting(3, 1)) << "alone it keeps the protocol";
}

}  // namespace
}  // namespace weir
