// Goal: a client reads from a server's replies what they say, and nothing else. Method: examples,
// each cut at every place.
#include "protocol/link_reply.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

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
