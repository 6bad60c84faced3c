// Goal: the parser agrees with a naive one (naive_resp_parser.h). Method: every small input, random
// streams of good and bad requests, and the output of RespWriter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "tests/protocol/multibulk.h"
#include "tests/protocol/naive_resp_parser.h"
#include "tests/protocol/pieces.h"
#include "tests/protocol/resp_transcript.h"
#include "tests/random/property.h"

namespace weir {
namespace {

// So tight that random requests run into every cap.
constexpr RespCaps kTightCaps = {.line_bytes_max = 16,
                                 .args_max = 3,
                                 .arg_bytes_max = 16,
                                 .request_bytes_max = 48,
                                 .authenticated = true};
constexpr RespCaps kTightestCaps = {.line_bytes_max = 4,
                                    .args_max = 2,
                                    .arg_bytes_max = 4,
                                    .request_bytes_max = 12,
                                    .authenticated = false};

// Every text of up to `bytes_max` bytes from `alphabet`, after `prefix`.
void CompareAll(const RespCaps& caps, const std::string& prefix, std::string_view alphabet,
                std::size_t bytes_max) {
  std::vector<std::size_t> digits;  // A number whose digits are positions in the alphabet.
  std::string bytes = prefix;
  while (digits.size() <= bytes_max) {
    const Transcript expected = ParseNaively(caps, bytes);
    ASSERT_EQ(ParseWhole(caps, bytes), expected) << testing::PrintToString(bytes);
    ASSERT_EQ(ParseInPieces(caps, bytes, EveryByte(bytes.size())), expected)
        << testing::PrintToString(bytes);
    std::size_t i = 0;
    while (i < digits.size() && ++digits[i] == alphabet.size()) digits[i++] = 0;
    if (i == digits.size()) digits.push_back(0);
    bytes = prefix;
    for (const std::size_t digit : digits) bytes += alphabet[digit];
  }
}

TEST(RespParserModelTest, AgreesOnEverySmallMultibulk) {
  CompareAll(kTightestCaps, "", "*$01\r\n", 6);
  CompareAll(kTightestCaps, "*1\r\n", "$01\r\n-", 6);
  CompareAll(kTightestCaps, "*2\r\n$1\r\n", "a$0\r\n", 7);
}

TEST(RespParserModelTest, AgreesOnEverySmallInlineRequest) {
  CompareAll(kTightCaps, "", "a \"'\\\n", 6);
  CompareAll(kTightCaps, "\"\\", "xa1\\\" ", 5);
}

// A number up to `high`, without RapidCheck's growth from small to large: the first cases should
// reach the caps, too.
rc::Gen<std::size_t> UpTo(std::size_t high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, high + 1));
}

template <typename T>
rc::Gen<std::vector<T>> Many(std::size_t count_max, const rc::Gen<T>& element) {
  return rc::gen::mapcat(UpTo(count_max), [element](std::size_t count) {
    return rc::gen::container<std::vector<T>>(count, element);
  });
}

// Bytes with a meaning in some position.
rc::Gen<char> AnyByte() {
  return rc::gen::element('*', '$', '\r', '\n', '0', '1', '3', '-', ' ', '"', '\'', '\\', 'x', 'a',
                          'P', '\0', '\xff');
}

rc::Gen<std::string> AnyBytes(std::size_t bytes_max) {
  return rc::gen::map(Many(bytes_max, AnyByte()), [](const std::vector<char>& bytes) {
    return std::string(bytes.begin(), bytes.end());
  });
}

std::string Joined(const std::vector<std::string>& pieces) { return absl::StrJoin(pieces, ""); }

rc::Gen<std::string> AnyMultibulk() {
  const auto word = rc::gen::weightedOneOf<std::string>({{8, AnyBytes(4)}, {1, AnyBytes(17)}});
  return rc::gen::weightedOneOf<std::string>(
      {{8, rc::gen::map(Many(3, word), Multibulk)}, {1, rc::gen::map(Many(12, word), Multibulk)}});
}

rc::Gen<std::string> AnyInline() {
  const auto part = rc::gen::weightedOneOf<std::string>(
      {{10, rc::gen::element<std::string>("a", "b ", " ", "\t", "\"\" ", "'' ", "\"a b\" ",
                                          "'\\'' ", "\"\\x41\" ", "\"\\n\" ", "\\", "*1")},
       {1, rc::gen::element<std::string>("\"", "'", "POST", "Host:", " HTTP/1", "\\x4", "\r")},
       {1, AnyBytes(3)}});
  return rc::gen::map(Many(5, part),
                      [](const std::vector<std::string>& parts) { return Joined(parts) + "\r\n"; });
}

// A count or a length, most of them wrong.
rc::Gen<std::string> AnyLengthLine() {
  const auto number = rc::gen::oneOf(
      rc::gen::map(UpTo(20), [](std::size_t n) { return std::to_string(n); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                   [](std::int64_t n) { return std::to_string(n); }),
      rc::gen::element<std::string>("", "-1", "+1", "01", "-0", "11", "1025", "65537", "2147483647",
                                    "2147483648", "536870912", "536870913", "9223372036854775808",
                                    "99999999999999999"),
      AnyBytes(3));
  return rc::gen::map(
      rc::gen::tuple(rc::gen::element<std::string>("*", "*1\r\n$", "*2\r\n$1\r\na\r\n$"), number),
      [](const std::tuple<std::string, std::string>& line) {
        return std::get<0>(line) + std::get<1>(line) + "\r\n";
      });
}

// Mostly good requests, so that a stream gets far.
rc::Gen<std::string> AnyStream() {
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{12, AnyMultibulk()},
       {8, AnyInline()},
       {4, rc::gen::element<std::string>("\r\n", "\n", " \n", "*0\r\n", "*-1\r\n")},
       {2, AnyLengthLine()},
       {1, AnyBytes(3)}});
  return rc::gen::map(Many(12, piece), Joined);
}

std::vector<std::size_t> AnyCuts(std::size_t bytes) {
  std::vector<std::size_t> cuts = *Many(8, UpTo(bytes));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

void AgreeOn(const RespCaps& caps, const std::string& bytes) {
  const Transcript expected = ParseNaively(caps, bytes);
  RC_TAG(expected.ending.substr(0, 30));
  RC_ASSERT(ParseWhole(caps, bytes) == expected);
  RC_ASSERT(ParseInPieces(caps, bytes, EveryByte(bytes.size())) == expected);
  RC_ASSERT(ParseInPieces(caps, bytes, AnyCuts(bytes.size())) == expected);
}

TEST(RespParserModelTest, AgreesOnRandomStreams) {
  CheckLaw(5'000, [] {
    const RespCaps caps =
        *rc::gen::element(kRespCaps, kRespCapsBeforeAuth, kTightCaps, kTightestCaps);
    AgreeOn(caps, *AnyStream());
  });
}

// A good stream with one wrong byte: the likeliest damage, and the hardest to distinguish from a
// request.
TEST(RespParserModelTest, AgreesOnStreamsWithOneWrongByte) {
  CheckLaw(2'000, [] {
    std::string bytes = Joined(*Many(4, AnyMultibulk())) + Multibulk({"ECHO", *AnyBytes(20)});
    const std::size_t at = *UpTo(bytes.size() - 1);
    bytes[at] = *AnyByte();
    AgreeOn(kRespCaps, bytes);
  });
}

// A request looks like an array of bulk strings, so the writer can write it; words of any bytes are
// read back.
TEST(RespParserModelTest, ReadsBackWhatTheWriterWrites) {
  CheckLaw(1'000, [] {
    const auto words = rc::gen::nonEmpty(
        Many(20, rc::gen::oneOf(AnyBytes(200), rc::gen::arbitrary<std::string>())));
    const std::vector<std::vector<std::string>> requests = *Many(5, words);
    std::string bytes;
    for (const std::vector<std::string>& request : requests) bytes += Multibulk(request);
    const Transcript transcript = ParseInPieces(kRespCaps, bytes, AnyCuts(bytes.size()));
    RC_ASSERT(transcript.commands == requests);
    RC_ASSERT(transcript.consumed == bytes.size());
  });
}

}  // namespace
}  // namespace weir
