// Goal: every kind of reply has its exact bytes in RESP2 and RESP3. Method: examples; a law for
// errors.
#include "protocol/resp_writer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::string_literals;

// The bytes that `write` produces in the given version of the protocol.
std::string Written(int protocol, const std::function<void(RespWriter&)>& write) {
  std::string out;
  RespWriter writer(out);
  writer.set_protocol(protocol);
  write(writer);
  return out;
}

void ExpectBoth(const std::function<void(RespWriter&)>& write, const std::string& bytes) {
  EXPECT_EQ(Written(2, write), bytes);
  EXPECT_EQ(Written(3, write), bytes);
}

TEST(RespWriterTest, SimpleString) {
  ExpectBoth([](RespWriter& writer) { writer.SimpleString("OK"); }, "+OK\r\n");
  ExpectBoth([](RespWriter& writer) { writer.SimpleString(""); }, "+\r\n");
}

TEST(RespWriterTest, Integer) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    ExpectBoth([number](RespWriter& writer) { writer.Integer(number); },
               ":" + std::to_string(number) + "\r\n");
  }
}

// Law: a number has the digits of std::to_string, on both sides of each power of ten and of each
// hundred.
TEST(RespWriterTest, IntegerOfAnyLength) {
  for (std::int64_t power = 1;; power *= 10) {
    for (std::int64_t off = -101; off <= 101; ++off) {
      for (const std::int64_t number : {power + off, -power - off}) {
        ExpectBoth([number](RespWriter& writer) { writer.Integer(number); },
                   ":" + std::to_string(number) + "\r\n");
      }
    }
    if (power == 1'000'000'000'000'000'000) break;
  }
}

TEST(RespWriterTest, ArrayOfIntegersIsWhatOneByOneAre) {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t number :
       {std::int64_t{-7}, std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
        std::numeric_limits<std::int64_t>::max(), std::int64_t{42}}) {
    for (const std::size_t more : {0, 1, 1000}) {
      const std::size_t values = numbers.size() + more;
      const auto one_by_one = [&](RespWriter& writer) {
        writer.Array(values);
        for (const std::int64_t one : numbers) writer.Integer(one);
      };
      ExpectBoth([&](RespWriter& writer) { writer.ArrayOf(values, numbers); },
                 Written(2, one_by_one));
    }
    numbers.push_back(number);
  }
}

TEST(RespWriterTest, DoubleIsABulkInResp2) {
  for (const auto& [number, text] :
       {std::pair(0.0, "0"), std::pair(0.021, "0.021"), std::pair(-1.5, "-1.5"),
        std::pair(86'400.125, "86400.125"),
        std::pair(std::numeric_limits<double>::lowest(), "-1.7976931348623157e+308"),
        std::pair(std::numeric_limits<double>::min(), "2.2250738585072014e-308")}) {
    const auto write = [number = number](RespWriter& writer) { writer.Double(number); };
    EXPECT_EQ(Written(2, write),
              "$" + std::to_string(std::string_view(text).size()) + "\r\n" + text + "\r\n");
    EXPECT_EQ(Written(3, write), std::string(",") + text + "\r\n");
  }
}

TEST(RespWriterTest, BulkCarriesAnyBytes) {
  ExpectBoth([](RespWriter& writer) { writer.Bulk(""); }, "$0\r\n\r\n");
  ExpectBoth([](RespWriter& writer) { writer.Bulk("a\r\n\0\xff"s); }, "$5\r\na\r\n\0\xff\r\n"s);
  const std::string large(100'000, 'x');
  ExpectBoth([&](RespWriter& writer) { writer.Bulk(large); }, "$100000\r\n" + large + "\r\n");
}

TEST(RespWriterTest, Null) {
  const auto write = [](RespWriter& writer) { writer.Null(); };
  EXPECT_EQ(Written(2, write), "$-1\r\n");
  EXPECT_EQ(Written(3, write), "_\r\n");
}

TEST(RespWriterTest, Array) {
  ExpectBoth([](RespWriter& writer) { writer.Array(0); }, "*0\r\n");
  ExpectBoth(
      [](RespWriter& writer) {
        writer.Array(2);
        writer.Integer(1);
        writer.Array(1);
        writer.Bulk("a");
      },
      "*2\r\n:1\r\n*1\r\n$1\r\na\r\n");
}

TEST(RespWriterTest, SetIsAnArrayInResp2) {
  const auto write = [](RespWriter& writer) {
    writer.Set(1);
    writer.SimpleString("fast");
  };
  EXPECT_EQ(Written(2, write), "*1\r\n+fast\r\n");
  EXPECT_EQ(Written(3, write), "~1\r\n+fast\r\n");
}

TEST(RespWriterTest, MapIsAFlatArrayInResp2) {
  const auto write = [](RespWriter& writer) {
    writer.Map(2);
    writer.Bulk("proto");
    writer.Integer(3);
    writer.Bulk("modules");
    writer.Map(0);
  };
  EXPECT_EQ(Written(2, write), "*4\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n");
  EXPECT_EQ(Written(3, write), "%2\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n%0\r\n");
}

TEST(RespWriterTest, VerbatimIsABulkInResp2) {
  const auto write = [](RespWriter& writer) { writer.Verbatim("# Server\r\n"); };
  EXPECT_EQ(Written(2, write), "$10\r\n# Server\r\n\r\n");
  EXPECT_EQ(Written(3, write), "=14\r\ntxt:# Server\r\n\r\n");
  EXPECT_EQ(Written(3, [](RespWriter& writer) { writer.Verbatim(""); }), "=4\r\ntxt:\r\n");
}

TEST(RespWriterTest, SpeaksResp2UntilTold) {
  std::string out = "kept ";
  RespWriter writer(out);
  EXPECT_EQ(writer.protocol(), 2);
  writer.Null();
  writer.set_protocol(3);
  EXPECT_EQ(writer.protocol(), 3);
  writer.Null();
  writer.set_protocol(2);
  writer.Null();
  EXPECT_EQ(out, "kept $-1\r\n_\r\n$-1\r\n");
}

TEST(RespWriterErrorTest, SendsTheTextWithItsPrefix) {
  ExpectBoth([](RespWriter& writer) { writer.Error("ERR syntax error"); }, "-ERR syntax error\r\n");
  ExpectBoth([](RespWriter& writer) { writer.Error(""); }, "-\r\n");
}

TEST(RespWriterErrorTest, CannotInjectAReply) {
  ExpectBoth([](RespWriter& writer) { writer.Error("ERR no 'x\r\n+OK\r\n:1\n'"); },
             "-ERR no 'x  +OK  :1 '\r\n");
}

// Law: for any text, an error is one line of at most kErrorBytesMax bytes, and only control bytes
// are replaced.
TEST(RespWriterErrorTest, IsOneLineWithoutControlBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char bad = static_cast<char>(byte);
    const std::string line =
        Written(2, [bad](RespWriter& writer) { writer.Error("ERR '"s + bad + "'"); });
    const bool is_control = byte < 0x20 || byte == 0x7f;
    EXPECT_EQ(line, "-ERR '"s + (is_control ? ' ' : bad) + "'\r\n") << byte;
  }
}

TEST(RespWriterErrorTest, CutsAtTheCap) {
  const auto written = [](std::size_t bytes) {
    return Written(3, [bytes](RespWriter& writer) { writer.Error(std::string(bytes, 'e')); });
  };
  const std::string longest = "-" + std::string(kErrorBytesMax, 'e') + "\r\n";
  EXPECT_EQ(written(kErrorBytesMax), longest);
  EXPECT_EQ(written(kErrorBytesMax + 1), longest);
  EXPECT_EQ(written(1'000'000), longest);
}

TEST(RespWriterErrorTest, EscapesOnlyItsOwnLine) {
  std::string out;
  RespWriter writer(out);
  writer.Bulk("a\r\n\x01");
  writer.Error("ERR\t");
  writer.Bulk("\n");
  EXPECT_EQ(out, "$4\r\na\r\n\x01\r\n-ERR \r\n$1\r\n\n\r\n");
}

}  // namespace
}  // namespace weir
