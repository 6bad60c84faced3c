// Goal: a client that cannot be served gets an error, and the listener survives every shortage.
// Method: more clients than allowed, and a limit on descriptors that is lowered while the server
// runs.
#include "server/net/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <spdlog/spdlog.h>

#include "server/net/protected_mode.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

bool IsServed(LoopbackClient& client) {
  return client.Send(kPing) && client.Receive(kPong.size()) == kPong;
}

Options WithClients(std::int64_t max_clients) {
  Options options = LoopbackOptions();
  options.max_clients = max_clients;
  return options;
}

// Lowers this process's limit on descriptors; the destructor restores it.
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

// The limit that only the descriptors open now fit. dup() would return a number that is too high
// while the listener calls accept(), which holds the lowest one even if no client waits.
rlim_t LowestFreeDescriptor() {
  int lowest = 0;
  while (fcntl(lowest, F_GETFD) >= 0) ++lowest;
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

TEST(ListenerTest, OneClientTooManyGetsAnError) {
  LoopbackServer server(WithClients(3));
  std::vector<LoopbackClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.port());
  for (LoopbackClient& client : clients) EXPECT_TRUE(IsServed(client));

  LoopbackClient fourth(server.port());
  EXPECT_TRUE(fourth.Send(kPing));  // what it asks must not become a reset that destroys the answer
  EXPECT_EQ(fourth.ReceiveAll(), kTooMany);
  EXPECT_FALSE(fourth.reset());
  EXPECT_EQ(server->services().main_counters["rejected_connections"].value(), 1U);

  clients.pop_back();
  ASSERT_TRUE(server.AwaitClients(2));
  LoopbackClient next(server.port());
  EXPECT_TRUE(IsServed(next));
}

TEST(ListenerTest, ALowerMaxClientsHoldsAtOnce) {
  LoopbackServer server(WithClients(3));
  LoopbackClient first(server.port());
  LoopbackClient second(server.port());
  EXPECT_TRUE(IsServed(first));
  EXPECT_TRUE(IsServed(second));
  EXPECT_TRUE(first.Send("CONFIG SET max-clients 1\r\n"));
  EXPECT_EQ(first.Receive(5), "+OK\r\n");
  LoopbackClient third(server.port());
  EXPECT_EQ(third.ReceiveAll(), kTooMany);
  EXPECT_TRUE(IsServed(second)) << "who is there stays";
}

TEST(ListenerTest, RefusedClientsThatStayDoNotPileUp) {
  LoopbackServer server(WithClients(1));
  LoopbackClient served(server.port());
  EXPECT_TRUE(IsServed(served));
  const rlim_t before = LowestFreeDescriptor();
  std::vector<LoopbackClient> refused;
  for (int i = 0; i < 3 * kRefusalsMax; ++i) refused.emplace_back(server.port());
  for (LoopbackClient& client : refused) EXPECT_EQ(client.ReceiveAll(), kTooMany);
  // The clients still hold their ends; the server's ends are closed after kLingerTime.
  EXPECT_TRUE(Eventually([&] { return LowestFreeDescriptor() <= before + refused.size(); }));
  EXPECT_TRUE(IsServed(served));
}

TEST(ListenerTest, WithoutDescriptorsClientsGetAnError) {
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
    // Even the number of the reserve descriptor is too high now.
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

std::string LogOfListeningOn(const std::string& address, bool protected_mode = true) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kWarning);
  Options options = LoopbackOptions();
  options.bind = {address};
  options.protected_mode = protected_mode;
  Server server(options);
  EXPECT_TRUE(server.Start().ok());
  return testing::internal::GetCapturedStderr();
}

TEST(ListenerTest, AnExposedAddressIsLoggedAsAWarning) {
  constexpr std::string_view kReach = "other hosts can reach 0\\.0\\.0\\.0:[0-9]+, ";
  EXPECT_THAT(LogOfListeningOn("0.0.0.0"),
              testing::ContainsRegex(std::string(kReach) + "but only clients on loopback"));
  EXPECT_THAT(LogOfListeningOn("0.0.0.0", false),
              testing::ContainsRegex(std::string(kReach) + "and authentication is off"));
  for (const bool protected_mode : {true, false}) {
    EXPECT_EQ(LogOfListeningOn("127.0.0.1", protected_mode), "");
    EXPECT_EQ(LogOfListeningOn("127.1.2.3", protected_mode), "");
  }
}

// An address of this host that is not a loopback address; a client that connects to it comes from
// it. Empty if there is none.
std::string OutsideAddress() {
  ifaddrs* interfaces = nullptr;
  WEIR_CHECK(getifaddrs(&interfaces) == 0);
  std::string found;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    if (!std::string_view(text.data()).starts_with("127.")) found = text.data();
  }
  freeifaddrs(interfaces);
  return found;
}

class ProtectedModeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (outside_.empty()) GTEST_SKIP() << "this host has no address but the loopback";
    options_.bind = {outside_, "127.0.0.1"};
  }

  const std::string outside_ = OutsideAddress();
  Options options_ = LoopbackOptions();
};

TEST_F(ProtectedModeTest, AClientOfAnotherHostGetsAnErrorWithAdvice) {
  LoopbackServer server(options_);
  LoopbackClient stranger(server.port(), outside_);
  EXPECT_TRUE(stranger.Send(kPing));
  EXPECT_EQ(stranger.ReceiveAll(), kDenied);
  EXPECT_FALSE(stranger.reset());
  EXPECT_EQ(server->services().main_counters["rejected_connections"].value(), 1U);
  LoopbackClient local(server.port());
  EXPECT_TRUE(IsServed(local));
}

TEST_F(ProtectedModeTest, ItCanBeTurnedOff) {
  options_.protected_mode = false;
  LoopbackServer server(options_);
  LoopbackClient stranger(server.port(), outside_);
  EXPECT_TRUE(IsServed(stranger));
}

TEST_F(ProtectedModeTest, ItCanBeTurnedOffAndOnLater) {
  LoopbackServer server(options_);
  LoopbackClient local(server.port());
  for (const bool on : {false, true}) {
    EXPECT_TRUE(
        local.Send(absl::StrCat("CONFIG SET protected-mode ", on ? "true" : "false", "\n")));
    EXPECT_EQ(local.Receive(5), "+OK\r\n");
    LoopbackClient stranger(server.port(), outside_);
    EXPECT_TRUE(stranger.Send(kPing));
    EXPECT_EQ(stranger.Receive(kPong.size()) == kPong, !on);
  }
}

TEST_F(ProtectedModeTest, WithAPasswordRemoteClientsAreServed) {
  options_.requirepass = "secret";
  LoopbackServer server(options_);
  LoopbackClient stranger(server.port(), outside_);
  EXPECT_TRUE(stranger.Send("AUTH secret\r\n"));
  EXPECT_EQ(stranger.Receive(kOk.size()), kOk);
  EXPECT_TRUE(IsServed(stranger));
}

TEST_F(ProtectedModeTest, ALineASecondIsLogged) {
  LoopbackServer server(options_);
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kWarning);
  for (int i = 0; i < 200; ++i) LoopbackClient(server.port(), outside_).ReceiveAll();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr(absl::StrCat("refused client ", outside_, ":")));
  EXPECT_LT(std::ranges::count(log, '\n'), 30) << log;
}

TEST(ProtectedModeLawTest, AnyGuardIsEnough) {
  EXPECT_TRUE(IsProtected({}));
  EXPECT_FALSE(IsProtected({.protected_mode = false}));
  EXPECT_FALSE(IsProtected({.asks_for_password = true}));
  EXPECT_FALSE(IsProtected({.asks_for_certificate = true}));
  EXPECT_LE(kDenied.size(), 512U);
  EXPECT_EQ(kDenied.find("\r\n"), kDenied.size() - 2);
}

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest() { options_.unix_socket = path_; }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/weir.sock";
  Options options_ = LoopbackOptions();
};

TEST_F(UnixSocketTest, ItsClientsAreServedAndListed) {
  {
    LoopbackServer server(options_);
    LoopbackClient client(path_);
    EXPECT_TRUE(IsServed(client));
    const auto record = server->services().clients.All().front();
    EXPECT_EQ(record->address, path_ + ":0");
    EXPECT_EQ(record->local_address, path_ + ":0");
    // The client can read an error to its end, as over TCP.
    EXPECT_TRUE(client.Send("*1\r\n:1\r\n" + std::string(100'000, 'x')));
    EXPECT_EQ(client.ReceiveAll(), "-ERR Protocol error: expected '$', got ':'\r\n");
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0) << "left behind";
}

TEST_F(UnixSocketTest, ItsClientsCountTowardsMaxClients) {
  options_.max_clients = 1;
  LoopbackServer server(options_);
  LoopbackClient first(path_);
  EXPECT_TRUE(IsServed(first));
  EXPECT_EQ(LoopbackClient(path_).ReceiveAll(), kTooMany);
}

TEST_F(UnixSocketTest, ALivingServerKeepsItsSocket) {
  LoopbackServer server(options_);
  {
    Server second(options_);
    EXPECT_EQ(second.Start().message(),
              absl::StrCat("cannot listen on '", path_, "': Address already in use"));
  }
  LoopbackClient client(path_);
  EXPECT_TRUE(IsServed(client));
}

}  // namespace
}  // namespace weir
