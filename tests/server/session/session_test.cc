// Goal: a session answers each request once and in order, yields in time, reads the clock once a
// turn and does nothing after its end. Method: turns at their exact bounds; random sequences of
// requests in random pieces, whose replies are counted.
#include "server/session/session.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/table/key_bound.h"
#include "server/commands/command_table.h"
#include "server/os/log.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

std::string Repeated(std::string_view request, std::size_t count) {
  std::string requests;
  for (std::size_t i = 0; i < count; ++i) requests += request;
  return requests;
}

TEST(SessionTest, ATurnWithoutInputDoesNothing) {
  Conversation client;
  std::string out;
  const Session::Turn turn = client.session().Execute("", out);
  EXPECT_EQ(turn.consumed, 0U);
  EXPECT_EQ(turn.next, Session::Next::kRead);
  EXPECT_EQ(out, "");
}

// Goal: requests with many new limits, each of which must be parsed, count as more work.
TEST(SessionTest, ManyLimitsAreMoreWork) {
  Conversation client;
  std::string requests;
  for (int request = 0; request < 100; ++request) {
    requests += "RL.PEEK k";
    for (int i = 1; i <= 64; ++i) requests += " " + std::to_string(64 * request + i) + "/d";
    requests += "\r\n";
  }
  std::string out;
  const Session::Turn turn = client.session().Execute(requests, out);
  EXPECT_EQ(turn.next, Session::Next::kContinue);
  EXPECT_EQ(std::ranges::count(out, '*'), kWorkPerTurn / 64);
}

// Goal: a client that makes the server search for buckets of keys in a crowded table does not delay
// other clients. Method: one partition with 30,000 buckets of as many limits; the number of slots
// that a turn visits is checked.
TEST(SessionTest, ATurnVisitsFewerThan100000Slots) {
  Conversation client;
  Limiter& limiter = client.server().services.limiter;
  const KeyHasher hasher(TestServer::kSecret);
  std::string key;
  std::size_t filled = 0;
  for (int i = 0; filled < 30'000; ++i) {
    key = std::to_string(i);
    if (hasher(key).partition != hasher("0").partition) continue;
    for (std::size_t rate = 1; rate <= kKeyBucketsMax; ++rate, ++filled) {
      const Limit limit = LimitOf(std::to_string(filled + 1) + "/30d");
      ASSERT_TRUE(
          limiter
              .Decide({{.key = key, .limit = &limit, .hash = limiter.Hash(key)}}, FakeClock::kStart)
              .ok());
    }
  }
  const auto most_of_a_turn = [&](const std::string& input) {
    std::string_view unread = input;
    std::uint64_t most = 0;
    for (bool goes_on = true; goes_on;) {
      std::string out;
      const std::uint64_t before = Limiter::SlotsVisited();
      const Session::Turn turn = client.session().Execute(unread, out);
      most = std::max(most, Limiter::SlotsVisited() - before);
      unread.remove_prefix(turn.consumed);
      goes_on = turn.next == Session::Next::kContinue;
    }
    EXPECT_EQ(unread, "");
    EXPECT_GT(most, 0U);
    return most;
  };
  for (const std::string command : {"EXISTS $", "TTL $", "PTTL $", "TYPE $", "RL.INSPECT $",
                                    "MEMORY USAGE $", "RL.RESET $ 1/s"}) {
    const std::size_t place = command.find('$');
    const std::string line = command.substr(0, place) + key + command.substr(place + 1) + "\r\n";
    EXPECT_LT(most_of_a_turn(Repeated(line, 20)), 100'000U) << command;
    EXPECT_LT(most_of_a_turn("MULTI\r\n" + Repeated(line, 20) + "EXEC\r\n"), 100'000U) << command;
  }
  EXPECT_LT(most_of_a_turn(Repeated("WATCH " + key + "\r\n", 20)), 100'000U);
  EXPECT_LT(most_of_a_turn("MULTI\r\nTTL " + key + "\r\nEXEC\r\n"), 100'000U);
  const std::string many = Repeated(key + " ", 20);
  for (const char* command : {"EXISTS ", "WATCH ", "DEL "}) {
    const std::string line = command + many + "\r\n";
    EXPECT_LT(most_of_a_turn(line + "TTL " + key + "\r\n"), 100'000U);
    EXPECT_THAT(client.Run(command + many), testing::StartsWith("-ERR too many keys at once: "));
  }
  EXPECT_THAT(client.Send("MULTI\r\n" + Repeated("TTL " + key + "\r\n", 20) + "EXEC\r\n"),
              testing::HasSubstr("-ERR too much in one transaction: "));
  EXPECT_EQ(client.Run("DEL " + key), ":1\r\n") << "an operator gets rid of one";
}

TEST(SessionTest, ConsumesWholeRequestsAndLeavesTheRest) {
  Conversation client;
  std::string out = "what waits to be sent, ";
  const Session::Turn turn =
      client.session().Execute("PING\r\n\r\n*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", out);
  EXPECT_EQ(turn.consumed, 22U);
  EXPECT_EQ(turn.next, Session::Next::kRead);
  EXPECT_EQ(out, "what waits to be sent, +PONG\r\n+PONG\r\n");
}

TEST(SessionTest, ATurnEndsAfterCommandsPerTurn) {
  const std::string pings = Repeated("PING\r\n", kWorkPerTurn + 1);
  Conversation client;
  std::string out;
  Session::Turn turn = client.session().Execute(pings, out);
  EXPECT_EQ(turn.next, Session::Next::kContinue);
  EXPECT_EQ(turn.consumed, 6 * kWorkPerTurn);
  EXPECT_EQ(out, Repeated("+PONG\r\n", kWorkPerTurn));
  out.clear();
  turn = client.session().Execute(std::string_view(pings).substr(turn.consumed), out);
  EXPECT_EQ(turn.next, Session::Next::kRead);
  EXPECT_EQ(turn.consumed, 6U);
  EXPECT_EQ(out, "+PONG\r\n");
}

TEST(SessionTest, OneCommandLessIsOneTurn) {
  Conversation client;
  std::string out;
  const std::string pings = Repeated("PING\r\n", kWorkPerTurn - 1);
  const Session::Turn turn = client.session().Execute(pings, out);
  EXPECT_EQ(turn.next, Session::Next::kRead);
  EXPECT_EQ(turn.consumed, pings.size());
}

// A command with a thousand keys is the work of a thousand commands, whatever its reply.
TEST(SessionTest, ATurnEndsAfterWorkPerTurn) {
  std::vector<std::string> words(1'001, "k");
  for (const char* command : {"EXISTS", "DEL"}) {
    words[0] = command;
    const std::string request = RespRequest(words);
    Conversation client;
    std::string out;
    const Session::Turn turn = client.session().Execute(Repeated(request, 5), out);
    EXPECT_EQ(turn.next, Session::Next::kContinue);
    EXPECT_EQ(turn.consumed, 2 * request.size());
    EXPECT_EQ(out, Repeated(":0\r\n", 2));
  }
}

TEST(SessionTest, VisitingTheWholeTableIsMuchWork) {
  constexpr std::size_t kPerTurn = kWorkPerTurn / (kWholeTableWork + 1) + 1;
  for (const std::string request :
       {"DBSIZE\r\n", "FLUSHALL\r\n", "FLUSHDB\r\n", "CLIENT LIST\r\n", "INFO cpu\r\n"}) {
    Conversation client;
    std::string out;
    const Session::Turn turn = client.session().Execute(Repeated(request, 100), out);
    EXPECT_EQ(turn.next, Session::Next::kContinue);
    EXPECT_EQ(turn.consumed, kPerTurn * request.size()) << request;
  }
}

// The reply that exceeds the bound is the turn's last: at most one reply more than the bound.
TEST(SessionTest, ATurnEndsAfterReplyBytesPerTurn) {
  const std::size_t each = kReplyBytesPerTurn / 2;
  const std::string message(each - 10, 'x');  // "$32758\r\n" and CRLF: exactly half of the bound
  const std::string echo = RespRequest(std::vector<std::string>{"ECHO", message});
  Conversation client;
  std::string out;
  Session::Turn turn = client.session().Execute(Repeated(echo, 5), out);
  EXPECT_EQ(turn.next, Session::Next::kContinue);
  EXPECT_EQ(turn.consumed, 2 * echo.size());
  EXPECT_EQ(out.size(), kReplyBytesPerTurn);

  const std::string shorter = RespRequest(std::vector<std::string>{"ECHO", message.substr(1)});
  turn = client.session().Execute(shorter + Repeated(echo, 5), out);
  EXPECT_EQ(turn.next, Session::Next::kContinue);
  EXPECT_EQ(turn.consumed, shorter.size() + 2 * echo.size());
  EXPECT_EQ(out.size(),
            2 * kReplyBytesPerTurn - 1 + each);  // What waited before the turn does not count.
}

// Over several turns everything is answered.
TEST(SessionTest, TurnsContinueUntilAllIsAnswered) {
  Conversation client;
  EXPECT_EQ(client.Send(Repeated("PING\r\n", 5'000)), Repeated("+PONG\r\n", 5'000));
  EXPECT_EQ(client.turns(), 5);
  EXPECT_EQ(client.unread_bytes(), 0U);
}

TEST(SessionTest, AnErrorEndsTheTurnForGood) {
  Conversation client;
  const std::string pings = Repeated("PING\r\n", kWorkPerTurn);
  std::string out;
  // The error is beyond the bound, so it belongs to the next turn.
  Session::Turn turn = client.session().Execute(pings + "*x\r\n", out);
  EXPECT_EQ(turn.next, Session::Next::kContinue);
  out.clear();
  turn = client.session().Execute("*x\r\nPING\r\n", out);
  EXPECT_EQ(turn.next, Session::Next::kClose);
  EXPECT_EQ(out, "-ERR Protocol error: invalid multibulk length\r\n");
  for (const std::string_view more : {"", "PING\r\n", "*x\r\n"}) {
    out.clear();
    turn = client.session().Execute(more, out);
    EXPECT_EQ(turn.next, Session::Next::kClose);
    EXPECT_EQ(turn.consumed, 0U);
    EXPECT_EQ(out, "");
  }
}

// The client gets no answer. The log gets a line a minute, in which no byte of the client can pass
// for the log's own text.
TEST(SessionTest, AForeignProtocolIsLoggedOnceAMinute) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kInfo);
  TestServer server;
  const auto meet = [&server](const std::string& request) {
    Conversation stranger(server);
    EXPECT_EQ(stranger.Send(request), "");
    EXPECT_TRUE(stranger.closed());
  };
  meet("\r\nGET /\x1b[31m'\\ HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 1'000; ++i) meet("POST / HTTP/1.1\r\n");
  server.clock.Advance(kForeignLogInterval);
  meet("GET /" + std::string(100, 'x') + " HTTP/1.1\r\n");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 2);
  const std::string line = "closed client 127.0.0.1:50000: it does not speak the Redis protocol: ";
  EXPECT_THAT(log, testing::HasSubstr(line + "'GET /\\x1b[31m'\\\\ HTTP/1.1\\r\\nHost: x\\r\\n' "
                                             "(0 similar lines suppressed)\n"));
  EXPECT_THAT(log, testing::HasSubstr(line + "'GET /" + std::string(59, 'x') +
                                      "' (1000 similar lines suppressed)\n"));
}

// A clock on which every reading costs a second.
class CountingClock : public Clock {
 public:
  [[nodiscard]] Instant Now() const override {
    return FakeClock::kStart + std::chrono::seconds{looks_++};
  }
  [[nodiscard]] Nanos Stopwatch() const override { return Nanos{++stopwatch_looks_}; }
  [[nodiscard]] int looks() const { return looks_; }
  [[nodiscard]] int stopwatch_looks() const { return stopwatch_looks_; }

 private:
  mutable int looks_ = 0;
  mutable int stopwatch_looks_ = 0;
};

TEST(SessionTest, ReadsTheClockOnceATurn) {
  const CountingClock clock;
  const auto limiter = std::make_unique<Limiter>(LimiterOptions{.secret = TestServer::kSecret});
  Services services(DefaultOptions(), clock, *limiter);
  Worker worker(services);
  Session session(worker, services.clients.Add("peer", "own", 1, FakeClock::kHostStart));
  const int before = clock.looks();
  std::string out;
  EXPECT_EQ(session.Execute(Repeated("TIME\r\n", 3), out).next, Session::Next::kRead);
  EXPECT_EQ(clock.looks(), before + 1);
  const std::string time = out.substr(0, out.size() / 3);
  EXPECT_EQ(out, Repeated(time, 3));
  // All requests of a chunk have one instant, so a bucket of two tokens admits two.
  out.clear();
  EXPECT_EQ(session.Execute(Repeated("RL.ALLOW k 2/s\r\n", 3) + "TIME\r\n", out).next,
            Session::Next::kRead);
  EXPECT_THAT(out,
              testing::StartsWith(
                  "*5\r\n:1\r\n:1\r\n:0\r\n:500\r\n:0\r\n*5\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n"
                  "*5\r\n:0\r\n:0\r\n:500\r\n:1000\r\n:0\r\n"));
  EXPECT_EQ(clock.looks(), before + 2);
  EXPECT_THAT(out, testing::Not(testing::EndsWith(time)));
  // A turn that is cut off reads the clock again.
  EXPECT_EQ(session.Execute(Repeated("PING\r\n", kWorkPerTurn), out).next,
            Session::Next::kContinue);
  EXPECT_EQ(session.Execute("", out).next, Session::Next::kRead);
  EXPECT_EQ(clock.looks(), before + 4);
}

// The stopwatch is cheap, but not free: a command's end is the begin of the next.
TEST(SessionTest, LooksAtTheStopwatchOnceACommandAndOnceATurn) {
  const CountingClock clock;
  const auto limiter = std::make_unique<Limiter>(LimiterOptions{.secret = TestServer::kSecret});
  Services services(DefaultOptions(), clock, *limiter);
  Worker worker(services);
  Session session(worker, services.clients.Add("peer", "own", 1, FakeClock::kHostStart));
  std::string out;
  EXPECT_EQ(session.Execute(Repeated("RL.ALLOW k 2/s\r\n", 7), out).next, Session::Next::kRead);
  EXPECT_EQ(clock.stopwatch_looks(), 1 + 7);
}

TEST(SessionTest, NotesWhenItWasActive) {
  Conversation client;
  client.server().clock.Advance(std::chrono::seconds{5});
  client.Run("PING");
  EXPECT_EQ(client.record().last_active_ns, client.server().clock.Now().time_since_epoch().count());
  EXPECT_EQ(client.record().last_command, FindCommand("PING"));
  client.Run("NOSUCH");
  client.Run("TTL");
  EXPECT_EQ(client.record().last_command,
            FindCommand("PING"));  // what was not executed is not noted
}

// Requests read ahead of a command that changes the caps are parsed again, with the new caps.
TEST(SessionTest, ALoginAppliesToRequestsSentBehindIt) {
  TestServer server;
  ASSERT_TRUE(server.services.access.Configure("secret", "").ok());
  Conversation client(server);
  const std::string long_request = RespRequest(
      std::vector<std::string>{"EXISTS", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"});
  const std::string login = RespRequest(std::vector<std::string>{"AUTH", "secret"});
  EXPECT_EQ(client.Send(login + long_request + "PING\r\n"), "+OK\r\n:0\r\n+PONG\r\n");
  // The same in pieces: half of the request may have been parsed with the old caps.
  for (std::size_t cut = 0; cut < long_request.size(); ++cut) {
    Conversation other(server);
    std::string replies = other.Send(login + long_request.substr(0, cut));
    replies += other.Send(long_request.substr(cut));
    EXPECT_EQ(replies, "+OK\r\n:0\r\n") << cut;
  }
  EXPECT_EQ(client.Send(RespRequest(std::vector<std::string>{"RESET"}) + long_request + "PING\r\n"),
            "+RESET\r\n-ERR Protocol error: unauthenticated multibulk length\r\n");
}

// Words that are read ahead may share an address: an empty word takes no bytes.
TEST(SessionTest, ReadingAheadTellsAnEmptyKeyFromItsNeighbour) {
  for (const std::string_view keys : {R"("" 10/s AND "abc" 10/s)", R"("abc" 10/s AND "" 10/s)",
                                      R"("x" 10/s AND "" 10/s AND "abc" 10/s)"}) {
    Conversation client;
    client.Send("PING\r\nRL.ALLOW " + std::string(keys) + "\r\n");
    EXPECT_EQ(client.Show("RL.PEEK \"\" 10/s COST 0"), "1 9 0 100 0");
    EXPECT_EQ(client.Show("RL.PEEK abc 10/s COST 0"), "1 9 0 100 0");
  }
}

// A turn that ends leaves the requests that were read ahead to the next turn.
TEST(SessionTest, ReadingAheadLosesNothingWhereATurnEnds) {
  Conversation client;
  EXPECT_EQ(client.Send("PING 1\r\nCLIENT PAUSE 1000\r\nPING 2\r\nPING 3\r\nPI"),
            "$1\r\n1\r\n+OK\r\n");
  client.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_EQ(client.Receive(), "$1\r\n2\r\n$1\r\n3\r\n");
  EXPECT_EQ(client.Send("NG\r\nECHO 'a b'\r\nECHO \"c\"\r\nQUIT\r\n*x\r\n"),
            "+PONG\r\n$3\r\na b\r\n$1\r\nc\r\n+OK\r\n");
}

// A random request: a row's name or another word, with arguments that the row may know or not; now
// and then one that has to wait. MONITOR and pub/sub are left out: their clients get more than
// replies.
std::vector<std::string> AnyRequest() {
  if (*Between(0, 10) == 0) return {"RL.WAIT", "k", "10/s", "COST", "7", "TIMEOUT", "60000"};
  const auto& table = CommandTable();
  const CommandSpec& spec = table[static_cast<std::size_t>(
      *Between<std::int64_t>(0, static_cast<std::int64_t>(table.size()) - 1))];
  if (spec.name == "MONITOR" || spec.group == "pubsub") return {"PING"};
  std::vector<std::string> words;
  const std::size_t bar = spec.name.find('|');
  words.emplace_back(spec.name.substr(0, bar));
  if (bar != std::string_view::npos) words.emplace_back(spec.name.substr(bar + 1));
  if (*Between(0, 20) == 0)
    words[0] =
        *rc::gen::element<std::string>("GET", "", "RL.TAKE", std::string("\r\n\0", 3), "CLIENT|ID");
  for (int i = *Between(0, 7); i > 0; --i) {
    words.push_back(*rc::gen::element<std::string>(
        "k", "user:42", "10/s", "1000/h", "3/s,cost=2", "10/x", "unlimited", "COST", "3", "0", "-1",
        "AND", "WITHLIMITS", "AT", "1767225600000000000", "2", "default", "AUTH", "SETNAME",
        "LIB-NAME", "ID", "TYPE", "normal", "FILTERBY", "PATTERN", "*", "rl.allow", "", "all",
        "SYNC", "ABORT", "@k", "UPTO", "TIMEOUT", "x\r\n+OK\r\n", std::string("\0\xff", 2)));
  }
  return words;
}

bool IsInlineable(const std::vector<std::string>& words) {
  return !words[0].empty() && std::ranges::all_of(words, [](const std::string& word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) { return c > ' ' && c < 0x7f; });
  });
}

// All replies to these bytes, however long they take.
std::string SendAndWait(Conversation& client, std::string_view bytes) {
  std::string replies = client.Send(bytes);
  while (client.wake()) {
    FakeClock& clock = client.server().clock;
    clock.Advance(*client.wake() - clock.HostNow());
    replies += client.Receive();
  }
  return replies;
}

TEST(SessionTest, EveryRequestHasExactlyOneReply) {
  CheckLaw(300, [] {
    Conversation alone(TestServer::WithExplicitTime());     // a request at a time
    Conversation pipeline(TestServer::WithExplicitTime());  // all of them, in random pieces
    int shutdowns = 0;
    alone.server().services.request_shutdown = [&](bool) { ++shutdowns; };
    std::string requests;
    std::size_t replies = 0;
    for (int i = *Between(1, 60); i > 0 && !alone.closed(); --i) {
      const std::vector<std::string> words = AnyRequest();
      std::string request = RespRequest(words);
      if (IsInlineable(words) && *rc::gen::arbitrary<bool>()) {
        request.clear();
        for (const std::string& word : words) request += word + " ";
        request += "\n";
      }
      const auto reply = ReadRespValues(SendAndWait(alone, request));
      RC_ASSERT(reply.has_value());
      RC_ASSERT(reply->size() == (shutdowns == 0 ? 1U : 0U));
      RC_ASSERT(alone.closed() == (words[0] == "QUIT" || shutdowns > 0));
      replies += reply->size();
      requests += request;
    }
    requests += alone.closed() ? "PING\r\n" : "";
    std::string stream;
    while (!requests.empty()) {
      const auto bytes =
          static_cast<std::size_t>(*NumberUpTo(static_cast<std::int64_t>(requests.size())));
      stream += SendAndWait(pipeline, requests.substr(0, bytes));
      requests.erase(0, bytes);
    }
    const auto values = ReadRespValues(stream);
    RC_ASSERT(values.has_value());
    RC_ASSERT(values->size() == replies);
    RC_ASSERT(pipeline.closed() == alone.closed());
  });
}

}  // namespace
}  // namespace weir
