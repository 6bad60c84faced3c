// Goal: a request of a user that its proxy asks about several times is charged once, and no other
// request passes because of it. Method: conversations without sockets: the same value again, other
// values, none, denials, other routes, pauses; a clock that does not advance.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "server/http/check_routes.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::Eq;
using testing::Optional;

constexpr std::string_view kOnce = "once = \"{header:x-request-id}\"\n";

class CheckOnceTest : public testing::Test {
 protected:
  CheckOnceTest() {
    Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"3/m,name=site\"]\n",
                       AbslView(kOnce), "[other]\nkey = \"u:{header:x-user}\"\n",
                       "limits = [\"3/m,name=site\"]\n", AbslView(kOnce)));
  }

  void Route(std::string_view text) {
    absl::StatusOr<CheckRoutes> routes =
        ParseCheckRoutes(text, "c.toml", [](std::string_view) { return true; });
    WEIR_CHECK(routes.ok());
    client_.server().http.checks.Replace(*std::move(routes));
  }

  // Empty: without the field.
  std::string Check(std::string_view id, std::string_view user = "a",
                    std::string_view route = "site") {
    return client_.Get(
        absl::StrCat("/check/", AbslView(route)),
        absl::StrCat("X-User: ", AbslView(user), "\r\n",
                     id.empty() ? "" : "X-Request-Id: ", AbslView(id), id.empty() ? "" : "\r\n"));
  }
  int Status(std::string_view id, std::string_view user = "a", std::string_view route = "site") {
    return StatusOf(Check(id, user, route));
  }
  // The tokens that a user has left.
  std::string Left(std::string_view user = "a") {
    return redis_.Show(absl::StrCat("RL.PEEK u:", AbslView(user), " 3/m COST 0"));
  }

  HttpConversation client_;
  Conversation redis_{client_.server()};
};

TEST_F(CheckOnceTest, TheSameValueIsChargedOnce) {
  const std::string first = Check("1");
  const std::string second = Check("1");
  EXPECT_EQ(StatusOf(first), 200);
  EXPECT_EQ(StatusOf(second), 200);
  EXPECT_EQ(Left(), "1 2 0 20000 0");
  for (const std::string_view field : {"RateLimit", "RateLimit-Policy", "X-Weir-Limit"}) {
    EXPECT_EQ(FieldOf(first, field), FieldOf(second, field)) << field;
  }
  EXPECT_THAT(FieldOf(second, "RateLimit"), Optional(Eq("\"site\";r=2;t=40")));
  EXPECT_THAT(FieldOf(second, "Cache-Control"), Optional(Eq("no-store")));
}

// The path inside may have another key than the one that the user asked for.
TEST_F(CheckOnceTest, TheKeyMayBeAnother) {
  EXPECT_EQ(Status("1", "a"), 200);
  EXPECT_EQ(Status("1", "b"), 200);
  EXPECT_EQ(Left("b"), "1 3 0 0 0");
  EXPECT_EQ(StatusOf(client_.Get("/check/site", "X-Request-Id: 1\r\n")), 200) << "no key at all";
}

TEST_F(CheckOnceTest, AnotherValueAndNoneAreCharged) {
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Status("2"), 200);
  EXPECT_EQ(Status(""), 200);
  EXPECT_EQ(Status(""), 429);
  EXPECT_EQ(StatusOf(client_.Get("/check/site", "X-User: a\r\nX-Request-Id:\r\n")), 429);
  EXPECT_EQ(Status("3"), 429);
  EXPECT_EQ(Status("1"), 200) << "admitted before the limit was used up";
  EXPECT_EQ(Left(), "1 0 0 60000 0");
}

TEST_F(CheckOnceTest, ADenialIsNotKept) {
  for (const char* const id : {"1", "2", "3"}) EXPECT_EQ(Status(id), 200);
  EXPECT_EQ(Status("4"), 429);
  EXPECT_EQ(Status("4"), 429);
  client_.server().clock.Advance(std::chrono::seconds{20});
  EXPECT_EQ(Status("4"), 200);
  EXPECT_EQ(Left(), "1 0 0 60000 0") << "charged when it was admitted";
}

TEST_F(CheckOnceTest, TroubleIsNotKept) {
  Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"@later\"]\n",
                     AbslView(kOnce)));
  EXPECT_EQ(Status("1"), 500);
  redis_.Show("RL.POLICY SET later 1/m");
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Status("2"), 429);
}

// The fields are those of a look, for which the user needs the right.
TEST_F(CheckOnceTest, TheFieldsAreThoseOfALookByTheUser) {
  Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"9/m,name=site\"]\n",
                     "cost = 2\n", AbslView(kOnce)));
  EXPECT_EQ(Status("1"), 200);
  EXPECT_THAT(FieldOf(Check("1"), "RateLimit"), Optional(Eq("\"site\";r=7;t=47")));
  const TemporaryDirectory directory;
  const std::string users = directory.Write("users", "user default on nopass ~* +rl.allow\n");
  ASSERT_TRUE(client_.server().services.access.Configure("", users).ok());
  const std::string again = Check("1");
  EXPECT_EQ(StatusOf(again), 200);
  EXPECT_EQ(FieldOf(again, "RateLimit"), std::nullopt);
  EXPECT_EQ(client_.server().services.access_log.Latest(1).size(), 0U)
      << "nobody was refused anything";
  EXPECT_EQ(Status("2"), 200) << "charged";
}

// A route whose user is gone answers no check with yes, whether or not it is the first one.
TEST_F(CheckOnceTest, WithoutItsUserARouteAnswersAgainAsItDoesFirst) {
  const TemporaryDirectory directory;
  const auto configure = [&](std::string_view users) {
    ASSERT_TRUE(
        client_.server().services.access.Configure("", directory.Write("users", users)).ok());
  };
  for (const std::string_view user : {"user = \"gateway\"\n", ""}) {
    configure("user default on nopass ~* +@all\nuser gateway on nopass ~* +@all\n");
    Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"9/m,name=site\"]\n",
                       AbslView(kOnce), AbslView(user)));
    const std::string_view known = user.empty() ? "2" : "1";
    EXPECT_EQ(Status(known), 200) << user;
    EXPECT_EQ(Status(known), 200) << user;
    configure("user default on >secret ~* +@all\n");
    const std::string first = Check("new");
    EXPECT_EQ(StatusOf(first), 500) << user;
    EXPECT_EQ(Check(known), first) << user;
  }
}

// Which groups are left out does not depend on whether the check is the first one.
TEST_F(CheckOnceTest, AGroupThatIsLeftOutIsNotShownAgain) {
  Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"9/m,name=site\"]\n",
                     AbslView(kOnce), "[[site.and]]\nkey = \"t\"\nlimits = [\"5/m,name=size\"]\n",
                     "cost = \"{header:x-size}\"\n[site.answer]\nmissing = \"skip\"\n"));
  const auto check = [&](std::string_view fields) {
    return client_.Get("/check/site", absl::StrCat("X-User: a\r\n", AbslView(fields)));
  };
  for (const std::string_view fields :
       {"X-Request-Id: 1\r\n", "X-Request-Id: 2\r\nX-Size: 2\r\n"}) {
    const std::string first = check(fields);
    const std::string again = check(fields);
    EXPECT_EQ(StatusOf(first), 200) << fields;
    for (const std::string_view field : {"RateLimit", "RateLimit-Policy", "X-Weir-Limit"}) {
      EXPECT_EQ(FieldOf(again, field), FieldOf(first, field)) << field << " " << fields;
    }
  }
  EXPECT_THAT(FieldOf(check("X-Request-Id: 1\r\n"), "RateLimit"),
              Optional(Eq("\"site\";r=7;t=47")));
  EXPECT_EQ(redis_.Show("RL.PEEK t 5/m COST 0"), "1 3 0 24000 0");
}

TEST_F(CheckOnceTest, AnAnswerAgainHasNoFieldsOfADenial) {
  for (const std::string_view limit :
       {"1/m,name=a,ban=10s", "3/m,name=a,cost=2", "3/m,name=a,keep=2"}) {
    redis_.Show("DEL u:a");
    Route(absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"", AbslView(limit),
                       "\"]\n", AbslView(kOnce)));
    const std::string id = absl::StrCat("first of ", AbslView(limit));
    EXPECT_EQ(Status(id), 200) << limit;
    EXPECT_EQ(Status("another"), 429) << limit;
    const std::string again = Check(id);
    EXPECT_EQ(StatusOf(again), 200) << limit;
    EXPECT_EQ(FieldOf(again, "Retry-After"), std::nullopt) << limit;
  }
}

TEST_F(CheckOnceTest, AnotherRouteChargesForItself) {
  EXPECT_EQ(Status("1", "a", "site"), 200);
  EXPECT_EQ(Status("1", "a", "other"), 200);
  EXPECT_EQ(Left(), "1 1 0 40000 0");
}

TEST_F(CheckOnceTest, ARouteThatIsReadAgainKnowsWhatWasAdmitted) {
  EXPECT_EQ(Status("1"), 200);
  Route(
      absl::StrCat("[site]\nkey = \"u:{header:x-user}\"\nlimits = [\"none\"]\n", AbslView(kOnce)));
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Status("2"), 429);
}

TEST_F(CheckOnceTest, AValueIsForgottenAfterAMinute) {
  EXPECT_EQ(Status("1"), 200);
  client_.server().clock.Advance(std::chrono::seconds{59});
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Left(), "1 3 0 0 0");
  client_.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_EQ(Status("1"), 200);
  EXPECT_EQ(Left(), "1 2 0 20000 0");
}

TEST_F(CheckOnceTest, APauseKeepsNoOtherCheckWaiting) {
  redis_.Show("CLIENT PAUSE 1000 WRITE");
  HttpConversation other(client_.server());
  EXPECT_EQ(Check("1"), "");
  EXPECT_EQ(other.Get("/check/site", "X-User: a\r\nX-Request-Id: 1\r\n"), "");
  client_.server().clock.Advance(std::chrono::milliseconds{1000});
  EXPECT_EQ(StatusOf(client_.Send("")), 200);
  EXPECT_EQ(StatusOf(other.Send("")), 200);
  EXPECT_EQ(Left(), "1 2 0 20000 0");
}

TEST(CheckOnceTableTest, ItIsMadeForARouteThatNeedsIt) {
  HttpTestServer server;
  const auto replace = [&](std::string_view text) {
    server.http.checks.Replace(
        *ParseCheckRoutes(text, "c.toml", [](std::string_view) { return true; }));
  };
  replace("[a]\nkey = \"k\"\nlimits = [\"1/m\"]\n");
  EXPECT_EQ(server.http.checks.admitted(), nullptr);
  replace(absl::StrCat("[a]\nkey = \"k\"\nlimits = [\"1/m\"]\n", AbslView(kOnce)));
  EXPECT_NE(server.http.checks.admitted(), nullptr);
}

}  // namespace
}  // namespace weir
