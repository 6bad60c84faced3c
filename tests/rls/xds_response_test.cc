// Goal: a response of a control plane gives the rules that a file of the same content gives, and
// each mistake has its place and the text that files have. Method: responses beside files, and a
// table of mistakes.
#include "rls/xds_response.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "rls/rule_file.h"
#include "rls/rule_tree.h"
#include "rls/xds.pb.h"
#include "tests/protocol/allocations.h"
#include "tests/rls/metadata_text.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr int kMinute = 2;

xds::DiscoveryResponse Empty() {
  xds::DiscoveryResponse response;
  response.set_version_info("7");
  response.set_nonce("n1");
  response.set_type_url(std::string(kXdsRuleType));
  return response;
}

void Add(const xds::RateLimitConfig& config, xds::DiscoveryResponse& response) {
  xds::Any& resource = *response.add_resources();
  resource.set_type_url(std::string(kXdsRuleType));
  resource.set_value(config.SerializeAsString());
}

// The resource `shop` with one rule: user, 20 a minute.
xds::RateLimitConfig Shop() {
  xds::RateLimitConfig config;
  config.set_name("shop");
  config.set_domain("shop.example");
  xds::Descriptor& user = *config.add_descriptors();
  user.set_key("user");
  user.mutable_rate_limit()->set_unit(kMinute);
  user.mutable_rate_limit()->set_requests_per_unit(20);
  return config;
}

XdsResponse Read(const xds::DiscoveryResponse& response) {
  absl::StatusOr<XdsResponse> read = ReadXdsResponse(response.SerializeAsString());
  EXPECT_TRUE(read.ok()) << read.status();
  return *std::move(read);
}

std::string ErrorOf(const XdsResponse& response) {
  return response.rules.ok() ? "none" : std::string(StdView(response.rules.status().message()));
}

// The error for the resource after a change, with which all is said that is wrong.
std::string ErrorAfter(const std::function<void(xds::RateLimitConfig&)>& change) {
  xds::RateLimitConfig config = Shop();
  change(config);
  xds::DiscoveryResponse response = Empty();
  Add(config, response);
  return ErrorOf(Read(response));
}

TEST(XdsResponseTest, AResourceIsReadAsAFileOfTheSameContent) {
  xds::RateLimitConfig config = Shop();
  xds::Descriptor& user = *config.mutable_descriptors(0);
  user.set_shadow_mode(true);
  user.mutable_rate_limit()->set_name("users");
  user.mutable_rate_limit()->add_replaces()->set_name("all");
  xds::Descriptor& path = *user.add_descriptors();
  path.set_key("path");
  path.set_value("/api/*");
  path.set_quota_mode(true);
  path.set_detailed_metric(true);
  path.mutable_rate_limit()->set_unlimited(true);
  rls::Field& tier = *path.mutable_metadata()->add_fields();
  tier.set_key("tier");
  tier.mutable_value()->set_number_value(2);
  config.add_descriptors()->set_key("exempt");
  xds::DiscoveryResponse response = Empty();
  Add(config, response);
  const XdsResponse read = Read(response);
  EXPECT_EQ(read.version + " " + read.nonce, "7 n1");
  ASSERT_EQ(ErrorOf(read), "none");
  const RuleFile file = *ParseRuleFile(
      "domain: shop.example\ndescriptors:\n- key: user\n  shadow_mode: true\n"
      "  rate_limit: {unit: minute, requests_per_unit: 20, name: users, replaces: [{name: all}]}\n"
      "  descriptors: [{key: path, value: /api/*, quota_mode: true, detailed_metric: true,"
      " rate_limit: {unlimited: true}, metadata: {tier: 2}}]\n- key: exempt\n",
      "shop");
  ASSERT_EQ(read.rules->size(), 1U);
  const RuleFile& same = read.rules->front();
  EXPECT_EQ(same.path + " " + same.domain, file.path + " " + file.domain);
  ASSERT_EQ(same.rules.size(), file.rules.size());
  for (std::size_t i = 0; i < file.rules.size(); ++i) {
    const Rule& wanted = file.rules[i];
    const Rule& got = same.rules[i];
    EXPECT_EQ(got.key + "=" + got.value, wanted.key + "=" + wanted.value);
    EXPECT_EQ(got.parent, wanted.parent);
    EXPECT_EQ(got.shadow_mode, wanted.shadow_mode);
    EXPECT_EQ(got.quota_mode, wanted.quota_mode);
    EXPECT_EQ(got.detailed_metric, wanted.detailed_metric);
    EXPECT_EQ(TextOf({got.metadata}), TextOf({wanted.metadata}));
    ASSERT_EQ(got.limit.has_value(), wanted.limit.has_value());
    if (!got.limit) continue;
    EXPECT_EQ(got.limit->name, wanted.limit->name);
    EXPECT_EQ(got.limit->replaces, wanted.limit->replaces);
    EXPECT_EQ(got.limit->unit, wanted.limit->unit);
    EXPECT_EQ(got.limit->requests_per_unit, wanted.limit->requests_per_unit);
    EXPECT_EQ(PolicyLimitText(got.limit->limits.front()),
              PolicyLimitText(wanted.limit->limits.front()));
  }
}

TEST(XdsResponseTest, UnitsHaveTheNumbersOfTheService) {
  const std::vector<std::pair<int, std::string_view>> units = {
      {1, "3/s"}, {2, "3/m"}, {3, "3/h"}, {4, "3/d"}, {5, "3/30d"}, {6, "3/365d"}, {7, "3/w"}};
  for (const auto& [number, text] : units) {
    xds::RateLimitConfig config = Shop();
    config.mutable_descriptors(0)->mutable_rate_limit()->set_unit(number);
    config.mutable_descriptors(0)->mutable_rate_limit()->set_requests_per_unit(3);
    xds::DiscoveryResponse response = Empty();
    Add(config, response);
    const XdsResponse read = Read(response);
    ASSERT_EQ(ErrorOf(read), "none");
    EXPECT_EQ(PolicyLimitText(read.rules->front().rules.front().limit->limits.front()),
              std::string(text) + ",fixed,aligned");
  }
}

TEST(XdsResponseTest, NoResourceIsNoMistake) {
  const XdsResponse read = Read(Empty());
  EXPECT_EQ(ErrorOf(read), "none");
  EXPECT_THAT(*read.rules, IsEmpty());
}

TEST(XdsResponseTest, BytesThatAreNoResponseAreRefused) {
  EXPECT_EQ(StdView(ReadXdsResponse("\xff\xff").status().message()), "not a DiscoveryResponse");
}

// INFO, the log and each request of the stream repeat them.
TEST(XdsResponseTest, AVersionOrANonceIsShort) {
  for (const std::size_t size : {kXdsNameBytesMax, kXdsNameBytesMax + 1}) {
    for (const bool is_nonce : {false, true}) {
      xds::DiscoveryResponse response = Empty();
      (is_nonce ? response.mutable_nonce() : response.mutable_version_info())->assign(size, 'v');
      EXPECT_EQ(ReadXdsResponse(response.SerializeAsString()).ok(), size == kXdsNameBytesMax);
    }
  }
}

TEST(XdsResponseTest, MistakesInADescriptorHaveTheWayToIt) {
  const auto below = [](xds::RateLimitConfig& config) -> xds::Descriptor& {
    xds::Descriptor& path = *config.mutable_descriptors(0)->add_descriptors();
    path.set_key("path");
    path.set_value("/a");
    return path;
  };
  EXPECT_EQ(
      ErrorAfter([&](auto& config) { below(config).mutable_rate_limit()->set_unit(0); }),
      "shop: user > path: /a: unknown unit 'UNKNOWN' (second, minute, hour, day, week, month, "
      "year)");
  EXPECT_THAT(ErrorAfter([&](auto& config) { below(config).mutable_rate_limit()->set_unit(8); }),
              StartsWith("shop: user > path: /a: unknown unit '8' ("));
  EXPECT_THAT(ErrorAfter([&](auto& config) { below(config).mutable_rate_limit()->set_unit(-1); }),
              StartsWith("shop: user > path: /a: unknown unit '-1' ("));
  EXPECT_EQ(ErrorAfter([&](auto& config) { below(config).clear_key(); }),
            "shop: user: a descriptor has no key");
  EXPECT_EQ(ErrorAfter([](auto& config) { config.mutable_descriptors(0)->clear_key(); }),
            "shop: a descriptor has no key");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              config.mutable_descriptors(0)->mutable_rate_limit()->set_unlimited(true);
            }),
            "shop: user: unit stands beside unlimited");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              config.mutable_descriptors(0)->mutable_rate_limit()->add_replaces();
            }),
            "shop: user: replaces has an entry without a name");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              xds::Policy& limit = *config.mutable_descriptors(0)->mutable_rate_limit();
              limit.set_name("self");
              limit.add_replaces()->set_name("self");
            }),
            "shop: user: replaces names its own limit 'self'");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              config.mutable_descriptors(0)->set_key("a\nb");
              config.mutable_descriptors(0)->mutable_rate_limit()->set_unit(0);
            }).substr(0, 10),
            "shop: a?b:");
}

TEST(XdsResponseTest, MistakesOfAResourceHaveItsName) {
  EXPECT_EQ(ErrorAfter([](auto& config) { config.clear_domain(); }),
            "shop: domain is missing or empty");
  EXPECT_THAT(ErrorAfter([](auto& config) { config.set_domain(std::string(256, 'd')); }),
              StartsWith("shop: 'ddd"));
  EXPECT_THAT(ErrorAfter([](auto& config) { config.set_name(std::string(1025, 'n')); }),
              StartsWith("resource 1: 'nnn"));
  EXPECT_EQ(ErrorAfter([](auto& config) {
              config.clear_name();
              config.clear_domain();
            }),
            "resource 1: domain is missing or empty");
  xds::DiscoveryResponse response = Empty();
  Add(Shop(), response);
  response.add_resources()->set_type_url("x");
  EXPECT_THAT(ErrorOf(Read(response)), StartsWith("resource 2: unknown type 'x' ("));
  response.mutable_resources(1)->set_type_url(std::string(kXdsRuleType));
  response.mutable_resources(1)->set_value("\xff");
  EXPECT_EQ(ErrorOf(Read(response)), "resource 2: not a RateLimitConfig");
  response.mutable_resources(1)->set_value(std::string(kXdsResourceBytesMax + 1, '\0'));
  EXPECT_EQ(ErrorOf(Read(response)), "resource 2: more than 4194304 bytes");
  const absl::StatusOr<XdsResponse> read =
      ReadXdsResponse(Empty().SerializeAsString() + "\x12\x02\x0a\x04");  // a text of 4 bytes in 2
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(ErrorOf(*read), "resource 1: not an Any");
}

TEST(XdsResponseTest, AResponseOfAnotherTypeIsAMistake) {
  xds::DiscoveryResponse response = Empty();
  response.set_type_url("type.googleapis.com/envoy.config.cluster.v3.Cluster");
  EXPECT_THAT(ErrorOf(Read(response)),
              StartsWith("response: unknown type 'type.googleapis.com/envoy.con"));
  EXPECT_EQ(Read(response).nonce, "n1") << "so that it can be answered";
  response.set_type_url("x\ny");
  EXPECT_THAT(ErrorOf(Read(response)), StartsWith("response: unknown type 'x?y' ("));
}

TEST(XdsResponseTest, BoundsAreThoseOfFiles) {
  const auto nest = [](xds::RateLimitConfig& config, int levels) {
    xds::Descriptor* level = config.mutable_descriptors(0);
    for (int i = 1; i < levels; ++i) {
      level = level->add_descriptors();
      level->set_key("k");
    }
  };
  EXPECT_EQ(ErrorAfter([&](auto& config) { nest(config, kRuleLevelsMax); }), "none");
  EXPECT_EQ(ErrorAfter([&](auto& config) { nest(config, kRuleLevelsMax + 1); }),
            "shop: user > k > k > k > k > k > k > k > k: more than 8 levels");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              while (config.descriptors_size() <= static_cast<int>(kRulesMax)) {
                config.add_descriptors()->set_key("k");
              }
            }),
            "shop: k: more than 10000 rules");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              rls::Field& field = *config.mutable_descriptors(0)->mutable_metadata()->add_fields();
              field.mutable_value()->set_string_value(std::string(kMetadataBytesMax, 'x'));
            }),
            "shop: user: metadata has more than 16384 bytes");
  EXPECT_EQ(ErrorAfter([](auto& config) {
              rls::Struct* map = config.mutable_descriptors(0)->mutable_metadata();
              for (int i = 0; i < kMetadataLevelsMax; ++i) {
                map = map->add_fields()->mutable_value()->mutable_struct_value();
              }
            }),
            "shop: user: metadata is more than 16 deep");
  xds::DiscoveryResponse response = Empty();
  for (std::size_t i = 0; i <= kXdsResourcesMax; ++i) response.add_resources();
  EXPECT_EQ(ErrorOf(Read(response)), "response: more than 10000 resources");
}

TEST(XdsResponseTest, RulesAndMessagesOfAllResourcesHaveABound) {
  const auto add = [](int descriptors, int replaced, xds::DiscoveryResponse& response) {
    xds::RateLimitConfig config = Shop();
    while (config.descriptors_size() < descriptors) config.add_descriptors()->set_key("k");
    xds::Policy& limit = *config.mutable_descriptors(0)->mutable_rate_limit();
    for (int i = 0; i < replaced; ++i) limit.add_replaces()->set_name("n");
    Add(config, response);
  };
  xds::DiscoveryResponse response = Empty();
  add(static_cast<int>(kRulesMax) - 1, 0, response);
  add(1, 0, response);
  EXPECT_EQ(ErrorOf(Read(response)), "none");
  add(1, 0, response);
  EXPECT_EQ(ErrorOf(Read(response)), "shop: user: more than 10000 rules");

  constexpr int kHalf = static_cast<int>(kXdsMessagesMax) / 2;
  constexpr int kOthers = 3;  // the resource, its rule and the limit
  response = Empty();
  add(1, kHalf - kOthers, response);
  add(1, kHalf - kOthers, response);
  EXPECT_EQ(ErrorOf(Read(response)), "none");
  response.mutable_resources()->RemoveLast();
  add(1, kHalf - kOthers + 1, response);
  EXPECT_EQ(ErrorOf(Read(response)),
            "resource 2: more than 200000 messages with those of the resources before it");
}

// Goal: a response of many empty messages takes little more than its bytes. Method: what is
// allocated until it is refused.
TEST(XdsResponseTest, EmptyMessagesAreRefusedBeforeTheyAreObjects) {
  constexpr std::size_t kBytes = 4'000'000;
  const auto repeated = [](std::string_view field) {
    std::string fields;
    while (fields.size() < kBytes) fields += field;
    return fields;
  };
  xds::DiscoveryResponse response = Empty();
  xds::Any& resource = *response.add_resources();
  resource.set_type_url(std::string(kXdsRuleType));
  resource.set_value(repeated(std::string_view("\x1a\0", 2)));  // descriptors
  const std::string descriptors = response.SerializeAsString();
  const std::string resources =
      Empty().SerializeAsString() + repeated(std::string_view("\x12\0", 2));
  for (const std::string& message : {descriptors, resources}) {
    const std::size_t before = allocated_bytes;
    const absl::StatusOr<XdsResponse> read = ReadXdsResponse(message);
    EXPECT_LT(allocated_bytes - before, 3 * kBytes);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->rules.ok());
    EXPECT_EQ(read->nonce, "n1") << "so that it can be answered";
  }
}

TEST(XdsResponseTest, MetadataHasTheLastValueOfAKeyAndIsUtf8) {
  xds::RateLimitConfig config = Shop();
  rls::Struct& map = *config.mutable_descriptors(0)->mutable_metadata();
  for (const std::string text : {"one", "two \xff"}) {
    rls::Field& field = *map.add_fields();
    field.set_key("k");
    field.mutable_value()->set_string_value(text);
  }
  rls::Value& list = *map.add_fields()->mutable_value();
  list.mutable_list_value()->add_values()->set_bool_value(true);
  list.mutable_list_value()->add_values()->set_null_value(0);
  xds::DiscoveryResponse response = Empty();
  Add(config, response);
  const XdsResponse read = Read(response);
  ASSERT_EQ(ErrorOf(read), "none");
  EXPECT_EQ(TextOf({read.rules->front().rules.front().metadata}),
            "{k=\"two \xEF\xBF\xBD\";=[true;null;];}");
  list.set_number_value(std::numeric_limits<double>::infinity());
  response = Empty();
  Add(config, response);
  EXPECT_EQ(ErrorOf(Read(response)), "shop: user: metadata has a number that is not finite");
}

// The errors that only all resources show name places without lines.
TEST(XdsResponseTest, RulesThatStandTwiceAreNamedByTheirWay) {
  const auto tree_error = [](std::vector<xds::RateLimitConfig> configs, bool merges) {
    xds::DiscoveryResponse response = Empty();
    for (const xds::RateLimitConfig& config : configs) Add(config, response);
    const absl::StatusOr<RuleTree> tree = RuleTree::Create(*Read(response).rules, merges);
    return tree.ok() ? "none" : std::string(StdView(tree.status().message()));
  };
  xds::RateLimitConfig twice = Shop();
  xds::Descriptor& below = *twice.mutable_descriptors(0)->add_descriptors();
  below.set_key("a");
  *twice.mutable_descriptors(0)->add_descriptors() = below;
  EXPECT_EQ(tree_error({twice}, false), "shop: user > a: the descriptor 'a' stands twice");
  xds::RateLimitConfig other = Shop();
  other.set_name("other");
  EXPECT_EQ(tree_error({Shop(), other}, false),
            "other: domain 'shop.example' stands in shop, too (--rls-merge-domains joins them)");
  EXPECT_EQ(tree_error({Shop(), other}, true),
            "other: user: the descriptor 'user' stands in shop, too");
}

}  // namespace
}  // namespace weir
