#include "server/config/pair_list.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(PairListTest, PairsAreSplitAtCommasAndTheFirstMark) {
  EXPECT_THAT(*ParsePairs("zone=a, tier = free=yes,empty=", '='),
              ElementsAre(Pair("zone", "a"), Pair("tier", "free=yes"), Pair("empty", "")));
  EXPECT_TRUE(ParsePairs("", '=')->empty());
}

TEST(PairListTest, APartWithoutAMarkOrANameIsAMistake) {
  for (const std::string_view wrong : {"zone", "a=b,", "=a", "a=b,,c=d", " =x"}) {
    EXPECT_FALSE(ParsePairs(wrong, '=')) << wrong;
  }
}

TEST(PairListTest, HeadersAreFieldsOfHttpInLowerCase) {
  EXPECT_THAT(*ParseHeaders("X-Token: a b:c,authorization:Bearer x"),
              ElementsAre(Pair("x-token", "a b:c"), Pair("authorization", "Bearer x")));
}

TEST(PairListTest, AHeaderOfTheCallItselfOrOfOtherBytesIsAMistake) {
  for (const std::string_view wrong :
       {":path:/x", "te:gzip", "Content-Type:text/plain", "grpc-timeout:1S", "a b:c", "host:x",
        "a:b\x01", "a:b\nc:d", "a\xff:b"}) {
    EXPECT_FALSE(ParseHeaders(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace weir
