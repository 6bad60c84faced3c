// Goal: messages arrive at the manager that started the process, and nothing happens without one.
// Method: a socket of the test's own in the place of systemd's.
#include "server/os/service_manager.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/os/log.h"
#include "tests/server/notify_socket.h"

namespace weir {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;

TEST(ServiceManagerTest, AMessageArrivesAsItIs) {
  const NotifySocket socket;
  ServiceManager manager = ServiceManager::FromEnvironment();
  EXPECT_TRUE(manager.is_there());
  EXPECT_EQ(manager.watchdog_time(), std::nullopt);
  manager.Notify("READY=1\nSTATUS=Serving");
  manager.Notify("WATCHDOG=1");
  EXPECT_EQ(socket.Next(), "READY=1\nSTATUS=Serving");
  EXPECT_EQ(socket.Next(), "WATCHDOG=1");
  EXPECT_EQ(socket.Next(), "");
}

TEST(ServiceManagerTest, WithoutASocketThereIsNoManager) {
  unsetenv("NOTIFY_SOCKET");
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo);
  ServiceManager manager = ServiceManager::FromEnvironment();
  EXPECT_FALSE(manager.is_there());
  manager.Notify("READY=1");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ServiceManagerTest, TheWatchdogIsThatOfThisProcess) {
  const NotifySocket socket("30000000");
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog_time(), microseconds{30'000'000});
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog_time(), microseconds{30'000'000});
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog_time(), std::nullopt);
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog_time(), std::nullopt);
}

TEST(ServiceManagerTest, AManagerThatIsGoneIsLoggedOnce) {
  NotifySocket socket;
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo);
  ServiceManager manager = ServiceManager::FromEnvironment();
  socket.Close();
  for (int i = 0; i < 3; ++i) manager.Notify("STATUS=Serving");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("warning cannot tell the service manager about the state of the "
                             "server: Connection refused\n"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 1);
}

}  // namespace
}  // namespace weir
