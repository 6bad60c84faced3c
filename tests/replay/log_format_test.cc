// Goal: the first bytes of a line tell its format, and a log that is not read is named. Method: a
// line of each program.
#include "replay/log_format.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(LogFormatTest, ALineTellsItsFormat) {
  struct Told {
    std::string_view line;
    std::optional<LogFormat> format;
  };
  const Told cases[] = {
      {R"({"ts":1})", LogFormat::kJson},
      {"{", LogFormat::kJson},
      {"OK", LogFormat::kMonitor},
      {"+OK", LogFormat::kMonitor},
      {R"(1.5 [0 a] "PING")", LogFormat::kMonitor},
      {R"(+1700000000.250000 [0 127.0.0.1:5] "PING")", LogFormat::kMonitor},
      {"1700000000,k", LogFormat::kCsv},
      {"1700000000.25,k,3", LogFormat::kCsv},
      {"2023-11-16 18:17:03.9799600,4808,10", LogFormat::kCsv},
      {"\"2023-11-16T18:17:03Z\",k", LogFormat::kCsv},
      {"time,key,cost", LogFormat::kCsv},
      {"TIMESTAMP,ContextTokens,GeneratedTokens", LogFormat::kCsv},
      {"user, \"time\"", LogFormat::kCsv},
      {R"(192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] "GET /a,b HTTP/1.1" 200 9)", std::nullopt},
      {R"(www:80 192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 9)", std::nullopt},
      {R"(192.0.2.7, 192.0.2.8 - - [10/Oct/2026:13:55:36 +0200] "GET /" 200 9)", std::nullopt},
      {"", std::nullopt},
      {"time", std::nullopt},
      {"hello, world", std::nullopt},
      {"1.5 \"PING\"", std::nullopt},
      {"1700000000 [0 a] \"PING\"", std::nullopt},
      {"1700000000", std::nullopt},
  };
  for (const Told& one : cases) EXPECT_EQ(TellFormat(one.line), one.format) << one.line;
}

TEST(LogFormatTest, ALogThatIsNotReadIsNamed) {
  constexpr std::string_view kBinary("PAR1\0\x15", 6);
  const std::string_view cases[][2] = {
      {"\xFF\xFE{", "text in UTF-16"},
      {kBinary, "a binary file"},
      {R"([{"ts":1},)", "an array of JSON"},
      {"[", "an array of JSON"},
      {"{", "JSON of several lines"},
      {R"({"log":"192.0.2.7 - -\n","stream":"stdout","time":"2023-11-14T22:13:20Z"})",
       "Docker's file of a container's output"},
      {R"({"__REALTIME_TIMESTAMP":"1","MESSAGE":"x"})", "systemd's journal in JSON"},
      {"https 2018-07-02T22:23:00.186641Z app/my-lb/50dc 192.0.2.7:2817 10.0.0.1:80 0.086",
       "the log of an AWS load balancer"},
      {"#Software: Microsoft Internet Information Services 10.0", "a log of W3C's extended format"},
      {"#Version: 1.0", "a log of W3C's extended format"},
      {"2026/10/10 13:55:36 [error] 7#7: *1 open() failed", "nginx's log of errors"},
      {"[Sat Oct 10 13:55:36.123456 2026] [core:error] [pid 7] AH00135", "Apache's log of errors"},
      {"2026/10/10 13:55:36.123\tINFO\thttp.log.access\thandled request\t{}",
       "Caddy's console format"},
      {R"([2026-10-10T13:55:36.310Z] "GET / HTTP/1.1" 200 - 0 9)", "Envoy's format"},
      {"192.0.2.7:33317 [10/Oct/2026:13:55:36.655] http-in static/srv1 10/0/30/69/109 200 2750",
       "the log of HAProxy"},
      {"Oct 10 13:55:36 lb haproxy[14389]: 192.0.2.7:33317 [10/Oct/2026:13:55:36.655] in",
       "the log of HAProxy"},
      {R"(Oct  1 13:55:36 web nginx: 192.0.2.7 - - [01/Oct/2026:13:55:36 +0200] "GET /" 200 9)",
       "syslog"},
      {"<190>Oct 10 13:55:36 web nginx: 192.0.2.7", "syslog"},
      {"2026-10-10T13:55:36.123456+02:00 web nginx: 192.0.2.7", "syslog"},
      {"2026-10-10 13:55:36\tk\t1", "values with tabs"},
      {"1700000000;k;1", "values with semicolons"},
      {"time=2026-10-10T13:55:36Z level=info msg=\"x\"", "logfmt"},
  };
  for (const auto& [line, name] : cases) {
    const std::optional<UnreadFormat> unread = TellUnread(line);
    ASSERT_TRUE(unread.has_value()) << line;
    EXPECT_EQ(unread->name, name) << line;
    EXPECT_FALSE(unread->use.empty());
  }
  for (const std::string_view line :
       {R"({"ts":1})", "1,k", "time,key", "OK", "", "hello",
        R"(192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] "GET /?a=b;c HTTP/1.1" 200 9)",
        R"([2001:db8::1]:443 192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] "GET /" 200 9)"}) {
    EXPECT_FALSE(TellUnread(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace weir
