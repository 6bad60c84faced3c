// Goal: a file of check routes is read as a whole or not at all, and an error names the line, the
// route and what would be right. Method: a file with every key; each kind of mistake.
#include "server/http/check_routes.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

absl::StatusOr<CheckRoutes> Parse(std::string_view text) {
  return ParseCheckRoutes(text, "c.toml", [](std::string_view name) { return name == "gateway"; });
}

std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<CheckRoutes> routes = Parse(text);
  return routes.ok() ? "none" : std::string(StdView(routes.status().message()));
}

TEST(CheckRoutesTest, EveryKeyIsRead) {
  const absl::StatusOr<CheckRoutes> routes = Parse(R"(
[api]                                   # any method on /check/api and below
key    = "ip:{ip}"
limits = ["@api", "@{header:x-plan}", "10/s,name=burst"]
cost   = "{header:x-cost}"
user   = "gateway"
[[api.and]]
key    = "tenant:{header:x-tenant}"
limits = ["@tenant"]
cost   = 7
[api.answer]
denied  = 403
missing = "skip"
fields  = ["x-ratelimit", "pk"]
show    = "decisive"
body    = "none"
ip_hops = 2
ipv6    = 56
original = "path"
)");
  ASSERT_TRUE(routes.ok()) << routes.status();
  ASSERT_THAT(*routes, SizeIs(1));
  const CheckRoute& route = *routes->at("api");
  EXPECT_EQ(route.user, "gateway");
  ASSERT_THAT(route.groups, SizeIs(2));
  EXPECT_EQ(route.groups[0].key.text(), "ip:{ip}");
  ASSERT_THAT(route.groups[0].limits, SizeIs(3));
  EXPECT_EQ(route.groups[0].limits[2].text(), "10/s,name=burst");
  EXPECT_EQ(route.groups[0].cost->text(), "{header:x-cost}");
  EXPECT_EQ(route.groups[1].key.text(), "tenant:{header:x-tenant}");
  EXPECT_EQ(route.groups[1].cost->text(), "7");
  EXPECT_EQ(route.answer.denied, 403);
  EXPECT_EQ(route.answer.missing, OnMissing::kSkip);
  EXPECT_FALSE(route.answer.fields.rate_limit);
  EXPECT_FALSE(route.answer.fields.retry_after);
  EXPECT_TRUE(route.answer.fields.x_rate_limit);
  EXPECT_TRUE(route.answer.fields.partition_key);
  EXPECT_EQ(route.answer.fields.show, ShownLimits::kDecisive);
  EXPECT_FALSE(route.answer.has_problem);
  EXPECT_EQ(route.proxy.ip_hops, 2);
  EXPECT_EQ(route.proxy.ipv6_bits, 56);
  EXPECT_EQ(route.proxy.original, OriginalRequest::kPath);
}

TEST(CheckRoutesTest, FallbacksAreThoseOfTheDocs) {
  const absl::StatusOr<CheckRoutes> routes = Parse("[a]\nkey = \"k\"\nlimits = [\"10/s\"]\n");
  ASSERT_TRUE(routes.ok()) << routes.status();
  const CheckRoute& route = *routes->at("a");
  EXPECT_EQ(route.user, "");
  EXPECT_FALSE(route.groups[0].cost.has_value());
  EXPECT_EQ(route.answer.denied, 429);
  EXPECT_EQ(route.answer.missing, OnMissing::kDeny);
  EXPECT_TRUE(route.answer.fields.rate_limit);
  EXPECT_TRUE(route.answer.fields.retry_after);
  EXPECT_FALSE(route.answer.fields.x_rate_limit);
  EXPECT_FALSE(route.answer.fields.partition_key);
  EXPECT_EQ(route.answer.fields.show, ShownLimits::kNamed);
  EXPECT_TRUE(route.answer.has_problem);
  EXPECT_EQ(route.proxy.ip_hops, 1);
  EXPECT_EQ(route.proxy.ipv6_bits, 64);
  EXPECT_EQ(route.proxy.original, OriginalRequest::kXForwarded);
  EXPECT_THAT(*Parse(""), SizeIs(0));
}

TEST(CheckRoutesTest, MistakesAreToldWithTheirLine) {
  const std::string good = "[a]\nkey = \"k\"\nlimits = [\"10/s\"]\n";
  const std::string answer = good + "[a.answer]\n";
  const std::pair<std::string, std::string> cases[] = {
      {"[a]\nkey = ", "c.toml:2: "},
      {"a = 1", "c.toml:1: unexpected 'a': a file of checks has one table a route, as in [api]"},
      {"\n['b c']", "c.toml:2: the name of a route 'b c' must be 1 to 64 of letters, digits"},
      {"[a]\nlimits = [\"10/s\"]", "c.toml:1: route 'a': it must have a key"},
      {"[a]\nkey = \"k\"", "c.toml:1: route 'a': it must have limits"},
      {"[a]\nkey = 1\nlimits = [\"10/s\"]", "c.toml:2: route 'a': key must be a text in quotes"},
      {"[a]\nkey = \"\"\nlimits = [\"10/s\"]", "c.toml:2: route 'a': key is empty"},
      {"[a]\nkey = \"{id}\"\nlimits = [\"10/s\"]",
       "c.toml:2: route 'a': template '{id}': unknown variable 'id': it must be {ip}"},
      {"[a]\nkey = \"\xC3\xBC\"\nlimits = [\"10/s\"]",
       "c.toml:2: route 'a': key: write letters outside of ASCII as \\u00e9"},
      {"[a]\nkey = \"k\"\nlimits = \"10/s\"", "c.toml:3: route 'a': limits must be a list"},
      {"[a]\nkey = \"k\"\nlimits = []", "c.toml:3: route 'a': it must have 1 to 64 limits"},
      {"[a]\nkey = \"k\"\nlimits = [\n\"1/s\",\n\"10/x\"]",
       "c.toml:5: route 'a': invalid limit '10/x': unknown unit 'x'"},
      {"[a]\nkey = \"k\"\nlimits = [\"AND\"]", "c.toml:3: route 'a': invalid limit 'AND'"},
      {"[a]\nkey = \"k\"\nlimits = [\"1/s,name=RL.ALLOW\"]", "c.toml:3: route 'a': invalid limit"},
      {good + "cost = -1", "c.toml:4: route 'a': cost must be a number from 0, or a template"},
      {good + "cost = \"1.5\"", "c.toml:4: route 'a': cost must be a number"},
      {good + "cost = true", "c.toml:4: route 'a': cost must be a text"},
      {good + "user = \"nemo\"", "c.toml:4: route 'a': user 'nemo' is unknown or off"},
      {good + "once = 1", "c.toml:4: route 'a': once must be a text in quotes"},
      {good + "once = \"id\"", "c.toml:4: route 'a': once must have a variable, as in once = "},
      {good + "once = \"{id}\"", "c.toml:4: route 'a': template '{id}': unknown variable"},
      {good + "limit = 1", "c.toml:4: route 'a': unknown key 'limit': a route has key, limits"},
      {good + "and = 1", "c.toml:4: route 'a': more groups are written as [[a.and]]"},
      {good + "and = [1]", "c.toml:4: route 'a': more groups are written as [[a.and]]"},
      {good + "[[a.and]]\nkey = \"k\"", "c.toml:4: route 'a': it must have limits"},
      {good + "[[a.and]]\nuser = \"gateway\"", "c.toml:5: route 'a': unknown key 'user': a group"},
      {good + "answer = 1", "c.toml:4: route 'a': its answer is written as [a.answer]"},
      {answer + "denied = 200", "c.toml:5: route 'a': denied must be a status from 400 to 499"},
      {answer + "denied = 500", "c.toml:5: route 'a': denied must be a status"},
      {answer + "denied = \"429\"", "c.toml:5: route 'a': denied must be a status"},
      {answer + "missing = \"no\"",
       "c.toml:5: route 'a': missing must be one of deny, allow, skip"},
      {answer + "show = 1", "c.toml:5: route 'a': show must be one of named, all, decisive, none"},
      {answer + "body = \"\"", "c.toml:5: route 'a': body must be one of problem, none"},
      {answer + "original = \"\"",
       "c.toml:5: route 'a': original must be one of x-forwarded, x-original, path"},
      {answer + "fields = \"pk\"", "c.toml:5: route 'a': fields must be a list of ratelimit"},
      {answer + "fields = [\"RateLimit\"]", "c.toml:5: route 'a': fields must be a list of"},
      {answer + "ip_hops = 0", "c.toml:5: route 'a': ip_hops must be from 1 to 32"},
      {answer + "ipv6 = 129", "c.toml:5: route 'a': ipv6 must be from 1 to 128"},
      {answer + "status = 1", "c.toml:5: route 'a': unknown key 'status': an answer has denied"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(ErrorOf(text), StartsWith(error)) << text;
}

TEST(CheckRoutesTest, WhatNoRequestCanPassIsAMistake) {
  const std::string good = "[a]\nkey = \"k\"\nlimits = [\"10/s\"]\n";
  const std::string answer = good + "[a.answer]\n";
  const std::pair<std::string, std::string> cases[] = {
      // Routes that can only answer 500, or deny.
      {"[a]\nkey = \"k\"\nlimits = [\"5,held\"]", "c.toml:3: route 'a': '5,held' needs RL.RESERVE"},
      {"[a]\nkey = \"k\"\nlimits = [\"1/s\",\n\"5/s,keep=5\"]",
       "c.toml:4: route 'a': no request can pass '5/s,keep=5' at a cost of 1"},
      {"[a]\nkey = \"k\"\nlimits = [\"5/s,cost=6\"]",
       "c.toml:3: route 'a': no request can pass '5/s,cost=6' at a cost of 6"},
      {"[a]\nkey = \"k\"\nlimits = [\"5/s,keep=2\"]\ncost = 4",
       "c.toml:3: route 'a': no request can pass '5/s,keep=2' at a cost of 4"},
      {"[a]\nkey = \"k\"\nlimits = [\"5/m,fixed,keep=6\"]\ncost = \"{header:x-cost}\"",
       "c.toml:3: route 'a': no request can pass '5/m,fixed,keep=6' at a cost of 0"},
      {good + "[[a.and]]\nkey = \"l\"\nlimits = [\"5,held\"]",
       "c.toml:6: route 'a': '5,held' needs RL.RESERVE"},
      // Lists that have one item twice.
      {"[a]\nkey = \"k\"\nlimits = [\"@p\", \"1/s\",\n\"@p\"]",
       "c.toml:4: route 'a': '@p' is there twice"},
      {"[a]\nkey = \"k\"\nlimits = [\"60/m\", \"60/60s,name=x\"]",
       "c.toml:3: route 'a': '60/60s,name=x' is there twice"},
      {"[a]\nkey = \"k\"\nlimits = [\"@{header:x}\", \"@{header:x}\"]",
       "c.toml:3: route 'a': '@{header:x}' is there twice"},
      {answer + "fields = [\"pk\", \"pk\"]", "c.toml:5: route 'a': 'pk' is there twice"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(ErrorOf(text), StartsWith(error)) << text;
}

// A policy may be made later, the limit "none" denies on purpose, and a shadow limit never denies.
TEST(CheckRoutesTest, LimitsThatMayAdmitAreTaken) {
  for (const char* const limits :
       {"\"@p\"", "\"none\"", "\"5/s,keep=4\"", "\"5/s,cost=5\"", "\"5/s,keep=9,shadow\"",
        "\"{header:x}\"", "\"1/s\", \"1/m\"", "\"1/m\", \"1/m,fixed\"", "\"@p\", \"@q\""}) {
    EXPECT_TRUE(Parse("[a]\nkey = \"k\"\nlimits = [" + std::string(limits) + "]").ok()) << limits;
  }
}

TEST(CheckRoutesTest, FileHasBounds) {
  std::string text;
  for (std::size_t i = 0; i < kCheckRoutesMax; ++i) {
    text += "[r" + std::to_string(i) + "]\nkey = \"k\"\nlimits = [\"@p\"]\n";
  }
  EXPECT_THAT(*Parse(text), SizeIs(kCheckRoutesMax));
  EXPECT_THAT(ErrorOf(text + "[z]\nkey = \"k\"\nlimits = [\"@p\"]\n"),
              HasSubstr("a file of checks has at most 1000 routes"));
  std::string groups = "[a]\nkey = \"k\"\nlimits = [\"@p\"]\n";
  for (std::size_t i = 1; i < kCheckGroupsMax; ++i) {
    groups += "[[a.and]]\nkey = \"k\"\nlimits = [\"@p\"]\n";
  }
  EXPECT_THAT(Parse(groups)->at("a")->groups, SizeIs(kCheckGroupsMax));
  EXPECT_THAT(ErrorOf(groups + "[[a.and]]\nkey = \"k\"\nlimits = [\"@p\"]\n"),
              HasSubstr("it has at most 8 groups"));
  std::string limits = "[a]\nkey = \"k\"\nlimits = [\"1/s\"";
  for (std::size_t i = 1; i < kChecksMax; ++i) limits += ",\"" + std::to_string(i + 1) + "/s\"";
  EXPECT_TRUE(Parse(limits + "]").ok());
  EXPECT_THAT(ErrorOf(limits + "]\n[[a.and]]\nkey = \"l\"\nlimits = [\"1/s\"]"),
              HasSubstr("its groups have more than 64 limits together"));
}

TEST(CheckRoutesTest, IncompleteChecksAreToldOnceAMinuteAndRoute) {
  CheckRouteTable table;
  CheckRoutes routes;
  for (const char* name : {"a", "b"}) routes.emplace(name, std::make_shared<const CheckRoute>());
  table.Replace(routes);
  const HostInstant begin{Nanos{0}};
  EXPECT_THAT(table.AddIncomplete("a", begin), Optional(1));
  EXPECT_THAT(table.AddIncomplete("a", begin + kIncompleteInterval / 2), Eq(std::nullopt));
  EXPECT_THAT(table.AddIncomplete("b", begin + kIncompleteInterval / 2), Optional(1));
  EXPECT_THAT(table.AddIncomplete("a", begin + kIncompleteInterval), Optional(2));
  EXPECT_THAT(table.AddIncomplete("none", begin), Eq(std::nullopt));
  EXPECT_THAT(table.Incomplete(), ElementsAre(Pair("a", 3), Pair("b", 1)));
}

TEST(CheckRoutesTest, FilesAreReadOrTheReasonIsTold) {
  TemporaryDirectory directory;
  const auto no_user = [](std::string_view) { return false; };
  const std::string path = directory.Write("c.toml", "[a]\nkey = \"k\"\nlimits = [\"@p\"]\n");
  EXPECT_TRUE(ReadCheckRoutes(path, no_user).ok());
  const absl::Status absent = ReadCheckRoutes(path + "x", no_user).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(StdView(absent.message())),
              StartsWith("cannot read the file of checks " + path + "x: No such file"));
}

}  // namespace
}  // namespace weir
