// Goal: a control plane hears what the protocol of discovery says: who asks, which version is in
// force, and which response is answered. Method: the requests of a conversation, read again.
#include "rls/xds_stream.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rls/xds.pb.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

XdsResponse Response(std::string version, std::string nonce) {
  return {
      .version = std::move(version), .nonce = std::move(nonce), .rules = std::vector<RuleFile>()};
}

// "version nonce code message" of a request.
std::string Read(const std::string& bytes) {
  xds::DiscoveryRequest request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  EXPECT_EQ(request.type_url(), kXdsRuleType);
  EXPECT_EQ(request.node().id(), "node");
  EXPECT_EQ(request.resource_names_size(), 0) << "all of them";
  const std::string error = request.has_error_detail()
                                ? " " + std::to_string(request.error_detail().code()) + " " +
                                      request.error_detail().message()
                                : "";
  return "'" + request.version_info() + "' '" + request.response_nonce() + "'" + error;
}

class XdsStreamTest : public testing::Test {
 protected:
  XdsStream stream_{
      {.id = "node", .metadata = {{"zone", "a"}, {"name", "\xff"}}, .user_agent_version = "0.3.0"}};
};

TEST_F(XdsStreamTest, EachRequestSaysWhoAsks) {
  const XdsResponse response = Response("1", "n");
  for (const std::string& bytes :
       {stream_.FirstRequest(), stream_.Accept(response), stream_.Refuse(response, "why")}) {
    xds::DiscoveryRequest request;
    ASSERT_TRUE(request.ParseFromString(bytes));
    EXPECT_EQ(request.node().user_agent_name() + request.node().user_agent_version(), "weir0.3.0");
    ASSERT_EQ(request.node().metadata().fields_size(), 2);
    EXPECT_EQ(request.node().metadata().fields(0).key(), "zone");
    EXPECT_EQ(request.node().metadata().fields(0).value().string_value(), "a");
    EXPECT_EQ(request.node().metadata().fields(1).value().string_value(), "\xEF\xBF\xBD")
        << "what is no UTF-8 would be refused";
  }
}

TEST_F(XdsStreamTest, AnAcceptedVersionIsNamedUntilTheNext) {
  EXPECT_EQ(Read(stream_.FirstRequest()), "'' ''");
  EXPECT_EQ(Read(stream_.Refuse(Response("1", "a"), "bad")), "'' 'a' 3 bad") << "none is accepted";
  EXPECT_EQ(Read(stream_.Accept(Response("2", "b"))), "'2' 'b'");
  EXPECT_EQ(Read(stream_.Refuse(Response("3", "c"), "worse \xff")), "'2' 'c' 3 worse \xEF\xBF\xBD");
  EXPECT_EQ(Read(stream_.Accept(Response("3", "d"))), "'3' 'd'");
}

TEST_F(XdsStreamTest, ANewStreamHasAcceptedNothing) {
  EXPECT_EQ(Read(stream_.Accept(Response("2", "b"))), "'2' 'b'");
  EXPECT_EQ(Read(stream_.FirstRequest()), "'' ''");
  EXPECT_EQ(Read(stream_.Refuse(Response("3", "c"), "bad")), "'' 'c' 3 bad");
}

TEST(XdsBackOffTest, PausesDoubleUpToHalfAMinute) {
  XdsBackOff back_off;
  for (const int wanted : {500, 1000, 2000, 4000, 8000, 16'000, 30'000, 30'000}) {
    EXPECT_EQ(back_off.Next(1), milliseconds(wanted));
  }
}

TEST(XdsBackOffTest, AShareTakesUpToAHalf) {
  XdsBackOff back_off;
  EXPECT_EQ(back_off.Next(0), milliseconds(250));
  EXPECT_EQ(back_off.Next(0.5), milliseconds(750)) << "of the next pause";
}

TEST(XdsBackOffTest, AnAcceptedResponseBeginsAgain) {
  XdsBackOff back_off;
  static_cast<void>(back_off.Next(1));
  static_cast<void>(back_off.Next(1));
  back_off.Reset();
  EXPECT_EQ(back_off.Next(1), milliseconds(500));
}

}  // namespace
}  // namespace weir
