// Goal: a user behind a proxy is known by what the proxy writes, and not by what the user adds to
// it. Method: tables of addresses and of requests, hostile ones among them.
#include "server/http/proxied_request.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/protocol/client_networks.h"

namespace weir {
namespace {

using testing::Optional;

using Fields = std::vector<HttpField>;

// A request with these fields.
struct Asked {
  explicit Asked(Fields its_fields, std::string_view query = {}) : fields(std::move(its_fields)) {
    head.method = "GET";
    head.host = "weir";
    head.query = query;
    head.fields = fields;
  }

  // The head views the fields.
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  ProxiedRequest With(const ProxyForm& form, std::string_view below = {}) const {
    return {head, below, form};
  }

  Fields fields;
  HttpHead head;
};

// weir-replay reads the same table.
TEST(ProxiedRequestTest, TheAddressIsTheNetworkOfTheClient) {
  for (const auto& [address, network] : kClientNetworks) {
    const Asked asked(Fields{{"X-Forwarded-For", address}});
    std::string scratch;
    const ProxyForm form;
    EXPECT_EQ(asked.With(form).Ip(scratch).value_or(""), network) << address;
  }
}

// Proxies write at the right end. What the user sent stands to the left of it.
TEST(ProxiedRequestTest, AddressesAreCountedFromTheRight) {
  const Asked asked(Fields{{"x-forwarded-for", "203.0.113.66, 198.51.100.1"},
                           {"Other", "x"},
                           {"X-FORWARDED-FOR", "2001:db8::7 ,192.0.2.7"}});
  std::string scratch;
  const auto ip = [&](int hops) { return asked.With({.ip_hops = hops}).Ip(scratch); };
  EXPECT_THAT(ip(1), Optional(std::string_view("192.0.2.7")));
  EXPECT_THAT(ip(2), Optional(std::string_view("2001:db8::")));
  EXPECT_THAT(ip(3), Optional(std::string_view("198.51.100.1")));
  EXPECT_THAT(ip(4), Optional(std::string_view("203.0.113.66")));
  EXPECT_EQ(ip(5), std::nullopt);
  EXPECT_EQ(Asked(Fields{}).With({}).Ip(scratch), std::nullopt);
  for (const std::string_view spoilt : {"", ",", "192.0.2.7,", "192.0.2.7, unknown"}) {
    EXPECT_EQ(Asked(Fields{{"X-Forwarded-For", spoilt}}).With({}).Ip(scratch), std::nullopt)
        << spoilt;
  }
}

TEST(ProxiedRequestTest, WhereTheOriginalRequestIs) {
  const Asked asked(Fields{{"X-Forwarded-Method", "PUT"},
                           {"X-Forwarded-Host", "a.example"},
                           {"X-Forwarded-Uri", "/a/b?c=d"},
                           {"X-Original-Method", "PATCH"},
                           {"X-Original-URL", "https://b.example/e/f?g"}});
  const ProxyForm forwarded;
  const ProxyForm original = {.original = OriginalRequest::kXOriginal};
  const ProxyForm path = {.original = OriginalRequest::kPath};
  EXPECT_EQ(asked.With(forwarded).Method(), "PUT");
  EXPECT_EQ(asked.With(forwarded).Host(), "a.example");
  EXPECT_EQ(asked.With(forwarded).Path(), "/a/b");
  EXPECT_EQ(asked.With(original).Method(), "PATCH");
  EXPECT_EQ(asked.With(original).Host(), "b.example");
  EXPECT_EQ(asked.With(original).Path(), "/e/f");
  EXPECT_EQ(asked.With(path, "/v1/x").Method(), "GET");
  EXPECT_EQ(asked.With(path, "/v1/x").Host(), "weir");
  EXPECT_EQ(asked.With(path, "/v1/x").Path(), "/v1/x");
  EXPECT_EQ(asked.With(path).Path(), "/");

  const Asked nginx(Fields{{"X-Original-URI", "/h?i=j"}, {"X-Original-Host", "c.example"}});
  EXPECT_EQ(nginx.With(original).Host(), "c.example");
  EXPECT_EQ(nginx.With(original).Path(), "/h");
  EXPECT_EQ(nginx.With(original).Method(), std::nullopt);
  for (const std::string_view uri : {"", "no-slash", "//", "*", "ftp://x/y"}) {
    const Asked odd(Fields{{"X-Forwarded-Uri", uri}});
    const ProxiedRequest::Value value = odd.With(forwarded).Path();
    EXPECT_TRUE(!value || value == uri) << uri;
  }
  EXPECT_EQ(Asked(Fields{}).With(forwarded).Path(), std::nullopt);
  EXPECT_EQ(Asked(Fields{}).With(forwarded).Host(), std::nullopt);
}

TEST(ProxiedRequestTest, SegmentsOfThePath) {
  const Asked asked(Fields{{"X-Forwarded-Uri", "/v1//users?x=/y"}});
  const ProxyForm form;
  const ProxiedRequest request = asked.With(form);
  EXPECT_EQ(ProxiedRequest::SegmentOf(request.Path(), 1), "v1");
  EXPECT_EQ(ProxiedRequest::SegmentOf(request.Path(), 2), std::nullopt);  // empty
  EXPECT_EQ(ProxiedRequest::SegmentOf(request.Path(), 3), "users");
  EXPECT_EQ(ProxiedRequest::SegmentOf(request.Path(), 4), std::nullopt);
  std::string scratch;
  EXPECT_EQ(request.NormalPath(scratch), "/v1/users");
  EXPECT_EQ(ProxiedRequest::SegmentOf(request.NormalPath(scratch), 2), "users");
  EXPECT_EQ(ProxiedRequest::SegmentOf(std::nullopt, 1), std::nullopt);
}

TEST(ProxiedRequestTest, CookiesAndParameters) {
  const Asked asked(Fields{{"Cookie", "a=1; bb=2;c = 3; d"}, {"cookie", "a=4; e=a=b; f="}},
                    "x=1&y=%20+z&x=2&%6Bey=k&bad=%zz&empty=");
  const ProxyForm form;
  const ProxiedRequest request = asked.With(form);
  EXPECT_EQ(request.Cookie("a"), "1");
  EXPECT_EQ(request.Cookie("bb"), "2");
  EXPECT_EQ(request.Cookie("b"), std::nullopt);
  EXPECT_EQ(request.Cookie("A"), std::nullopt);
  EXPECT_EQ(request.Cookie("d"), std::nullopt);
  EXPECT_EQ(request.Cookie("e"), "a=b");
  EXPECT_EQ(request.Cookie("f"), std::nullopt);
  std::string scratch;
  EXPECT_EQ(request.Query("x", scratch), "1");
  EXPECT_EQ(request.Query("y", scratch), "  z");
  EXPECT_EQ(request.Query("key", scratch), "k");
  EXPECT_EQ(request.Query("bad", scratch), std::nullopt);
  EXPECT_EQ(request.Query("empty", scratch), std::nullopt);
  EXPECT_EQ(request.Query("z", scratch), std::nullopt);
}

}  // namespace
}  // namespace weir
