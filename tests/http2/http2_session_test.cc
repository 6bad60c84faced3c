#include "http2/http2_session.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http2/preface.h"
#include "tests/support/http2_client.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kAll = 1'000'000;
constexpr std::uint32_t kInternalError = 2;
constexpr std::uint32_t kProtocolError = 1;
constexpr std::uint32_t kRefusedStream = 7;
constexpr std::uint32_t kCancel = 8;
constexpr std::uint32_t kEnhanceYourCalm = 11;
constexpr std::chrono::seconds kSpan{10};

// Both ends of a connection, and a server that echoes the body of each whole request.
class Http2 : public testing::Test, public Http2Receiver {
 protected:
  void OnProgress(Http2Stream& stream) override {
    if (!stream.is_complete || stream.is_answered || !echoes_) return;
    paths_.push_back(stream.fields.path);
    constexpr Http2Field kFields[] = {{":status", "200"}, {"content-type", "application/grpc"}};
    constexpr Http2Field kTrailers[] = {{"grpc-status", "0"}};
    server_.Begin(stream, kFields);
    server_.Write(stream, stream.body);
    server_.End(stream, kTrailers);
    server_.DropBody(stream);
  }

  // Moves bytes both ways until both ends have nothing to say.
  void Talk() {
    while (true) {
      const std::string said = client_.TakeOutput();
      std::string answer;
      server_.Receive(said, now_, kAll);
      server_.Flush(answer);
      client_.Receive(answer);
      if (said.empty() && answer.empty()) return;
    }
  }
  // Bytes that no library would write.
  void Send(std::string_view bytes) {
    std::string answer;
    server_.Receive(bytes, now_, kAll);
    server_.Flush(answer);
    client_.Receive(answer);
  }

  bool echoes_ = true;
  std::vector<std::string> paths_;
  HostInstant now_{std::chrono::hours(1)};
  Http2Client client_;
  Http2Session server_{*this};
};

TEST_F(Http2, AnswersCalls) {
  const std::int32_t first = client_.Call("/a", "one");
  const std::int32_t second = client_.Call("/b", std::string(60'000, 'x'));
  Talk();
  EXPECT_THAT(paths_, ElementsAre("/a", "/b"));
  EXPECT_EQ(client_.answers[first].body, "one");
  EXPECT_EQ(client_.answers[first].fields[":status"], "200");
  EXPECT_EQ(client_.answers[first].trailers["grpc-status"], "0");
  EXPECT_TRUE(client_.answers[first].is_ended);
  EXPECT_EQ(client_.answers[second].body.size(), 60'000U);
  EXPECT_EQ(server_.streams(), 0U);
  EXPECT_FALSE(server_.has_ended());
}

TEST_F(Http2, TellsTheClientItsBounds) {
  Talk();
  EXPECT_EQ(client_.settings[3], kHttp2StreamsMax);
  EXPECT_EQ(client_.settings[4], kHttp2WindowBytes);
  EXPECT_EQ(client_.settings[6], kHttp2HeaderBytesMax);
}

TEST_F(Http2, ReadsBytesThatComeOneByOne) {
  client_.Call("/a", "one");
  for (const char& byte : client_.TakeOutput()) server_.Receive({&byte, 1}, now_, kAll);
  EXPECT_THAT(paths_, ElementsAre("/a"));
}

TEST_F(Http2, StopsBehindTheUnitsOfWork) {
  client_.Call("/a", "one");
  const std::string said = client_.TakeOutput();
  const Http2FrameWatch::Read read = server_.Receive(said, now_, 1);  // SETTINGS
  EXPECT_EQ(read.units, 1U);
  EXPECT_THAT(paths_, IsEmpty());
  server_.Receive(std::string_view(said).substr(read.bytes), now_, kAll);
  EXPECT_THAT(paths_, ElementsAre("/a"));
}

TEST_F(Http2, AnswersWithFieldsOnly) {
  echoes_ = false;
  const std::int32_t call = client_.Call("/a", "");
  Talk();
  constexpr Http2Field kFields[] = {{":status", "415"}};
  server_.Answer(*server_.Find(call), kFields);
  Talk();
  EXPECT_EQ(client_.answers[call].fields[":status"], "415");
  EXPECT_TRUE(client_.answers[call].is_ended);
  EXPECT_EQ(server_.Find(call), nullptr);
}

TEST_F(Http2, WritesAnAnswerThatLasts) {
  echoes_ = false;
  const std::int32_t call = client_.Call("/a", "");
  Talk();
  Http2Stream& stream = *server_.Find(call);
  constexpr Http2Field kFields[] = {{":status", "200"}};
  server_.Begin(stream, kFields);
  Talk();
  server_.Write(stream, "one");
  Talk();
  EXPECT_EQ(client_.answers[call].body, "one");
  server_.Write(stream, "two");
  Talk();
  EXPECT_EQ(client_.answers[call].body, "onetwo");
  EXPECT_FALSE(client_.answers[call].is_ended);
}

TEST_F(Http2, ForgetsAStreamThatTheClientResets) {
  echoes_ = false;
  const std::int32_t call = client_.Call("/a", "body");
  Talk();
  ASSERT_NE(server_.Find(call), nullptr);
  client_.Reset(call, kCancel);
  Talk();
  EXPECT_EQ(server_.Find(call), nullptr);
}

TEST_F(Http2, ResetsACallWithTooManyFields) {
  Http2FieldList fields;
  for (int i = 0; i < 100; ++i) fields.emplace_back("a" + std::to_string(i), "x");
  const std::int32_t many = client_.Call("/a", "", fields);
  const std::int32_t large = client_.Call("/a", "", {{"a", std::string(16'300, 'x')}});
  const std::int32_t fine = client_.Call("/b", "", {{"a", std::string(15'000, 'x')}});
  Talk();
  EXPECT_EQ(client_.answers[many].reset, kInternalError);
  EXPECT_EQ(client_.answers[large].reset, kInternalError);
  EXPECT_TRUE(client_.answers[fine].is_ended);
  EXPECT_FALSE(server_.has_ended());
}

TEST_F(Http2, KeepsNoMoreOfBodiesThanItsWindow) {
  echoes_ = false;
  constexpr int kCalls = 10;
  for (int i = 0; i < kCalls; ++i) client_.Call("/a", std::string(60'000, 'x'));
  Talk();
  std::size_t kept = 0;
  for (int i = 0; i < kCalls; ++i) kept += server_.Find(2 * i + 1)->body.size();
  EXPECT_EQ(kept, kHttp2WindowBytes);
  EXPECT_LT(server_.held_bytes(), 2 * kHttp2WindowBytes);
  for (int i = 0; i < kCalls; ++i) server_.DropBody(*server_.Find(2 * i + 1));
  Talk();
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(server_.Find(2 * i + 1)->is_complete);
}

TEST_F(Http2, ResetsCallsThatAreOverdue) {
  echoes_ = false;
  const std::int32_t lasting = client_.Call("/a", "");
  Talk();
  server_.Find(lasting)->may_last = true;
  EXPECT_EQ(server_.FirstOverdue(kSpan), HostInstant::max());
  const std::int32_t late = client_.Call("/a", "");
  Talk();
  const HostInstant due = now_ + kSpan;
  EXPECT_EQ(server_.FirstOverdue(kSpan), due);
  now_ += std::chrono::seconds(5);
  const std::int32_t recent = client_.Call("/a", "");
  Talk();
  server_.ResetOverdue(due, kSpan);
  Talk();
  EXPECT_EQ(client_.answers[late].reset, kCancel);
  EXPECT_NE(server_.Find(lasting), nullptr);
  EXPECT_NE(server_.Find(recent), nullptr);
}

TEST_F(Http2, CountsThePasswordOfACall) {
  echoes_ = false;
  Talk();
  const std::size_t before = server_.held_bytes();
  const std::int32_t id = client_.Call("/a", "", {{"authorization", std::string(12'000, 'x')}});
  Talk();
  ASSERT_NE(server_.Find(id), nullptr);
  EXPECT_EQ(server_.Find(id)->fields.authorization.size(), 12'000U);
  EXPECT_GT(server_.held_bytes(), before + 12'000);
}

TEST_F(Http2, RefusesStreamsAboveTheBound) {
  echoes_ = false;
  for (std::size_t i = 0; i <= kHttp2StreamsMax; ++i) client_.Call("/a", "");
  Send(client_.TakeOutput());  // as one that has not read the settings
  EXPECT_EQ(server_.streams(), kHttp2StreamsMax);
  EXPECT_EQ(client_.answers[2 * kHttp2StreamsMax + 1].reset, kRefusedStream);
}

TEST_F(Http2, EndsInTwoSteps) {
  client_.Call("/a", "one");
  Talk();
  server_.AnnounceEnd();
  const std::int32_t on_its_way = client_.Call("/b", "two");
  Talk();
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].last_stream, 0x7fffffff);
  EXPECT_EQ(client_.go_aways[0].code, 0U);
  EXPECT_TRUE(client_.answers[on_its_way].is_ended);
  EXPECT_FALSE(server_.has_ended());
  std::string last;
  server_.EndNow(last);
  ASSERT_EQ(on_its_way, 3);
  EXPECT_EQ(last, Http2Frame(7, 0, 0, std::string_view("\0\0\0\3\0\0\0\0", 8)));
  EXPECT_TRUE(server_.has_ended());
  EXPECT_FALSE(server_.is_broken());
}

// Else GOAWAY would count them among those that were served.
TEST_F(Http2, RefusesCallsThatAreNotCompleteAtItsEnd) {
  const std::int32_t open = client_.Request(
      {{":method", "POST"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "weir"}}, "one",
      true);
  const std::int32_t whole = client_.Call("/b", "two");
  Talk();
  std::string last;
  server_.EndNow(last);
  client_.Receive(last);
  EXPECT_EQ(client_.answers[open].reset, kRefusedStream);
  EXPECT_TRUE(client_.answers[whole].is_ended);
  EXPECT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_TRUE(server_.has_ended());
}

TEST_F(Http2, EndsForAClientThatSaysSo) {
  Talk();
  Send(Http2Frame(7, 0, 0, std::string(8, '\0')));
  EXPECT_TRUE(server_.has_ended());
  EXPECT_FALSE(server_.is_broken());
}

TEST_F(Http2, EndsForBytesThatAreNone) {
  Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(server_.has_ended());
  EXPECT_TRUE(server_.is_broken());
}

TEST_F(Http2, EndsForAFrameThatIsTooLong) {
  Talk();
  Send(Http2Frame(0, 0, 1, std::string(kHttp2FrameBytesMax + 1, 'x')));
  EXPECT_TRUE(server_.has_ended());
  EXPECT_TRUE(server_.is_broken());
  EXPECT_THAT(client_.go_aways, SizeIs(1));
}

TEST_F(Http2, EndsForAFrameOnTheWrongStream) {
  Talk();
  Send(Http2Frame(6, 0, 3, "12345678"));
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].code, kProtocolError);
  EXPECT_TRUE(server_.is_broken());
}

TEST_F(Http2, EndsAFlood) {
  Talk();
  for (int i = 0; i < 1'000 && !server_.has_ended(); ++i) Send(Http2Frame(6, 1, 0, "12345678"));
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].code, kEnhanceYourCalm);
  EXPECT_EQ(server_.flood(), Http2Flood::kControl);
  EXPECT_TRUE(server_.has_ended());
  EXPECT_FALSE(server_.is_broken());
}

TEST_F(Http2, EndsAHeaderBlockWithoutEnd) {
  Talk();
  Send(Http2Frame(1, 0, 1, ""));
  for (int i = 0; i < 100 && !server_.has_ended(); ++i) Send(Http2Frame(9, 0, 1, ""));
  EXPECT_TRUE(server_.has_ended());
}

// An entry of the table of 4,000 bytes, which each further byte of the block names again.
TEST_F(Http2, ABombOfCompressedFieldsTakesNoMemory) {
  Talk();
  std::string block(
      "\x40\x01"
      "a"
      "\x7f\xa1\x1e",
      6);  // literal, name "a", 4,000 bytes of value
  block += std::string(4'000, 'x') + std::string(12'000, '\xbe');
  const std::size_t before = server_.held_bytes();
  Send(Http2Frame(1, 5, 1, block));
  EXPECT_LT(server_.held_bytes(), before + 16 * 1024);
  EXPECT_EQ(server_.streams(), 0U);
}

TEST_F(Http2, HoldsLittleBetweenTwoCalls) {
  Talk();
  const std::size_t before = server_.held_bytes();
  EXPECT_LT(before, 26U * 1024);
  for (int i = 0; i < 100; ++i) client_.Call("/" + std::to_string(i), "one");
  Talk();
  EXPECT_LT(server_.held_bytes(), before + 8 * 1024);
}

}  // namespace
}  // namespace weir
