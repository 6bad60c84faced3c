// Goal: a login compares a password with a user's, and not with what was one. Method: the users are
// loaded again and again while clients try names that do not exist. For the sanitizers.
#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "server/os/log.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(LoginTest, UsersMayBeLoadedMeanwhile) {
  ConfigureLog(LogLevel::kError);
  const TemporaryDirectory directory;
  const std::string users = directory.path() + "/users";
  std::ofstream(users) << "user default on nopass ~* &* +@all\n";
  TestServer server;
  AccessList& access = server.services.access;
  ASSERT_TRUE(access.Configure("", users).ok());
  std::atomic<bool> done{false};
  std::thread loader([&] {
    while (!done) EXPECT_TRUE(access.Load().ok());
  });
  Conversation client(server);
  for (std::int64_t i = 0; i < Scaled(50'000); ++i) {
    EXPECT_FALSE(client.session().client().LogIn("auth", "unknown", "password"));
  }
  done = true;
  loader.join();
}

}  // namespace
}  // namespace weir
