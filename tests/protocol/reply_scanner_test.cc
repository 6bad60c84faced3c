// Goal: the end of each reply is found wherever the stream is cut, what it says is read, and what
// is no reply is refused. Method: examples, each cut at every place; and replies in RESP3 against
// the writer's in RESP2.
#include "protocol/reply_scanner.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "protocol/resp_writer.h"

namespace weir {
namespace {

using Result = ReplyScanner::Result;

const std::vector<std::string> kReplies = {"+OK\r\n",
                                           "-ERR x\r\n",
                                           ":-12\r\n",
                                           "$0\r\n\r\n",
                                           "$4\r\na\r\nb\r\n",
                                           "$-1\r\n",
                                           "*-1\r\n",
                                           "_\r\n",
                                           "#t\r\n",
                                           ",1.5\r\n",
                                           "(12345678901234567890\r\n",
                                           "=5\r\ntxt:a\r\n",
                                           "*0\r\n",
                                           "%0\r\n",
                                           "*2\r\n*2\r\n:1\r\n:2\r\n$1\r\nx\r\n",
                                           "%2\r\n+a\r\n*1\r\n:1\r\n+b\r\n~1\r\n$1\r\nc\r\n",
                                           ">2\r\n+message\r\n$1\r\nx\r\n",
                                           "*1\r\n*1\r\n*1\r\n*0\r\n"};

TEST(ReplyScannerTest, FindsEachEndWhereverTheStreamIsCut) {
  for (const std::string& reply : kReplies) {
    const std::string stream = reply + "+next\r\n";
    for (std::size_t cut = 0; cut < reply.size(); ++cut) {
      ReplyScanner scanner;
      ASSERT_EQ(scanner.Scan(std::string_view(stream).substr(0, cut)), Result::kNeedMore) << reply;
      ASSERT_EQ(scanner.Scan(stream), Result::kReply) << reply;
      EXPECT_EQ(scanner.size(), reply.size());
      ASSERT_EQ(scanner.Scan(std::string_view(stream).substr(reply.size())), Result::kReply);
      EXPECT_EQ(scanner.size(), 7U);
    }
  }
}

TEST(ReplyScannerTest, ByteByByteItReadsTheSame) {
  std::string stream;
  for (const std::string& reply : kReplies) stream += reply;
  ReplyScanner scanner;
  std::vector<std::string> found;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= stream.size(); ++end) {
    const std::string_view unread = std::string_view(stream).substr(begin, end - begin);
    if (scanner.Scan(unread) != Result::kReply) continue;
    EXPECT_EQ(scanner.size(), unread.size());
    found.emplace_back(unread);
    begin = end;
  }
  EXPECT_EQ(found, kReplies);
}

TEST(ReplyScannerTest, RefusesWhatIsNoReplyOrTooLarge) {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 400\r\n"), std::string("\r\n"), std::string(":x\r\n"),
        std::string("$-2\r\n"), std::string("$x\r\n"), std::string("%-1\r\n"),
        std::string("$1\r\nab\r\n"), std::string("$99999999\r\n"), std::string("*99999999\r\n"),
        std::string("+a\nb\r\n"), std::string("-a\rb\r\n"),
        std::string(2 * kReplyLineBytesMax, '+')}) {
    EXPECT_EQ(ReplyScanner().Scan(bytes), Result::kStrange) << bytes.substr(0, 20);
  }
  std::string deep;
  for (std::size_t i = 0; i <= kReplyDepthMax; ++i) deep += "*1\r\n";
  EXPECT_EQ(ReplyScanner().Scan(deep + ":1\r\n"), Result::kStrange);
}

TEST(ReplyScannerTest, AReplyIsATree) {
  const Reply reply = ReadReply("*3\r\n:7\r\n%1\r\n$1\r\nk\r\n=6\r\ntxt:ab\r\n$-1\r\n");
  ASSERT_EQ(reply.elements.size(), 3U);
  EXPECT_EQ(reply.elements[0].number, 7);
  ASSERT_EQ(reply.elements[1].elements.size(), 2U);
  EXPECT_EQ(reply.elements[1].elements[1].text, "ab");
  EXPECT_EQ(reply.elements[2].kind, '_');
  EXPECT_TRUE(ReadReply("-ERR x\r\n").is_error());
  EXPECT_EQ(ReadReply("-ERR x\r\n").text, "ERR x");
}

// A row of WITHLIMITS as core/commands/replies.h writes it, among all other kinds.
void WriteAll(RespWriter& writer) {
  writer.Array(8);
  writer.SimpleString("OK");
  writer.Integer(-3);
  writer.Bulk("a\r\nb");
  writer.Null();
  writer.Double(1.5);
  writer.Set(1);
  writer.Bulk("x");
  writer.Verbatim("text");
  if (writer.protocol() == 3) {
    writer.Map(2);
    writer.Field("name", "10/s");
    writer.Field("allowed", 1);
  } else {
    writer.Array(2);
    writer.Bulk("10/s");
    writer.Integer(1);
  }
}

TEST(ReplyScannerTest, Resp3IsWrittenAsResp2) {
  std::string resp2;
  std::string resp3;
  RespWriter old_writer(resp2);
  WriteAll(old_writer);
  RespWriter new_writer(resp3);
  new_writer.set_protocol(3);
  WriteAll(new_writer);
  std::string out = "before";
  AppendAsResp2(resp3, out);
  EXPECT_EQ(out, "before" + resp2);
  out.clear();
  AppendAsResp2(resp2, out);
  EXPECT_EQ(out, resp2);
}

}  // namespace
}  // namespace weir
