// Goal: /api/rls has every rule in force with its counts, and what came of the last load. Method:
// conversations without sockets, with files of rules.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/rules/limit_counters.h"
#include "rls/rule.h"
#include "server/health/event_log.h"
#include "server/health/health_watch.h"
#include "server/rls/rls_rules.h"
#include "tests/server/page/page_client.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::string_view kShownRules = R"(domain: shop
descriptors:
- key: user
  rate_limit: {unit: hour, requests_per_unit: 2, name: per_user}
  descriptors:
  - {key: path, value: /api/*, share_threshold: true, shadow_mode: true,
     rate_limit: {limits: [9/s, 1K/d], replaces: [{name: per_user}]}}
- {key: probe}
)";

class ApiRlsTest : public testing::Test {
 protected:
  void StartServer(Options options) {
    options.admin_hosts.names = {"weir"};
    server_ = std::make_unique<HttpTestServer>(options);
    page_ = std::make_unique<HttpConversation>(*server_, Face::kAdmin);
    rules_ = std::make_unique<RlsRules>(server_->services);
    if (options.serves_rls()) server_->http.rls = rules_.get();
  }
  void Start(std::string_view rules) {
    Options options = DefaultOptions();
    if (!rules.empty()) options.rls_config = directory_.Write("rules.yaml", rules);
    StartServer(options);
    if (rules.empty()) return;
    ASSERT_TRUE(rules_->Load().ok());
    ASSERT_TRUE(rules_->MakePolicies().ok());
  }
  json Get() {
    const std::string response = page_->Get("/api/rls");
    EXPECT_EQ(StatusOf(response), 200) << response;
    return json::parse(BodyOf(response));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<HttpTestServer> server_;
  std::unique_ptr<HttpConversation> page_;
  std::unique_ptr<RlsRules> rules_;
};

TEST_F(ApiRlsTest, RulesHaveTheirPathTheirLimitsAndTheirCounts) {
  Start(kShownRules);
  HttpConversation envoy(*server_);
  for (int call = 0; call < 3; ++call) {
    envoy.Post("/json",
               R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})");
  }
  const std::string place = server_->services.options.rls_config;
  const json user = {{"key", "user"}, {"value", nullptr}};
  const json expected = {
      {"source", "files"},
      {"xds", nullptr},
      {"domains", 1},
      {"loads", 1},
      {"load_errors", 0},
      {"error", nullptr},
      {"rules",
       {{{"domain", "shop"},
         {"path", {user}},
         {"place", place + ":3"},
         {"policy", "rls:shop.user"},
         {"name", "per_user"},
         {"replaces", json::array()},
         {"limits", {{{"limit", "2/h,fixed,aligned"}, {"allowed", 2}, {"denied", 1}}}},
         {"flags", json::array()}},
        {{"domain", "shop"},
         {"path", {user, {{"key", "path"}, {"value", "/api/*"}}}},
         {"place", place + ":6"},
         {"policy", "rls:shop.user.path:_api__:2f4a19dad1ebcb8b"},
         {"name", nullptr},
         {"replaces", {"per_user"}},
         {"limits",
          {{{"limit", "9/s"}, {"allowed", 0}, {"denied", 0}},
           {{"limit", "1000/d"}, {"allowed", 0}, {"denied", 0}}}},
         {"flags", {"shadow_mode", "share_threshold"}}},
        {{"domain", "shop"},
         {"path", {{{"key", "probe"}, {"value", nullptr}}}},
         {"place", place + ":8"},
         {"policy", nullptr},
         {"name", nullptr},
         {"replaces", json::array()},
         {"limits", json::array()},
         {"flags", {"no_limit"}}}}},
      {"more", 0}};
  EXPECT_EQ(Get(), expected);
}

// Statistics count such a limit by values.
TEST_F(ApiRlsTest, ALimitWithMetricsByValueHasNoCountOfItsOwn) {
  Start(
      "domain: shop\ndescriptors:\n"
      "- {key: user, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 1}}\n");
  const json limit = Get()["rules"][0]["limits"][0];
  EXPECT_EQ(limit["allowed"], nullptr);
  EXPECT_EQ(limit["denied"], nullptr);
}

TEST_F(ApiRlsTest, AnUnlimitedRuleHasNoCount) {
  Start("domain: shop\ndescriptors:\n- {key: user, rate_limit: {unlimited: true}}\n");
  EXPECT_EQ(Get()["rules"][0]["limits"][0]["allowed"], nullptr);
}

TEST_F(ApiRlsTest, LimitsThatMayBeAmongTheOthersHaveNoCount) {
  Start(kShownRules);
  Conversation redis(*server_);
  for (std::size_t i = 0; i <= kCountedLimitsMax; ++i) {
    redis.Run(absl::StrCat("RL.ALLOW k", i, " ", i + 1, "/d"));
  }
  EXPECT_EQ(Get()["rules"][0]["limits"][0]["allowed"], nullptr);
}

TEST_F(ApiRlsTest, ManyRulesAreWrittenInTurns) {
  std::string rules = "domain: shop\ndescriptors:\n";
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&rules, "- {key: k", i, ", rate_limit: {unit: day, requests_per_unit: 1}}\n");
  }
  Start(rules);
  const int before = page_->turns();
  EXPECT_EQ(Get()["rules"].size(), 5000U);
  EXPECT_GT(page_->turns(), before + 2);
}

TEST_F(ApiRlsTest, ThereIsNoControlPlaneBesideFiles) {
  Start(kShownRules);
  EXPECT_EQ(Get()["xds"], nullptr);
}

TEST_F(ApiRlsTest, TheControlPlaneIsShownBeforeItsRulesAndBesideThem) {
  Options options = DefaultOptions();
  options.rls_xds.servers = {{"plane", 18000}};
  StartServer(options);
  XdsStatus& xds = server_->services.xds;
  xds.set_failure("Connection refused");
  EXPECT_EQ(Get()["source"], nullptr);
  EXPECT_EQ(Get()["xds"], json::parse(R"({"server": "plane:18000", "connected": false,
                                          "version": null, "error": "Connection refused"})"));
  xds.connected.store(true);
  xds.set_failure("");
  xds.set_version("7");
  ASSERT_TRUE(rules_->Replace(std::vector<RuleFile>(), RulesFrom::kXds).ok());
  EXPECT_EQ(Get()["source"], "xds");
  EXPECT_EQ(Get()["xds"], json::parse(R"({"server": "plane:18000", "connected": true,
                                          "version": "7", "error": null})"));
}

TEST(ApiRlsRightsTest, NeedsBothRights) {
  PageClient page(
      "user stats on >p ~* +RL.STATS\nuser list on >p ~* +RL.POLICY|LIST\n"
      "user both on >p ~* +RL.STATS +RL.POLICY|LIST\n");
  EXPECT_EQ(StatusOf(page.Get("/api/rls")), 401);
  EXPECT_EQ(StatusOf(page.Get("/api/rls", Basic("stats", "p"))), 403);
  EXPECT_EQ(StatusOf(page.Get("/api/rls", Basic("list", "p"))), 403);
  EXPECT_EQ(StatusOf(page.Get("/api/rls", Basic("both", "p"))), 200);
}

TEST_F(ApiRlsTest, ALoadIsAnEvent) {
  Start(kShownRules);
  HealthWatch watch(server_->services);
  ASSERT_TRUE(rules_->Load().ok());
  const ServerEvent event = watch.events().Since(0).back();
  EXPECT_EQ(event.kind, ServerEventKind::kPolicy);
  EXPECT_EQ(event.text, "read the rules of rls-config: 3 rules");
  directory_.Write("rules.yaml", "domain: ''\n");
  EXPECT_FALSE(rules_->Load().ok());
  EXPECT_EQ(watch.events().Since(0).back(), event);
}

TEST_F(ApiRlsTest, AFailedLoadIsShownBesideTheRulesInForce) {
  Start(kShownRules);
  directory_.Write("rules.yaml", "domain: ''\n");
  EXPECT_FALSE(rules_->Load().ok());
  const json answer = Get();
  EXPECT_EQ(answer["load_errors"], 1);
  EXPECT_NE(answer["error"].get<std::string>().find("rules.yaml:1"), std::string::npos) << answer;
  EXPECT_EQ(answer["rules"].size(), 3U);
}

TEST_F(ApiRlsTest, ThePolicyOfARuleNamesTheFilesOfRules) {
  Start(kShownRules);
  const json policy = json::parse(BodyOf(page_->Get("/api/policies/rls%3Ashop.user")));
  EXPECT_EQ(policy["file"], server_->services.options.rls_config);
}

TEST_F(ApiRlsTest, WithoutTheServiceThereAreNoRules) {
  Start("");
  const json answer = Get();
  EXPECT_EQ(answer["source"], nullptr);
  EXPECT_EQ(answer["rules"], json::array());
}

}  // namespace
}  // namespace weir
