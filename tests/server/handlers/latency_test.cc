// Goal: LATENCY reports when commands were slow, and how long they usually take. Method: a clock on
// which every command takes a time that the test sets.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

class LatencyTest : public testing::Test {
 protected:
  static std::unique_ptr<TestServer> ServerWithThreshold(std::int64_t millis) {
    Options options = DefaultOptions();
    options.latency_monitor_threshold = millis;
    return std::make_unique<TestServer>(options);
  }

  void RunSlowly(std::string_view line, Nanos lap) {
    client_.server().clock.set_lap(lap);
    client_.Run(line);
    client_.server().clock.set_lap(Nanos{0});
  }

  Conversation client_{ServerWithThreshold(100)};
};

TEST_F(LatencyTest, RecordsCommandsThatTookTheThreshold) {
  RunSlowly("PING", milliseconds{99});
  EXPECT_EQ(client_.Run("LATENCY LATEST"), "*0\r\n");
  RunSlowly("PING", milliseconds{150});
  client_.server().clock.Advance(std::chrono::seconds{3});
  RunSlowly("PING", milliseconds{120});
  RunSlowly("DEL k", milliseconds{500});
  EXPECT_EQ(client_.Show("LATENCY LATEST"),
            "[\"command\" 1767225603 500 500]\n[\"fast-command\" 1767225603 120 150]");
  EXPECT_EQ(client_.Show("LATENCY HISTORY fast-command"), "[1767225600 150]\n[1767225603 120]");
  EXPECT_EQ(client_.Run("LATENCY RESET fast-command fork"), ":1\r\n");
  EXPECT_EQ(client_.Run("LATENCY RESET"), ":1\r\n");
  EXPECT_EQ(client_.Run("LATENCY RESET"), ":0\r\n");
}

TEST_F(LatencyTest, DrawsAndExplains) {
  RunSlowly("DEL k", milliseconds{300});
  client_.server().clock.Advance(std::chrono::seconds{2});
  RunSlowly("DEL k", milliseconds{100});
  EXPECT_EQ(client_.Ask("LATENCY GRAPH command").text,
            "command: at most 300 ms in this graph, 300 ms since the reset\n" +
                std::string(60, '#') + " 300 ms, 2 s ago\n" + std::string(20, '#') +
                " 100 ms, 0 s ago\n");
  EXPECT_THAT(client_.Ask("LATENCY DOCTOR").text,
              StartsWith("command: slow in 2 recorded seconds, on average 200 ms, at most "
                         "300 ms.\n"));
  client_.Run("LATENCY RESET");
  EXPECT_THAT(client_.Ask("LATENCY DOCTOR").text, StartsWith("No event"));
}

TEST_F(LatencyTest, IsOffUnlessAskedFor) {
  Conversation client;
  client.server().clock.set_lap(std::chrono::hours{1});
  client.Run("PING");
  EXPECT_EQ(client.Run("LATENCY LATEST"), "*0\r\n");
  EXPECT_THAT(client.Ask("LATENCY DOCTOR").text, HasSubstr("latency-monitor-threshold"));
}

TEST_F(LatencyTest, HistogramsCountTheCallsOfTheNamedOrAll) {
  RunSlowly("PING", std::chrono::microseconds{3});
  RunSlowly("PING", std::chrono::microseconds{30});
  RunSlowly("PING a b", std::chrono::microseconds{30});  // rejected, so not called
  RunSlowly("CLIENT ID", std::chrono::microseconds{30});
  const std::string ping =
      "$4\r\nping\r\n*4\r\n$5\r\ncalls\r\n:2\r\n$14\r\nhistogram_usec\r\n"
      "*4\r\n:4\r\n:1\r\n:33\r\n:2\r\n";
  const std::string client_id =
      "$9\r\nclient|id\r\n*4\r\n$5\r\ncalls\r\n:1\r\n$14\r\nhistogram_usec\r\n"
      "*2\r\n:33\r\n:1\r\n";
  EXPECT_EQ(client_.Run("LATENCY HISTOGRAM ping nosuch echo"), "*2\r\n" + ping);
  EXPECT_EQ(client_.Run("LATENCY HISTOGRAM ping PING ping"), "*2\r\n" + ping);
  EXPECT_EQ(client_.Run("LATENCY HISTOGRAM client"), "*2\r\n" + client_id);
  EXPECT_THAT(client_.Run("LATENCY HISTOGRAM"), StartsWith("*6\r\n" + client_id));
  client_.Run("CONFIG RESETSTAT");
  EXPECT_EQ(client_.Run("LATENCY HISTOGRAM ping"), "*0\r\n");
  client_.Run("HELLO 3");
  client_.Run("PING");
  EXPECT_EQ(client_.Run("LATENCY HISTOGRAM ping"),
            "%1\r\n$4\r\nping\r\n%2\r\n$5\r\ncalls\r\n:1\r\n$14\r\nhistogram_usec\r\n"
            "%1\r\n:1\r\n:1\r\n");
}

}  // namespace
}  // namespace weir
