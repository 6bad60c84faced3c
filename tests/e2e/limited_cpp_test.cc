// Goal: examples/cpp/limited.h calls an action as often as weir allows, and, as chosen, always or
// never while weir does not answer. Method: a server that answers, one that is stopped, and none.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/cpp/limited.h"
#include "tests/support/server_process.h"

namespace weir::example {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// The most that a call may take on a busy machine, with a deadline of 50 ms.
constexpr seconds kBound{2};

// A gate with a deadline that is long enough for a busy machine.
Gate PatientGate(int port, WhenDown when_down = WhenDown::kOpen) {
  return Gate({.port = port, .when_down = when_down, .deadline = kChildDeadline});
}

class LimitedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }
};

TEST_F(LimitedTest, CallsAsOftenAsAllowed) {
  ServerProcess server;
  Gate gate = PatientGate(server.port(), WhenDown::kClosed);
  std::string calls;
  auto work =
      gate.Limited([&calls](const std::string& word) { calls += word; }, "work", {"2/h", "9/d"});
  EXPECT_TRUE(work("a"));
  EXPECT_TRUE(work("b"));
  EXPECT_FALSE(work("c"));
  EXPECT_EQ(calls, "ab");
  const Answer answer = gate.Ask("work", {"2/h", "9/d"});
  EXPECT_FALSE(answer.passes);
  EXPECT_TRUE(answer.answered);
  ASSERT_TRUE(answer.retry_after.has_value());
  EXPECT_GT(*answer.retry_after, seconds{1000});
  EXPECT_LE(*answer.retry_after, seconds{1800});
}

TEST_F(LimitedTest, TheKeyIsMadeOfTheArguments) {
  ServerProcess server;
  Gate gate = PatientGate(server.port());
  auto mail = gate.Limited([](const std::string& to) { return "to " + to; },
                           [](const std::string& to) { return "mail:" + to; }, {"1/h"});
  EXPECT_EQ(mail(std::string("ann")), std::optional<std::string>("to ann"));
  EXPECT_EQ(mail(std::string("bob")), std::optional<std::string>("to bob"));
  EXPECT_EQ(mail(std::string("ann")), std::nullopt);
}

TEST_F(LimitedTest, ARequestThatNeverPassesHasNoRetryTime) {
  ServerProcess server;
  const Answer answer = PatientGate(server.port()).Ask("k", {"2/h,cost=3"});
  EXPECT_FALSE(answer.passes);
  EXPECT_TRUE(answer.answered);
  EXPECT_EQ(answer.retry_after, std::nullopt);
}

TEST_F(LimitedTest, AMistakeIsNoOutage) {
  ServerProcess server;
  const Answer answer = PatientGate(server.port(), WhenDown::kOpen).Ask("k", {"2/x"});
  EXPECT_FALSE(answer.passes);
  EXPECT_TRUE(answer.answered);
  EXPECT_THAT(answer.error, HasSubstr("unknown unit 'x'"));
}

// Answers every request with a line, for one client after another.
class OneReplyServer {
 public:
  explicit OneReplyServer(const std::string& line)
      : thread_([this, reply = line + "\r\n"] { Serve(reply); }) {}
  ~OneReplyServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  int Listen() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(listener, 16), 0);
    port_ = ntohs(address.sin_port);
    return listener;
  }
  void Serve(const std::string& reply) const {
    for (int client = 0; (client = accept(listener_, nullptr, nullptr)) >= 0; close(client)) {
      char byte = 0;
      if (recv(client, &byte, 1, 0) != 1) continue;
      EXPECT_EQ(send(client, reply.data(), reply.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(reply.size()));
    }
  }

  int port_ = 0;
  const int listener_ = Listen();
  std::thread thread_;
};

// One request on one connection: is the action called?
bool IsCalled(const std::string& reply, WhenDown when_down) {
  const OneReplyServer server(reply);
  Gate gate = PatientGate(server.port(), when_down);
  return gate.Limited([] {}, "k", {"1/h"})();
}

TEST_F(LimitedTest, EveryErrorIsAnOutageOrAMistake) {
  std::ifstream cases(WEIR_SOURCE_DIR "/tests/e2e/limited_cases.txt");
  std::string kind;
  std::size_t count = 0;
  for (std::string line; std::getline(cases >> kind >> std::ws, line);) {
    if (kind == "#") continue;
    ++count;
    if (kind == "away") {
      EXPECT_TRUE(IsCalled(line, WhenDown::kOpen)) << line;
      EXPECT_FALSE(IsCalled(line, WhenDown::kClosed)) << line;
    } else {
      EXPECT_THROW(IsCalled(line, WhenDown::kOpen), Mistake) << line;
      EXPECT_THROW(IsCalled(line, WhenDown::kClosed), Mistake) << line;
    }
  }
  EXPECT_GE(count, 10U);
}

void ExpectFailsAsChosen(int port) {
  EXPECT_EQ(GateOptions().deadline, milliseconds{50});
  const steady_clock::time_point begin = steady_clock::now();
  Gate open({.port = port, .when_down = WhenDown::kOpen});
  EXPECT_EQ(open.Limited([](int i) { return i + 1; }, "k", {"1/h"})(7), std::optional<int>(8));
  Gate closed({.port = port, .when_down = WhenDown::kClosed});
  EXPECT_FALSE(closed.Limited([] { ADD_FAILURE() << "called"; }, "k", {"1/h"})());
  EXPECT_FALSE(closed.Ask("k", {"1/h"}).answered);
  EXPECT_LT(steady_clock::now() - begin, 3 * kBound);
}

TEST_F(LimitedTest, AServerThatIsStopped) {
  ServerProcess server;
  server.Pause();
  ExpectFailsAsChosen(server.port());
  server.Resume();
}

TEST_F(LimitedTest, AServerThatStopsWhileItIsAsked) {
  ServerProcess server;
  Gate gate({.port = server.port(), .when_down = WhenDown::kClosed});
  const auto ask_until_answered = [&gate] {
    while (!gate.Ask("k", {"100/h,cost=0"}).passes) {
    }
  };
  ask_until_answered();
  server.Pause();
  EXPECT_FALSE(gate.Ask("k", {"100/h,cost=0"}).passes);
  server.Resume();
  ask_until_answered();
}

TEST_F(LimitedTest, NoServerAtAll) {
  const int nobody = socket(AF_INET, SOCK_STREAM, 0);  // is bound, and does not listen
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(nobody, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(nobody, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ExpectFailsAsChosen(ntohs(address.sin_port));
  close(nobody);
}

TEST_F(LimitedTest, AServerThatComesBack) {
  std::optional<ServerProcess> server(std::in_place);
  const std::string port = std::to_string(server->port());
  Gate gate = PatientGate(server->port(), WhenDown::kClosed);
  EXPECT_TRUE(gate.Ask("k", {"1/h"}).passes);
  server.reset();
  EXPECT_FALSE(gate.Ask("k", {"1/h"}).passes);
  server.emplace(std::vector<std::string>{"--port", port});
  EXPECT_TRUE(gate.Ask("k", {"1/h"}).passes);  // the state was only in memory
}

}  // namespace
}  // namespace weir::example
