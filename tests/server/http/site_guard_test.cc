// Goal: the page and decisions are answered under the names that were configured, and under no
// other, so that no site can use them by giving its own name our address; and a request that a
// browser sends for a page gets no decision. Method: lists of hosts; then all requests that such a
// page can make, and those of programs, each with its status and with what it has charged.
#include "server/http/site_guard.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "server/http/check_routes.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

void SetTo(std::string_view name, std::string_view value, Options& options) {
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == name) WEIR_CHECK(SetOption(spec, value, options).ok());
  }
}

Options With(std::string_view admin_bind, std::string_view admin_hosts = "") {
  Options options = DefaultOptions();
  SetTo("admin-bind", admin_bind, options);
  SetTo("admin-hosts", admin_hosts, options);
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

// Another site can make a name point here, but no address.
TEST(AdminHostTest, AnAddressOfAllInterfacesStandsForAnyAddress) {
  for (const std::string_view bind : {"0.0.0.0", "::"}) {
    const Options options = With(bind);
    EXPECT_TRUE(IsAdminHost("192.0.2.7:7382", options));
    EXPECT_TRUE(IsAdminHost("[2001:db8::7]", options));
    EXPECT_FALSE(IsAdminHost("evil.example", options));
  }
}

TEST(HttpHostTest, AddressesNamesWithoutADotAndThoseOfTheOptionAreOurs) {
  Options options = DefaultOptions();
  SetTo("http-hosts", "weir.internal", options);
  for (const std::string_view host :
       {"localhost", "LocalHost:7381", "127.0.0.1", "10.1.2.3:7381", "[::1]", "[2001:db8::7]:80",
        "[::ffff:127.0.0.1]", "weir", "WEIR:7381", "weir.internal", "Weir.Internal:443"}) {
    EXPECT_TRUE(IsHttpHost(host, options)) << host;
  }
  for (const std::string_view host :
       {"", ":7381", "evil.example", "evil.example:7381", "rebind.weir.internal", "weir.internal.",
        "weir.", "localhost.", "127.0.0.1.evil.example", "127.1", "1.2.3.4.5", "0x7f.0.0.1", "[::1",
        "weir:x", "weir:80:80", "weir.internal,evil"}) {
    EXPECT_FALSE(IsHttpHost(host, options)) << host;
  }
}

// --- Requests of a browser ---

constexpr std::string_view kUsersFile =
    "user default on nopass ~* +@all\nuser app on >secret ~* +@all\nuser open on nopass ~* +@all\n";
constexpr std::string_view kAsApp = "Authorization: Basic YXBwOnNlY3JldA==\r\n";
constexpr std::string_view kAsOpen = "Authorization: Basic b3Blbjp4\r\n";
constexpr std::string_view kAsDefault = "Authorization: Bearer anything\r\n";
constexpr std::string_view kAsWrong = "Authorization: Basic YXBwOng=\r\n";

// A server whose clients need no password, unless there are other users.
class BrowserTest : public testing::Test {
 protected:
  explicit BrowserTest(std::string_view users = kUsersFile) : client_(Server(users, directory_)) {
    absl::StatusOr<CheckRoutes> routes =
        ParseCheckRoutes("[api]\nkey = \"k\"\nlimits = [\"1000/h\"]", "c.toml",
                         [](std::string_view) { return true; });
    WEIR_CHECK(routes.ok());
    client_.server().http.checks.Replace(*std::move(routes));
  }

  // The status of the answer to each path that decides or commands. Fails unless it is the same for
  // all, and all or none of the requests have taken a token.
  int Ask(std::string_view host, std::string_view fields) {
    int status = 0;
    for (const auto& [path, body] :
         std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"/check?key=k&limit=1000/h", ""},
             {"/v1/allow", R"({"key":"k","limits":["1000/h"]})"},
             {"/v1/charge", R"({"key":"k","limits":["1000/h"]})"},
             {"/v1/batch", R"({"requests":[{"key":"k","limits":["1000/h"]}]})"},
             {"/v1/command", R"(["RL.ALLOW","k","1000/h"])"},
             {"/v1/pipeline", R"([["RL.ALLOW","k","1000/h"]])"}}) {
      if (path.starts_with("/check") && fields.find("Authorization") != fields.npos) continue;
      const int answered = Send(path, body, host, fields);
      EXPECT_EQ(Charged(), answered == 200 ? 1 : 0) << path << " " << host << " " << fields;
      if (status == 0) status = answered;
      EXPECT_EQ(answered, status) << path << " " << host << " " << fields;
    }
    return status;
  }

  int Send(std::string_view path, std::string_view body, std::string_view host,
           std::string_view fields) {
    HttpConversation client(client_.server());
    client.record().has_certificate = has_certificate_;
    return StatusOf(client.Send(absl::StrCat(
        body.empty() ? "GET " : "POST ", AbslView(path), " HTTP/1.1\r\nHost: ", AbslView(host),
        "\r\n", AbslView(fields), "Content-Type: application/json\r\nContent-Length: ", body.size(),
        "\r\n\r\n", AbslView(body))));
  }

  // The tokens that were taken since the last call.
  int Charged() {
    Conversation redis(client_.server());
    const bool is_charged = redis.Show("RL.INSPECT k") != "[]";
    redis.Show("DEL k");
    return is_charged ? 1 : 0;
  }

  bool has_certificate_ = false;

 private:
  static std::unique_ptr<HttpTestServer> Server(std::string_view users,
                                                TemporaryDirectory& directory) {
    Options options = DefaultOptions();
    SetTo("http-hosts", "weir.internal", options);
    auto server = std::make_unique<HttpTestServer>(options);
    const std::string file = directory.Write("users", users);
    WEIR_CHECK(server->services.access.Configure("", file).ok());
    return server;
  }

  TemporaryDirectory directory_;

 protected:
  HttpConversation client_;
};

struct PageCase {
  std::string_view host;
  std::string_view fields;
  int status;
};

TEST_F(BrowserTest, WithoutAProvedLoginAPageIsRefused) {
  for (const std::string_view login : {std::string_view(), kAsOpen, kAsDefault}) {
    for (const PageCase& row : std::initializer_list<PageCase>{
             {"127.0.0.1:7381", "", 200},
             {"localhost", "", 200},
             {"weir", "", 200},
             {"weir.internal:7381", "", 200},
             {"localhost", "Sec-Fetch-Site: none\r\n", 200},
             // A name that was given our address.
             {"rebind.evil.example:7381", "", 421},
             {"rebind.evil.example:7381", "Origin: http://rebind.evil.example:7381\r\n", 421},
             {"rebind.evil.example", "Sec-Fetch-Site: same-origin\r\n", 421},
             {"", "", 421},
             // An image, a form, a script of another site, of this host's other ports, a sandbox.
             {"localhost", "Sec-Fetch-Site: cross-site\r\n", 403},
             {"localhost", "Sec-Fetch-Site: same-site\r\n", 403},
             {"localhost", "Sec-Fetch-Site: same-origin\r\n", 403},
             {"localhost", "Sec-Fetch-Site:\r\n", 403},
             // A field that stands there twice: each counts.
             {"localhost", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n", 200},
             {"localhost", "Sec-Fetch-Site: none\r\nsec-fetch-site: cross-site\r\n", 403},
             {"localhost", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", 403},
             {"127.0.0.1", "Origin: http://evil.example\r\n", 403},
             {"127.0.0.1", "Origin: http://127.0.0.1\r\n", 403},
             {"127.0.0.1", "Origin: null\r\n", 403},
             {"127.0.0.1", "Origin:\r\n", 403},
             {"weir.internal", "Origin: https://a.example\r\nSec-Fetch-Site: none\r\n", 403}}) {
      const std::string fields = absl::StrCat(AbslView(login), AbslView(row.fields));
      EXPECT_EQ(Ask(row.host, fields), row.status) << row.host << " " << fields;
    }
  }
}

// No page knows the password, so a user with a certificate or a password asks as before.
TEST_F(BrowserTest, AProvedLoginMayComeFromAnywhere) {
  const std::string as_app(kAsApp);
  EXPECT_EQ(Ask("weir.example", as_app), 200);
  EXPECT_EQ(Ask("weir.example", as_app + "Origin: https://a.example\r\n"), 200);
  EXPECT_EQ(Ask("weir.example", as_app + "Sec-Fetch-Site: cross-site\r\n"), 200);
  EXPECT_EQ(Ask("weir.example", kAsWrong), 401);
  EXPECT_EQ(Ask("localhost", kAsWrong), 401);
  has_certificate_ = true;
  EXPECT_EQ(Ask("weir.example", "Origin: https://a.example\r\n"), 200);
}

// On /check the field belongs to the user of the proxy.
TEST_F(BrowserTest, TheFieldOfTheProxiedRequestProvesNothing) {
  constexpr std::string_view kOpenCheck = "/check?key=k&limit=1000/h";
  EXPECT_EQ(Send(kOpenCheck, "", "evil.example", kAsApp), 421);
  EXPECT_EQ(Send(kOpenCheck, "", "localhost", std::string(kAsApp) + "Origin: null\r\n"), 403);
  EXPECT_EQ(Charged(), 0);
  EXPECT_EQ(Send(kOpenCheck, "", "localhost", kAsApp), 200);
}

// A proxy passes the user's fields on to a route.
TEST_F(BrowserTest, RoutesStayOpen) {
  for (const std::string_view fields :
       {"Origin: https://app.example\r\n", "Sec-Fetch-Site: cross-site\r\n"}) {
    EXPECT_EQ(Send("/check/api", "", "app.example", fields), 200);
    EXPECT_EQ(Charged(), 1);
  }
}

TEST_F(BrowserTest, AnOlderLoginOfTheConnectionProvesNothing) {
  const std::string body = "{\"key\":\"k\",\"limits\":[\"1000/h\"]}";
  EXPECT_EQ(StatusOf(client_.Post("/v1/allow", body, kAsApp)), 200);
  EXPECT_EQ(StatusOf(client_.Post("/v1/allow", body, "Origin: null\r\n")), 403);
  EXPECT_EQ(
      StatusOf(client_.Post("/v1/allow", body, absl::StrCat(AbslView(kAsApp), "Origin: null\r\n"))),
      200);
}

class LoginBrowserTest : public BrowserTest {
 protected:
  LoginBrowserTest() : BrowserTest("user app on >secret ~* +@all\n") {}
};

// A browser would ask its user for the password, and give it to the site.
TEST_F(LoginBrowserTest, NoPasswordIsAskedForUnderTheNameOfASite) {
  constexpr std::string_view kBody = R"({"key":"k","limits":["1000/h"]})";
  EXPECT_EQ(Send("/v1/allow", kBody, "evil.example", ""), 421);
  EXPECT_EQ(Send("/v1/allow", kBody, "localhost", "Origin: null\r\n"), 403);
  EXPECT_EQ(Send("/v1/allow", kBody, "localhost", ""), 401);
  EXPECT_EQ(Send("/v1/allow", kBody, "evil.example", kAsApp), 200);
}

}  // namespace
}  // namespace weir
