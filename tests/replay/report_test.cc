// Goal: the table and the JSON show the same numbers, and bytes of a log cannot harm a terminal or
// the JSON. Method: one report in both forms; the table as it stands, the JSON read again.
#include "replay/report.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Report SmallReport() {
  const Instant begin{Nanos{1'700'000'000'250'000'000}};
  Report report;
  report.log = {.name = "a.log",
                .format = LogFormat::kMonitor,
                .lines = 12,
                .requests = 8,
                .refunds = 1,
                .passed_over = 2,
                .bad_lines = 3,
                .late_lines = 2,
                .first_bad_lines = {{7, "time 'x'"}, {8, "late"}},
                .begin = begin,
                .end = begin + std::chrono::minutes{1},
                .end_line = 6};
  report.asks.push_back({.ask = "{key} 1/s 5/m",
                         .requests = 8,
                         .admitted = 7,
                         .by_alternative = {5, 2},
                         .keys_denied = 1,
                         .limits = {{"1/s", 1, 1}, {"5/m", 0, 0}},
                         .worst_keys = {{"a\x1b", 1, 1, begin}},
                         .fits = {{"1/s", 3}, {"5/m", std::nullopt}}});
  report.asks.push_back({.ask = "{key} none",
                         .requests = 8,
                         .admitted = 0,
                         .keys_denied = 3,
                         .limits = {{"none", 8, 8}},
                         .worst_keys = {},
                         .fits = {}});
  report.comparison = {.both = 0, .only_first = 7, .only_second = 0, .neither = 1};
  report.fit_percent = "99.9";
  return report;
}

constexpr const char* kTable =
    R"(a.log: 12 lines, 8 requests, 1 refund or reset
from 2023-11-14 22:13:20.250 UTC to 2023-11-14 22:14:20.250 UTC
read as a capture of MONITOR
2 lines passed over: no request
3 bad lines left out:
  line 7: time 'x'
  line 8: late
  ...
2 of these go back in time too far; the latest time is that of line 6

{key} 1/s 5/m
  requests                     8
  admitted                     7    87.500 %
    alternative 0              5    62.500 %
    alternative 1              2    25.000 %
  denied                       1    12.500 %
  keys denied                  1

     its denials        decided  limit
               1              1  1/s
               0              0  5/m

         denials       in a row  first denial                 key
               1              1  2023-11-14 22:13:20.250 UTC  a\x1b

  the smallest burst that admits 99.9 %, each limit alone
               3  1/s
            none  5/m

{key} none
  requests                     8
  admitted                     0     0.000 %
  denied                       8   100.000 %
  keys denied                  3

     its denials        decided  limit
               8              8  none

  the smallest burst that admits 99.9 %, each limit alone
  no limit of this ask has a burst

admitted by
  both                         0
  only the first               7
  only the second              0
  neither                      1

Clients react to denials by waiting, repeating or giving up; a log does not.
MONITOR cuts words after 512 bytes and costs the server a line for each request: capture briefly.
)";

TEST(ReportTest, TheTableShowsAllNumbers) { EXPECT_EQ(TableOf(SmallReport()), kTable); }

TEST(ReportTest, TheJsonHasTheNumbersOfTheTable) {
  const nlohmann::json json = nlohmann::json::parse(JsonOf(SmallReport()));
  const nlohmann::json& log = json["log"];
  EXPECT_EQ(log["name"], "a.log");
  EXPECT_EQ(log["format"], "monitor");
  EXPECT_EQ(log["lines"], 12);
  EXPECT_EQ(log["requests"], 8);
  EXPECT_EQ(log["refunds_and_resets"], 1);
  EXPECT_EQ(log["passed_over"], 2);
  EXPECT_EQ(log["bad_lines"], 3);
  EXPECT_EQ(log["late_lines"], 2);
  EXPECT_EQ(log["end_line"], 6);
  EXPECT_EQ(log["first_bad_lines"], nlohmann::json::parse(R"([{"line": 7, "error": "time 'x'"},
                                                              {"line": 8, "error": "late"}])"));
  EXPECT_EQ(log["begin_ns"], 1'700'000'000'250'000'000);
  EXPECT_EQ(log["end_ns"], 1'700'000'060'250'000'000);
  EXPECT_EQ(json["asks"].size(), 2U);
  EXPECT_EQ(json["asks"][0], nlohmann::json::parse(R"({
    "ask": "{key} 1/s 5/m", "requests": 8, "admitted": 7, "denied": 1, "keys_denied": 1,
    "admitted_by_alternative": [5, 2],
    "limits": [{"limit": "1/s", "denials": 1, "decided": 1},
               {"limit": "5/m", "denials": 0, "decided": 0}],
    "worst_keys": [{"key": "a\u001b", "denials": 1, "longest_streak": 1,
                    "first_denial_ns": 1700000000250000000}],
    "fits": [{"limit": "1/s", "burst": 3}, {"limit": "5/m", "burst": null}]})"));
  EXPECT_EQ(
      json["comparison"],
      nlohmann::json::parse(R"({"both": 0, "only_first": 7, "only_second": 0, "neither": 1})"));
  EXPECT_EQ(json["fit_percent"], "99.9");
  EXPECT_THAT(json["caveats"], testing::SizeIs(2));
}

TEST(ReportTest, PartsThatWereNotAskedForAreLeftOut) {
  Report report = SmallReport();
  report.asks.pop_back();
  report.comparison.reset();
  report.fit_percent.clear();
  report.log.format = LogFormat::kAccess;
  const nlohmann::json json = nlohmann::json::parse(JsonOf(report));
  EXPECT_FALSE(json.contains("comparison"));
  EXPECT_FALSE(json.contains("fit_percent"));
  EXPECT_EQ(Caveats(report.log).size(), 1U);
  const std::string table = TableOf(report);
  for (const char* part : {"admitted by", "burst", "MONITOR"}) {
    EXPECT_THAT(table, testing::Not(HasSubstr(part)));
  }
}

TEST(ReportTest, BytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(Printable("a\\\"'\n\x7f\xc3\xbc"), R"(a\\"'\x0a\x7f\xc3\xbc)");
  Report report = SmallReport();
  report.asks[0].worst_keys[0].key = "ü\xff";
  const nlohmann::json json = nlohmann::json::parse(JsonOf(report));
  EXPECT_EQ(json["asks"][0]["worst_keys"][0]["key"], "ü\uFFFD");
}

}  // namespace
}  // namespace weir
