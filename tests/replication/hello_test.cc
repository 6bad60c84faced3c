// Goal: a hello is read as Sentinel sends it, and any other message is refused.
#include "replication/hello.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

const std::string kId(40, 'a');

TEST(HelloTest, IsReadAsSentinelSendsIt) {
  const Hello expected = {.name = "weir", .host = "10.0.0.1", .port = 7379, .epoch = 12};
  EXPECT_EQ(ReadHello("10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379,12"), expected);
  EXPECT_EQ(ReadHello("::1,26379," + kId + ",0,weir,fd00::1,7379,0"),
            (Hello{.name = "weir", .host = "fd00::1", .port = 7379, .epoch = 0}));
  EXPECT_EQ(ReadHello("sentinel-1,26379," + kId + ",1,weir,weir-0.weir,65535,18446744073709551615"),
            (Hello{.name = "weir", .host = "weir-0.weir", .port = 65535, .epoch = UINT64_MAX}));
}

TEST(HelloTest, OtherMessagesAreRefused) {
  const std::string good = "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379,12";
  ASSERT_TRUE(ReadHello(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (good[i] == ',') {
      EXPECT_FALSE(ReadHello(good.substr(0, i))) << i;
    }
  }
  for (const std::string& bad :
       {std::string(), std::string("hello"), good + ",x", good + ",",
        "10.0.0.9,26379," + kId + ",13,,10.0.0.1,7379,12",
        "10.0.0.9,26379," + kId + ",13,weir,,7379,12",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,0,12",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,65536,12",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379,-1",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379, 1",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379,1 ",
        "10.0.0.9,26379," + kId + ",13,weir,10.0.0.1,7379,18446744073709551616",
        "10.0.0.9,70000," + kId + ",13,weir,10.0.0.1,7379,1",
        "10.0.0.9,26379," + kId + ",x,weir,10.0.0.1,7379,1",
        "10.0.0.9,26379," + kId + ",13," + std::string(2000, 'n') + ",10.0.0.1,7379,1"}) {
    EXPECT_FALSE(ReadHello(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir
