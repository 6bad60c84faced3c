// Goal: a bad request gets its own error, changes nothing, and leaves the connection usable.
// Method: every bad request of the table, for every command that reads limits, on a host with
// buckets in all states; the states before and after are compared to the nanosecond.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/resp_writer.h"
#include "tests/commands/client.h"
#include "tests/support/bad_requests.h"

namespace weir {
namespace {

using testing::HasSubstr;

class RlErrorsTest : public testing::Test {
 protected:
  RlErrorsTest() {
    client_.Run("RL.ALLOW k 10/s COST 10 AND k2 5/s COST 2");  // empty, and in use
    client_.Run("RL.ALLOW k 1/h");
    client_.Run("RL.ALLOW k2 10/s,burst=20");
    before_ = State();
  }

  std::string State() { return client_.host().State({"k", "k2", "k0", "k1", "AND", "cost", ""}); }

  // Expects `error` as the only reply, and no other effect.
  void ExpectError(const std::vector<std::string>& words, const std::string& error) {
    SCOPED_TRACE(testing::PrintToString(words));
    EXPECT_EQ(client_.Call(words), "-ERR " + error + "\r\n");
    EXPECT_THAT(client_.Run("INFO errorstats"),
                HasSubstr("\r\nerrorstat_ERR:count=" + std::to_string(++errors_) + "\r\n"));
    EXPECT_EQ(State(), before_);
    EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
  }

  static std::vector<std::string> With(std::vector<std::string> front,
                                       std::vector<std::string> words) {
    front.insert(front.end(), words.begin(), words.end());
    return front;
  }

  Client client_{{.explicit_time = true}};
  std::string before_;
  int errors_ = 0;
};

// In an error line, spaces replace control bytes.
std::string Escaped(std::string text) {
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return text;
}

TEST_F(RlErrorsTest, EveryBadRequest) {
  for (const BadRequest& bad : BadRequests()) {
    ExpectError(With({"RL.ALLOW"}, bad.words), Escaped(bad.error));
    ExpectError(With({"rl.peek"}, bad.words), Escaped(bad.error));
  }
}

TEST_F(RlErrorsTest, TooFewWords) {
  for (const std::string name : {"rl.allow", "rl.peek"}) {
    ExpectError({name}, "wrong number of arguments for '" + name + "' command");
    ExpectError({name, "k"}, "wrong number of arguments for '" + name + "' command");
  }
  ExpectError({"RL.RESET"}, "wrong number of arguments for 'rl.reset' command");
  ExpectError({"RL.INSPECT"}, "wrong number of arguments for 'rl.inspect' command");
  ExpectError({"RL.INSPECT", "k", "10/s"}, "syntax error");
  ExpectError({"RL.INSPECT", "k", "HOLDS", "x"},
              "wrong number of arguments for 'rl.inspect' command");
  ExpectError({"RL.HELP", "k"}, "wrong number of arguments for 'rl.help' command");
}

// The last of several limits is bad; none of the limits before it is reset.
TEST_F(RlErrorsTest, ResetReadsAllLimitsBeforeItForgetsAny) {
  for (const BadRequest& bad : BadRequestsOfLimits()) {
    if (bad.words.size() != 3) continue;  // only a key and limits
    ExpectError(With({"RL.RESET"}, bad.words), bad.error);
  }
  ExpectError({"RL.RESET", "k", "10/s", "COST", "1"},
              "invalid limit 'COST': expected count/period, as in 10/s");
  ExpectError(With({"RL.RESET"}, bad_requests_internal::ManyLimits(kChecksMax + 1)),
              "too many limits: at most 64");
}

// For any input, an error is a line that fits a terminal and a log.
TEST_F(RlErrorsTest, ErrorsAreBounded) {
  const std::string huge(60'000, 'x');
  const std::vector<std::vector<std::string>> requests = {
      {"RL.ALLOW", huge, "AND"},
      {"RL.ALLOW", "k", huge},
      {"RL.ALLOW", "k", "10/s", "COST", huge},
      {"RL.ALLOW", "k", "10/s", "WITHLIMITS", huge},
      {"RL.ALLOW", "k", "10/s," + huge},
      {"RL.ALLOW", "k", "10/" + huge},
      {"RL.ALLOW", "k", "10/s,name=" + huge},
      {"RL.RESET", "k", huge},
  };
  for (const std::vector<std::string>& request : requests) {
    const std::string reply = client_.Call(request);
    EXPECT_TRUE(reply.starts_with("-ERR ")) << reply.substr(0, 100);
    EXPECT_LE(reply.size(), kErrorBytesMax + 3);
    EXPECT_EQ(reply.find(std::string(129, 'x')), std::string::npos);
    EXPECT_EQ(State(), before_);
  }
}

}  // namespace
}  // namespace weir
