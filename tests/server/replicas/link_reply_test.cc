// Goal: a replica reads from its peer's answers what that says, and nothing else. Method: examples,
// and answers of the server's own handlers read back.
#include "server/replicas/link_reply.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(LinkReplyTest, AReferralNamesTheServerToAsk) {
  for (const HostAndPort& primary : {HostAndPort{"10.0.0.2", 7379}, HostAndPort{"fe80::1", 1},
                                     HostAndPort{"weir-1.weir", 65535}}) {
    EXPECT_EQ(ReadReferral(ReferralTo(primary)), primary);
  }
}

TEST(LinkReplyTest, OtherErrorsAreNoReferrals) {
  for (const char* error :
       {"", "NOMASTERLINK this server is no primary", "ERR follow 10.0.0.2:7379",
        "NOMASTERLINK this server is a replica: follow ",
        "NOMASTERLINK this server is a replica: follow :7379",
        "NOMASTERLINK this server is a replica: follow 10.0.0.2",
        "NOMASTERLINK this server is a replica: follow 10.0.0.2:0",
        "NOMASTERLINK this server is a replica: follow 10.0.0.2:65536",
        "NOMASTERLINK this server is a replica: follow a b:1"}) {
    EXPECT_EQ(ReadReferral(error), std::nullopt) << error;
  }
}

}  // namespace
}  // namespace weir
