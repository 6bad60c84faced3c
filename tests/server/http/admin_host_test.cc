// Goal: the page answers under the names that were configured, and under no other, so that no site
// can read it by giving its own name our address.
#include "server/http/admin_host.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/base/check.h"

namespace weir {
namespace {

Options With(std::string_view admin_bind, std::string_view admin_hosts = "") {
  Options options = DefaultOptions();
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == "admin-bind") WEIR_CHECK(SetOption(spec, admin_bind, options).ok());
    if (spec.name == "admin-hosts") WEIR_CHECK(SetOption(spec, admin_hosts, options).ok());
  }
  return options;
}

TEST(AdminHostTest, LocalhostAndTheAddressAreOurs) {
  const Options options = With("127.0.0.1,::1");
  for (const std::string_view host : {"localhost", "LocalHost:7382", "127.0.0.1", "127.0.0.1:7382",
                                      "[::1]", "[::1]:7382", "[0:0::1]:80", "[::ffff:127.0.0.1]"}) {
    EXPECT_TRUE(IsAdminHost(host, options)) << host;
  }
}

TEST(AdminHostTest, OtherNamesAndAddressesAreNot) {
  const Options options = With("127.0.0.1", "weir.internal,10.0.0.5");
  for (const std::string_view host : {"",
                                      ":7382",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "evil.example:7382",
                                      "127.0.0.2",
                                      "127.0.0.1.evil.example",
                                      "[::1]",
                                      "[::1",
                                      "[127.0.0.1",
                                      "localhost:x",
                                      "localhost:80:80",
                                      "[127.0.0.1]x",
                                      "localhost,weir.internal",
                                      "weir",
                                      "weir.internal.",
                                      "xweir.internal",
                                      "::1",
                                      "[]",
                                      "10.0.0.50",
                                      "0.0.0.0"}) {
    EXPECT_FALSE(IsAdminHost(host, options)) << host;
  }
}

TEST(AdminHostTest, NamesOfTheOptionAreOurs) {
  const Options options = With("127.0.0.1", "weir.internal,10.0.0.5,::5");
  for (const std::string_view host :
       {"weir.internal", "WEIR.internal:443", "10.0.0.5:7382", "[::5]"}) {
    EXPECT_TRUE(IsAdminHost(host, options)) << host;
  }
}

// Nothing but a name can be made to point here by another site.
TEST(AdminHostTest, AnAddressOfAllInterfacesStandsForAnyAddress) {
  for (const std::string_view bind : {"0.0.0.0", "::"}) {
    const Options options = With(bind);
    EXPECT_TRUE(IsAdminHost("192.0.2.7:7382", options));
    EXPECT_TRUE(IsAdminHost("[2001:db8::7]", options));
    EXPECT_FALSE(IsAdminHost("evil.example", options));
  }
}

}  // namespace
}  // namespace weir
