// Goal: an edge asks its primary in the order of its clients' commands, gives each client its
// replies, and tells when the primary is away. Method: the desk in a loop that the test turns, with
// a primary whose every byte the test writes, and a clock that the test moves.
#include "server/edge/edge_desk.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using asio::ip::tcp;
using Next = ClientSession::Next;

constexpr std::string_view kHello =
    "*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$9\r\nweir-edge\r\n"
    "*4\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n$4\r\nedge\r\n$11\r\npersistence\r\n";
constexpr std::string_view kWelcome = "%1\r\n+server\r\n+weir\r\n";
constexpr std::string_view kInfo = "=40\r\ntxt:# Replication\r\nrole:master\r\nterm:3\r\n\r\n";
constexpr std::string_view kAllow = "*3\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n";
constexpr std::string_view kPeek = "*3\r\n$7\r\nRL.PEEK\r\n$1\r\nk\r\n$4\r\n10/s\r\n";
constexpr std::string_view kPiece =
    "*3\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n"
    "*3\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n"
    "*3\r\n$8\r\nRL.ALLOW\r\n$1\r\nk\r\n$4\r\n10/s\r\n";
constexpr std::string_view kVerdict = "*5\r\n:1\r\n:9\r\n:0\r\n:1000\r\n:0\r\n";
// What is granted, the last word, the life in us, `changes`, and a row of the limit.
constexpr std::string_view kGrant =
    "*8\r\n:8\r\n:0\r\n:0\r\n:800000\r\n:0\r\n:250000\r\n:1\r\n*1\r\n*9\r\n$4\r\n10/s\r\n"
    ":1\r\n:10\r\n:0\r\n:0\r\n:800000\r\n:0\r\n:1\r\n:0\r\n";

Options OptionsOf(std::uint16_t port) {
  Options options = DefaultOptions();
  options.edge_of.servers = {{"127.0.0.1", port}};
  return options;
}

// A client of the edge: its session and what is to be sent to it.
class EdgeClient {
 public:
  explicit EdgeClient(TestServer& server)
      : server_(server),
        record_(server.services.clients.Add("127.0.0.1:50000", "127.0.0.1:7379", 7,
                                            server.clock.HostNow())),
        session_(server.worker, record_) {}
  ~EdgeClient() { server_.services.clients.Remove(*record_); }
  EdgeClient(const EdgeClient&) = delete;
  EdgeClient& operator=(const EdgeClient&) = delete;

  // Returns what may be sent at once.
  std::string Send(std::string_view bytes) {
    output_.clear();
    turn_ = session_.Execute(bytes, output_);
    return output_.substr(0, turn_.delayed_from.value_or(output_.size()));
  }
  [[nodiscard]] bool waits() const { return turn_.delayed_from && session_.lacks_replies(); }
  [[nodiscard]] bool is_paused() const { return turn_.next == Next::kPause; }
  [[nodiscard]] static std::size_t CountIn(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
    return count;
  }
  // Returns what waited. Requires: it does not any more.
  std::string Rest() {
    std::string rest = output_.substr(turn_.delayed_from.value());
    session_.FinishDelayed(rest, {});
    return rest;
  }

 private:
  TestServer& server_;
  std::shared_ptr<ClientRecord> record_;
  Session session_;
  std::string output_;
  ClientSession::Turn turn_;
};

class EdgeDeskTest : public testing::Test {
 protected:
  EdgeDeskTest()
      : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        server_(OptionsOf(acceptor_.local_endpoint().port())),
        peer_(context_) {
    role_.BecomeEdge();
    desk_ = std::make_unique<EdgeDesk>(server_.worker, context_, nullptr);
    server_.worker.edge = desk_.get();
    acceptor_.non_blocking(true);
  }
  ~EdgeDeskTest() override { server_.worker.edge = nullptr; }

  // Turns the loop until the condition holds.
  void TurnUntil(auto condition) {
    constexpr int kTurnsMax = 20'000;
    for (int turn = 0; !condition(); ++turn) {
      ASSERT_LT(turn, kTurnsMax);
      asio::steady_timer pause(context_, std::chrono::milliseconds{1});
      pause.async_wait([](std::error_code) {});
      context_.run_one();
      context_.restart();
    }
  }
  // Takes the link, and answers its greeting.
  void Welcome() {
    TurnUntil([&] {
      std::error_code error;
      acceptor_.accept(peer_, error);
      return !error;
    });
    peer_.non_blocking(true);
    Expect(kHello);
    Answer(std::string(kWelcome) + std::string(kInfo));
    TurnUntil([&] { return desk_->numbers().is_connected.load(); });
  }
  // What the edge sends to the primary next.
  void Expect(std::string_view bytes) {
    std::string got;
    TurnUntil([&] {
      std::string room(std::min<std::size_t>(bytes.size() - got.size(), 65'536), '\0');
      std::error_code error;
      room.resize(peer_.read_some(asio::buffer(room), error));
      got += room;
      return got.size() == bytes.size();
    });
    EXPECT_TRUE(got == bytes) << got.substr(0, 500);
  }
  // What the edge sends up to these bytes, which are the last ones.
  std::string ReceiveUntil(std::string_view end) {
    std::string got;
    TurnUntil([&] {
      std::string room(4096, '\0');
      std::error_code error;
      room.resize(peer_.read_some(asio::buffer(room), error));
      got += room;
      return got.ends_with(end);
    });
    return got;
  }
  void Answer(std::string_view bytes) { peer_.write_some(asio::buffer(bytes)); }
  // Passes on what makes the key hot, has a piece wait for a slice, and grants 5 units more than
  // the piece needs, for 250 ms.
  void Heat(EdgeClient& client) {
    std::string verdicts;
    for (int i = 0; i < 3; ++i) verdicts += kVerdict;
    EXPECT_EQ(client.Send(kPiece), "");
    Expect(kPiece);
    Answer(verdicts);
    TurnUntil([&] { return !client.waits(); });
    EXPECT_EQ(client.Rest(), verdicts);

    server_.clock.Advance(std::chrono::milliseconds{1});
    EXPECT_EQ(client.Send(kPiece), "");
    const std::string ask = ReceiveUntil("\r\nTTL\r\n$3\r\n250\r\n");
    EXPECT_TRUE(ask.starts_with("*13\r\n$8\r\nRL.SLICE\r\n$1\r\nk\r\n$4\r\n10/s\r\n")) << ask;
    EXPECT_NE(ask.find(server_.services.run_id), std::string::npos);
    Answer(kGrant);
    TurnUntil([&] { return !client.waits(); });
    const std::string rest = client.Rest();
    EXPECT_EQ(client.CountIn(rest, "*5\r\n:1\r\n"), 3U) << rest;
  }

  asio::io_context context_;
  tcp::acceptor acceptor_;
  TestServer server_;
  FakeReplication role_{server_.services};
  tcp::socket peer_;
  std::unique_ptr<EdgePort> desk_;
};

TEST_F(EdgeDeskTest, PassesAPipelineOnAsAWholeAndKeepsTheOrder) {
  Welcome();
  EXPECT_EQ(desk_->numbers().term, 3U);
  EdgeClient client(server_);
  const std::string echo = "*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n";
  EXPECT_EQ(client.Send(echo + std::string(kAllow) + echo + std::string(kPeek)), "$1\r\nx\r\n");
  EXPECT_TRUE(client.waits());
  Expect(std::string(kAllow) + std::string(kPeek));
  Answer(kVerdict);
  Answer("-ERR no\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.Rest(), std::string(kVerdict) + "$1\r\nx\r\n-ERR no\r\n");
  EXPECT_EQ(desk_->numbers().passed_on.value(), 2U);
  EXPECT_EQ(server_.worker.counters["total_error_replies"].value(), 1U);
  EXPECT_EQ(client.Send(kPeek), "");
  Answer("-\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.Rest(), "-ERR\r\n");
}

TEST_F(EdgeDeskTest, RepliesGoToTheClientsThatAsked) {
  Welcome();
  EdgeClient first(server_);
  EdgeClient second(server_);
  EXPECT_EQ(first.Send(kAllow), "");
  EXPECT_EQ(second.Send(kPeek), "");
  Expect(std::string(kAllow) + std::string(kPeek));
  Answer(":1\r\n:");
  TurnUntil([&] { return !first.waits(); });
  EXPECT_TRUE(second.waits());
  EXPECT_EQ(first.Rest(), ":1\r\n");
  Answer("2\r\n");
  TurnUntil([&] { return !second.waits(); });
  EXPECT_EQ(second.Rest(), ":2\r\n");
}

TEST_F(EdgeDeskTest, AReplyToAClientThatHasLeftIsDropped) {
  Welcome();
  auto leaver = std::make_unique<EdgeClient>(server_);
  EXPECT_EQ(leaver->Send(kAllow), "");
  leaver.reset();
  EdgeClient client(server_);
  EXPECT_EQ(client.Send(kPeek), "");
  Expect(std::string(kAllow) + std::string(kPeek));
  Answer(":1\r\n:2\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.Rest(), ":2\r\n");
}

TEST_F(EdgeDeskTest, AMapIsWrittenForClientsOfResp2) {
  Welcome();
  EdgeClient client(server_);
  EXPECT_EQ(client.Send(kPeek), "");
  Answer("*1\r\n%1\r\n$4\r\nname\r\n$4\r\n10/s\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.Rest(), "*1\r\n*1\r\n$4\r\n10/s\r\n");
  // HELLO behind the request does not change the protocol of its reply.
  const std::string hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
  EXPECT_EQ(client.Send(std::string(kPeek) + hello), "");
  Answer("*1\r\n%1\r\n$4\r\nname\r\n$4\r\n10/s\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_TRUE(client.Rest().starts_with("*1\r\n*1\r\n$4\r\n10/s\r\n%"));
}

TEST_F(EdgeDeskTest, APrimaryThatClosesIsAway) {
  Welcome();
  EdgeClient client(server_);
  EXPECT_EQ(client.Send(std::string(kAllow) + std::string(kPeek)), "");
  Expect(std::string(kAllow) + std::string(kPeek));
  peer_.close();
  TurnUntil([&] { return !client.waits(); });
  const std::string away = "-NOPRIMARY the primary of this edge is away, 127.0.0.1:" +
                           std::to_string(acceptor_.local_endpoint().port()) + "\r\n";
  EXPECT_EQ(client.Rest(), away + away);
  EXPECT_EQ(client.Send(kAllow), away);
  EXPECT_FALSE(desk_->numbers().is_connected.load());
  EXPECT_EQ(desk_->numbers().away_error.value(), 3U);
  Welcome();  // It connects again.
}

TEST_F(EdgeDeskTest, EdgeAwayAnswersInPlaceOfThePrimary) {
  EdgeClient client(server_);
  const auto set = [&](EdgeAway away) {
    ASSERT_TRUE(server_.services.settings
                    .Change([&](Options& options) {
                      options.edge_away = away;
                      return absl::OkStatus();
                    })
                    .ok());
  };
  set(EdgeAway::kClosed);
  EXPECT_EQ(client.Send(kAllow), "*5\r\n:0\r\n:0\r\n:-1\r\n:0\r\n:0\r\n");
  set(EdgeAway::kOpen);
  EXPECT_EQ(client.Send(kAllow), "*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
  EXPECT_TRUE(client.Send(kPeek).starts_with("-NOPRIMARY "));
  EXPECT_EQ(desk_->numbers().away_closed.value(), 1U);
  EXPECT_EQ(desk_->numbers().away_open.value(), 1U);
  EXPECT_TRUE(client.Send("RL.ALLOW k 10/S\r\n").starts_with("-NOPRIMARY "));
  EXPECT_EQ(client.Send("RL.ALLOW k @p 10/s WITHLIMITS\r\n"),
            "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n*0\r\n");
}

TEST_F(EdgeDeskTest, AServerThatIsNoPrimaryAnyMoreIsAway) {
  Welcome();
  EdgeClient client(server_);
  for (const std::string error : {"-READONLY no\r\n", "-LOADING soon\r\n", "-MASTERDOWN x\r\n"}) {
    EXPECT_EQ(client.Send(kAllow), "");
    Expect(kAllow);
    Answer(error);
    TurnUntil([&] { return !client.waits(); });
    EXPECT_TRUE(client.Rest().starts_with("-NOPRIMARY "));
    peer_.close();
    Welcome();
  }
}

// The third request is 1.8 s old, and the last reply 0.9 s.
TEST_F(EdgeDeskTest, APrimaryThatAnswersSlowlyIsNotSilent) {
  Welcome();
  EdgeClient first(server_);
  EdgeClient second(server_);
  EdgeClient third(server_);
  EXPECT_EQ(first.Send(kAllow), "");
  EXPECT_EQ(second.Send(kPeek), "");
  EXPECT_EQ(third.Send(kPeek), "");
  const auto pass = [&](std::chrono::milliseconds time) {
    server_.clock.Advance(time);
    TurnUntil([turns = 0]() mutable { return ++turns > 100; });
  };
  pass(std::chrono::milliseconds{1});
  Answer("*5\r\n:0\r\n:0\r\n:100\r\n:1000\r\n:0\r\n");  // The form has ticks from now on.
  TurnUntil([&] { return !first.waits(); });
  pass(std::chrono::milliseconds{900});
  EXPECT_TRUE(second.waits());
  Answer(":2\r\n");
  TurnUntil([&] { return !second.waits(); });
  pass(std::chrono::milliseconds{900});
  EXPECT_TRUE(third.waits());
  EXPECT_TRUE(desk_->numbers().is_connected.load());
}

TEST_F(EdgeDeskTest, ASilentClientWaitsForItsRepliesToo) {
  Welcome();
  EdgeClient client(server_);
  const std::string off = "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n";
  EXPECT_EQ(client.Send(off + std::string(kAllow) + std::string(kPeek)), "");
  EXPECT_TRUE(client.waits());
  Answer(kVerdict);
  Answer("-ERR no\r\n");
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.Rest(), "");
  EXPECT_EQ(server_.worker.counters["total_error_replies"].value(), 1U);
}

TEST_F(EdgeDeskTest, ALinkThatIsFullHoldsItsClientsBack) {
  Welcome();
  const std::string bytes(kEdgeUnsentBytesMax / 128, 'k');
  const std::string peek = "*3\r\n$7\r\nRL.PEEK\r\n$" + std::to_string(bytes.size()) + "\r\n" +
                           bytes + "\r\n$4\r\n10/s\r\n";
  std::vector<std::unique_ptr<EdgeClient>> clients;
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(clients.emplace_back(std::make_unique<EdgeClient>(server_))->Send(peek), "");
    EXPECT_TRUE(clients.back()->waits());
  }
  EdgeClient client(server_);
  EXPECT_EQ(client.Send(kPeek), "");
  EXPECT_TRUE(client.is_paused());
  for (std::size_t i = 0; i < clients.size(); ++i) Expect(peek);
  EXPECT_EQ(client.Send(kPeek), "");
  EXPECT_TRUE(client.waits());
}

// A hot key: requests of a second piece wait for a slice, and those of a third are decided here.
TEST_F(EdgeDeskTest, AHotKeyIsDecidedOnASliceOfThePrimary) {
  Welcome();
  EdgeClient client(server_);
  Heat(client);
  EXPECT_EQ(client.CountIn(client.Send(kPiece), "*5\r\n:1\r\n"), 3U);
  EXPECT_FALSE(client.waits());
  EXPECT_EQ(server_.worker.request_counters.allowed.value(), 2U + 3U);
}

TEST_F(EdgeDeskTest, ASliceThatEndsDuringASlowCommandIsNotSpentBehindIt) {
  Welcome();
  server_.services.settings.OnChange(
      [&](const Options& /*options*/) { server_.clock.Advance(std::chrono::milliseconds{300}); });
  EdgeClient client(server_);
  Heat(client);
  const std::string slow = "*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$9\r\nedge-away\r\n$6\r\nclosed\r\n";
  EXPECT_EQ(client.Send(slow + std::string(kAllow)), "+OK\r\n");
  EXPECT_TRUE(client.waits());
}

TEST_F(EdgeDeskTest, WhatWaitsForASliceIsAnsweredWhenThePrimaryIsLost) {
  Welcome();
  EdgeClient client(server_);
  std::string piece;
  for (int i = 0; i < 6; ++i) piece += kAllow;
  EXPECT_EQ(client.Send(piece), "");
  static_cast<void>(ReceiveUntil("\r\nTTL\r\n$3\r\n250\r\n"));
  peer_.close();
  TurnUntil([&] { return !client.waits(); });
  EXPECT_EQ(client.CountIn(client.Rest(), "-NOPRIMARY "), 6U);
}

TEST_F(EdgeDeskTest, AReplyThatNobodyAskedForEndsTheLink) {
  Welcome();
  Answer(kVerdict);
  TurnUntil([&] { return !desk_->numbers().is_connected.load(); });
}

TEST(PrimaryFactsTest, AreReadFromInfo) {
  const PrimaryFacts facts = ReadPrimaryFacts("# Replication\r\nrole:master\r\nterm:7\r\n");
  EXPECT_TRUE(facts.is_primary);
  EXPECT_FALSE(facts.is_edge);
  EXPECT_EQ(facts.term, 7U);
  EXPECT_FALSE(ReadPrimaryFacts("role:master\r\ndeposed:1\r\n").is_primary);
  EXPECT_TRUE(ReadPrimaryFacts("role:master\r\nloading:1\r\n").is_loading);
  EXPECT_FALSE(ReadPrimaryFacts("role:master\r\nloading:0\r\n").is_loading);
  EXPECT_TRUE(ReadPrimaryFacts("# Edge\r\nedge_state:away\r\nrole:master\r\n").is_edge);
  EXPECT_FALSE(ReadPrimaryFacts("role:slave\r\nterm:x\r\n").is_primary);
  EXPECT_FALSE(ReadPrimaryFacts("").is_primary);
}

}  // namespace
}  // namespace weir
