// Goal: a proxy that asks gets a response that it can pass on: yes, no, or trouble, and never a yes
// by mistake. Method: conversations without sockets, with a stopped clock: a route for
// each option, hostile requests, and requests in the shapes of the proxies.
#include "core/base/check.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/check_routes.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/http_server_on_disk.h"
#include "tests/support/metrics_page.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::Pair;

constexpr std::string_view kFrom7 = "X-Forwarded-For: 192.0.2.7\r\n";

class CheckTest : public testing::Test {
 protected:
  // Replaces the routes by those of a file.
  void Route(std::string_view text) {
    absl::StatusOr<CheckRoutes> routes =
        ParseCheckRoutes(text, "c.toml", [](std::string_view) { return true; });
    WEIR_CHECK(routes.ok());
    client_.server().http.checks.Replace(*std::move(routes));
  }
  // One route, with its limits and further lines.
  void RouteApi(std::string_view lines, std::string_view answer = {}) {
    Route(absl::StrCat("[api]\n", AbslView(lines), "\n[api.answer]\n", AbslView(answer), "\n"));
  }
  std::string Check(std::string_view fields = kFrom7) { return client_.Get("/check/api", fields); }
  int Status(std::string_view fields = kFrom7) { return StatusOf(Check(fields)); }

  // The keys that have a bucket or none, in the server's words.
  std::string Inspect(std::string_view key) {
    return Conversation(client_.server()).Show(absl::StrCat("RL.INSPECT ", AbslView(key)));
  }

  HttpConversation client_;
};

// Also those that are denied, or that no route answers.
TEST_F(CheckTest, InfoCountsChecksAndTheirConnections) {
  RouteApi("key = \"ip:{ip}\"\nlimits = [\"1/m\"]");
  Check();
  Check();
  client_.Get("/check/none");
  client_.Get("/livez");
  const HttpConversation admin(client_.server(), Face::kAdmin);
  Conversation resp(client_.server());
  EXPECT_THAT(resp.Ask("INFO clients").text, HasSubstr("\r\nconnected_clients:1\r\n"));
  const std::string info = resp.Ask("INFO weir").text;
  EXPECT_THAT(info, HasSubstr("\r\nchecks:3\r\n"));
  EXPECT_THAT(info, HasSubstr("\r\nhttp_connections:2\r\n"));
}

TEST_F(CheckTest, AdmissionIsEmptyAndDenialSaysWhy) {
  RouteApi("key = \"ip:{ip}\"\nlimits = [\"1/m,name=burst\", \"100/h\"]");
  const std::string yes = Check();
  EXPECT_EQ(StatusOf(yes), 200);
  EXPECT_EQ(BodyOf(yes), "");
  EXPECT_THAT(FieldOf(yes, "Content-Length"), Optional(Eq("0")));
  EXPECT_THAT(FieldOf(yes, "Cache-Control"), Optional(Eq("no-store")));
  EXPECT_THAT(FieldOf(yes, "X-Weir-Limit"), Optional(Eq("burst")));
  EXPECT_THAT(FieldOf(yes, "RateLimit"), Optional(Eq("\"burst\";r=0;t=60")));
  EXPECT_THAT(FieldOf(yes, "RateLimit-Policy"), Optional(Eq("\"burst\";q=1;w=60")));
  EXPECT_EQ(FieldOf(yes, "Content-Type"), std::nullopt);
  const std::string no = Check();
  EXPECT_EQ(StatusOf(no), 429);
  EXPECT_THAT(FieldOf(no, "Retry-After"), Optional(Eq("60")));
  EXPECT_THAT(FieldOf(no, "RateLimit"), Optional(Eq("\"burst\";r=0;t=60")));
  EXPECT_THAT(FieldOf(no, "Cache-Control"), Optional(Eq("no-store")));
  EXPECT_THAT(FieldOf(no, "X-Weir-Limit"), Optional(Eq("burst")));
  EXPECT_THAT(FieldOf(no, "Content-Type"), Optional(Eq("application/problem+json")));
  EXPECT_EQ(BodyOf(no),
            R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
            R"("title":"Request cannot be satisfied as assigned quota has been exceeded",)"
            R"("violated-policies":["burst"]})");
  client_.server().clock.Advance(std::chrono::seconds{60});
  EXPECT_EQ(Status(), 200);
}

TEST_F(CheckTest, OptionsOfTheAnswer) {
  constexpr std::string_view kLimits = "key = \"k\"\nlimits = [\"1/m\"]";
  RouteApi(kLimits, "denied = 403\nbody = \"none\"\nfields = []");
  EXPECT_EQ(Status(), 200);
  const std::string no = Check();
  EXPECT_EQ(StatusOf(no), 403);
  EXPECT_EQ(BodyOf(no), "");
  EXPECT_EQ(FieldOf(no, "Retry-After"), std::nullopt);
  // A limit without a name is shown to no user.
  RouteApi(kLimits);
  EXPECT_THAT(Check(), Not(HasSubstr("1/m")));
  EXPECT_THAT(Check(), Not(HasSubstr("violated")));
  EXPECT_THAT(FieldOf(Check(), "Retry-After"), Optional(Eq("60")));
  RouteApi(kLimits, "show = \"all\"\nfields = [\"x-ratelimit\", \"ratelimit\", \"pk\"]\n");
  EXPECT_THAT(Check(), HasSubstr("\"1/m\";r=0;t=60;pk=:"));
  EXPECT_THAT(FieldOf(Check(), "X-RateLimit-Limit"), Optional(Eq("1")));
  RouteApi(kLimits, "denied = 503");
  EXPECT_EQ(Status(), 503);
}

TEST_F(CheckTest, GroupsAreOneTransaction) {
  RouteApi(
      "key = \"ip:{ip}\"\nlimits = [\"5/m\"]\n"
      "[[api.and]]\nkey = \"tenant:{header:x-tenant}\"\nlimits = [\"1/m\"]\ncost = 1");
  EXPECT_EQ(Status("X-Forwarded-For: 192.0.2.7\r\nX-Tenant: a\r\n"), 200);
  EXPECT_EQ(Status("X-Forwarded-For: 192.0.2.7\r\nX-Tenant: a\r\n"), 429);
  EXPECT_EQ(Status("X-Forwarded-For: 192.0.2.7\r\nX-Tenant: b\r\n"), 200);
  EXPECT_EQ(Inspect("ip:192.0.2.7"), "[[\"5/m\" 3 24000 2 0]]");
}

TEST_F(CheckTest, CostIsGivenOrFilled) {
  RouteApi("key = \"k\"\nlimits = [\"10/m\"]\ncost = \"{header:x-cost}\"");
  EXPECT_EQ(Status("X-Cost: 6\r\n"), 200);
  EXPECT_EQ(Status("X-Cost: 6\r\n"), 429);
  EXPECT_EQ(Status("X-Cost: 4\r\n"), 200);
  EXPECT_EQ(Status(""), 429);  // missing
  for (const std::string_view bad : {"-1", "1.5", "x", "01", "+1", "9223372036854775808", "1 2"}) {
    const std::string response = Check(absl::StrCat("X-Cost: ", AbslView(bad), "\r\n"));
    EXPECT_EQ(StatusOf(response), 500) << bad;
    EXPECT_EQ(BodyOf(response), R"({"error":"ERR a template makes no cost"})");
    EXPECT_THAT(FieldOf(response, "Cache-Control"), Optional(Eq("no-store")));
  }
}

TEST_F(CheckTest, MissingValueDeniesAllowsOrSkips) {
  constexpr std::string_view kLimits =
      "key = \"ip:{ip}\"\nlimits = [\"1/m\"]\n"
      "[[api.and]]\nkey = \"tenant:{header:x-tenant}\"\nlimits = [\"2/m\"]";
  constexpr std::string_view kTenant = "X-Tenant: a\r\n";
  RouteApi(kLimits);
  const std::string no = Check(kTenant);
  EXPECT_EQ(StatusOf(no), 429);
  EXPECT_EQ(BodyOf(no), R"({"title":"Too Many Requests",)"
                        R"("detail":"The request lacks a value that its limits need."})");
  EXPECT_EQ(Status(), 429);
  EXPECT_EQ(Inspect("ip:192.0.2.7"), "[]");  // nothing was taken
  RouteApi(kLimits, "missing = \"allow\"");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Status(kTenant), 200);
  RouteApi(kLimits, "missing = \"skip\"");
  EXPECT_EQ(Status(), 200);
  EXPECT_EQ(Status(), 429);
  EXPECT_EQ(Status(kTenant), 200);
  EXPECT_EQ(Status(kTenant), 200);
  EXPECT_EQ(Status(kTenant), 429);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Status(""), 200);  // no group is left
  // Two of `deny` and three of `allow`; a route that skips expects them. The count outlives a
  // change of the file, and goes with its route.
  CheckRouteTable& checks = client_.server().http.checks;
  EXPECT_THAT(checks.Incomplete(), ElementsAre(Pair("api", 5)));
  EXPECT_EQ(PageOf(client_.server()).Of("weir_check_incomplete_total", {{"route", "api"}}), 5);
  Route("[other]\nkey = \"k\"\nlimits = [\"1/m\"]\n");
  EXPECT_THAT(checks.Incomplete(), ElementsAre(Pair("other", 0)));
}

// The user's own field stands to the left of the proxy's, or in a field before it.
TEST_F(CheckTest, UsersCannotChooseTheirAddress) {
  RouteApi("key = \"ip:{ip}\"\nlimits = [\"1/m\"]");
  EXPECT_EQ(Status(kFrom7), 200);
  EXPECT_EQ(Status("X-Forwarded-For: 203.0.113.1, 192.0.2.7\r\n"), 429);
  EXPECT_EQ(Status("X-Forwarded-For: 203.0.113.2\r\nX-Forwarded-For: 192.0.2.7\r\n"), 429);
  EXPECT_EQ(Status("X-Real-IP: 203.0.113.3\r\nForwarded: for=203.0.113.4\r\n"
                   "X-Forwarded-For: ::ffff:192.0.2.7\r\n"),
            429);
  EXPECT_EQ(Status("X-Forwarded-For: 192.0.2.7, nonsense\r\n"), 429);
  EXPECT_EQ(Inspect("ip:203.0.113.1"), "[]");
  RouteApi("key = \"ip:{ip}\"\nlimits = [\"1/m\"]", "ip_hops = 2");
  EXPECT_EQ(Status("X-Forwarded-For: 198.51.100.9, 192.0.2.8, 10.0.0.1\r\n"), 200);
  EXPECT_EQ(Status("X-Forwarded-For: 198.51.100.10, 192.0.2.8, 10.0.0.2\r\n"), 429);
  EXPECT_EQ(Status("X-Forwarded-For: 192.0.2.9\r\n"), 429);  // fewer hops: missing
}

TEST_F(CheckTest, NetworksOfIpv6ShareABucket) {
  RouteApi("key = \"ip:{ip}\"\nlimits = [\"1/m\"]");
  EXPECT_EQ(Status("X-Forwarded-For: 2001:db8:0:1::7\r\n"), 200);
  EXPECT_EQ(Status("X-Forwarded-For: [2001:db8:0:1:ffff::8]:1234\r\n"), 429);
  EXPECT_EQ(Status("X-Forwarded-For: 2001:db8:0:2::7\r\n"), 200);
  EXPECT_EQ(Status("X-Forwarded-For: ::ffff:192.0.2.7\r\n"), 200);
  EXPECT_EQ(Status("X-Forwarded-For: ::ffff:192.0.2.8\r\n"), 200);
}

// Goal: no field and no parameter of a user changes the question, unless a template asks for it.
TEST_F(CheckTest, FieldsAndQueryOfTheUserChangeNothing) {
  RouteApi("key = \"k\"\nlimits = [\"1/m\"]");
  EXPECT_EQ(StatusOf(client_.Get("/check/api?key=other&limit=9/s&cost=0&denied=200",
                                 "Authorization: Bearer secret\r\nX-Cost: 0\r\nX-Key: other\r\n")),
            200);
  EXPECT_EQ(StatusOf(client_.Get("/check/api?key=other&limit=9/s&cost=0",
                                 "Authorization: Basic bmVtbzpuZW1v\r\n")),
            429);
}

TEST_F(CheckTest, BytesOfValuesAreBytesOfTheKey) {
  RouteApi("key = \"t:{header:x-t}\"\nlimits = [\"1/m\"]");
  EXPECT_EQ(Status("X-T: \xFF\xC3\r\n"), 200);
  EXPECT_EQ(Status("X-T: \xFF\xC3\r\n"), 429);
  EXPECT_EQ(Status("X-T: \xFF\xC4\r\n"), 200);
  // A key may read like a keyword of RL.ALLOW.
  RouteApi(
      "key = \"{header:x-t}\"\nlimits = [\"1/m\"]\n[[api.and]]\nkey = \"{header:x-t}\"\n"
      "limits = [\"5/m\"]");
  EXPECT_EQ(Status("X-T: AND\r\n"), 200);
  EXPECT_EQ(Status("X-T: AND\r\n"), 429);
  // Of a long value the first 1,024 bytes count.
  const std::string almost(1024, 'x');
  EXPECT_EQ(Status("X-T: " + almost + "y\r\n"), 200);
  EXPECT_EQ(Status("X-T: " + almost + "z\r\n"), 429);
}

TEST_F(CheckTest, PolicyMayBeFilledButNotItsOptions) {
  static_cast<void>(Conversation(client_.server()).Show("RL.POLICY SET gold 2/m"));
  RouteApi("key = \"k\"\nlimits = [\"@{header:x-plan}\"]");
  EXPECT_EQ(Status("X-Plan: gold\r\n"), 200);
  for (const std::string_view bad : {"gold,cost=0", "tin", "gold AND x"}) {
    EXPECT_EQ(Status(absl::StrCat("X-Plan: ", AbslView(bad), "\r\n")), 500) << bad;
  }
  EXPECT_EQ(Status("X-Plan: gold\r\n"), 200);
  EXPECT_EQ(Status("X-Plan: gold\r\n"), 429);
  RouteApi("key = \"k\"\nlimits = [\"{header:x-limit}\"]");
  for (const std::string_view bad : {"WITHLIMITS", "and", "AT", "unlimit", "x"}) {
    EXPECT_EQ(Status(absl::StrCat("X-Limit: ", AbslView(bad), "\r\n")), 500) << bad;
  }
}

TEST_F(CheckTest, PolicyMayComeLater) {
  RouteApi("key = \"k\"\nlimits = [\"@later\"]");
  const std::string trouble = Check();
  EXPECT_EQ(StatusOf(trouble), 500);
  EXPECT_EQ(BodyOf(trouble), R"({"error":"ERR unknown policy 'later': RL.POLICY SET makes one"})");
  static_cast<void>(Conversation(client_.server()).Show("RL.POLICY SET later 1/m"));
  EXPECT_EQ(Status(), 200);
  EXPECT_EQ(Status(), 429);
}

TEST_F(CheckTest, AnyMethodPathAndBody) {
  RouteApi("key = \"k\"\nlimits = [\"1/m\"]");
  EXPECT_EQ(Status(), 200);
  for (const std::string_view method :
       {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    for (const std::string_view path : {"/check/api", "/check/api/", "/check/api/v1/x?y=z"}) {
      const std::string response =
          client_.Request(method, path, "Content-Length: 5\r\n", "a\r\n\r\n");
      EXPECT_EQ(StatusOf(response), 429) << method << path;
      EXPECT_EQ(BodyOf(response).empty(), method == "HEAD");
      EXPECT_FALSE(client_.closed());
    }
  }
  EXPECT_EQ(StatusOf(client_.Request("POST", "/check/api", "Transfer-Encoding: chunked\r\n",
                                     "3\r\nabc\r\n0\r\n\r\n")),
            429);
  EXPECT_EQ(StatusOf(client_.Get("/check/api")), 429);
}

TEST_F(CheckTest, UnknownRoutesAreNotFound) {
  RouteApi("key = \"k\"\nlimits = [\"1/m\"]");
  for (const std::string_view path :
       {"/check/", "/check/apis", "/check/ap", "/check//api", "/check/API", "/check/%61pi"}) {
    const std::string response = client_.Get(path);
    EXPECT_EQ(StatusOf(response), 404) << path;
    EXPECT_THAT(FieldOf(response, "Cache-Control"), Optional(Eq("no-store")));
  }
  EXPECT_EQ(StatusOf(client_.Get("/checks")), 404);
  HttpConversation admin(client_.server(), Face::kAdmin);
  EXPECT_EQ(StatusOf(admin.Get("/check/api")), 404);
  Route("");
  EXPECT_EQ(Status(), 404);
}

TEST_F(CheckTest, LimitsInTheQuery) {
  const auto get = [this](std::string_view query) {
    return client_.Get(absl::StrCat("/check?", AbslView(query)));
  };
  EXPECT_EQ(StatusOf(get("key=user%3A42&limit=3/m,name=a&limit=9/h")), 200);
  EXPECT_THAT(Inspect("user:42"), HasSubstr("[\"9/h\" 8 400000 1 0]"));
  EXPECT_THAT(Inspect("user:42"), HasSubstr("[\"3/m\" 2 20000 1 0]"));
  EXPECT_EQ(StatusOf(get("key=user:42&limit=3/m,name=a&cost=2&denied=403")), 200);
  const std::string no = get("limit=3%2fm%2Cname=a&key=user:42&denied=403");
  EXPECT_EQ(StatusOf(no), 403);
  EXPECT_THAT(FieldOf(no, "RateLimit"), Optional(Eq("\"a\";r=0;t=20")));
  EXPECT_THAT(FieldOf(no, "Retry-After"), Optional(Eq("20")));
  // A proxy's variable without a value is a denial, as in a route.
  EXPECT_EQ(StatusOf(get("key=&limit=3/m&denied=403")), 403);
  for (const std::string_view bad :
       {"", "key=k", "limit=1/s", "key=k&limit=", "key=k&limit=AND&limit=1/s", "key=k&limit=1/x",
        "key=k&limit=1/s&cost=-1", "key=k&limit=1/s&cost=1&cost=0", "key=k&key=l&limit=1/s",
        "key=k&limit=1/s&denied=200", "key=k&limit=1/s&denied=x", "key=k&limit=1/s&x=y",
        "key=%zz&limit=1/s", "key=k&limit=@none", "key=k&limit=1/s&at=0"}) {
    const std::string response = get(bad);
    EXPECT_EQ(StatusOf(response), 500) << bad;
    EXPECT_THAT(FieldOf(response, "Cache-Control"), Optional(Eq("no-store")));
  }
  EXPECT_EQ(StatusOf(client_.Get("/check")), 500);
}

TEST_F(CheckTest, LimitsInTheQueryCanBeClosed) {
  Options options = DefaultOptions();
  options.open_checks = false;
  HttpConversation client(std::make_unique<HttpTestServer>(options));
  EXPECT_EQ(StatusOf(client.Get("/check?key=k&limit=3/m")), 404);
}

// The trouble of permissions is that of the operator, not of the user: 403 would be a denial.
TEST_F(CheckTest, ChecksRunAsAUserOfTheServer) {
  TemporaryDirectory directory;
  const std::string users = directory.Write(
      "users",
      "user default on nopass ~d:* +rl.allow\nuser gateway on >secret ~g:* +rl.allow\n"
      "user reader on nopass ~* +rl.peek\n");
  ASSERT_TRUE(client_.server().services.access.Configure("", users).ok());
  Route(
      "[d]\nkey = \"{query:k}\"\nlimits = [\"9/m\"]\n"
      "[g]\nkey = \"{query:k}\"\nlimits = [\"9/m\"]\nuser = \"gateway\"\n"
      "[r]\nkey = \"{query:k}\"\nlimits = [\"9/m\"]\nuser = \"reader\"\n"
      "[n]\nkey = \"{query:k}\"\nlimits = [\"9/m\"]\nuser = \"nemo\"\n");
  EXPECT_EQ(StatusOf(client_.Get("/check/d?k=d:1")), 200);
  EXPECT_EQ(StatusOf(client_.Get("/check/d?k=g:1")), 500);
  EXPECT_EQ(StatusOf(client_.Get("/check/g?k=g:1")), 200);
  EXPECT_EQ(StatusOf(client_.Get("/check/g?k=d:1")), 500);
  EXPECT_THAT(client_.Get("/check/r?k=1"), HasSubstr("NOPERM"));
  EXPECT_EQ(StatusOf(client_.Get("/check/r?k=1")), 500);
  EXPECT_EQ(StatusOf(client_.Get("/check/n?k=1")), 500);
  // The user of a route is not that of the next request of the connection.
  EXPECT_EQ(StatusOf(client_.Get("/check/g?k=g:1")), 200);
  EXPECT_EQ(StatusOf(client_.Get("/check?key=g:1&limit=9/m")), 500);
  EXPECT_EQ(StatusOf(client_.Get("/check?key=d:1&limit=9/m",
                                 "Authorization: Basic Z2F0ZXdheTpzZWNyZXQ=\r\n")),
            200);
}

TEST_F(CheckTest, WithoutADefaultUserARouteNamesOne) {
  ASSERT_TRUE(client_.server().services.access.Configure("secret", "").ok());
  RouteApi("key = \"k\"\nlimits = [\"9/m\"]");
  EXPECT_EQ(Status("Authorization: Bearer secret\r\n"), 500);
  RouteApi("key = \"k\"\nlimits = [\"9/m\"]\nuser = \"default\"");
  EXPECT_EQ(Status(), 200);
}

// Goal: a proxy that fails open does so while weir cannot decide. Method: a state that is not
// loaded.
TEST_F(CheckTest, ServerThatLoadsItsStateIsInTrouble) {
  HttpServerOnDisk on_disk;
  HttpConversation client(on_disk.server());
  const std::string response = client.Get("/check?key=k&limit=3/m");
  EXPECT_EQ(StatusOf(response), 503);
  EXPECT_THAT(response, HasSubstr("LOADING"));
  EXPECT_THAT(FieldOf(response, "Cache-Control"), Optional(Eq("no-store")));
}

// --- The shapes of the proxies ---

struct Shape {
  std::string_view proxy;
  std::string_view original;  // the option
  std::string_view request;   // behind the request line up to the path
};

// Each asks for a POST of 192.0.2.7 to https://app.example/v1/items?id=5.
TEST_F(CheckTest, RequestsOfTheProxies) {
  const Shape shapes[] = {
      {"nginx auth_request, HTTP/1.0 by default", "x-original",
       "GET /check/api HTTP/1.0\r\nHost: weir\r\nConnection: close\r\n"
       "X-Original-URI: /v1/items?id=5\r\nX-Original-Method: POST\r\n"
       "X-Original-Host: app.example\r\nX-Forwarded-For: 192.0.2.7\r\nUser-Agent: a\r\n\r\n"},
      {"ingress-nginx", "x-original",
       "GET /check/api HTTP/1.1\r\nHost: weir\r\nX-Original-URL: "
       "https://app.example/v1/items?id=5\r\nX-Original-Method: POST\r\n"
       "X-Auth-Request-Redirect: /v1/items\r\nX-Forwarded-For: 192.0.2.7\r\n"
       "Authorization: Bearer of-the-user\r\n\r\n"},
      {"Caddy forward_auth", "x-forwarded",
       "GET /check/api HTTP/1.1\r\nHost: weir\r\nUser-Agent: a\r\nAccept-Encoding: gzip\r\n"
       "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: app.example\r\n"
       "X-Forwarded-Method: POST\r\nX-Forwarded-Proto: https\r\n"
       "X-Forwarded-Uri: /v1/items?id=5\r\n\r\n"},
      {"Traefik ForwardAuth", "x-forwarded",
       "GET /check/api HTTP/1.1\r\nHost: weir:7381\r\nUser-Agent: a\r\nContent-Type: text/plain\r\n"
       "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: app.example\r\n"
       "X-Forwarded-Method: POST\r\nX-Forwarded-Port: 443\r\nX-Forwarded-Proto: https\r\n"
       "X-Forwarded-Server: edge\r\nX-Forwarded-Uri: /v1/items?id=5\r\nX-Real-Ip: 192.0.2.7\r\n"
       "Accept-Encoding: gzip\r\n\r\n"},
      {"Envoy ext_authz with path_prefix", "path",
       "POST /check/api/v1/items?id=5 HTTP/1.1\r\nhost: app.example\r\ncontent-length: 0\r\n"
       "authorization: Bearer of-the-user\r\nx-envoy-internal: true\r\n"
       "x-forwarded-for: 192.0.2.7\r\nx-envoy-expected-rq-timeout-ms: 200\r\n\r\n"},
      {"Istio envoyExtAuthzHttp", "path",
       "POST /check/api/v1/items?id=5 HTTP/1.1\r\nhost: app.example\r\ncontent-length: 0\r\n"
       "x-envoy-attempt-count: 1\r\nx-forwarded-client-cert: By=spiffe://a;URI=spiffe://b\r\n"
       "x-request-id: 1\r\nx-forwarded-for: 192.0.2.7\r\n\r\n"},
      {"HAProxy, Lua with HEAD", "x-original",
       "HEAD /check/api HTTP/1.1\r\nhost: weir\r\nx-forwarded-for: 192.0.2.7\r\n"
       "x-original-method: POST\r\nx-original-host: app.example\r\n"
       "x-original-uri: /v1/items?id=5\r\nconnection: close\r\n\r\n"},
      {"APISIX forward-auth", "x-forwarded",
       "GET /check/api HTTP/1.1\r\nHost: weir\r\nX-Forwarded-Proto: https\r\n"
       "X-Forwarded-Method: POST\r\nX-Forwarded-Host: app.example\r\n"
       "X-Forwarded-Uri: /v1/items?id=5\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"},
  };
  for (const Shape& shape : shapes) {
    HttpTestServer server;
    absl::StatusOr<CheckRoutes> routes = ParseCheckRoutes(
        absl::StrCat("[api]\nkey = \"{ip} {method} {host} {path} {path:2}\"\nlimits = [\"1/m\"]\n"
                     "[api.answer]\noriginal = \"",
                     AbslView(shape.original), "\"\n"),
        "c.toml", [](std::string_view) { return false; });
    ASSERT_TRUE(routes.ok()) << routes.status();
    server.http.checks.Replace(*std::move(routes));
    HttpConversation first(server);
    const std::string yes = first.Send(shape.request);
    EXPECT_EQ(StatusOf(yes), 200) << shape.proxy << yes;
    EXPECT_EQ(BodyOf(yes), "");
    EXPECT_EQ(
        Conversation(server).Show("RL.INSPECT \"192.0.2.7 POST app.example /v1/items items\""),
        "[[\"1/m\" 0 60000 1 0]]")
        << shape.proxy;
    HttpConversation second(server);
    EXPECT_EQ(StatusOf(second.Send(shape.request)), 429) << shape.proxy;
  }
}

}  // namespace
}  // namespace weir
