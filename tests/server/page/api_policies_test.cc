// Goal: /api/policies shows and changes policies and overrides as RL.POLICY does; and no request
// that may have come from another site, or without a log-in, changes anything.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/policies/policy_file.h"
#include "tests/server/page/page_client.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kUsers =
    "user default on nopass ~* +@all\n"
    "user ops on >pw ~* +@all\n"
    "user eye on >pw ~* +@read\n"
    "user some on >pw ~app:* +@all\n";
constexpr std::string_view kTwoASecond = R"({"limits":["2/s"]})";

// As many limits as a policy may have, and long names: 5,300 bytes of JSON.
std::string LongLimits() {
  std::string limits;
  for (int i = 0; i < 64; ++i) limits += " 1000/d,name=" + std::string(60, 'n') + std::to_string(i);
  return limits;
}

std::string Ops() { return Basic("ops", "pw"); }

TEST(ApiPoliciesTest, AllAreListedByName) {
  PageClient client;
  EXPECT_EQ(JsonOf(client.Get("/api/policies")), json::parse(R"({"policies":[],"more":0})"));
  (void)client.Run("RL.POLICY SET paid 20/s 1000/h");
  (void)client.Run("RL.POLICY SET free 2/s");
  (void)client.Run("RL.POLICY OVERRIDE free vip 100/s");
  EXPECT_EQ(JsonOf(client.Get("/api/policies")), json::parse(R"({"policies":[
      {"name":"free","limits":["2/s"],"retired":false,"from_file":false,"file":null,
       "overrides":1},
      {"name":"paid","limits":["20/s","1000/h"],"retired":false,
       "from_file":false,"file":null,"overrides":0}],
      "more":0})"));
}

// The page must not offer a command for it, because the server would refuse the command. A replica
// has its primary's policies, and no file.
TEST(ApiPoliciesTest, APolicyOfTheFileNamesTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("p.toml", "[policies]\nfree = [\"2/s\", \"9/h\"]\n");
  const absl::StatusOr<PolicyFile> file = ReadPolicyFile(path);
  ASSERT_TRUE(file.ok());
  for (const std::string& option : {path, std::string()}) {
    Options options = DefaultOptions();
    options.admin_hosts.names = {"weir"};
    options.policies = option;
    HttpConversation client(std::make_unique<HttpTestServer>(options), Face::kAdmin);
    Services& services = client.server().services;
    ASSERT_TRUE(services.ReplacePolicyFile(*file).ok());
    const json shown = JsonOf(client.Get("/api/policies/free"));
    EXPECT_EQ(shown["from_file"], true);
    EXPECT_EQ(shown["file"], option.empty() ? json(nullptr) : json(option));
    EXPECT_EQ(JsonOf(client.Get("/api/policies"))["policies"][0]["file"], shown["file"]);
    ASSERT_TRUE(services.ReplacePolicyFile({}).ok());
    EXPECT_EQ(JsonOf(client.Get("/api/policies/free"))["file"], nullptr) << "it is retired";
  }
}

TEST(ApiPoliciesTest, OneIsShownWithItsOverrides) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 2/s");
  (void)client.Call({"RL.POLICY", "OVERRIDE", "free", "<img onerror=alert(1)>", "9/s"});
  (void)client.Call({"RL.POLICY", "OVERRIDE", "free", "\xff", "7/s"});
  const json shown = JsonOf(client.Get("/api/policies/free"));
  EXPECT_EQ(shown["limits"], json::parse(R"(["2/s"])"));
  EXPECT_EQ(shown["more"], 0);
  EXPECT_EQ(shown["overrides"], json::parse(R"([
      {"key":"<img onerror=alert(1)>","k":"%3Cimg%20onerror%3Dalert%281%29%3E","limits":["9/s"]},
      {"key":"\ufffd","k":"%FF","limits":["7/s"]}])"));
  EXPECT_EQ(StatusOf(client.Get("/api/policies/none")), 404);
  EXPECT_EQ(StatusOf(client.Get("/api/policies/free/nothing")), 404);
  EXPECT_EQ(StatusOf(client.Get("/api/policies/%4")), 404);
}

TEST(ApiPoliciesTest, AThousandOverridesAreShown) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 2/s");
  for (int i = 0; i < 1003; ++i) {
    (void)client.Call({"RL.POLICY", "OVERRIDE", "free", "k" + std::to_string(i), "9/s"});
  }
  const json shown = JsonOf(client.Get("/api/policies/free"));
  EXPECT_EQ(shown["overrides"].size(), 1000U);
  EXPECT_EQ(shown["more"], 3);
}

// A turn writes about 128 KiB, so that other clients need not wait for the whole.
TEST(ApiPoliciesTest, ALongAnswerIsWrittenInSeveralTurns) {
  constexpr std::size_t kMembers = 100;
  const std::string limits = LongLimits();
  PageClient client;
  for (std::size_t i = 0; i < kMembers; ++i) {
    (void)client.Run("RL.POLICY SET p" + std::to_string(i) + limits);
    (void)client.Run("RL.POLICY OVERRIDE p0 k" + std::to_string(i) + limits);
    (void)client.Run("RL.POLICY OVERRIDE p" + std::to_string(i) + " k" + limits);
  }
  for (const auto& [target, list] :
       {std::pair("/api/policies", "policies"), std::pair("/api/policies/p0", "overrides"),
        std::pair("/api/key?k=k", "overrides")}) {
    const int before = client.http().turns();
    const std::string response = client.Get(target);
    const json shown = JsonOf(response);
    EXPECT_GE(shown[list].size(), kMembers) << target;
    EXPECT_EQ(shown[list].back()["limits"].size(), 64U) << target;
    EXPECT_EQ(shown["more"], 0) << target;
    EXPECT_GE(client.http().turns() - before, static_cast<int>(response.size() / 150'000))
        << target;
  }
}

TEST(ApiPoliciesTest, WhatIsTooLongIsCounted) {
  const std::string limits = LongLimits();
  PageClient client;
  (void)client.Run("RL.POLICY SET p 1/s");
  for (int i = 0; i < 900; ++i) {
    (void)client.Run("RL.POLICY OVERRIDE p k" + std::to_string(i) + limits);
  }
  const json shown = JsonOf(client.Get("/api/policies/p"));
  EXPECT_GT(shown["more"], 0);
  EXPECT_EQ(shown["overrides"].size() + shown["more"].get<std::size_t>(), 900U);
}

TEST(ApiPoliciesTest, ChangesAreThoseOfTheCommands) {
  PageClient client(kUsers);
  const auto change = [&](std::string_view method, std::string_view target, std::string_view body) {
    const std::string response = client.Change(method, target, body, Ops());
    EXPECT_EQ(StatusOf(response), 200) << target << response;
    EXPECT_EQ(BodyOf(response), R"({"ok":true})");
  };
  change("POST", "/api/policies/free", R"({"limits":["2/s","1000/h"]})");
  EXPECT_EQ(client.Run("RL.POLICY GET free"), "\"2/s\" \"1000/h\"");
  change("POST", "/api/policies/free/overrides?k=vip%20%41", R"({"limits":["100/s"]})");
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDES free"), "[[\"vip A\" \"100/s\"]]");
  change("DELETE", "/api/policies/free/overrides?k=vip%20A", "");
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDES free"), "[]");
  change("DELETE", "/api/policies/free", "");
  EXPECT_EQ(client.Run("RL.POLICY GET free"), "nil");
}

TEST(ApiPoliciesTest, MistakesAreTheErrorsOfTheCommands) {
  PageClient client(kUsers);
  const auto error = [&](std::string_view method, std::string_view target, std::string_view body) {
    const std::string response = client.Change(method, target, body, Ops());
    EXPECT_EQ(StatusOf(response), 400) << response;
    return std::string(BodyOf(response));
  };
  EXPECT_THAT(error("POST", "/api/policies/free", R"({"limits":["2/parsec"]})"),
              HasSubstr("2/parsec"));
  EXPECT_THAT(error("POST", "/api/policies/free", R"({"limits":[]})"), HasSubstr("'limits'"));
  EXPECT_THAT(error("POST", "/api/policies/free", R"({"limits":"2/s"})"), HasSubstr("'limits'"));
  EXPECT_THAT(error("POST", "/api/policies/free", R"({"limits":["2/s"],"cost":1})"),
              HasSubstr("unknown field 'cost'"));
  EXPECT_THAT(error("POST", "/api/policies/free", "[]"), HasSubstr("must be an object"));
  EXPECT_THAT(error("POST", "/api/policies/free", "{"), HasSubstr("invalid JSON"));
  EXPECT_THAT(error("DELETE", "/api/policies/none", ""), HasSubstr("unknown policy"));
  EXPECT_THAT(error("POST", "/api/policies/free/overrides", kTwoASecond), HasSubstr("k="));
  EXPECT_EQ(client.Run("RL.POLICY LIST"), "[]");
}

TEST(ApiPoliciesTest, EachPathHasItsMethods) {
  PageClient client(kUsers);
  const auto allowed = [&](std::string_view method, std::string_view target) {
    const std::string response = client.Change(method, target, "", Ops());
    EXPECT_EQ(StatusOf(response), 405) << method << target;
    return std::string(FieldOf(response, "Allow").value_or(""));
  };
  EXPECT_EQ(allowed("POST", "/api/policies"), "GET, HEAD");
  EXPECT_EQ(allowed("DELETE", "/api/policies/"), "GET, HEAD");
  EXPECT_EQ(allowed("GET", "/api/policies/free/overrides?k=a"), "POST, DELETE");
  EXPECT_EQ(allowed("PUT", "/api/policies/free"), "GET, HEAD, POST, DELETE");
}

// --- The guard of changes
// -------------------------------------------------------------------------

struct Change {
  std::string_view method;
  std::string_view target;
  std::string_view body;
};

constexpr Change kChanges[] = {
    {"POST", "/api/policies/free", kTwoASecond},
    {"DELETE", "/api/policies/kept", ""},
    {"POST", "/api/policies/kept/overrides?k=new", kTwoASecond},
    {"DELETE", "/api/policies/kept/overrides?k=vip", ""},
    {"POST", "/api/key/reset?k=vip", ""},
};

// Sends each change with these fields, which none of them may survive.
void ExpectRefused(std::string_view users, std::string_view fields, std::string_view why) {
  PageClient client(users);
  (void)client.Run("RL.POLICY SET kept 5/s");
  (void)client.Run("RL.POLICY OVERRIDE kept vip 9/h");
  (void)client.Run("RL.ALLOW vip @kept");
  for (const Change& change : kChanges) {
    const std::string response = client.Send(change.method, change.target, change.body, fields);
    EXPECT_EQ(StatusOf(response), 403) << change.method << " " << change.target << "\n" << fields;
    EXPECT_THAT(std::string(BodyOf(response)), HasSubstr(why)) << change.target;
  }
  EXPECT_EQ(client.Run("RL.POLICY LIST"), "[\"kept\"]");
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDES kept"), "[[\"vip\" \"9/h\"]]");
  EXPECT_EQ(client.Run("RL.INSPECT vip").substr(0, 3), "[[\"");
}

TEST(PageGuardTest, AChangeNeedsTheFieldOfThePage) {
  ExpectRefused(kUsers, Ops(), "X-Weir: 1");
  ExpectRefused(kUsers, Ops() + "X-Weir: 0\r\n", "X-Weir: 1");
  ExpectRefused(kUsers, Ops() + "Sec-Fetch-Site: same-origin\r\n", "X-Weir: 1");
}

TEST(PageGuardTest, AChangeFromAnotherSiteIsRefused) {
  for (const std::string_view site : {"cross-site", "same-site", "none", ""}) {
    ExpectRefused(kUsers, Ops() + "X-Weir: 1\r\nSec-Fetch-Site: " + std::string(site) + "\r\n",
                  "from the page itself");
  }
  ExpectRefused(kUsers,
                Ops() + "X-Weir: 1\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n",
                "from the page itself");
}

TEST(PageGuardTest, WithoutUsersThePageIsReadOnly) {
  ExpectRefused("", "X-Weir: 1\r\n", "no users are configured");
}

TEST(PageGuardTest, TheDefaultUserChangesNothing) {
  ExpectRefused(kUsers, "X-Weir: 1\r\n", "log-in as a user with a name");
  // Not even with a password.
  PageClient client("user default on >pw ~* +@all\n");
  const std::string response = client.Send("POST", "/api/policies/free", kTwoASecond,
                                           "Authorization: Bearer pw\r\nX-Weir: 1\r\n");
  EXPECT_EQ(StatusOf(response), 403);
  EXPECT_EQ(client.server().services.policies.size().policies, 0U);
}

TEST(PageGuardTest, AUserNeedsTheCommand) {
  ExpectRefused(kUsers, Basic("eye", "pw") + "X-Weir: 1\r\n", "NOPERM");
}

TEST(PageGuardTest, AUserNeedsTheKey) {
  PageClient client(kUsers);
  (void)client.Run("RL.POLICY SET free 2/s");
  const std::string some = Basic("some", "pw");
  const std::string target = "/api/policies/free/overrides?k=";
  EXPECT_EQ(StatusOf(client.Change("POST", target + "other", kTwoASecond, some)), 403);
  EXPECT_EQ(StatusOf(client.Change("POST", target + "app:1", kTwoASecond, some)), 200);
  EXPECT_EQ(StatusOf(client.Change("POST", "/api/key/reset?k=other", "", some)), 403);
}

TEST(PageGuardTest, AChangeWaitsForTheEndOfAPause) {
  PageClient client(kUsers);
  (void)client.Run("CLIENT PAUSE 1000");
  EXPECT_EQ(StatusOf(client.Get("/api/policies")), 200);
  EXPECT_EQ(client.Change("POST", "/api/policies/free", kTwoASecond, Ops()), "");
  EXPECT_EQ(client.server().services.policies.size().policies, 0U);
  client.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_EQ(StatusOf(client.http().Send("")), 200);
  EXPECT_EQ(client.server().services.policies.size().policies, 1U);
}

// Programs that are no browsers do not send Sec-Fetch-Site.
TEST(PageGuardTest, AChangeWithoutASiteIsAccepted) {
  PageClient client(kUsers);
  EXPECT_EQ(
      StatusOf(client.Send("POST", "/api/policies/free", kTwoASecond, Ops() + "X-Weir: 1\r\n")),
      200);
}

// A form of another site can send a body, but not of this type.
TEST(PageGuardTest, ABodyMustSayThatItIsJson) {
  PageClient client(kUsers);
  const std::string fields =
      Ops() + "X-Weir: 1\r\nContent-Type: text/plain\r\nContent-Length: 18\r\n";
  for (const std::string_view target : {"/api/policies/free", "/api/peek", "/api/simulate"}) {
    EXPECT_EQ(StatusOf(client.http().Request("POST", target, fields, kTwoASecond)), 415) << target;
  }
}

TEST(PageGuardTest, NoAnswerLetsAnotherSiteIn) {
  PageClient client;
  const std::string response =
      client.Send("OPTIONS", "/api/policies/free", "",
                  "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n"
                  "Access-Control-Request-Headers: x-weir\r\n");
  EXPECT_EQ(StatusOf(response), 405);
  EXPECT_THAT(response, testing::Not(HasSubstr("Access-Control")));
}

}  // namespace
}  // namespace weir
