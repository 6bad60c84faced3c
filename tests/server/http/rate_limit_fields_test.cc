// Goal: the fields that tell of a verdict show the limits that they should, and keep the two laws
// of rate_limit_numbers.h. Method: requests to a limiter, the fields read by a parser of RFC 9651
// that shares nothing with the writer; random requests for the laws.
#include "server/http/rate_limit_fields.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/base/wide.h"
#include "protocol/inline_words.h"
#include "protocol/resp_writer.h"
#include "server/session/verdict_reader.h"
#include "tests/protocol/structured_list_parser.h"
#include "tests/random/generators.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The numbers of one limit as a client reads them.
struct Told {
  std::string name;
  std::map<std::string, std::int64_t> numbers;
};

std::vector<Told> ReadList(std::string_view response, std::string_view field) {
  const std::optional<std::string_view> value = FieldOf(response, field);
  if (!value) return {};
  const auto items = StructuredListParser(*value).Parse();
  WEIR_CHECK(items.has_value());
  WEIR_CHECK(!items->empty());
  std::vector<Told> told;
  for (const StructuredItem& item : *items) {
    told.push_back({std::get<std::string>(item.value), {}});
    for (const auto& [name, number] : item.parameters) {
      if (name == "pk") continue;
      told.back().numbers[name] = std::get<std::int64_t>(number);
    }
  }
  return told;
}

// Runs commands, and writes the fields of their verdicts.
class FieldsOf final : public VerdictReader {
 public:
  explicit FieldsOf(const FieldChoice& chosen = {.show = ShownLimits::kAll}) : choice(chosen) {}

  std::string Ask(std::string_view line) {
    std::vector<std::string_view> words;
    std::string unquoted;
    WEIR_CHECK(SplitInlineWords(line, 1024, words, unquoted).ok());
    response.clear();
    std::string reply;
    RespWriter writer(reply);
    client.session().ExecuteAlone(ReadAhead::Alone(words), server().clock.Now(), writer, this);
    EXPECT_EQ(reply, "") << line;
    return response;
  }

  void Read(const ParsedRequest& request, std::int64_t /*first*/, const Verdict& verdict) override {
    HttpWriter writer(response);
    writer.Begin(200, {});
    const Instant now = server().clock.Now();
    const RateLimitFields fields(request, verdict, now, choice);
    fields.Write(*server().limiter, writer);
    writer.End();
    decisive = fields.decisive();
    violated.clear();
    for (const std::string_view name : fields.violated()) violated.emplace_back(name);
    allowed = verdict.allowed;
    shapes.clear();
    for (std::size_t i = 0; i < request.checks.size(); ++i) {
      shapes.emplace(request.limits[i]->name, *request.checks[i].limit);
    }
  }

  TestServer& server() { return client.server(); }

  FieldChoice choice;
  Conversation client;
  std::string response;
  std::string decisive;
  std::vector<std::string> violated;
  bool allowed = false;
  std::map<std::string, Limit> shapes;  // by name
};

TEST(RateLimitFieldsTest, AdmissionListsAllAndDenialThoseThatDenied) {
  FieldsOf fields;
  const std::string_view request =
      "RL.ALLOW k 2/s,name=burst 1000/h,fixed,name=hourly 5/d,name=daily,cost=0";
  std::string response = fields.Ask(request);
  EXPECT_EQ(FieldOf(response, "RateLimit-Policy"),
            "\"burst\";q=2;w=1, \"hourly\";q=1000;w=3600, \"daily\";q=5;w=86400");
  EXPECT_EQ(FieldOf(response, "RateLimit"),
            "\"burst\";r=1;t=1, \"hourly\";r=999;t=3600, \"daily\";r=5");
  EXPECT_EQ(FieldOf(response, "Retry-After"), std::nullopt);
  EXPECT_EQ(fields.decisive, "burst");
  EXPECT_THAT(fields.violated, IsEmpty());
  static_cast<void>(fields.Ask(request));
  response = fields.Ask(request);
  EXPECT_EQ(FieldOf(response, "RateLimit-Policy"),
            "\"burst\";q=2;w=1, \"hourly\";q=1000;w=3600, \"daily\";q=5;w=86400");
  EXPECT_EQ(FieldOf(response, "RateLimit"), "\"burst\";r=0;t=1");
  EXPECT_EQ(FieldOf(response, "Retry-After"), "1");
  EXPECT_THAT(fields.violated, ElementsAre("burst"));
}

TEST(RateLimitFieldsTest, DecidingLimitComesFirstAndEightAreListed) {
  FieldsOf fields;
  std::string request = "RL.ALLOW k";
  for (int i = 0; i < 12; ++i) {
    request += " " + std::to_string(i == 9 ? 1 : 100 + i) + "/h,name=l" + std::to_string(i);
  }
  const std::string response = fields.Ask(request);
  for (const std::string_view field : {"RateLimit-Policy", "RateLimit"}) {
    const std::vector<Told> told = ReadList(response, field);
    ASSERT_EQ(told.size(), kFieldItemsMax);
    EXPECT_EQ(told[0].name, "l9");
    EXPECT_EQ(told[1].name, "l0");
    EXPECT_EQ(told[7].name, "l6");
  }
}

TEST(RateLimitFieldsTest, ShowsTheLimitsOfTheChoice) {
  constexpr std::string_view kRequest = "RL.ALLOW k 5/s 9/s,name=own 3/s";
  struct Case {
    ShownLimits show;
    std::vector<std::string> names;
    std::string_view decisive;
  };
  for (const Case& expected :
       {Case{ShownLimits::kNamed, {"own"}, ""},
        Case{ShownLimits::kAll, {"3/s", "5/s", "own"}, "3/s"},
        Case{ShownLimits::kDecisive, {"3/s"}, "3/s"}, Case{ShownLimits::kNone, {}, ""}}) {
    FieldsOf fields({.show = expected.show});
    const std::string response = fields.Ask(kRequest);
    std::vector<std::string> names;
    for (const Told& told : ReadList(response, "RateLimit")) names.push_back(told.name);
    EXPECT_EQ(names, expected.names);
    EXPECT_EQ(ReadList(response, "RateLimit-Policy").size(), expected.names.size());
    EXPECT_EQ(fields.decisive, expected.decisive);
  }
}

TEST(RateLimitFieldsTest, NamesOfPoliciesAreThoseOfTheirLimits) {
  FieldsOf fields({.show = ShownLimits::kNamed});
  static_cast<void>(fields.client.Show("RL.POLICY SET free 10/s,name=burst 1000/h"));
  const auto names = [&](std::string_view request) {
    std::vector<std::string> shown;
    for (const Told& told : ReadList(fields.Ask(request), "RateLimit")) shown.push_back(told.name);
    return shown;
  };
  EXPECT_THAT(names("RL.ALLOW k @free"), ElementsAre("burst"));
  EXPECT_THAT(names("RL.ALLOW k @free,name=plan"), ElementsAre("plan", "plan"));
  static_cast<void>(fields.client.Show("RL.POLICY OVERRIDE free vip 99/s,name=vip"));
  EXPECT_THAT(names("RL.ALLOW vip @free"), ElementsAre("vip"));
}

TEST(RateLimitFieldsTest, ShadowLimitsAreNotShown) {
  FieldsOf fields;
  const std::string_view request = "RL.ALLOW k 1/h,shadow,name=trial 100/h,name=real";
  static_cast<void>(fields.Ask(request));
  const std::string response = fields.Ask(request);
  EXPECT_TRUE(fields.allowed);
  EXPECT_EQ(FieldOf(response, "RateLimit-Policy"), "\"real\";q=100;w=3600");
  EXPECT_EQ(FieldOf(response, "RateLimit"), "\"real\";r=98;t=3528");
  static_cast<void>(fields.Ask("RL.ALLOW k 1/h,shadow,name=trial"));
  EXPECT_EQ(fields.decisive, "");
}

TEST(RateLimitFieldsTest, OneBucketIsListedOnce) {
  FieldsOf fields;
  EXPECT_EQ(FieldOf(fields.Ask("RL.ALLOW k 10/s 10/s,name=again"), "RateLimit"),
            "\"10/s\";r=8;t=1");
  // The same limit of another key has another bucket.
  EXPECT_EQ(FieldOf(fields.Ask("RL.ALLOW a 10/s AND b 10/s"), "RateLimit"),
            "\"10/s\";r=9;t=1, \"10/s\";r=9;t=1");
}

// Of alternatives, the one that was charged is listed, or the one that passes soonest.
TEST(RateLimitFieldsTest, OneAlternativeIsListed) {
  FieldsOf fields;
  const std::string_view request = "RL.ALLOW a 1/m AND all 9/h OR b 2/m AND all 9/h";
  EXPECT_EQ(FieldOf(fields.Ask(request), "RateLimit"), "\"1/m\";r=0;t=60, \"9/h\";r=8;t=3200");
  EXPECT_EQ(FieldOf(fields.Ask(request), "RateLimit"), "\"2/m\";r=1;t=30, \"9/h\";r=7;t=2800");
  EXPECT_EQ(FieldOf(fields.Ask(request), "RateLimit"), "\"2/m\";r=0;t=30, \"9/h\";r=6;t=2400");
  EXPECT_EQ(FieldOf(fields.Ask(request), "RateLimit-Policy"),
            "\"2/m\";q=2;w=60, \"9/h\";q=9;w=3600");
  EXPECT_THAT(fields.violated, ElementsAre("2/m"));
}

// After the last token `t` is the time of the next token, as a denial says it or, after a look,
// would say it.
TEST(RateLimitFieldsTest, AfterTheLastTokenTheTimeIsThatOfTheNext) {
  struct Case {
    std::string_view request;
    std::string_view last;  // RateLimit of the admission that took the last token
  };
  for (const Case& expected :
       std::initializer_list<Case>{{"RL.ALLOW k 3/h", "\"3/h\";r=0;t=1200"},
                                   {"RL.ALLOW k 3/h,burst=1", "\"3/h,burst=1\";r=0;t=1200"},
                                   {"RL.ALLOW k 3/h,keep=1", "\"3/h\";r=0;t=1200"},
                                   {"RL.ALLOW k 4/h COST 2", "\"4/h\";r=0;t=1800"},
                                   {"RL.ALLOW k 7/m", "\"7/m\";r=0;t=9"},
                                   {"RL.ALLOW k 3/h,fixed", "\"3/h,fixed\";r=0;t=3600"},
                                   {"RL.ALLOW k 3/h,sliding", "\"3/h,sliding\";r=0;t="},
                                   {"RL.TAKE k 3/h UPTO 3", "\"3/h\";r=0;t=1200"}}) {
    FieldsOf fields;
    std::string admitted;
    std::string denied = fields.Ask(expected.request);
    while (fields.allowed) {
      admitted = std::exchange(denied, fields.Ask(expected.request));
    }
    const auto last = ReadList(admitted, "RateLimit");
    EXPECT_EQ(last[0].numbers.at("r"), 0) << expected.request;
    EXPECT_EQ(last[0].numbers.at("t"), ReadList(denied, "RateLimit")[0].numbers.at("t"));
    EXPECT_EQ(FieldOf(denied, "Retry-After"), std::to_string(last[0].numbers.at("t")));
    EXPECT_TRUE(FieldOf(admitted, "RateLimit")->starts_with(expected.last)) << admitted;
  }
  // A client that waits for `t` is not banned.
  FieldsOf banning;
  EXPECT_EQ(FieldOf(banning.Ask("RL.ALLOW k 1/h,ban=3h"), "RateLimit"),
            "\"1/h,ban=3h\";r=0;t=3600");
  FieldsOf looks;
  EXPECT_EQ(FieldOf(looks.Ask("RL.PEEK k 3/h COST 3"), "RateLimit"), "\"3/h\";r=0;t=1200");
}

TEST(RateLimitFieldsTest, KeptTokensAreNotAvailable) {
  FieldsOf fields;
  EXPECT_EQ(FieldOf(fields.Ask("RL.ALLOW k 10/s,keep=4"), "RateLimit"), "\"10/s\";r=5;t=1");
}

TEST(RateLimitFieldsTest, LimitsWithoutNumbersAreNotListed) {
  FieldsOf fields;
  EXPECT_EQ(FieldOf(fields.Ask("RL.ALLOW k unlimited"), "RateLimit"), std::nullopt);
  EXPECT_EQ(fields.decisive, "unlimited");
  EXPECT_EQ(FieldOf(fields.Ask("RL.ALLOW k 1G/us,burst=1000000000000000"), "RateLimit"),
            std::nullopt);
  const std::string denied = fields.Ask("RL.ALLOW k none");
  EXPECT_EQ(FieldOf(denied, "RateLimit-Policy"), "\"none\";q=0");
  EXPECT_EQ(FieldOf(denied, "RateLimit"), "\"none\";r=0");
  EXPECT_EQ(FieldOf(denied, "Retry-After"), std::nullopt);
  EXPECT_THAT(fields.violated, ElementsAre("none"));
}

TEST(RateLimitFieldsTest, OtherFieldsOnDemand) {
  FieldsOf fields(
      {.rate_limit = false, .retry_after = false, .x_rate_limit = true, .show = ShownLimits::kAll});
  std::string response = fields.Ask("RL.ALLOW k 2/m,burst=1 100/h");
  EXPECT_EQ(FieldOf(response, "X-RateLimit-Limit"), "1");
  EXPECT_EQ(FieldOf(response, "X-RateLimit-Remaining"), "0");
  EXPECT_EQ(FieldOf(response, "X-RateLimit-Reset"), "30");
  response = fields.Ask("RL.ALLOW k 2/m,burst=1 100/h");
  EXPECT_FALSE(fields.allowed);
  EXPECT_EQ(FieldOf(response, "RateLimit"), std::nullopt);
  EXPECT_EQ(FieldOf(response, "RateLimit-Policy"), std::nullopt);
  EXPECT_EQ(FieldOf(response, "Retry-After"), std::nullopt);
  EXPECT_EQ(FieldOf(response, "X-RateLimit-Reset"), "30");
}

// Goal: `pk` tells keys apart, and is no part of the hash that places a key in the table.
TEST(RateLimitFieldsTest, PartitionKeyIsAHashOfTheKey) {
  FieldsOf fields({.partition_key = true, .show = ShownLimits::kAll});
  const std::string response = fields.Ask("RL.ALLOW a 10/s AND b 10/s AND a 20/s");
  for (const std::string_view field : {"RateLimit", "RateLimit-Policy"}) {
    const auto items = StructuredListParser(FieldOf(response, field).value()).Parse();
    ASSERT_TRUE(items.has_value());
    ASSERT_EQ(items->size(), 3U);
    std::vector<std::string> keys;
    for (const StructuredItem& item : *items) {
      keys.push_back(std::get<ByteSequence>(item.parameters.at("pk")).bytes);
      EXPECT_EQ(keys.back().size(), 12U);
    }
    EXPECT_NE(keys[0], keys[1]);
    EXPECT_EQ(keys[0], keys[2]);
    const KeyHasher::Fingerprint hash = fields.server().limiter->hasher().FingerprintOf("a");
    EXPECT_EQ(keys[0], std::string(hash.begin(), hash.begin() + 12));
  }
}

// A request of one to five limits of all kinds, some of them kept from, shadow or banning.
std::string AnyRequest() {
  static const std::vector<std::string> kLimits = {
      "3/s",           "10/s,burst=1", "7/11ms",
      "5/m,fixed",     "20/m,sliding", "1/h",
      "2/day",         "4/s,ban=90s",  "3/m,fixed,ban=5m",
      "100/1500ms",    "6/s,keep=2",   "9/m,fixed,keep=3",
      "2/s,shadow",    "9/m,shadow",   "unlimited",
      "1000000007/us", "2/s,cost=0",   "1/3285d,burst=4"};
  std::string request = "RL.ALLOW";
  const int groups = *Between(1, 2);
  for (int group = 0; group < groups; ++group) {
    if (group > 0) request += " AND";
    request += " " + *rc::gen::element<std::string>("a", "b", "c");
    const int limits = *Between(1, 4);
    for (int i = 0; i < limits; ++i) request += " " + *rc::gen::elementOf(kLimits);
    if (*Between(0, 2) == 0) request += " COST " + std::to_string(*Between(0, 6));
  }
  return request;
}

// The numbers of the only limit of this name, or null.
const Told* OnlyOne(const std::vector<Told>& told, std::string_view name) {
  const auto found = std::ranges::find(told, name, &Told::name);
  const bool is_only = std::ranges::count(told, name, &Told::name) == 1;
  return is_only ? &*found : nullptr;
}

// For a limit that has no token left, `t` is the wait that a retry at the same instant gets.
void AssertARetryAgrees(FieldsOf& fields, const std::string& request,
                        const std::vector<Told>& told) {
  const bool is_empty =
      std::ranges::any_of(told, [](const Told& limit) { return limit.numbers.at("r") == 0; });
  if (!is_empty) return;
  const auto retried = ReadList(fields.Ask(request), "RateLimit");
  if (fields.allowed) return;  // its cost is 0
  for (const Told& denied : retried) {
    const Told* const before = OnlyOne(told, denied.name);
    if (!before || !OnlyOne(retried, denied.name) || before->numbers.at("r") > 0) continue;
    if (fields.shapes.at(denied.name).shape().ban > Nanos{0}) continue;  // the retry has begun it
    RC_ASSERT(before->numbers.contains("t") == denied.numbers.contains("t"));
    if (denied.numbers.contains("t")) RC_ASSERT(before->numbers.at("t") == denied.numbers.at("t"));
  }
}

TEST(RateLimitFieldsLawTest, NeverPromiseTooMuchNorTellTooShortAWait) {
  CheckLaw(300, [] {
    FieldsOf fields;
    for (int step = 0; step < 20; ++step) {
      fields.server().clock.Advance(Nanos{*NumberUpTo(3'000'000'000)});
      const std::string request = AnyRequest();
      const std::string response = fields.Ask(request);
      const auto told = ReadList(response, "RateLimit");
      const auto policies = ReadList(response, "RateLimit-Policy");
      const auto retry_after = FieldOf(response, "Retry-After");
      RC_ASSERT(told.size() <= policies.size());
      RC_ASSERT(policies.size() <= kFieldItemsMax);
      for (const Told& policy : policies) {
        RC_ASSERT(policy.numbers.contains("q"));
        if (policy.numbers.contains("w")) RC_ASSERT(policy.numbers.at("w") > 0);
      }
      for (const auto& [name, numbers] : told) {
        RC_ASSERT(numbers.contains("r"));
        RC_ASSERT(numbers.at("r") >= 0);
        const Limit& limit = fields.shapes.at(name);
        RC_ASSERT(!limit.shape().shadow);
        if (!fields.allowed) {
          if (!numbers.contains("t") || !retry_after) continue;
          RC_ASSERT(std::stoll(std::string(*retry_after)) >= numbers.at("t"));
        } else if (limit.shape().algorithm == Algorithm::kTokenBucket && numbers.contains("t")) {
          const Emission& emission = limit.emission();
          RC_ASSERT(Wide{static_cast<std::uint64_t>(numbers.at("r"))} *
                        static_cast<std::uint64_t>(emission.period) <=
                    Wide{static_cast<std::uint64_t>(numbers.at("t"))} * 1'000'000'000 *
                        emission.denominator);
        }
      }
      if (fields.allowed) AssertARetryAgrees(fields, request, told);
    }
  });
}

}  // namespace
}  // namespace weir
