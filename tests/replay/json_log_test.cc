// Goal: a line of JSON is read by the paths of its fields, as the programs that write such logs
// name them, and any other line is an error that says what would be right. Method: tables of lines.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/log_reader.h"
#include "tests/protocol/client_networks.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// "1.5 k x3", "(none)", or the error behind a "! ".
std::string ReadLine(LogReader& reader, std::string_view line) {
  LoggedRequest request;
  const absl::StatusOr<bool> read = reader.Read(line, request);
  if (!read.ok()) {
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return "! " + std::string(read.status().message());
  }
  if (!*read) return "(none)";
  EXPECT_EQ(request.keys.size(), 1U);
  return std::to_string(request.at.time_since_epoch().count()) + " " +
         std::string(request.keys[0].key) + " x" + std::to_string(request.keys[0].cost);
}

// By a reader of its own, so that no line depends on those before it.
std::string ReadOne(std::string_view line, const JsonFields& fields = {}, const char* key = "") {
  return ReadLine(*MakeJsonReader(fields, key), line);
}

constexpr std::string_view kCaddy =
    R"({"level":"info","ts":1700000000.2504284,"logger":"http.log.access.log0","msg":)"
    R"("handled request","request":{"remote_ip":"192.0.2.7","remote_port":"50224","client_ip":)"
    R"("203.0.113.9","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/","headers":)"
    R"({"User-Agent":["curl/8"],"X-Api-Key":["k1","k2"]},"tls":{"version":772}},"bytes_read":0,)"
    R"("user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":)"
    R"(["Caddy"]}})";
constexpr std::string_view kTraefik =
    R"({"ClientAddr":"192.0.2.7:50224","ClientHost":"192.0.2.7","ClientPort":"50224",)"
    R"("ClientUsername":"-","Duration":1402383,"RequestMethod":"GET","RequestPath":"/",)"
    R"("StartLocal":"2023-11-14T23:13:20.250428391+01:00","StartUTC":)"
    R"("2023-11-14T22:13:20.250428391Z","level":"info","msg":"","time":)"
    R"("2023-11-14T23:13:21+01:00"})";

TEST(JsonLogTest, TheFieldsOfThreeProgramsAreKnown) {
  EXPECT_EQ(ReadOne(kCaddy), "1700000000250428400 203.0.113.9 x1");
  EXPECT_EQ(ReadOne(R"({"ts":1700000000,"request":{"remote_ip":"192.0.2.7"}})"),
            "1700000000000000000 192.0.2.7 x1");
  EXPECT_EQ(ReadOne(kTraefik), "1700000000250428391 192.0.2.7 x1");
  for (const char* time :
       {R"("msec":"1700000000.250")", R"("msec":1700000000.250)",
        R"("time_iso8601":"2023-11-14T23:13:20.25+01:00")", R"("time":"2023-11-14 22:13:20.25")",
        R"("@timestamp":"2023-11-14T22:13:20.250Z")", R"("timestamp":1700000000.25)"}) {
    const std::string line = std::string("{") + time + R"(, "remote_addr": "192.0.2.7"})";
    EXPECT_EQ(ReadOne(line), "1700000000250000000 192.0.2.7 x1") << line;
  }
  EXPECT_EQ(ReadOne(R"({"remote_addr":"k","time_local":"14/Nov/2023:23:13:20 +0100"})"),
            "1700000000000000000 k x1");
}

TEST(JsonLogTest, PathsSayWhichFieldsAreRead) {
  EXPECT_EQ(ReadOne(kCaddy, {.time = "ts", .key = "request.headers.X-Api-Key", .cost = "size"}),
            "1700000000250428400 k1 x10900")
      << "of an array the first element";
  EXPECT_EQ(ReadOne(kCaddy, {.key = "status"}), "1700000000250428400 200 x1") << "a number";
  EXPECT_EQ(ReadOne(R"({"t":1,"a.b":"k"})", {.time = "t", .key = "a.b"}), "1000000000 k x1")
      << "a name with a point";
  EXPECT_EQ(ReadOne(R"({"t":1,"a":[{"b":"x"},{"c":"y"}],"c":"z"})", {.time = "t", .key = "a.c"}),
            "1000000000 y x1");
  EXPECT_EQ(ReadOne(R"({"t":1,"a":{"b":{}},"b":"k"})", {.time = "t", .key = "b"}),
            "1000000000 k x1");
  EXPECT_EQ(ReadOne(R"({"t":1,"k":true,"n":"12"})", {.time = "t", .key = "k", .cost = "n"}),
            "1000000000 true x12");
  EXPECT_EQ(ReadOne(R"({"t":1,"k":"a","k":"b"})", {.time = "t", .key = "k"}), "1000000000 a x1");
  EXPECT_EQ(ReadOne(R"({"t":1,"k":null,"x":{"k":"b"}})", {.time = "t", .key = "x.k"}),
            "1000000000 b x1");
}

TEST(JsonLogTest, AKeyOfAllRequestsNeedsNoField) {
  EXPECT_EQ(ReadOne(R"({"ts":1})", {}, "all"), "1000000000 all x1");
  EXPECT_EQ(ReadOne(R"({"ts":1,"request":{"client_ip":"192.0.2.7"}})", {}, "2001:db8::1"),
            "1000000000 2001:db8::1 x1");
}

// The routes of checks read the same table.
TEST(JsonLogTest, TheKeyIsTheNetworkOfTheClient) {
  for (const auto& [address, network] : kClientNetworks) {
    const std::string key(network.empty() ? address : network);
    EXPECT_EQ(ReadOne(R"({"ts":1,"remote_addr":")" + std::string(address) + "\"}"),
              "1000000000 " + key + " x1");
  }
  EXPECT_EQ(
      ReadLine(*MakeJsonReader({}, "", kIpv6BitsMax), R"({"ts":1,"remote_addr":"2001:db8::1"})"),
      "1000000000 2001:db8::1 x1");
}

// One line must not leave a field to the next one.
TEST(JsonLogTest, LinesStandAlone) {
  const auto reader = MakeJsonReader({.time = "t", .key = "k"});
  EXPECT_EQ(ReadLine(*reader, R"({"t":1,"k":"a"})"), "1000000000 a x1");
  EXPECT_THAT(ReadLine(*reader, R"({"t":1})"), StartsWith("! the line has no field 'k'"));
  EXPECT_THAT(ReadLine(*reader, R"({"a":[{"b":{)"), StartsWith("! invalid JSON"));
  EXPECT_EQ(ReadLine(*reader, R"({"k":"b","t":2})"), "2000000000 b x1");
  EXPECT_EQ(ReadLine(*reader, ""), "(none)");
  EXPECT_EQ(ReadLine(*reader, " \t"), "(none)");
}

// Such as Caddy's own ones. A log without any request must say so.
TEST(JsonLogTest, MessagesBetweenRequestsArePassedOver) {
  const auto reader = MakeJsonReader({});
  constexpr std::string_view kMessage = R"({"level":"info","ts":1700000001.5,"msg":"reloaded"})";
  EXPECT_THAT(ReadLine(*reader, kMessage), StartsWith("! the line has none of the fields"));
  EXPECT_EQ(ReadLine(*reader, kCaddy), "1700000000250428400 203.0.113.9 x1");
  EXPECT_EQ(ReadLine(*reader, kMessage), "(none)");
  EXPECT_THAT(ReadLine(*reader, R"({"msg":"x"})"), StartsWith("! the line has none of the fields"));
}

// nginx escapes quotes and control bytes only, so other bytes come as the client has sent them.
TEST(JsonLogTest, BytesThatAreNoUtf8HideNoRequest) {
  EXPECT_EQ(ReadOne("{\"ts\":1,\"remote_addr\":\"k\",\"agent\":\"\xFC\xFF\"}"), "1000000000 k x1");
  EXPECT_EQ(ReadOne("{\"ts\":1,\"remote_addr\":\"\xC3\xBC\"}"), "1000000000 \xC3\xBC x1");
  EXPECT_EQ(ReadOne("{\"ts\":1,\"remote_addr\":\"a\xFC\"}"), "1000000000 a? x1");
}

TEST(JsonLogTest, OtherLinesAreErrors) {
  constexpr const char* kPairs[][2] = {
      {R"({"ts":1,"request":{"client_ip":"k"})", "invalid JSON at byte "},
      {R"({"ts":1,"remote_addr":"\x22"})", "invalid JSON at byte "},
      {"{\"ts\":1,\"remote_addr\":\"\xFF", "invalid JSON at byte "},
      {R"({"ts":1,"remote_addr":"k"} x)", "invalid JSON at byte "},
      {"[1]", "expected an object"},
      {"7", "expected an object"},
      {"null", "expected an object"},
      {R"("ts")", "expected an object"},
      {"{}",
       "has none of the fields ts, StartUTC, msec, time_iso8601, time_local, time, timestamp"},
      {R"({"ts":1})",
       "has none of the fields request.client_ip, request.remote_ip, ClientHost, "
       "remote_addr for the key: expected its name, as in --json-fields key=NAME"},
      {R"({"ts":1,"remote_addr":null})", "has none of the fields"},
      {R"({"ts":1,"remote_addr":{"a":"k"}})", "has none of the fields"},
      {R"({"ts":"x","remote_addr":"k"})", "time 'x': expected Unix seconds"},
      {R"({"ts":-1,"remote_addr":"k"})", "time '-1'"},
      {R"({"ts":1e9,"remote_addr":"k"})", "time '1e9'"},
      {R"({"ts":1700000000000,"remote_addr":"k"})", "time '1700000000000'"},
      {R"({"ts":"2023-02-29T00:00:00Z","remote_addr":"k"})", "time '2023-02-29T00:00:00Z'"},
      {R"({"ts":"31/Feb/2023:23:13:20 +0100","remote_addr":"k"})", "time '31/Feb/2023"},
  };
  for (const auto& [line, error] : kPairs) {
    EXPECT_THAT(ReadOne(line), AllOf(StartsWith("! "), HasSubstr(error))) << line;
  }
  const JsonFields fields{.time = "t", .key = "k", .cost = "n"};
  constexpr const char* kPathPairs[][2] = {
      {R"({"k":"k","n":1})", "the line has no field 't' for the time"},
      {R"({"t":1,"n":1})", "the line has no field 'k' for the key"},
      {R"({"t":1,"k":"k"})", "the line has no field 'n' for the cost"},
      {R"({"t":1,"k":"k","n":-1})", "invalid cost '-1'"},
      {R"({"t":1,"k":"k","n":1.5})", "invalid cost '1.5'"},
      {R"({"t":1,"k":"k","n":9223372036854775808})", "invalid cost '9223372036854775808'"},
  };
  for (const auto& [line, error] : kPathPairs) {
    EXPECT_THAT(ReadOne(line, fields), AllOf(StartsWith("! "), HasSubstr(error))) << line;
  }
}

TEST(JsonLogTest, BracketsAreBounded) {
  EXPECT_THAT(ReadOne(R"({"ts":1,"a":)" + std::string(100'000, '[')),
              StartsWith("! invalid JSON: deeper than 16 brackets"));
}

}  // namespace
}  // namespace weir
