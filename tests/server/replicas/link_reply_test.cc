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

TEST(LinkReplyTest, ReadsAReplyWhenItIsComplete) {
  const std::string_view reply = "*3\r\n:1\r\n$2\r\nab\r\n+c\r\n";
  for (std::size_t bytes = 0; bytes < reply.size(); ++bytes) {
    EXPECT_EQ(ReadLinkReply(reply.substr(0, bytes)), std::nullopt) << bytes;
  }
  const std::optional<LinkReply> read = ReadLinkReply(std::string(reply) + "rest");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->words, (std::vector<std::string>{"1", "ab", "c"}));
  EXPECT_EQ(read->bytes, reply.size());
  EXPECT_EQ(ReadLinkReply("-NOAUTH x\r\n")->error, "NOAUTH x");
  EXPECT_FALSE(ReadLinkReply("HTTP/1.1 400 Bad Request\r\n")->error.empty());
}

}  // namespace
}  // namespace weir
