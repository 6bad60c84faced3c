// Goal: whoever cannot be served is told so, and the listener outlives every shortage. Method: more
// clients than allowed, and a limit on descriptors that is lowered while the server runs.
#include "server/listener.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "tests/server/loopback.h"

namespace weir {
namespace {

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";
constexpr std::string_view kPing = "PING\r\n";
constexpr std::string_view kPong = "+PONG\r\n";

bool IsServed(LoopbackClient& client) {
  return client.Send(kPing) && client.Receive(kPong.size()) == kPong;
}

Options WithClients(std::int64_t max_clients) {
  Options options = LoopbackOptions();
  options.max_clients = max_clients;
  return options;
}

// Lowers this process' limit on descriptors for as long as it lives.
class DescriptorShortage {
 public:
  explicit DescriptorShortage(rlim_t limit) {
    // UndefinedBehaviorSanitizer opens a pipe to look at objects of a type that is new to it, as
    // the first line that is logged would be.
    spdlog::set_level(spdlog::level::off);
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit lowered = before_;
    lowered.rlim_cur = limit;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  ~DescriptorShortage() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorShortage(const DescriptorShortage&) = delete;
  DescriptorShortage& operator=(const DescriptorShortage&) = delete;

 private:
  rlimit before_{};
};

// The limit under which just the descriptors that are open now fit.
rlim_t LowestFreeDescriptor() {
  const int lowest = dup(STDERR_FILENO);
  close(lowest);
  return static_cast<rlim_t>(lowest);
}

std::chrono::microseconds CpuTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto time = [](const timeval& value) {
    return std::chrono::seconds{value.tv_sec} + std::chrono::microseconds{value.tv_usec};
  };
  return time(usage.ru_utime) + time(usage.ru_stime);
}

TEST(ListenerTest, OneClientTooManyIsToldSo) {
  LoopbackServer server(WithClients(3));
  std::vector<LoopbackClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.port());
  for (LoopbackClient& client : clients) EXPECT_TRUE(IsServed(client));

  LoopbackClient fourth(server.port());
  EXPECT_TRUE(fourth.Send(kPing));  // what it asks must not become a reset that destroys the answer
  EXPECT_EQ(fourth.ReceiveAll(), kTooMany);
  EXPECT_FALSE(fourth.reset());
  EXPECT_EQ(server->services().connections_rejected.load(), 1U);

  clients.pop_back();
  ASSERT_TRUE(server.AwaitClients(2));
  LoopbackClient next(server.port());
  EXPECT_TRUE(IsServed(next));
}

TEST(ListenerTest, RefusedClientsThatStayDoNotPileUp) {
  LoopbackServer server(WithClients(1));
  LoopbackClient served(server.port());
  EXPECT_TRUE(IsServed(served));
  const rlim_t before = LowestFreeDescriptor();
  std::vector<LoopbackClient> refused;
  for (int i = 0; i < 3 * kRefusalsMax; ++i) refused.emplace_back(server.port());
  for (LoopbackClient& client : refused) EXPECT_EQ(client.ReceiveAll(), kTooMany);
  // They all still hold their end; ours are closed after kLingerTime.
  EXPECT_TRUE(Eventually([&] { return LowestFreeDescriptor() <= before + refused.size(); }));
  EXPECT_TRUE(IsServed(served));
}

TEST(ListenerTest, WithoutDescriptorsClientsAreToldSo) {
  LoopbackServer server;
  LoopbackClient served(server.port());
  EXPECT_TRUE(IsServed(served));
  std::vector<LoopbackClient> late(5);
  {
    DescriptorShortage shortage(LowestFreeDescriptor());
    for (LoopbackClient& client : late) {
      client.Connect(server.port());
      EXPECT_EQ(client.ReceiveAll(), kTooMany);
      EXPECT_FALSE(client.reset());
    }
    EXPECT_TRUE(IsServed(served));
  }
  LoopbackClient next(server.port());
  EXPECT_TRUE(IsServed(next));
}

TEST(ListenerTest, WithoutAnyDescriptorItPausesAndDoesNotSpin) {
  LoopbackServer server;
  LoopbackClient served(server.port());
  EXPECT_TRUE(IsServed(served));
  LoopbackClient waiting;
  {
    // Even the reserve's number is too high now.
    DescriptorShortage shortage(3);
    waiting.Connect(server.port());  // its kernel accepts it
    EXPECT_TRUE(waiting.Send(kPing));
    const std::chrono::microseconds before = CpuTime();
    for (int i = 0; i < 5; ++i) {
      pollfd nothing{.fd = -1, .events = 0, .revents = 0};
      poll(&nothing, 1, 100);
      EXPECT_TRUE(IsServed(served));
    }
    EXPECT_LT(CpuTime() - before, std::chrono::milliseconds{200});
  }
  EXPECT_EQ(waiting.Receive(kPong.size()), kPong);
}

TEST(ListenerTest, AnAddressInUseIsAnErrorThatSaysSo) {
  LoopbackServer server;
  Options options = LoopbackOptions();
  options.port = server.port();
  Server second(options);
  EXPECT_EQ(second.Start().message(),
            absl::StrCat("cannot listen on 127.0.0.1:", server.port(), ": Address already in use"));
}

TEST(ListenerTest, AllAddressesShareOnePort) {
  Options options = LoopbackOptions();
  options.bind = {"127.0.0.2", "127.0.0.1"};
  LoopbackServer server(options);
  LoopbackClient client(server.port());
  EXPECT_TRUE(IsServed(client));
}

std::string LogOfListeningOn(const std::string& address) {
  testing::internal::CaptureStderr();
  ConfigureLog("warning");
  Options options = LoopbackOptions();
  options.bind = {address};
  Server server(options);
  EXPECT_TRUE(server.Start().ok());
  return testing::internal::GetCapturedStderr();
}

TEST(ListenerTest, AnAddressThatOthersCanReachIsWarnedOf) {
  EXPECT_THAT(LogOfListeningOn("0.0.0.0"),
              testing::ContainsRegex("other hosts can reach 0\\.0\\.0\\.0:[0-9]+, and there is no "
                                     "password yet"));
  EXPECT_EQ(LogOfListeningOn("127.0.0.1"), "");
  EXPECT_EQ(LogOfListeningOn("127.1.2.3"), "");
}

TEST(ListenerTest, EndpointsAreSpelledWithTheirPort) {
  EXPECT_EQ(EndpointText({asio::ip::make_address("127.0.0.1"), 7379}), "127.0.0.1:7379");
  EXPECT_EQ(EndpointText({asio::ip::make_address("::1"), 7379}), "[::1]:7379");
}

}  // namespace
}  // namespace weir
