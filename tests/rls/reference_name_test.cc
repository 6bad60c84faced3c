// Goal: names are those that envoyproxy/ratelimit and its map for Prometheus make. Method: a table,
// which has been computed by their rules.
#include "rls/reference_name.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ReferenceNameTest, ANameIsTheDomainAndTheFirstTwoLevels) {
  struct Case {
    std::string_view domain;
    std::vector<DescriptorEntry> levels;
    std::string_view name;
  };
  const std::vector<Case> cases = {
      {"shop", {{"user", ""}}, "shop.user"},
      {"shop", {{"user", "7"}}, "shop.user_7"},
      {"shop", {{"user", "7"}, {"path", ""}}, "shop.user_7.path"},
      {"shop", {{"user", ""}, {"path", "/a*"}, {"method", "GET"}}, "shop.user.path_/a*"},
      {"shop", {{"a:b", "c|d"}}, "shop.a_b_c_d"},
      {"shop", {{"ip", "10.0.0.255"}, {"b", ""}}, "shop.ip_10_0_0_255.b"},
      {"shop", {{"ip", "1.2.3.4.5"}, {"b", ""}}, "shop.ip_1_2_3_4.5"},
      {"shop", {{"ip", "1234.5.6.7"}, {"b", ""}}, "shop.ip_1234_5_6_7.b"},
      {"shop", {{"version", "1.2.3"}, {"b", ""}}, "shop.version_1.2"},
      {"shop", {{"host", "a.b"}, {"b", ""}}, "shop.host_a.b"},
      {"shop.eu", {{"user", ""}, {"path", ""}}, "shop.eu.user"},
      {"10.1.2.3", {{"user", ""}}, "10_1_2_3.user"},
      {"1.2.3.", {{"user", ""}}, "1.2.3"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(ReferenceName(one.domain, one.levels), one.name);
  }
}

TEST(ReferenceNameTest, ADomainIsAPartOfANameOfPrometheus) {
  EXPECT_EQ(ReferenceDomain("shop.eu-1:a|b"), "shop_eu_1_a_b");
  EXPECT_EQ(ReferenceDomain("10.0.0.1"), "10_0_0_1");
  EXPECT_EQ(ReferenceDomain("caf\xc3\xa9"), "caf__");
}

}  // namespace
}  // namespace weir
