// Goal: a body becomes the words that a client of the Redis protocol would send, and a mistake is
// named with its field. Method: tables of bodies; every beginning of a body.
#include "server/json/limit_request_reader.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/json/json_body.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string Joined(std::span<const std::string_view> words) {
  std::string joined(words.front());
  for (const std::string_view word : words.subspan(1)) joined.append(" ").append(word);
  return joined;
}

// The words, separated by blanks, or the error.
std::string Read(std::string_view body, std::string_view name = "allow") {
  LimitRequestReader reader(body);
  const absl::Status read = reader.ReadRequest(*FindLimitCommand(name));
  return read.ok() ? Joined(reader.words(0)) : std::string(read.message());
}

std::vector<std::string> ReadBatch(std::string_view body) {
  LimitRequestReader reader(body);
  const absl::Status read = reader.ReadBatch();
  if (!read.ok()) return {absl::StrCat("all: ", read.message())};
  std::vector<std::string> requests;
  for (std::size_t i = 0; i < reader.size(); ++i) {
    requests.push_back(reader.error(i).empty() ? Joined(reader.words(i))
                                               : std::string(reader.error(i)));
  }
  return requests;
}

std::string BatchOf(std::size_t requests) {
  std::string body = R"({"requests":[)";
  for (std::size_t i = 0; i < requests; ++i) {
    body += i == 0 ? "" : ",";
    body += R"({"key":"k","limits":["1/s"]})";
  }
  return body + "]}";
}

TEST(LimitRequestReaderTest, ABodyBecomesWords) {
  EXPECT_EQ(Read(R"({"key":"k","limits":["10/s"]})"), "RL.ALLOW k 10/s");
  EXPECT_EQ(Read(R"({"limits":["10/s","@p"],"cost":0,"key":"k"})", "peek"),
            "RL.PEEK k 10/s @p COST 0");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"upto":9223372036854775807})", "take"),
            "RL.TAKE k 1/s UPTO 9223372036854775807");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"details":false})", "charge"), "RL.CHARGE k 1/s");
  EXPECT_EQ(Read(R"( { "key" : "k" , "limits" : [ "1/s" ] , "and" : [ ] } )", "refund"),
            "RL.REFUND k 1/s");
}

TEST(LimitRequestReaderTest, AHoldHasAnIdAndATime) {
  EXPECT_EQ(
      Read(R"({"ttl_ms":500,"key":"k","hold":"a","limits":["5,held"],"details":true})", "reserve"),
      "RL.RESERVE k 5,held HOLD a TTL 500 WITHLIMITS");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"hold":"AND","ttl_ms":1,"upto":2})", "take"),
            "RL.TAKE k 1/s UPTO 2 HOLD AND TTL 1");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"cost":3,"hold":""})", "commit"),
            "RL.COMMIT k 1/s COST 3 HOLD ");
  EXPECT_EQ(Read(R"({"key":"k","cost":3,"hold":"a"})", "commit"), "RL.COMMIT k COST 3 HOLD a");
  EXPECT_EQ(Read(R"({"key":"k","hold":"a","and":[{"key":"l"},{"key":"m","limits":[]}]})", "cancel"),
            "RL.CANCEL k AND l AND m HOLD a");
}

TEST(LimitRequestReaderTest, AlternativesStandBehindTheRequest) {
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"or":[]})"), "RL.ALLOW k 1/s");
  EXPECT_EQ(Read(R"({"or":[{"and":[{"key":"c","limits":["3/s"]},{"key":"d","limits":["4/s"]}],
                            "limits":["2/s"],"cost":7,"key":"b"},{"key":"e","limits":["5/s"]}],
                     "and":[{"key":"a","limits":["1/s"],"cost":2}],"key":"k","limits":["0/s"]})",
                 "peek"),
            "RL.PEEK k 0/s AND a 1/s COST 2 OR b 2/s COST 7 AND c 3/s AND d 4/s OR e 5/s");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"or":[{"key":"or","limits":["2/s"]}],"hold":"a",
                     "ttl_ms":5,"details":true})",
                 "reserve"),
            "RL.RESERVE k 1/s OR or 2/s HOLD a TTL 5 WITHLIMITS");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"or":[{"key":"l"}]})"),
            "field 'or[0].limits' is missing");
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"],"or":[{"key":"l","limits":["1/s"],
                     "and":[{"key":"m","limits":["1/s"]},{"limits":["1/s"]}]}]})"),
            "field 'or[0].and[1].key' is missing");
  EXPECT_EQ(Read(R"({"or":[{"or":[]}]})"), "unknown field 'or': known are key, limits, cost, and");
  EXPECT_EQ(Read(R"({"and":[{"or":[]}]})"), "unknown field 'or': known are key, limits, cost");
  EXPECT_EQ(Read(R"({"or":[{"and":[{"and":[]}]}]})"),
            "unknown field 'and': known are key, limits, cost");
  EXPECT_EQ(Read(R"({"or":[1]})"),
            "invalid field 'or': must be a list of objects, each with key, limits, cost and and");
  EXPECT_EQ(Read(R"({"or":[{"and":[1]}]})"),
            "invalid field 'or[0].and': must be a list of objects, each with key, limits and cost");
  EXPECT_EQ(Read(R"({"or":[]})", "charge"),
            "unknown field 'or': known are key, limits, cost, and, details");
  EXPECT_THAT(
      ReadBatch(R"({"requests":[{"or":[{"key":"b","limits":["2/s"]}],"key":"a",
                            "limits":["1/s"]},{"do":"take","key":"a","limits":["1/s"],"upto":1,
                            "or":[]},{"key":"c","limits":["1/s"]}]})"),
      ElementsAre("RL.ALLOW a 1/s OR b 2/s", "field 'or' is not for take", "RL.ALLOW c 1/s"));
}

TEST(LimitRequestReaderTest, EachCommandHasItsFields) {
  struct Case {
    std::string_view name;
    std::string_view body;
    std::string_view error;
  };
  for (const Case& bad : {
           Case{"reserve", R"({"key":"k","limits":["1/s"],"hold":"a"})",
                "field 'ttl_ms' is missing"},
           {"reserve", R"({"key":"k","limits":["1/s"],"ttl_ms":1})", "field 'hold' is missing"},
           {"reserve", R"({"key":"k","hold":"a","ttl_ms":1})", "field 'limits' is missing"},
           {"reserve", R"({"upto":1})",
            "unknown field 'upto': known are key, limits, cost, and, or, details, hold, ttl_ms"},
           {"reserve", R"({"hold":81})",
            "invalid field 'hold': must be a string, the id of a hold"},
           {"reserve", R"({"ttl_ms":0})",
            "invalid field 'ttl_ms': must be a whole number from 1 to 86400000"},
           {"reserve", R"({"ttl_ms":"1"})", "invalid field 'ttl_ms'"},
           {"reserve", R"({"and":[{"hold":"a"}]})",
            "unknown field 'hold': known are key, limits, cost"},
           {"take", R"({"key":"k","limits":["1/s"],"upto":1,"hold":"a"})",
            "field 'ttl_ms' is missing"},
           {"take", R"({"key":"k","limits":["1/s"],"upto":1,"ttl_ms":1})",
            "field 'hold' is missing"},
           {"commit", R"({"key":"k"})", "field 'hold' is missing"},
           {"commit", R"({"hold":"a"})", "field 'key' is missing"},
           {"commit", R"({"hold":"a","key":"k","and":[{}]})", "field 'and[0].key' is missing"},
           {"commit", R"({"ttl_ms":1})", "unknown field 'ttl_ms'"},
           {"cancel", R"({"cost":1})",
            "unknown field 'cost': known are key, limits, and, details, hold"},
           {"cancel", R"({"key":"k","hold":"a","limits":["1/s"]})",
            "field 'limits' is not for cancel"},
           {"cancel", R"({"key":"k","hold":"a","and":[{"key":"l","cost":0}]})",
            "unknown field 'cost': known are key, limits"},
           {"allow", R"({"hold":"a"})", "unknown field 'hold'"},
       }) {
    EXPECT_THAT(Read(bad.body, bad.name), StartsWith(std::string(bad.error))) << bad.body;
  }
}

TEST(LimitRequestReaderTest, TheErrorListsAllCommands) {
  std::string names(kLimitCommandNames);
  names.replace(names.find(" or "), 4, ", ");
  for (const absl::string_view name : absl::StrSplit(names, ", ")) {
    EXPECT_NE(FindLimitCommand(StdView(name)), nullptr) << name;
  }
}

TEST(LimitRequestReaderTest, OtherKeysFollowInTheirOrder) {
  EXPECT_EQ(Read(R"({"details":true,"and":[{"limits":["2/s"],"key":"l","cost":2},)"
                 R"({"cost":3,"key":"m","limits":["3/s","4/s"]}],"cost":1,"limits":["1/s"],)"
                 R"("key":"k"})"),
            "RL.ALLOW k 1/s COST 1 AND l 2/s COST 2 AND m 3/s 4/s COST 3 WITHLIMITS");
}

TEST(LimitRequestReaderTest, EscapesAreDecodedAndKeysMayReadLikeKeywords) {
  EXPECT_EQ(Read(R"({"key":"\u00e9\ud83d\ude00\u0000\n\"","limits":["1/s"]})"),
            std::string("RL.ALLOW \u00e9\U0001F600\0\n\" 1/s", 22));
  EXPECT_EQ(Read(R"({"key":"COST","limits":["1/s"]})"), "RL.ALLOW COST 1/s");
  EXPECT_EQ(Read(R"({"key":"","limits":["1/s"]})"), "RL.ALLOW  1/s");
}

TEST(LimitRequestReaderTest, AMistakeIsNamed) {
  const std::vector<std::pair<std::string_view, std::string_view>> mistakes = {
      {"", "invalid JSON: the body is empty"},
      {"[]", "a request must be an object with key and limits"},
      {"7", "a request must be an object with key and limits"},
      {"{}", "field 'key' is missing"},
      {R"({"key":"k"})", "field 'limits' is missing"},
      {R"({"key":7,"limits":["1/s"]})", "invalid field 'key': must be a string"},
      {R"({"key":null,"limits":["1/s"]})", "invalid field 'key': must be a string"},
      {R"({"key":{},"limits":["1/s"]})", "invalid field 'key': must be a string"},
      {R"({"key":"k","key":"l"})", "field 'key' stands there twice"},
      {R"({"key":"k","limits":"1/s"})",
       R"(invalid field 'limits': must be a list of limits, as in ["10/s"])"},
      {R"({"key":"k","limits":[]})",
       R"(invalid field 'limits': must be a list of limits, as in ["10/s"])"},
      {R"({"key":"k","limits":[["1/s"]]})",
       R"(invalid field 'limits': must be a list of limits, as in ["10/s"])"},
      {R"({"key":"k","limits":[10]})",
       R"(invalid field 'limits': must be a list of limits, as in ["10/s"])"},
      {R"({"key":"k","limits":["and"]})", "invalid limit 'and'"},
      {R"({"key":"k","limits":["WITHLIMITS"]})", "invalid limit 'WITHLIMITS'"},
      {R"({"key":"k","limits":["1/s"],"cost":"1"})",
       "invalid field 'cost': must be a whole number from 0 to 9223372036854775807"},
      {R"({"cost":-1})", "invalid field 'cost'"},
      {R"({"cost":1.0})", "invalid field 'cost'"},
      {R"({"cost":1e3})", "invalid field 'cost'"},
      {R"({"cost":9223372036854775808})", "invalid field 'cost'"},
      {R"({"cost":18446744073709551616})", "invalid field 'cost'"},
      {R"({"cost":true})", "invalid field 'cost'"},
      {R"({"cost":1e999})", "invalid JSON at byte 13"},
      {R"({"details":1})", "invalid field 'details': must be true or false"},
      {R"({"details":null})", "invalid field 'details': must be true or false"},
      {R"({"Key":"k"})", "unknown field 'Key': known are key, limits, cost, and, or, details"},
      {R"({"":"k"})", "unknown field ''"},
      {R"({"upto":1})", "unknown field 'upto'"},
      {R"({"do":"take"})", "unknown field 'do'"},
      {R"({"and":{}})",
       "invalid field 'and': must be a list of objects, each with key, limits and cost"},
      {R"({"and":["l"]})", "invalid field 'and'"},
      {R"({"and":[[]]})", "invalid field 'and'"},
      {R"({"and":[{"key":"l","limits":["1/s"]},7]})", "invalid field 'and': must be a list of"},
      {R"({"and":[{"key":"l","limits":["1/s"]},{"limits":["1/s"]}]})",
       "field 'and[1].key' is missing"},
      {R"({"and":[{"key":"l"}]})", "field 'and[0].limits' is missing"},
      {R"({"and":[{"cost":-1}]})", "invalid field 'and[0].cost'"},
      {R"({"and":[{"details":true}]})", "unknown field 'details': known are key, limits, cost"},
      {R"({"and":[{"and":[]}]})", "unknown field 'and': known are key, limits, cost"},
      {R"({"key":"k","limits":["1/s"]}{})", "invalid JSON at byte 29"},
      {R"({"key":"k",})", "invalid JSON at byte 12"},
      {"{\"key\":\"\xff\"}", "invalid JSON at byte 9"},
      {"{\"key\":\"a\nb\"}", "invalid JSON at byte 10"},
      {R"({"key":"\ud800"})", "invalid JSON at byte"},
  };
  for (const auto& [body, error] : mistakes) {
    EXPECT_THAT(Read(body), StartsWith(std::string(error))) << body;
  }
  EXPECT_THAT(Read(R"({"key":"k","limits":["1/s"],"upto":0})", "take"),
              StartsWith("invalid field 'upto': must be a whole number from 1 to"));
  EXPECT_EQ(Read(R"({"key":"k","limits":["1/s"]})", "take"), "field 'upto' is missing");
}

// Each beginning of a body ends within it.
TEST(LimitRequestReaderTest, ACutBodyIsNoJson) {
  const std::string body =
      R"({"key":"k","limits":["1/s","2/m"],"and":[{"key":"l","limits":["1/s"]}],"cost":12})";
  for (std::size_t size = 1; size < body.size(); ++size) {
    EXPECT_THAT(Read(body.substr(0, size)), StartsWith("invalid JSON at byte ")) << size;
  }
}

TEST(LimitRequestReaderTest, BracketsAreBounded) {
  const std::string open(kJsonDepthMax + 1, '[');
  EXPECT_THAT(ReadBatch(R"({"requests":[{"key":)" + open),
              ElementsAre("all: invalid JSON: deeper than 16 brackets"));
}

TEST(LimitRequestReaderTest, ARequestHasTheBoundsOfTheRedisProtocol) {
  const std::string text(64 * 1024, 'k');
  EXPECT_EQ(Read(R"({"key":")" + text + R"(","limits":["1/s"]})"), "RL.ALLOW " + text + " 1/s");
  EXPECT_THAT(Read(R"({"key":"k)" + text + R"(","limits":["1/s"]})"),
              StartsWith("too long: a request has at most 1024 words"));
  std::string limits = "\"1/s\"";
  for (int i = 1; i < 1022; ++i) limits += ",\"1/s\"";
  EXPECT_THAT(Read(R"({"key":"k","limits":[)" + limits + "]}"), StartsWith("RL.ALLOW k 1/s"));
  EXPECT_THAT(Read(R"({"key":"k","limits":[)" + limits + R"(,"1/s"]})"), StartsWith("too long"));
}

TEST(LimitRequestReaderTest, RequestsOfABatchStandAlone) {
  EXPECT_THAT(ReadBatch(R"({"requests":[{"key":"k","limits":["1/s"]},)"
                        R"({"upto":5,"limits":["1/s"],"do":"take","key":"k"},)"
                        R"({"do":"peek","key":"l","limits":["1/s"],"details":true}]})"),
              ElementsAre("RL.ALLOW k 1/s", "RL.TAKE k 1/s UPTO 5", "RL.PEEK l 1/s WITHLIMITS"));
  EXPECT_THAT(ReadBatch(R"({"requests":[]})"), ElementsAre());
}

TEST(LimitRequestReaderTest, AMistakeInARequestLeavesTheOthers) {
  const std::string good = R"({"key":"k","limits":["1/s"]})";
  const std::vector<std::pair<std::string_view, std::string_view>> mistakes = {
      {"7", "a request must be an object with key and limits"},
      {"null", "a request must be an object with key and limits"},
      {"[]", "a request must be an object with key and limits"},
      {R"([[{"requests":[1]}],{}])", "a request must be an object with key and limits"},
      {"{}", "field 'key' is missing"},
      {R"({"x":{"y":[{"key":"l"}]},"key":"k"})",
       "unknown field 'x': known are key, limits, cost, and, or, details, upto, hold, ttl_ms, do"},
      {R"({"and":[{"key":[[1]]},{"key":"m"}],"key":"k"})",
       "invalid field 'and[0].key': must be a string"},
      {R"({"and":[{"key":"l"}],"key":"k"})", "field 'and[0].limits' is missing"},
      {R"({"do":"wait","key":"k"})",
       "invalid field 'do': must be allow, cancel, charge, commit, peek, refund, reserve or take"},
      {R"({"key":"k","limits":["1/s"],"upto":1})", "field 'upto' is not for allow"},
      {R"({"hold":"a","key":"k","limits":["1/s"],"do":"peek"})", "field 'hold' is not for peek"},
      {R"({"cost":1,"hold":"a","key":"k","do":"cancel"})", "field 'cost' is not for cancel"},
      {R"({"do":"reserve","key":"k","limits":[],"hold":"a","ttl_ms":1})",
       "invalid field 'limits': must be a list of limits"},
      {R"({"do":"take","key":"k","limits":["1/s"]})", "field 'upto' is missing"},
      {R"({"key":"k","limits":["UPTO"]})",
       "invalid limit 'UPTO': expected count/period, as in 10/s"},
  };
  for (const auto& [request, error] : mistakes) {
    const auto read =
        ReadBatch(R"({"requests":[)" + good + "," + std::string(request) + "," + good + "]}");
    ASSERT_EQ(read.size(), 3U) << request << " " << read.front();
    EXPECT_EQ(read[0], "RL.ALLOW k 1/s");
    EXPECT_THAT(read[1], StartsWith(std::string(error))) << request;
    EXPECT_EQ(read[2], "RL.ALLOW k 1/s") << request;
  }
}

TEST(LimitRequestReaderTest, ABatchOfAnotherFormIsRefusedAsAWhole) {
  const std::vector<std::pair<std::string_view, std::string_view>> mistakes = {
      {"{}", "field 'requests' is missing"},
      {"[]", "a batch must be an object"},
      {"1", "a batch must be an object"},
      {R"({"requests":{}})", "invalid field 'requests': must be a list of requests"},
      {R"({"requests":1})", "invalid field 'requests': must be a list of requests"},
      {R"({"requests":[],"requests":[]})", "field 'requests' stands there twice"},
      {R"({"requests":[],"atomic":true})", "unknown field 'atomic': a batch has requests"},
      {R"({"requests":[{"key":"k","limits":["1/s"]})", "invalid JSON at byte "},
  };
  for (const auto& [body, error] : mistakes) {
    EXPECT_THAT(ReadBatch(body), ElementsAre(StartsWith("all: " + std::string(error)))) << body;
  }
}

TEST(LimitRequestReaderTest, ABatchIsBounded) {
  EXPECT_EQ(ReadBatch(BatchOf(kJsonRequestsMax)).size(), kJsonRequestsMax);
  EXPECT_THAT(ReadBatch(BatchOf(kJsonRequestsMax + 1)),
              ElementsAre("all: too many requests: a batch has at most 1000"));
  std::string numbers = R"({"requests":[0)";
  for (std::size_t i = 0; i < kJsonRequestsMax; ++i) numbers += ",0";
  EXPECT_THAT(ReadBatch(numbers + "]}"), ElementsAre(HasSubstr("too many requests")));
}

}  // namespace
}  // namespace weir
