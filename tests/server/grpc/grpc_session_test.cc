// Goal: over HTTP/2 a client gets the health of the server, and what breaks the protocol or its
// bounds ends in an error or a closed connection. Method: conversations without sockets.
#include "server/grpc/grpc_session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "http2/preface.h"
#include "tests/support/fake_replication.h"
#include "tests/support/grpc_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using WaitEnd = ClientSession::WaitEnd;

constexpr std::string_view kCheck = "/grpc.health.v1.Health/Check";
constexpr std::string_view kWatch = "/grpc.health.v1.Health/Watch";
constexpr std::uint32_t kRefusedStream = 7;
constexpr std::uint32_t kCancel = 8;
constexpr std::uint32_t kEnhanceYourCalm = 11;

// The fields of a call whose body may still come.
Http2FieldList OpenCall() {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", std::string(kCheck)},
          {":authority", "weir"},
          {"content-type", "application/grpc"}};
}
// HealthCheckRequest and HealthCheckResponse, as they are encoded.
std::string Asking(std::string_view service) {
  return Framed(service.empty() ? ""
                                : "\n" + std::string(1, static_cast<char>(service.size())) +
                                      std::string(service));
}
const std::string kServing = Framed("\x08\x01");
const std::string kNotServing = Framed("\x08\x02");
const std::string kServiceUnknown = Framed("\x08\x03");

class GrpcSessionTest : public testing::Test {
 protected:
  [[nodiscard]] std::uint64_t Closed(Http2End why) const {
    return server_.services.http2.closed(why);
  }

  HttpTestServer server_;
  FakeReplication replication_{server_.services};
  GrpcConversation conversation_{server_};
  Http2Client& client_ = conversation_.client;
};

TEST_F(GrpcSessionTest, AnswersTheHealthOfTheServer) {
  const Http2Answer& answer = conversation_.Call(kCheck, Asking(""));
  EXPECT_EQ(answer.fields.at(":status"), "200");
  EXPECT_EQ(answer.fields.at("content-type"), "application/grpc");
  EXPECT_EQ(answer.body, kServing);
  EXPECT_EQ(answer.trailers.at("grpc-status"), "0");
  replication_.BecomeReplica();
  EXPECT_EQ(conversation_.Call(kCheck, Asking("")).body, kNotServing);
  replication_.BecomePrimary();
  EXPECT_EQ(conversation_.Call(kCheck, Asking("")).body, kServing);
  replication_.Depose();
  EXPECT_EQ(conversation_.Call(kCheck, Asking("")).body, kNotServing);
  EXPECT_EQ(server_.http.responses.value(HttpRouteGroup::kHealth, 1), 4U);
}

TEST_F(GrpcSessionTest, AnswersErrors) {
  struct Case {
    std::string_view path;
    std::string body;
    std::string_view status;
    std::string_view text;
    Http2FieldList more = {};
  };
  const Case cases[] = {
      {kCheck, Asking("ratelimit"), "5", "ERR unknown service"},
      {kCheck, Framed("\xff"), "3", "ERR not a HealthCheckRequest"},
      {kWatch, Framed("\xff"), "3", "ERR not a HealthCheckRequest"},
      {"/a.B/C", Asking(""), "12", "ERR no such method"},
      {kCheck, "", "13", "ERR the message is not complete"},
      {kCheck, std::string("\0\0\0\0\5a", 6), "13", "ERR the message is not complete"},
      {kCheck, Asking("") + Asking(""), "13", "ERR a call has one message"},
      {kCheck, "\1", "12", "ERR messages must not be compressed"},
      {kCheck,
       Asking(""),
       "12",
       "ERR messages must not be compressed",
       {{"grpc-encoding", "gzip"}}},
      {kCheck, Framed(std::string(kGrpcMessageBytesMax + 1, 'x')), "8",
       "ERR a message has at most 65536 bytes"},
  };
  for (const Case& row : cases) {
    const Http2Answer& answer = conversation_.Call(row.path, row.body, row.more);
    EXPECT_TRUE(answer.is_ended) << row.text;
    EXPECT_EQ(answer.body, "") << row.text;
    EXPECT_EQ(answer.trailers.at("grpc-status"), row.status) << row.text;
    EXPECT_EQ(answer.trailers.at("grpc-message"), row.text);
  }
  EXPECT_EQ(conversation_.Call(kCheck, Asking(""), {{"grpc-encoding", "identity"}}).body, kServing);
}

TEST_F(GrpcSessionTest, IsForGrpcOnly) {
  const std::int32_t get = client_.Request(
      {{":method", "GET"}, {":scheme", "http"}, {":path", "/livez"}, {":authority", "weir"}}, "");
  const std::int32_t json = client_.Request({{":method", "POST"},
                                             {":scheme", "http"},
                                             {":path", std::string(kCheck)},
                                             {":authority", "weir"},
                                             {"content-type", "application/json"}},
                                            "{}");
  conversation_.Talk();
  EXPECT_EQ(client_.answers[get].fields[":status"], "415");
  EXPECT_EQ(client_.answers[json].fields[":status"], "415");
  EXPECT_EQ(server_.http.responses.value(HttpRouteGroup::kNone, 3), 2U);
}

TEST_F(GrpcSessionTest, TellsAWatchEachChange) {
  const std::int32_t watch = client_.Call(kWatch, Asking(""));
  const std::int32_t unknown = client_.Call(kWatch, Asking("ratelimit"));
  conversation_.Talk();
  EXPECT_EQ(client_.answers[watch].body, kServing);
  EXPECT_EQ(client_.answers[unknown].body, kServiceUnknown);
  EXPECT_TRUE(conversation_.session().wants_ticks());
  replication_.BecomeReplica();
  conversation_.Talk();
  replication_.BecomePrimary();
  server_.clock.Advance(std::chrono::hours(1));
  conversation_.Talk();
  EXPECT_EQ(client_.answers[watch].body, kServing + kNotServing + kServing);
  EXPECT_EQ(client_.answers[unknown].body, kServiceUnknown);
  EXPECT_FALSE(client_.answers[watch].is_ended);
  client_.Reset(watch, kCancel);
  client_.Reset(unknown, kCancel);
  conversation_.Talk();
  replication_.BecomeReplica();
  EXPECT_FALSE(conversation_.session().has_news());
  EXPECT_FALSE(conversation_.session().wants_ticks());
}

TEST_F(GrpcSessionTest, HasABoundedNumberOfWatches) {
  for (std::size_t i = 0; i < kGrpcUpdatesMax; ++i) conversation_.Call(kWatch, Asking(""));
  EXPECT_EQ(conversation_.Call(kWatch, Asking("")).trailers["grpc-status"], "8");
  client_.Reset(1, kCancel);
  EXPECT_EQ(conversation_.Call(kWatch, Asking("")).body, kServing);
}

TEST_F(GrpcSessionTest, ResetsACallThatIsNotComplete) {
  const std::int32_t call = client_.Request(OpenCall(), std::string("\0\0", 2), /*open=*/true);
  conversation_.Talk();
  EXPECT_TRUE(conversation_.session().wants_ticks());
  server_.clock.Advance(kGrpcCallTime - Nanos{1});
  EXPECT_FALSE(conversation_.session().has_news());
  server_.clock.Advance(Nanos{1});
  EXPECT_TRUE(conversation_.session().has_news());
  conversation_.Talk();
  EXPECT_EQ(client_.answers[call].reset, kCancel);
  EXPECT_FALSE(conversation_.session().wants_ticks());
  EXPECT_EQ(conversation_.Call(kCheck, Asking("")).body, kServing);
}

TEST_F(GrpcSessionTest, LeavesAtADemotion) {
  const std::int32_t watch = client_.Call(kWatch, Asking(""));
  conversation_.Talk();
  replication_.BecomeReplica();
  conversation_.session().EndWait(WaitEnd::kDemoted);
  EXPECT_TRUE(conversation_.session().has_news());
  const std::int32_t on_its_way = client_.Call(kCheck, Asking(""));
  conversation_.Talk();
  EXPECT_EQ(client_.answers[watch].body, kServing + kNotServing);
  EXPECT_EQ(client_.answers[on_its_way].body, kNotServing);
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].last_stream, 0x7fffffff);
  EXPECT_EQ(client_.go_aways[0].code, 0U);
  EXPECT_FALSE(conversation_.closed());
  server_.clock.Advance(kGrpcLastCallsTime);
  conversation_.Talk();
  EXPECT_TRUE(conversation_.closed());
}

// A client that does not read gives its session no turn.
TEST_F(GrpcSessionTest, IsOverAfterADemotionWithoutATurn) {
  conversation_.Talk();
  conversation_.session().EndWait(WaitEnd::kDemoted);
  EXPECT_TRUE(conversation_.session().wants_ticks());
  server_.clock.Advance(kGrpcLastCallsTime - Nanos{1});
  conversation_.session().EndWait(WaitEnd::kDemoted);
  EXPECT_FALSE(conversation_.session().is_over());
  server_.clock.Advance(Nanos{1});
  EXPECT_TRUE(conversation_.session().is_over());
  conversation_.session().DropUnfinished();
  EXPECT_EQ(Closed(Http2End::kDemotion), 1U);
}

class GrpcAgeTest : public GrpcSessionTest {
 protected:
  static constexpr std::chrono::minutes kAge{10};

  GrpcAgeTest() { SetAge(kAge); }
  void SetAge(std::chrono::milliseconds age) {
    EXPECT_TRUE(server_.services.settings
                    .Change([age](Options& options) {
                      options.http_max_connection_age = age;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  // To the last moment before the client is too old.
  void AwaitAge() {
    conversation_.Talk();
    server_.clock.Advance(SpreadAge(kAge, conversation_.record().id) - Nanos{1});
  }
  [[nodiscard]] ClientSession& session() { return conversation_.session(); }
};

TEST_F(GrpcAgeTest, EndsAnIdleConnectionThatIsTooOld) {
  AwaitAge();
  EXPECT_TRUE(session().wants_ticks());
  EXPECT_FALSE(session().has_news());
  server_.clock.Advance(Nanos{1});
  EXPECT_TRUE(session().has_news());
  const std::int32_t on_its_way = client_.Call(kCheck, Asking(""));
  conversation_.Talk();
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].last_stream, 0x7fffffff);
  EXPECT_EQ(client_.go_aways[0].code, 0U);
  EXPECT_EQ(client_.answers[on_its_way].body, kServing);
  server_.clock.Advance(kGrpcLastCallsTime - Nanos{1});
  EXPECT_FALSE(session().has_news());
  server_.clock.Advance(Nanos{1});
  EXPECT_TRUE(session().has_news());
  conversation_.Talk();
  EXPECT_TRUE(conversation_.closed());
  session().DropUnfinished();
  EXPECT_EQ(Closed(Http2End::kAge), 1U);
}

TEST_F(GrpcAgeTest, GivesACallThatLastsTheTimeOfACall) {
  const std::int32_t watch = client_.Call(kWatch, Asking(""));
  AwaitAge();
  server_.clock.Advance(Nanos{1});
  conversation_.Talk();
  EXPECT_THAT(client_.go_aways, SizeIs(1));
  server_.clock.Advance(kGrpcCallTime - Nanos{1});
  conversation_.Talk();
  EXPECT_FALSE(conversation_.closed());
  EXPECT_FALSE(session().is_over());
  EXPECT_EQ(client_.answers[watch].body, kServing);
  server_.clock.Advance(Nanos{1});
  EXPECT_TRUE(session().is_over());
  conversation_.Talk();
  EXPECT_TRUE(conversation_.closed());
}

TEST_F(GrpcAgeTest, ADemotionOrAStopEndsItSooner) {
  AwaitAge();
  server_.clock.Advance(Nanos{1});
  conversation_.Talk();
  session().EndWait(WaitEnd::kDemoted);
  server_.clock.Advance(kGrpcLastCallsTime);
  EXPECT_TRUE(session().is_over());
  session().EndWait(WaitEnd::kClosing);
  conversation_.Talk();
  EXPECT_TRUE(conversation_.closed());
  session().DropUnfinished();
  EXPECT_EQ(Closed(Http2End::kShutdown), 1U);
}

TEST_F(GrpcAgeTest, AnAgeThatIsSetLaterCountsFromTheBeginning) {
  SetAge(std::chrono::milliseconds{0});
  AwaitAge();
  server_.clock.Advance(kAge);
  EXPECT_FALSE(session().wants_ticks());
  EXPECT_FALSE(session().has_news());
  SetAge(kAge);
  EXPECT_TRUE(session().has_news());
}

TEST(SpreadAgeTest, SpreadsClientsOverAFifth) {
  constexpr Nanos kAge = std::chrono::seconds{1000};
  std::array<int, 10> clients{};
  for (std::uint64_t client = 1; client <= 100; ++client) {
    const Nanos age = SpreadAge(kAge, client);
    ASSERT_GE(age, std::chrono::seconds{900});
    ASSERT_LE(age, std::chrono::seconds{1100});
    const auto tenth = (age - std::chrono::seconds{900}) / std::chrono::seconds{20};
    ++clients[std::min<std::size_t>(static_cast<std::size_t>(tenth), 9)];
  }
  EXPECT_THAT(clients, Each(AllOf(Ge(9), Le(11))));
}

TEST_F(GrpcSessionTest, LeavesAtAStop) {
  const std::int32_t watch = client_.Call(kWatch, Asking(""));
  conversation_.Talk();
  const std::int32_t last = client_.Call(kCheck, Asking(""));
  conversation_.session().EndWait(WaitEnd::kClosing);
  conversation_.Talk();
  EXPECT_EQ(client_.answers[watch].body, kServing + kNotServing);
  EXPECT_EQ(client_.answers[last].body, kNotServing);
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].last_stream, last);
  EXPECT_EQ(client_.go_aways[0].code, 0U);
  EXPECT_TRUE(conversation_.closed());
  EXPECT_FALSE(conversation_.session().has_news());
}

TEST_F(GrpcSessionTest, RefusesWhatIsNotCompleteAtAStop) {
  const std::int32_t call = client_.Request(OpenCall(), "", /*open=*/true);
  conversation_.Talk();
  conversation_.session().EndWait(WaitEnd::kClosing);
  conversation_.Talk();
  EXPECT_EQ(client_.answers[call].reset, kRefusedStream);
}

// The first bytes may come behind the beginning of a stop, or of a demotion.
TEST_F(GrpcSessionTest, KnowsAnEndFromBeforeThePreface) {
  for (const WaitEnd why : {WaitEnd::kClosing, WaitEnd::kDemoted}) {
    GrpcConversation other(server_);
    other.session().EndWait(why);
    other.session().EndWait(WaitEnd::kDemoted);
    const bool stops = why == WaitEnd::kClosing;
    EXPECT_EQ(other.Call(kCheck, Asking("")).body, stops ? kNotServing : kServing);
    EXPECT_THAT(other.client.go_aways, SizeIs(1));
    EXPECT_EQ(other.closed(), stops);
  }
}

TEST_F(GrpcSessionTest, ClosesAFlood) {
  conversation_.Talk();
  std::string pings;
  for (int i = 0; i < 2'000; ++i) pings += Http2Frame(6, 1, 0, "12345678");
  conversation_.Send(pings);
  EXPECT_TRUE(conversation_.closed());
  ASSERT_THAT(client_.go_aways, SizeIs(1));
  EXPECT_EQ(client_.go_aways[0].code, kEnhanceYourCalm);
}

TEST_F(GrpcSessionTest, ATurnEndsWithinAFlood) {
  conversation_.Talk();
  const int before = conversation_.turns();
  std::string resets;
  for (int i = 0; i < 5'000; ++i) resets += Http2Frame(3, 0, 1, std::string_view("\0\0\0\2", 4));
  for (int i = 0; i < 1'000; ++i) conversation_.Call(kCheck, Asking(""));
  const int calls = conversation_.turns();
  conversation_.Send(resets);
  EXPECT_FALSE(conversation_.closed());
  EXPECT_GE(conversation_.turns() - calls, 4);
  EXPECT_GE(calls - before, 1'000);
}

// Method: the client does not acknowledge the settings, so what is above the bound is refused.
TEST_F(GrpcSessionTest, ATurnEndsWithinCallsThatAreNeverComplete) {
  std::string bytes = std::string(kHttp2Preface) + Http2Frame(4, 0, 0);
  const std::string fields = std::string("\x83\x86\x04\x1c", 4) + std::string(kCheck) +
                             std::string("\x0f\x10\x10", 3) + "application/grpc";
  ASSERT_EQ(kCheck.size(), 0x1cU);
  for (std::uint32_t i = 0; i < 4'000; ++i) bytes += Http2Frame(1, 4, 2 * i + 1, fields);
  conversation_.Send(bytes);
  EXPECT_FALSE(conversation_.closed());
  EXPECT_GE(conversation_.turns(), 4);
}

TEST_F(GrpcSessionTest, CountsItsConnectionsByTheirEnd) {
  {
    GrpcConversation other(server_);
    other.Talk();
    EXPECT_EQ(server_.services.http2.open(), 1U);
    other.Send(Http2Frame(6, 0, 3, "12345678"));
    EXPECT_TRUE(other.closed());
  }
  EXPECT_EQ(Closed(Http2End::kProtocolError), 1U);
  { GrpcConversation(server_).Talk(); }
  EXPECT_EQ(Closed(Http2End::kClient), 1U);
  {
    GrpcConversation other(server_);
    other.Talk();
    other.session().EndWait(WaitEnd::kClosing);
    other.Talk();
  }
  EXPECT_EQ(Closed(Http2End::kShutdown), 1U);
  EXPECT_EQ(server_.services.http2.open(), 0U);
}

TEST_F(GrpcSessionTest, MemoryOfCallsIsTheClients) {
  conversation_.Talk();
  const std::size_t before = conversation_.session().held_bytes();
  client_.Request(OpenCall(), Framed(std::string(60'000, 'x')).substr(0, 50'000), /*open=*/true);
  conversation_.Talk();
  EXPECT_GT(conversation_.session().held_bytes(), before + 50'000);
  conversation_.session().DropUnfinished();
  EXPECT_EQ(conversation_.session().held_bytes(), 0U);
}

// Method: calls of Check with the same names take no more, with the client's own copies of them.
TEST_F(GrpcSessionTest, AWatchDoesNotKeepTheNameOfItsService) {
  const std::string request = Framed("\n\xe0\xd4\x03" + std::string(60'000, 'x'));
  const std::size_t begin = mallinfo2().uordblks;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(conversation_.Call(kCheck, request).body, "");
  const std::size_t checked = mallinfo2().uordblks;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(conversation_.Call(kWatch, request).body, kServiceUnknown);
  }
  EXPECT_LT(mallinfo2().uordblks + begin, 2 * checked + 100'000);
}

// A server whose clients must log in.
TEST(GrpcLoginTest, HealthNeedsNone) {
  HttpTestServer server;
  ASSERT_TRUE(server.services.access.Configure("secret", "").ok());
  GrpcConversation conversation(server);
  EXPECT_FALSE(conversation.session().is_logged_in());
  EXPECT_EQ(conversation.Call("/a.B/C", Asking("")).trailers["grpc-status"], "12");
  EXPECT_FALSE(conversation.session().is_logged_in());
  EXPECT_EQ(conversation.Call(kCheck, Asking("")).body, kServing);
  EXPECT_FALSE(conversation.session().is_logged_in());
  const std::int32_t watch = conversation.client.Call(kWatch, Asking(""));
  conversation.Talk();
  EXPECT_TRUE(conversation.session().is_logged_in());
  conversation.client.Reset(watch, kCancel);
  conversation.Talk();
  EXPECT_FALSE(conversation.session().is_logged_in());
}

class FirstBytesTest : public testing::Test {
 protected:
  HttpTestServer server_;
  std::shared_ptr<ClientRecord> record_ = server_.services.clients.Add(
      "127.0.0.1:50000", "127.0.0.1:7381", 7, server_.clock.HostNow(), Face::kHttp);
  FirstBytes session_{server_.worker, record_, server_.http};
  SessionDriver driver_{session_, server_.clock};
};

TEST_F(FirstBytesTest, ARequestOfHttp1IsAnsweredInIt) {
  EXPECT_THAT(driver_.Send("GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_EQ(server_.services.http2.open(), 0U);
}

TEST_F(FirstBytesTest, TheyMayComeOneByOne) {
  EXPECT_EQ(driver_.Send("P"), "");
  EXPECT_TRUE(driver_.turn().in_request);
  EXPECT_THAT(driver_.Send("UT /livez HTTP/1.1\r\nHost: weir\r\n\r\n"), HasSubstr("405"));
}

TEST_F(FirstBytesTest, ThePrefaceMayComeByteByByte) {
  for (const char& byte : kHttp2Preface.substr(0, kHttp2Preface.size() - 1)) {
    EXPECT_EQ(driver_.Send({&byte, 1}), "");
  }
  EXPECT_EQ(server_.services.http2.open(), 0U);
  EXPECT_NE(driver_.Send(kHttp2Preface.substr(kHttp2Preface.size() - 1)), "");
  EXPECT_EQ(server_.services.http2.open(), 1U);
}

TEST_F(FirstBytesTest, BytesThatLeaveThePrefaceAreABadRequest) {
  EXPECT_THAT(driver_.Send("PRI * HTTP/2.0\r\n\r\nXX"), HasSubstr("HTTP/1.1 "));
  EXPECT_TRUE(driver_.closed());
}

}  // namespace
}  // namespace weir
