// Goal: with rls-metrics=reference /metrics has the names and the numbers of envoyproxy/ratelimit,
// bounded, and without it none of them. Method: calls over gRPC to a server without sockets; the
// expected numbers are those of the reference's rules for a counter that was at `before` and is at
// `after`, written out by hand.
#include "server/rls/reference_count.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "rls/rls.pb.h"
#include "server/http/metrics.h"
#include "server/rls/rls_rules.h"
#include "tests/support/conversation.h"
#include "tests/support/grpc_conversation.h"
#include "tests/support/metrics_page.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRlsMethod =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
constexpr std::string_view kCountedRules = R"(
domain: shop
descriptors:
- {key: user, rate_limit: {unit: day, requests_per_unit: 10}}
- {key: user, value: vip, rate_limit: {unit: day, requests_per_unit: 100}}
- {key: free, rate_limit: {unlimited: true}}
- {key: none, rate_limit: {unit: day, requests_per_unit: 0}}
- {key: trial, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: each, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 10}}
- key: path
  value: /a/*
  value_to_metric: true
  descriptors:
  - key: method
    rate_limit: {unit: day, requests_per_unit: 10}
    descriptors:
    - {key: deep, rate_limit: {unit: day, requests_per_unit: 10}}
)";

class ReferenceCountTest : public testing::Test {
 protected:
  ReferenceCountTest() { Start(RlsMetrics::kReference); }

  void Start(RlsMetrics metrics, std::int64_t limits_max = 500) {
    client_.reset();
    rules_.reset();
    Options options = DefaultOptions();
    options.rls_config = directory_.Write("rules.yaml", kCountedRules);
    options.rls_metrics = metrics;
    options.metrics_max_limits = limits_max;
    server_ = std::make_unique<HttpTestServer>(options);
    rules_ = std::make_unique<RlsRules>(server_->services);
    EXPECT_TRUE(rules_->Load().ok());
    EXPECT_TRUE(rules_->MakePolicies().ok());
    server_->http.rls = rules_.get();
    client_ = std::make_unique<GrpcConversation>(*server_);
  }

  // Asks about descriptors: "user=a/path=b +3; free=x #2", with `+n` for hits of a descriptor, `-n`
  // for negative ones, `@n` for a limit of n a day that it brings, and `#n` for hits of the call.
  void Ask(std::string_view call, std::string_view domain = "shop") {
    rls::RateLimitRequest request;
    request.set_domain(std::string(domain));
    for (const absl::string_view text : absl::StrSplit(AbslView(call), "; ")) {
      rls::Descriptor& descriptor = *request.add_descriptors();
      for (const absl::string_view word : absl::StrSplit(text, ' ')) {
        unsigned number = 0;
        const bool is_number = absl::SimpleAtoi(word.substr(1), &number);
        if (is_number && word[0] == '#') {
          request.set_hits_addend(number);
        } else if (is_number && word[0] == '@') {
          descriptor.mutable_limit()->set_requests_per_unit(number);
          descriptor.mutable_limit()->set_unit(4);
        } else if (is_number && (word[0] == '+' || word[0] == '-')) {
          descriptor.mutable_hits_addend()->set_value(number);
          descriptor.set_is_negative_hits(word[0] == '-');
        } else {
          for (const absl::string_view pair : absl::StrSplit(word, ',')) {
            const std::vector<std::string> entry = absl::StrSplit(pair, absl::MaxSplits('=', 1));
            descriptor.add_entries()->set_key(entry[0]);
            descriptor.mutable_entries(descriptor.entries_size() - 1)->set_value(entry[1]);
          }
        }
      }
    }
    client_->Call(kRlsMethod, Framed(request.SerializeAsString()));
  }
  void AskTimes(int times, std::string_view call) {
    for (int i = 0; i < times; ++i) Ask(call);
  }

  // "total over near within shadow" of a name.
  std::string Hits(const MetricLabels& labels) {
    const MetricsPage page = PageOf(*server_);
    std::string text;
    for (const std::string_view number : ReferenceCounts::kNames) {
      const std::string name = absl::StrCat("ratelimit_service_rate_limit_", AbslView(number));
      const std::optional<double> value = page.Find(name, labels);
      absl::StrAppend(&text, text.empty() ? "" : " ", value ? absl::StrCat(*value) : "?");
    }
    return text;
  }
  std::string HitsOf(const std::string& key1, const std::string& key2 = "") {
    MetricLabels labels = {{"domain", "shop"}, {"key1", key1}};
    if (!key2.empty()) labels["key2"] = key2;
    return Hits(labels);
  }
  double Of(const std::string& name, const MetricLabels& labels = {}) {
    return PageOf(*server_).Of("ratelimit_service_" + name, labels);
  }
  std::string Page() { return MetricsText(server_->services, server_->http, server_->clock.Now()); }

  TemporaryDirectory directory_;
  std::unique_ptr<HttpTestServer> server_;
  std::unique_ptr<RlsRules> rules_;
  std::unique_ptr<GrpcConversation> client_;
};

TEST_F(ReferenceCountTest, AsksCountOneByOne) {
  AskTimes(8, "user=a");
  EXPECT_EQ(HitsOf("user"), "8 0 0 8 0") << "8 of 10 are not near";
  AskTimes(2, "user=a");
  EXPECT_EQ(HitsOf("user"), "10 0 2 10 0");
  AskTimes(3, "user=a");
  EXPECT_EQ(HitsOf("user"), "13 3 2 10 0");
  Ask("user=vip");
  EXPECT_EQ(HitsOf("user_vip"), "1 0 0 1 0");
}

TEST_F(ReferenceCountTest, ReportsAreWeightedByHits) {
  Ask("user=a +7");
  EXPECT_EQ(HitsOf("user"), "7 0 0 7 0");
  Ask("user=a +2");
  EXPECT_EQ(HitsOf("user"), "9 0 1 9 0") << "the ninth is near";
  Ask("user=a +4");
  EXPECT_EQ(HitsOf("user"), "13 3 2 9 0") << "one fitted and is near, three are beyond";
  Ask("user=a +5");
  EXPECT_EQ(HitsOf("user"), "18 8 2 9 0");
  Ask("user=b #30");
  EXPECT_EQ(HitsOf("user"), "48 28 4 9 0");
}

TEST_F(ReferenceCountTest, LooksAndRefundsCountNothing) {
  Ask("user=a +3");
  Ask("user=a +0");
  Ask("user=a -2");
  EXPECT_EQ(HitsOf("user"), "3 0 0 3 0");
}

TEST_F(ReferenceCountTest, ALimitThatPassesCountsAlsoInACallThatIsOver) {
  AskTimes(9, "user=a");
  Ask("user=a; none=x");
  EXPECT_EQ(HitsOf("user"), "10 0 2 10 0") << "as if it had been charged";
  EXPECT_EQ(HitsOf("none"), "1 1 0 0 0");
  Ask("none=x +4");
  EXPECT_EQ(HitsOf("none"), "5 5 0 0 0");
}

TEST_F(ReferenceCountTest, DescriptorsOfOneBucketCountTogether) {
  Ask("user=a +7; user=a +2; user=a +3");
  EXPECT_EQ(HitsOf("user"), "12 2 2 0 0");
  Ask("user=b; user=b; user=c");
  EXPECT_EQ(HitsOf("user"), "15 2 2 3 0");
}

TEST_F(ReferenceCountTest, AShadowIsOverAndCountsAsShadow) {
  AskTimes(3, "trial=x");
  EXPECT_EQ(HitsOf("trial"), "3 2 1 1 2");
  EXPECT_EQ(Of("global_shadow_mode"), 0);
}

TEST_F(ReferenceCountTest, RlsShadowCountsTheCallsThatItLetsPass) {
  Conversation redis(*server_);
  redis.Run("CONFIG SET rls-shadow true");
  AskTimes(11, "user=a");
  AskTimes(2, "none=x; trial=y");
  EXPECT_EQ(HitsOf("user"), "11 1 2 10 0");
  EXPECT_EQ(Of("global_shadow_mode"), 3);
  redis.Run("CONFIG SET rls-quota true");
  Ask("none=x; user=b");
  EXPECT_EQ(Of("global_shadow_mode"), 3) << "one of two passes";
  Ask("none=x; user=a");
  EXPECT_EQ(Of("global_shadow_mode"), 4);
}

TEST_F(ReferenceCountTest, ValuesStandInNamesWhereARuleSaysSo) {
  Ask("each=1; each=2; each=2");
  EXPECT_EQ(HitsOf("each_1"), "1 0 0 1 0");
  EXPECT_EQ(HitsOf("each_2"), "2 0 0 2 0");
  Ask("path=/a/x,method=GET");
  EXPECT_EQ(HitsOf("path_/a/x", "method"), "1 0 0 1 0");
  Ask("path=/a/x,method=GET,deep=y #5");
  EXPECT_EQ(HitsOf("path_/a/x", "method"), "6 0 0 6 0") << "the deeper rule adds to its parent's";
}

TEST_F(ReferenceCountTest, ALimitThatADescriptorBringsCountsUnderTheDescriptor) {
  Ask("user=a @2");
  Ask("user=a @2");
  Ask("user=a @2");
  EXPECT_EQ(HitsOf("user_a"), "3 1 1 2 0");
  EXPECT_EQ(HitsOf("user"), "? ? ? ? ?");
}

TEST_F(ReferenceCountTest, WhatNoLimitDecidesCountsNothing) {
  Ask("free=x; other=y");
  EXPECT_THAT(Page(), Not(HasSubstr("key1=")));
}

TEST_F(ReferenceCountTest, AnUnknownDomainCountsItsDescriptors) {
  Ask("user=a; user=b", "no-shop.eu");
  Ask("user=a", "no.shop.eu");
  EXPECT_EQ(Of("rate_limit_no_shop_eu_domain_not_found"), 3);
}

TEST_F(ReferenceCountTest, CallsErrorsAndLoadsAreCounted) {
  Ask("user=a");
  Ask("user=a", "");
  EXPECT_EQ(Of("should_rate_limit_error", {{"err_type", "service_error"}}), 1);
  EXPECT_TRUE(server_->services.ReplaceRulePolicies({}).ok());
  Ask("user=a");
  EXPECT_EQ(Of("should_rate_limit_error", {{"err_type", "redis_error"}}), 1);
  EXPECT_EQ(Of("total_requests", {{"grpc_method", "ShouldRateLimit"}}), 3);
  EXPECT_EQ(Of("config_load_success"), 1);
  directory_.Write("rules.yaml", "domain:\n");
  EXPECT_FALSE(rules_->Load().ok());
  EXPECT_EQ(Of("config_load_error"), 1);
  EXPECT_THAT(Page(), HasSubstr("ratelimit_service_response_time_seconds_count{"
                                "grpc_method=\"ShouldRateLimit\"} 2\n"));
}

TEST_F(ReferenceCountTest, CountsStayWhenRulesAreLoadedAgain) {
  Ask("user=a");
  ASSERT_TRUE(rules_->Load().ok());
  Ask("user=a");
  EXPECT_EQ(HitsOf("user"), "2 0 0 2 0");
}

TEST_F(ReferenceCountTest, NamesAreBounded) {
  Start(RlsMetrics::kReference, 2);
  for (int i = 0; i < 100; ++i) {
    Ask(absl::StrCat("each=", i));
    Ask("user=a", absl::StrCat("d", i));
  }
  Ask("user=a; user=vip; trial=z; none=y");
  EXPECT_EQ(HitsOf("each_1"), "1 0 0 1 0");
  EXPECT_EQ(HitsOf("each_2"), "? ? ? ? ?");
  EXPECT_EQ(HitsOf("user_vip"), "1 0 0 1 0");
  EXPECT_EQ(Hits({{"domain", "(others)"}, {"key1", "(others)"}}), "100 1 1 99 0");
  EXPECT_EQ(Of("rate_limit_d1_domain_not_found"), 1);
  EXPECT_EQ(Of("rate_limit__others__domain_not_found"), 98);
}

TEST_F(ReferenceCountTest, ManyNamesAreWrittenOnceEach) {
  for (int i = 0; i < 300; ++i) {
    Ask(absl::StrCat("each=", i));
    Ask("user=a", absl::StrCat("d", i));
  }
  EXPECT_EQ(HitsOf("each_299"), "1 0 0 1 0");
  EXPECT_EQ(Of("rate_limit_d299_domain_not_found"), 1);
}

TEST_F(ReferenceCountTest, WhatIsNotUtf8IsNoLabel) {
  Ask("each=\xff\n\"");
  EXPECT_EQ(HitsOf("each_??\""), "1 0 0 1 0");
}

TEST_F(ReferenceCountTest, ANameThatIsCutKeepsThePositionOfItsLimit) {
  Ask("each=" + std::string(500, 'a'));
  const std::string cut = "@rls:shop.each=" + std::string(128 - 15 - 2, 'a') + "#0";
  EXPECT_EQ(
      PageOf(*server_).Of("weir_limit_decisions_total", {{"limit", cut}, {"result", "allowed"}}),
      1);
}

TEST_F(ReferenceCountTest, WithoutTheOptionThereIsNoSuchName) {
  Start(RlsMetrics::kOwn);
  Ask("user=a");
  Ask("user=a", "other");
  EXPECT_THAT(Page(), Not(HasSubstr("ratelimit_service")));
  EXPECT_TRUE(server_->services.rls_reference.Names().empty());
}

TEST_F(ReferenceCountTest, DomainsNamedLikeTheSumsAreApart) {
  directory_.Write("rules.yaml",
                   "domain: (unknown)\ndescriptors:\n"
                   "- {key: user, rate_limit: {unit: day, requests_per_unit: 10}}\n");
  ASSERT_TRUE(rules_->Load().ok());
  rules_->Look();
  Ask("user=a", "(unknown)");
  Ask("user=a", "nobody's");
  const MetricsPage page = PageOf(*server_);
  for (const char* const domain : {"(unknown)", "%28unknown)"}) {
    EXPECT_EQ(page.Of("weir_rls_calls_total", {{"domain", domain}, {"code", "ok"}}), 1) << domain;
  }
}

}  // namespace
}  // namespace weir
