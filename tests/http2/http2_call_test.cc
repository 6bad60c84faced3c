// Goal: a call of HTTP/2 sends its request, hears an answer that lasts, and says why it has ended.
// Method: the call beside a server's end, in memory; and frames that no library would write.
#include "http2/http2_call.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http2/http2_session.h"
#include "tests/support/http2_client.h"

namespace weir {
namespace {

constexpr Http2Field kRequest[] = {{":method", "POST"},
                                   {":scheme", "http"},
                                   {":path", "/a.B/C"},
                                   {":authority", "weir"},
                                   {"content-type", "application/grpc"}};
constexpr Http2Field kAnswer[] = {{":status", "200"}, {"content-type", "application/grpc"}};

class Http2CallTest : public testing::Test, public Http2Receiver {
 protected:
  void OnProgress(Http2Stream& stream) override {
    heard_ += std::string(stream.body).substr(heard_.size());
    path_ = stream.fields.path;
    stream_ = stream.id;
  }

  // Moves bytes both ways until both ends have nothing to say.
  void Talk() {
    while (true) {
      std::string said;
      call_.Flush(said);
      std::string answer;
      server_.Receive(said, HostInstant(std::chrono::hours(1)), 1'000'000);
      server_.Flush(answer);
      call_.Receive(answer);
      if (said.empty() && answer.empty()) return;
    }
  }
  Http2Stream& stream() { return *server_.Find(stream_); }

  std::string heard_;
  std::string path_;
  std::int32_t stream_ = 0;
  Http2Call call_{kRequest};
  Http2Session server_{*this};
};

TEST_F(Http2CallTest, TheBodyGoesOutAsItIsWritten) {
  Talk();
  EXPECT_EQ(path_, "/a.B/C");
  call_.Write("one");
  Talk();
  EXPECT_EQ(heard_, "one");
  call_.Write("two");
  Talk();
  EXPECT_EQ(heard_, "onetwo");
  EXPECT_FALSE(call_.has_ended());
}

TEST_F(Http2CallTest, ALongBodyGoesOutAsTheWindowPermits) {
  const std::string body(200'000, 'x');
  call_.Write(body);
  Talk();
  EXPECT_EQ(heard_.size(), body.size());
}

TEST_F(Http2CallTest, ABodyForWhichTheServerGivesNoRoomEndsIt) {
  const std::string piece(kHttp2CallOutputBytesMax / 4, 'x');
  for (int i = 0; i < 4; ++i) call_.Write(piece);
  EXPECT_FALSE(call_.has_ended());
  call_.Write("x");
  EXPECT_EQ(call_.reason(), "it does not read");
}

TEST_F(Http2CallTest, TheAnswerIsTakenInPiecesWhileItLasts) {
  Talk();
  EXPECT_FALSE(call_.is_answered());
  server_.Begin(stream(), kAnswer);
  server_.Write(stream(), "one");
  Talk();
  EXPECT_TRUE(call_.is_answered());
  EXPECT_EQ(call_.TakeBody(), "one");
  EXPECT_EQ(call_.TakeBody(), "");
  server_.Write(stream(), "two");
  Talk();
  EXPECT_EQ(call_.TakeBody(), "two");
  EXPECT_FALSE(call_.has_ended());
}

TEST_F(Http2CallTest, TheWindowOpensAgainForWhatIsTaken) {
  Talk();
  server_.Begin(stream(), kAnswer);
  std::size_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    server_.Write(stream(), std::string(kHttp2CallWindowBytes / 2, 'x'));
    Talk();
    taken += call_.TakeBody().size();
  }
  EXPECT_EQ(taken, 10 * kHttp2CallWindowBytes);
}

TEST_F(Http2CallTest, ItEndsWithTheStatusOfGrpc) {
  Talk();
  constexpr Http2Field kTrailers[] = {{"grpc-status", "14"}, {"grpc-message", "no such node"}};
  server_.Begin(stream(), kAnswer);
  server_.Write(stream(), "last");
  server_.End(stream(), kTrailers);
  Talk();
  EXPECT_TRUE(call_.has_ended());
  EXPECT_EQ(call_.reason(), "grpc-status 14: no such node");
  EXPECT_EQ(call_.TakeBody(), "last");
}

TEST_F(Http2CallTest, ItEndsWithTheStatusOfHttp) {
  Talk();
  constexpr Http2Field kRefusal[] = {{":status", "503"}};
  server_.Answer(stream(), kRefusal);
  Talk();
  EXPECT_FALSE(call_.is_answered());
  EXPECT_EQ(call_.reason(), "HTTP status 503");
}

TEST_F(Http2CallTest, ItEndsWhenTheServerRefusesTheStream) {
  Talk();
  std::string last;
  server_.EndNow(last);
  call_.Receive(last);
  EXPECT_EQ(call_.reason(), "the stream was reset (7)");
}

TEST_F(Http2CallTest, APingIsAnswered) {
  Talk();
  call_.Ping();
  EXPECT_TRUE(call_.awaits_pong());
  Talk();
  EXPECT_FALSE(call_.awaits_pong());
}

TEST_F(Http2CallTest, TheServerHearsThatItIsCancelled) {
  Talk();
  ASSERT_NE(server_.Find(stream_), nullptr);
  call_.Cancel("a message is too long");
  Talk();
  EXPECT_EQ(call_.reason(), "a message is too long") << "and not that the stream is reset";
  EXPECT_EQ(server_.Find(stream_), nullptr);
}

TEST_F(Http2CallTest, BytesOfAnotherProtocolEndIt) {
  std::string said;
  call_.Flush(said);
  call_.Receive("HTTP/1.1 400 Bad Request\r\n\r\n");
  call_.Flush(said);
  EXPECT_TRUE(call_.has_ended());
  EXPECT_NE(call_.reason().find("HTTP/2"), std::string::npos) << call_.reason();
  call_.Receive("more");
  call_.Write("more");
  call_.Flush(said);
}

TEST_F(Http2CallTest, AServerThatBreaksTheProtocolEndsIt) {
  Talk();
  call_.Receive(Http2Frame(0, 0, 0, "data on no stream"));
  Talk();
  EXPECT_EQ(call_.reason(), "it breaks the protocol of HTTP/2");
}

// Else a server could fill the memory with a line of the log.
TEST_F(Http2CallTest, ALongReasonIsCut) {
  Talk();
  const std::string text(10'000, 'x');
  const Http2Field trailers[] = {{"grpc-status", "2"}, {"grpc-message", text}};
  server_.Begin(stream(), kAnswer);
  server_.End(stream(), trailers);
  Talk();
  EXPECT_LT(call_.reason().size(), 600U);
}

}  // namespace
}  // namespace weir
