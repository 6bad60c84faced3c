// Goal: the parser allocates nothing for a number that a client merely declares, and nothing for
// requests of a kind that it has seen; the writer allocates nothing but its string. Method: an
// allocator that counts.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "tests/protocol/allocations.h"

namespace weir {
namespace {

// Parses all of `bytes`, and then again in steps of `step` bytes; returns the requests.
std::size_t ParseAll(RespParser& parser, std::string_view bytes, std::size_t step) {
  std::size_t commands = 0;
  std::size_t begin = 0;
  for (std::size_t end = step; begin < bytes.size(); end += step) {
    ParseResult result = ParseResult::kCommand;
    while (result == ParseResult::kCommand) {
      result = parser.Parse(bytes.substr(begin, end - begin));
      begin += parser.consumed();
      if (result == ParseResult::kCommand) ++commands;
    }
    if (result != ParseResult::kNeedMore) break;
  }
  return commands;
}

std::string RequestOf(int words) {
  std::string bytes = "*" + std::to_string(words) + "\r\n";
  for (int i = 0; i < words; ++i) bytes += "$4\r\nword\r\n";
  return bytes;
}

std::string MixedRequests() {
  std::string bytes = "\r\n*0\r\n*4\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n$5\r\n100/m\r\n";
  bytes +=
      "RL.ALLOW key 10/s\r\nRL.ALLOW \"a key of mine, with blanks\" 10/s 'x y'\n*1\r\n$0\r\n\r\n";
  bytes += "*12\r\n";
  for (int i = 0; i < 12; ++i) bytes += "$26\r\nabcdefghijklmnopqrstuvwxyz\r\n";
  return bytes;
}

TEST(RespParserMemoryTest, DeclaredSizesAllocateNothing) {
  for (const std::string_view bytes :
       {"*1024\r\n", "*1024\r\n$65536\r\n", "*1\r\n$65536\r\nabc", "*1024", "*1\r\n$65536"}) {
    RespParser parser;
    allocations = 0;
    const ParseResult result = parser.Parse(bytes);
    EXPECT_EQ(allocations, 0U) << bytes;
    EXPECT_EQ(result, ParseResult::kNeedMore);
  }
}

TEST(RespParserMemoryTest, MemoryGrowsWithTheWordsReceived) {
  std::string bytes = "*1024\r\n";
  RespParser parser;
  for (std::size_t words = 1; words < 1024; ++words) {
    bytes += "$1\r\na\r\n";
    allocated_bytes = 0;
    ASSERT_EQ(parser.Parse(bytes), ParseResult::kNeedMore);
    // Eight bytes a word, in a container that doubles: a step allocates no more than the container
    // already holds.
    ASSERT_LE(allocated_bytes, 2 * 8 * words);
  }
}

TEST(RespParserMemoryTest, AWarmParserAllocatesNothing) {
  const std::string bytes = MixedRequests();
  for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
    RespParser parser;
    ASSERT_EQ(ParseAll(parser, bytes, bytes.size()), 5U);
    ASSERT_EQ(ParseAll(parser, bytes, 1), 5U);
    allocations = 0;
    std::size_t commands = 0;
    for (int round = 0; round < 100; ++round) commands += ParseAll(parser, bytes, step);
    EXPECT_EQ(allocations, 0U) << "in steps of " << step;
    EXPECT_EQ(commands, 500U);
  }
}

TEST(RespWriterMemoryTest, ARoomyStringIsNotReallocated) {
  std::string out;
  out.reserve(100'000);
  const std::string bytes(1'000, 'x');
  RespWriter writer(out);
  allocations = 0;
  for (const int protocol : {2, 3}) {
    writer.set_protocol(protocol);
    writer.SimpleString("OK");
    writer.Error("ERR no");
    writer.Error(bytes);
    writer.Integer(-1'000'000);
    writer.Bulk(bytes);
    writer.Null();
    writer.Array(3);
    writer.Map(2);
    writer.Set(1);
    writer.Verbatim(bytes);
  }
  EXPECT_EQ(allocations, 0U);
}

// The memory of an idle client does not depend on its earlier requests.
TEST(RespParserMemoryTest, FreesTheMemoryOfALargeRequest) {
  RespParser parser;
  const std::string large = RequestOf(1000);
  const std::string small = RequestOf(10);
  ASSERT_EQ(parser.Parse(large), ParseResult::kCommand);
  parser.ShrinkBuffers();
  allocated_bytes = 0;
  ASSERT_EQ(parser.Parse(large), ParseResult::kCommand);
  EXPECT_GE(allocated_bytes, 1000 * sizeof(std::string_view)) << "it had been given back";
  parser.ShrinkBuffers();
  ASSERT_EQ(parser.Parse(small), ParseResult::kCommand);
  parser.ShrinkBuffers();
  allocations = 0;
  ASSERT_EQ(parser.Parse(small), ParseResult::kCommand);
  EXPECT_EQ(allocations, 0U) << "a little is kept";
}

TEST(RespParserMemoryTest, KeepsTheMemoryOfAnUnfinishedRequest) {
  RespParser parser;
  const std::string request = RequestOf(100);
  for (std::size_t bytes = 1; bytes < request.size(); bytes += 7) {
    ASSERT_EQ(parser.Parse(std::string_view(request).substr(0, bytes)), ParseResult::kNeedMore);
    parser.ShrinkBuffers();
  }
  ASSERT_EQ(parser.Parse(request), ParseResult::kCommand);
  EXPECT_EQ(parser.words().size(), 100U);
}

}  // namespace
}  // namespace weir
