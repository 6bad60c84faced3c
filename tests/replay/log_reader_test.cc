// Goal: each format is read as its programs write it, and any other line is an error that says what
// would be right. Method: tables of lines; for MONITOR also the lines of the server itself, with
// random words.
#include "replay/log_reader.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/status.h"
#include "server/observe/monitors.h"
#include "tests/protocol/client_networks.h"
#include "tests/random/property.h"

namespace weir {
namespace {

using testing::HasSubstr;

// The request as text: "1.5 kAllow 0: user:42 x3 [-1 7]", "(none)", or the error.
std::string Read(LogReader& reader, std::string_view line) {
  LoggedRequest request;
  const absl::StatusOr<bool> read = reader.Read(line, request);
  if (!read.ok()) {
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return "! " + std::string(read.status().message());
  }
  if (!*read) return "(none)";
  std::string text = std::to_string(request.at.time_since_epoch().count()) + " " +
                     std::to_string(static_cast<int>(request.action)) + " " +
                     std::to_string(request.number) + ":";
  for (const LoggedKey& key : request.keys) {
    text += " " + std::string(key.key) + " x" + std::to_string(key.cost);
    for (const std::int64_t cost : key.word_costs) text += "," + std::to_string(cost);
  }
  return text;
}

struct Case {
  std::string_view line;
  std::string_view read;
};

void ExpectRead(LogReader& reader, std::span<const Case> cases) {
  for (const Case& one : cases) EXPECT_EQ(Read(reader, one.line), one.read) << one.line;
}

void ExpectErrors(LogReader& reader, std::span<const Case> cases) {
  for (const Case& one : cases) {
    EXPECT_THAT(Read(reader, one.line),
                testing::AllOf(testing::StartsWith("! "), HasSubstr(std::string(one.read))))
        << one.line;
  }
}

// --- Access logs ---------------------------------------------------------------------------------

constexpr std::string_view kRest = " \"GET / HTTP/1.1\" 200 2326";

std::string Access(std::string_view time, std::string_view rest = kRest) {
  return "192.0.2.7 - - [" + std::string(time) + "]" + std::string(rest);
}

TEST(AccessLogTest, CommonAndCombinedLinesAreRead) {
  const auto reader = MakeAccessLogReader();
  const Case cases[] = {
      {"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326",
       "971211336000000000 0 0: 192.0.2.7 x1"},
      {"2001:db8::1 - ann [01/Jan/1970:00:00:00 +0000] \"GET /\" 404 0 \"-\" \"curl \\\"x\\\"\"",
       "0 0 0: 2001:db8:: x1"},
      {"host.example - ann [29/Feb/2024:23:59:59 +0530] \"\\x16\\x03\" 400 0 \"-\" \"-\"",
       "1709231399000000000 0 0: host.example x1"},
  };
  ExpectRead(*reader, cases);
}

// The routes of checks read the same table.
TEST(AccessLogTest, TheKeyIsTheNetworkOfTheClient) {
  const auto reader = MakeAccessLogReader();
  for (const auto& [address, network] : kClientNetworks) {
    const std::string line =
        std::string(address) + " - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 9";
    const std::string key(network.empty() ? address : network);
    EXPECT_EQ(Read(*reader, line), "971211336000000000 0 0: " + key + " x1");
  }
  const auto whole = MakeAccessLogReader(kIpv6BitsMax);
  EXPECT_EQ(Read(*whole, "2001:db8::1 - - [01/Jan/1970:00:00:00 +0000] \"GET /\""),
            "0 0 0: 2001:db8::1 x1");
}

// Apache's vhost_combined.
TEST(AccessLogTest, AVirtualHostMayStandBeforeTheAddress) {
  const auto reader = MakeAccessLogReader();
  for (const char* host : {"www.example.net:80", "[2001:db8::1]:443", "_:8080"}) {
    for (const char* user : {"-", "ann", "a b", "a [b]"}) {
      const std::string line = std::string(host) + " 192.0.2.7 - " + user +
                               " [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 9 \"-\" \"x\"";
      EXPECT_EQ(Read(*reader, line), "971211336000000000 0 0: 192.0.2.7 x1") << line;
    }
  }
  EXPECT_EQ(Read(*reader, "www:80 2001:db8::7 - - [10/Oct/2000:13:55:36 -0700] \"\""),
            "971211336000000000 0 0: 2001:db8:: x1");
}

// The user is text of the client, from HTTP's basic authentication.
TEST(AccessLogTest, UsersMayHaveBlanksAndBrackets) {
  const auto reader = MakeAccessLogReader();
  for (const char* user : {"ann", "ann b", " ann", "ann ", "a [b] c", "[x", "a [x", "\"\"",
                           "a [10/Oct/2001:13:55:36 -0700] b"}) {
    const std::string line = std::string("192.0.2.7 - ") + user +
                             " [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 401 9";
    EXPECT_EQ(Read(*reader, line), "971211336000000000 0 0: 192.0.2.7 x1") << line;
  }
}

// The rest of the line is not read: programs add fields of their own, and syslog cuts lines.
TEST(AccessLogTest, AnyTextMayFollowTheRequest) {
  const auto reader = MakeAccessLogReader();
  for (const char* rest : {"", " 200", " 200 7 \"-\" \"curl", " 200 7 \"-\" \"5\" TV\"", " \"",
                           " 200 7 \"-\" \"\\\" 0.01"}) {
    const std::string line = Access("10/Oct/2000:13:55:36 -0700", " \"GET /\"") + rest;
    EXPECT_EQ(Read(*reader, line), "971211336000000000 0 0: 192.0.2.7 x1") << line;
  }
}

TEST(AccessLogTest, OtherLinesAreErrors) {
  const auto reader = MakeAccessLogReader();
  const std::string no_port = "www " + Access("10/Oct/2026:13:55:36 +0200");
  const std::string two_hosts = "www:80 www:80 " + Access("10/Oct/2026:13:55:36 +0200");
  const std::string host_address = "2001:db8::80 " + Access("10/Oct/2026:13:55:36 +0200");
  const std::string bad_times[] = {
      "10/Oct/2026:13:55:36",       "10/Okt/2026:13:55:36 +0200", "31/Feb/2026:13:55:36 +0200",
      "10/Oct/2026:24:00:00 +0200", "10/Oct/2026:13:60:36 +0200", "10/Oct/2026:13:55:61 +0200",
      "10/Oct/1969:13:55:36 +0000", "10/Oct/2026:13:55:36 +1500", "10/Oct/2026:13:55:36 00200",
      "10/Oct/2226:13:55:36 +0200", "10/Oct/2026 13:55:36 +0200", "01/Jan/1970:00:00:00 +0100",
      "1x/Oct/2026:13:55:36 +0200", "10/ctN/2026:13:55:36 +0200", ""};
  for (const std::string& time : bad_times) {
    EXPECT_EQ(Read(*reader, Access(time)),
              "! time '" + time + "': expected one as in 10/Oct/2026:13:55:36 +0200");
  }
  const std::string cut = Access("10/Oct/2026:13:55:36 +0200", " \"GET / HT");
  const std::string apache_cut = Access("10/Oct/2026:13:55:36 +0200", " \"GET \\\" HTTP/1.1");
  const std::string escaped = Access("10/Oct/2026:13:55:36 +0200", " \"GET \\");
  const std::string blank_user_cut = "192.0.2.7 - a b [10/Oct/2026:13:55:36 +0200]";
  const std::string ident_with_blank =
      "192.0.2.7 x a b [10/Oct/2026:13:55:36 +0200]" + std::string(kRest);
  const std::string no_request = Access("10/Oct/2026:13:55:36 +0200", "");
  const Case cases[] = {
      {no_port, "expected an address, two names and ["},
      {two_hosts, "expected an address, two names and ["},
      {host_address, "expected an address, two names and ["},
      {"www:80", "expected an address"},
      {"www:80 ", "expected an address"},
      {"", "expected an address"},
      {"192.0.2.7", "expected an address"},
      {" - - [10/Oct/2026:13:55:36 +0200] \"\"", "expected an address"},
      {"{\"time\": 1700000000}", "expected an address"},
      {"192.0.2.7 - - [10/Oct/2026:13:55:36 +0200", "expected a ] after it"},
      {cut, "the quote of the request is not closed"},
      {apache_cut, "the quote of the request is not closed"},
      {escaped, "the quote of the request is not closed"},
      {blank_user_cut, "expected an address, two names and ["},
      {ident_with_blank, "expected an address, two names and ["},
      {no_request, "expected the request in quotes"},
  };
  ExpectErrors(*reader, cases);
}

// --- CSV -----------------------------------------------------------------------------------------

TEST(CsvTest, LinesAreRead) {
  const auto reader = MakeCsvReader({"time", "key", "cost"}, true);
  const Case cases[] = {
      {"timestamp,user,tokens", "(none)"},
      {"1700000000,user:42,3", "1700000000000000000 0 0: user:42 x3"},
      {"1700000000.25,user:42", "1700000000250000000 0 0: user:42 x1"},
      {"0.000000001,\"a,\"\"b\"\"\",0", "1 0 0: a,\"b\" x0"},
      {"1700000000,", "1700000000000000000 0 0:  x1"},
      {"", "(none)"},
      {"1700000000,a b,9223372036854775807", "1700000000000000000 0 0: a b x9223372036854775807"},
  };
  ExpectRead(*reader, cases);
}

TEST(CsvTest, TimesMayBeAsInIso8601) {
  const auto reader = MakeCsvReader({"time", "key"}, false);
  const Case cases[] = {
      {"2023-11-16 18:17:03.97,k", "1700158623970000000 0 0: k x1"},
      {"2023-11-16T18:17:03.97Z,k", "1700158623970000000 0 0: k x1"},
      {"\"2023-11-16T18:17:03,97Z\",k", "1700158623970000000 0 0: k x1"},
      {"2023-11-16T19:17:03+01:00,k", "1700158623000000000 0 0: k x1"},
      {"2023-11-16 12:47:03-0530,k", "1700158623000000000 0 0: k x1"},
      {"2023-11-16 18:17:03.123456789+00,k", "1700158623123456789 0 0: k x1"},
      {"1970-01-01T00:00:00,k", "0 0 0: k x1"},
      {"2024-02-29 00:00:00,k", "1709164800000000000 0 0: k x1"},
  };
  ExpectRead(*reader, cases);
  for (const char* time : {"2023-11-16",
                           "2023-11-16T18:17",
                           "2023-02-29 00:00:00",
                           "2023-13-01 00:00:00",
                           "2023-11-16 24:00:00",
                           "2023-11-16 18:60:03",
                           "2023-11-16 18:17:60",
                           "2023/11/16 18:17:03",
                           "2023-11-16_18:17:03",
                           "2023-11-16 18:17:03.",
                           "2023-11-16 18:17:03.1234567890",
                           "2023-11-16 18:17:03 +01:00",
                           "2023-11-16 18:17:03+1",
                           "2023-11-16 18:17:03+15:00",
                           "2023-11-16 18:17:03+01:60",
                           "2023-11-16 18:17:03z",
                           "1969-12-31 23:59:59",
                           "1970-01-01T00:00:00+00:01",
                           "2116-01-01 00:00:00",
                           "2023-11-1x 18:17:03",
                           "-023-11-16 18:17:03"}) {
    EXPECT_EQ(Read(*reader, std::string(time) + ",k"),
              "! time '" + std::string(time) +
                  "': expected Unix seconds, as in 1700000000.25, or as in "
                  "2023-11-14T22:13:20.25Z");
  }
}

TEST(CsvTest, ColumnsSayWhichFieldsAreRead) {
  const auto reader = MakeCsvReader({"cost", "method", "time", "key"}, false);
  const Case cases[] = {{"7,GET,1.5,\"k\"", "1500000000 0 0: k x7"}};
  ExpectRead(*reader, cases);
  const Case errors[] = {{"7,GET,1.5", "the line has 3 fields, expected 4 (--columns)"}};
  ExpectErrors(*reader, errors);
}

TEST(CsvTest, ALogWithoutKeysGetsOne) {
  const auto reader = MakeCsvReader({"time", "cost", "output"}, false, "all");
  const Case cases[] = {
      {"TIMESTAMP,ContextTokens,GeneratedTokens", "(none)"},
      {"# comment", "(none)"},
      {"2023-11-16 18:17:03.9799600,4808,10", "1700158623979960000 0 0: all x4808"},
  };
  ExpectRead(*reader, cases);
  const auto times = MakeCsvReader({"time", "cost"}, true, "all");
  const Case only_times[] = {{"1.5", "1500000000 0 0: all x1"},
                             {"1.5,7", "1500000000 0 0: all x7"}};
  ExpectRead(*times, only_times);
  LoggedRequest request;
  EXPECT_EQ(MakeCsvReader({"time", "cost"}, true, "all")->Read("time,key", request).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// What a program of spreadsheets puts before the records.
TEST(CsvTest, AHeaderMayComeAfterOtherLines) {
  for (const char* before : {"", "\xEF\xBB\xBF", "# exported, 2026-10-10"}) {
    const auto reader = MakeCsvReader({"time", "key", "cost"}, true);
    const std::string first = std::string(before) + (before[0] == '#' ? "" : "Time , KEY");
    const Case cases[] = {{first, "(none)"}, {"", "(none)"}};
    ExpectRead(*reader, cases);
    const Case rest[] = {{before[0] == '#' ? "time,\"key\",cost" : "", "(none)"},
                         {"1,k", "1000000000 0 0: k x1"},
                         {"# 1,k", "(none)"},
                         {"2,#k", "2000000000 0 0: #k x1"}};
    ExpectRead(*reader, rest);
    const Case errors[] = {{"time,key", "time 'time': expected Unix seconds"}};
    ExpectErrors(*reader, errors);
  }
  const auto reader = MakeCsvReader({"time", "key"}, false);
  const Case mark[] = {
      {"\xEF\xBB\xBF"
       "1,k",
       "1000000000 0 0: k x1"}};
  ExpectRead(*reader, mark);
  const auto key_first = MakeCsvReader({"key", "time"}, false);
  const Case keys[] = {{"#general,1", "1000000000 0 0: #general x1"}};
  ExpectRead(*key_first, keys);
}

TEST(CsvTest, AHeaderWithANameInTheWrongPlaceIsRefused) {
  struct Header {
    std::vector<std::string> columns;
    std::string_view line;
    std::string_view error;
  };
  const Header headers[] = {
      {{"time", "key", "cost"}, "key,time", "has 'key' in the place of 'time'"},
      {{"time", "key", "cost"}, "ts,\"Cost\",key", "has 'cost' in the place of 'key'"},
      {{"time", "key", "cost"}, "ts,user,key", "has 'key' in the place of 'cost'"},
      {{"time", "method", "key"}, "time,user,method", "has 'method' in the place of 'key'"},
  };
  for (const Header& header : headers) {
    LoggedRequest request;
    const auto read = MakeCsvReader(header.columns, true)->Read(header.line, request);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(std::string(header.error)));
  }
  LoggedRequest request;
  EXPECT_EQ(MakeCsvReader({"time", "key"}, false)->Read("key, time", request).status().message(),
            "the header has 'key' in the place of 'time': expected the columns of the file, as in "
            "--columns key,time");
  for (const char* line : {"timestamp,user,tokens", "time,key", "TIME,user,n"}) {
    EXPECT_FALSE(*MakeCsvReader({"time", "key", "cost"}, true)->Read(line, request)) << line;
  }
  // A column may be passed over on purpose.
  EXPECT_FALSE(*MakeCsvReader({"time", "x", "key"}, false)->Read("time,cost,user", request));
}

// Each line of a quoted field with line breaks is bad, unless it reads as a record of its own.
TEST(CsvTest, ARecordIsOneLine) {
  const auto reader = MakeCsvReader({"time", "key", "cost"}, true);
  const Case errors[] = {{"1700000000,\"a", "a quote is not closed: a record is one line"},
                         {"1700000001,b\",3", "a quote inside of a field"},
                         {"1700000001,b\"", "a quote inside of a field"},
                         {"1700000001,a \"b\" c", "a quote inside of a field"},
                         {"1700000001,k,3\"", "a quote inside of a field"}};
  ExpectErrors(*reader, errors);
}

TEST(CsvTest, OtherLinesAreErrors) {
  const auto reader = MakeCsvReader({"time", "key", "cost"}, true);
  const Case cases[] = {
      {",user:42", "time '': expected Unix seconds"},
      {"-5,k", "time '-5'"},
      {"+5,k", "time '+5'"},
      {"1e9,k", "time '1e9'"},
      {"5.,k", "time '5.'"},
      {".5,k", "time '.5'"},
      {"1.2.3,k", "time '1.2.3'"},
      {" 5,k", "time ' 5'"},
      {"1700000000000,k", "time '1700000000000': expected Unix seconds"},  // milliseconds
      {"1.0000000001,k", "time '1.0000000001'"},
      {"4611686019,k", "time '4611686019'"},  // after kInstantMax
      {"\"1700000000,k", "a quote is not closed"},
      {"1700000000,\"k\"x", "expected a comma after a closing quote"},
      {"1700000000,k,1.5", "invalid cost '1.5'"},
      {"1700000000,k,-1", "invalid cost '-1'"},
      {"1700000000,k,", "invalid cost ''"},
      {"1700000000,k,9223372036854775808", "invalid cost '9223372036854775808'"},
      {"1700000000,k,1,1", "the line has 4 fields, expected 2 or 3"},
      {"1700000000", "the line has 1 field, expected 2 or 3"},
  };
  ExpectErrors(*reader, cases);
}

// --- MONITOR -------------------------------------------------------------------------------------

std::string Monitored(const std::vector<std::string_view>& words) {
  const Instant at{Nanos{1'700'000'000'250'000'000}};
  return Monitors::Line(at, "127.0.0.1:50000", words);
}

// The words as MONITOR shows them, read.
std::string ReadWords(const std::vector<std::string_view>& words) {
  const auto reader = MakeMonitorReader();
  return Read(*reader, Monitored(words));
}

TEST(MonitorTest, CommandsThatAskAreRead) {
  const std::string at = "1700000000250000000 ";
  EXPECT_EQ(ReadWords({"RL.ALLOW", "user:42", "10/s"}), at + "0 0: user:42 x1,-1");
  EXPECT_EQ(ReadWords({"rl.allow", "k", "10/s", "1k/h,cost=7", "cost", "3", "WITHLIMITS"}),
            at + "0 0: k x3,-1,7");
  EXPECT_EQ(ReadWords({"RL.ALLOW", "and", "10/s", "AND", "COST", "@free", "COST", "0"}),
            at + "0 0: and x1,-1 COST x0,-1");
  EXPECT_EQ(ReadWords({"RL.ALLOW", "a", "1/s", "AND", "OR", "2/s", "OR", "c", "3/s", "COST", "9",
                       "AND", "d", "4/s", "or", "e", "5/s", "WITHLIMITS"}),
            at + "0 0: a x1,-1 OR x1,-1");
  EXPECT_EQ(ReadWords({"RL.TAKE", "k", "10/s", "UPTO", "5"}), at + "1 5: k x1,-1");
  EXPECT_EQ(ReadWords({"RL.TAKE", "k", "10/s", "UPTO", "5", "TTL", "9", "HOLD", "AND"}),
            at + "1 5: k x1,-1");
  EXPECT_EQ(ReadWords({"RL.WAIT", "k", "10/s", "TIMEOUT", "250"}), at + "2 250: k x1,-1");
  EXPECT_EQ(ReadWords({"RL.CHARGE", "k", "10/s", "COST", "2"}), at + "3 0: k x2,-1");
  EXPECT_EQ(ReadWords({"RL.REFUND", "k", "10/s", "COST", "2"}), at + "4 0: k x2,-1");
  EXPECT_EQ(ReadWords({"RL.RESET", "k", "10/s"}), at + "5 0: k x1");
  EXPECT_EQ(ReadWords({"CL.THROTTLE", "k", "15", "30", "60"}), at + "0 0: k x1");
  EXPECT_EQ(ReadWords({"RL.THROTTLE", "k", "15", "30", "60", "4"}), at + "0 0: k x4");
  EXPECT_EQ(ReadWords({"RL.ALLOW", "k", "10/s", "AT", "1500000000"}), "1500000000 0 0: k x1,-1");
}

TEST(MonitorTest, CommandsThatForgetAreRead) {
  const std::string at = "1700000000250000000 ";
  EXPECT_EQ(ReadWords({"DEL", "user:42"}), at + "5 0: user:42 x1");
  EXPECT_EQ(ReadWords({"unlink", "a", "", "sync"}), at + "5 0: a x1  x1 sync x1");
  for (const char* name : {"FLUSHALL", "flushdb"}) {
    EXPECT_EQ(ReadWords({name}), at + "6 0:");
    EXPECT_EQ(ReadWords({name, "async"}), at + "6 0:");
    EXPECT_EQ(ReadWords({name, "SYNC"}), at + "6 0:");
  }
}

TEST(MonitorTest, OtherLinesArePassedOver) {
  for (const char* name : {"RL.PEEK", "RL.INSPECT", "RL.STATS", "PING", "GET", "MULTI"}) {
    EXPECT_EQ(ReadWords({name, "k"}), "(none)");
  }
  // Holds are not replayed.
  EXPECT_EQ(ReadWords({"RL.RESERVE", "k", "10/s", "HOLD", "a", "TTL", "9"}), "(none)");
  EXPECT_EQ(ReadWords({"RL.SLICE", "k", "10/s", "NEED", "1", "UNIT", "1", "UPTO", "5", "HOLD", "a",
                       "TTL", "9"}),
            "(none)");
  EXPECT_EQ(ReadWords({"RL.COMMIT", "k", "COST", "3", "HOLD", "a"}), "(none)");
  EXPECT_EQ(ReadWords({"RL.CANCEL", "k", "HOLD", "a"}), "(none)");
  const auto reader = MakeMonitorReader();
  const Case cases[] = {
      {"OK", "(none)"},
      {"+OK", "(none)"},
      {"", "(none)"},
      {"+1.5 [0 unix:/tmp/a [1] b] \"rl.allow\" \"k\" \"1/s\"", "1500000000 0 0: k x1,-1"},
      {"1.5 [0 lua] \"rl.allow\" \"k\" \"1/s\"", "1500000000 0 0: k x1,-1"},
  };
  ExpectRead(*reader, cases);
}

TEST(MonitorTest, OtherLinesAreErrors) {
  const auto reader = MakeMonitorReader();
  const std::string long_key(600, 'k');
  const std::string cut = Monitored({"RL.ALLOW", long_key, "1/s"});
  const std::vector<std::string_view> many(2000, "10/s");
  std::vector<std::string_view> words = {"RL.ALLOW", "k"};
  words.insert(words.end(), many.begin(), many.end());
  const std::string cut_words = Monitored(words);
  const Case cases[] = {
      {"hello", "expected a line of MONITOR"},
      {"1.5 \"PING\"", "expected a line of MONITOR"},
      {"1.5x [0 a] \"PING\"", "time '1.5x'"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k", "a quote is not closed"},
      {"1.5 [0 a] \"RL.ALLOW\"", "RL.ALLOW: expected a key"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\"", "RL.ALLOW: expected a limit after the key 'k'"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\" \"1/x\"", "invalid limit '1/x': unknown unit 'x'"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\" \"1/s\" \"COST\"", "invalid COST ''"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\" \"1/s\" \"AND\"", "expected a key"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\" \"1/s\" \"UPTO\" \"3\"", "unexpected 'UPTO'"},
      {"1.5 [0 a] \"RL.ALLOW\" \"k\" \"1/s\" \"need\" \"3\"", "unexpected 'need'"},
      {"1.5 [0 a] \"RL.TAKE\" \"k\" \"1/s\" \"UPTO\" \"5\" \"UNIT\" \"3\"", "unexpected 'UNIT'"},
      {"1.5 [0 a] \"RL.TAKE\" \"k\" \"1/s\"", "RL.TAKE: expected UPTO and a number"},
      {"1.5 [0 a] \"RL.TAKE\" \"k\" \"1/s\" \"UPTO\" \"0\"", "invalid UPTO '0'"},
      {"1.5 [0 a] \"RL.WAIT\" \"k\" \"1/s\"", "RL.WAIT: expected TIMEOUT and a number"},
      {"1.5 [0 a] \"RL.RESET\"", "RL.RESET: expected a key"},
      {"1.5 [0 a] \"DEL\"", "DEL: expected a key"},
      {"1.5 [0 a] \"FLUSHALL\" \"NOW\"", "FLUSHALL: unexpected 'NOW'"},
      {"1.5 [0 a] \"FLUSHDB\" \"SYNC\" \"ASYNC\"", "FLUSHDB: unexpected 'ASYNC'"},
      {"1.5 [0 a] \"CL.THROTTLE\" \"k\" \"1\"", "expected 4 or 5 words"},
      {"1.5 [0 a] \"CL.THROTTLE\" \"k\" \"1\" \"x\" \"1\"", "'x'"},
      {cut, "RL.ALLOW: MONITOR has cut the line"},
      {cut_words, "RL.ALLOW: MONITOR has cut the line"},
      {R"-(1.5 [0 a] "... (9 more commands)")-", "MONITOR has left out the commands before"},
  };
  ExpectErrors(*reader, cases);
}

// Words up to the length at which MONITOR cuts come back as they were, whatever their bytes.
TEST(MonitorTest, AnyWordsThatTheServerShowsComeBack) {
  CheckLaw(2'000, [] {
    const auto key = *rc::gen::arbitrary<std::string>();
    const auto other = *rc::gen::arbitrary<std::string>();
    const auto cost = *rc::gen::inRange<std::int64_t>(0, 1000);
    const std::string costs = std::to_string(cost);
    const std::string line = Monitored(
        {"RL.ALLOW", key, "10/s,cost=" + costs, "1/m", "AND", other, "1/h", "COST", costs});
    const auto reader = MakeMonitorReader();
    RC_ASSERT(Read(*reader, line) == "1700000000250000000 0 0: " + key + " x1," + costs + ",-1 " +
                                         other + " x" + costs + ",-1");
  });
}

}  // namespace
}  // namespace weir
