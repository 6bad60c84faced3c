// Goal: under TLS a connection does what it does without TLS: every byte, in order, in any pieces,
// within the same bounds; and the certificates decide which clients get in. Method: one I/O thread
// with a stopped clock, and clients that speak OpenSSL. Bare sockets are tested in
// connection_test.cc.
#include "server/net/transport.h"

#include <csignal>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "server/net/connection.h"
#include "server/net/io_thread.h"
#include "server/net/redis_port.h"
#include "tests/server/exchanges.h"
#include "tests/server/loopback.h"
#include "tests/server/net/io_thread_steps.h"
#include "tests/server/net/tls_peer.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using asio::ip::tcp;
using testing::EndsWith;

class TransportTest : public testing::Test {
 protected:
  TransportTest() {
    signal(SIGPIPE, SIG_IGN);  // as the server does
    ConfigureLog(LogLevel::kError);
    LoadTls(TlsAuthClients::kYes);
    thread_.Start("io", [this] { ended_.set_value(); });
  }

  // Loads the certificates; new clients are asked for theirs as `auth_clients` says.
  void LoadTls(TlsAuthClients auth_clients) {
    Options options = DefaultOptions();
    options.tls_cert = server_.path;
    options.tls_key = server_.key;
    options.tls_ca = authority_.path();
    options.tls_auth_clients = auth_clients;
    absl::StatusOr<TlsContext> loaded = TlsContext::Load(options);
    WEIR_CHECK(loaded.ok());
    tls_.emplace(*std::move(loaded));
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // Gives the connection of a client to the thread.
  void Serve(int send_buffer_bytes = 0) {
    tcp::socket socket(thread_.context());
    acceptor_.accept(socket);
    if (send_buffer_bytes > 0) {
      socket.set_option(asio::socket_base::send_buffer_size(send_buffer_bytes));
    }
    const int descriptor = socket.native_handle();
    thread_.Adopt(Transport(std::move(socket), tls_->NewSession(descriptor)), RedisProtocol().make,
                  services_.clients.Announce("peer", "own", descriptor, clock_.HostNow()));
  }

  [[nodiscard]] TlsClientOptions Trusted(int version = TLS1_3_VERSION) const {
    return {.authority = authority_.path(), .certificate = client_, .version = version};
  }

  [[nodiscard]] bool AwaitClients(std::size_t count) {
    return Eventually([&] { return services_.clients.size() == count; });
  }

  // How the handshake of such a client ends: "served", or OpenSSL's reason.
  std::string Outcome(const TlsClientOptions& options) {
    TlsClient client(port(), options);
    Serve();
    if (!client.ShakeHands() || !client.Send(kPing)) return client.failure();
    return client.Receive(kPong.size()) == kPong ? "served" : client.failure();
  }

  TemporaryDirectory directory_;
  const TestAuthority authority_{directory_, "ca"};
  const TestAuthority stranger_{directory_, "stranger"};
  const TestCertificate server_ = authority_.Issue("server");
  const TestCertificate client_ = authority_.Issue("client");
  std::optional<TlsContext> tls_;
  FakeClock clock_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Services services_{DefaultOptions(), clock_, *limiter_};
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::promise<void> ended_;
  IoThread thread_{services_};  // the last member: the thread ends before what it uses
};

TEST_F(TransportTest, RequestsMayArriveInAnyPieces) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(port(), Trusted(version));
    Serve();
    ASSERT_TRUE(client.ShakeHands()) << client.failure();
    const std::string request = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
      ASSERT_TRUE(client.Send(request.substr(0, cut)));
      ASSERT_TRUE(client.Send(request.substr(cut)));
      ASSERT_EQ(client.Receive(11), "$5\r\nhello\r\n") << "cut at " << cut;
    }
  }
}

// The client sends more in one write than the thread's buffer holds, so TLS keeps the rest.
TEST_F(TransportTest, LongPipelinesAreAnsweredInOrder) {
  for (const std::size_t padding : {0, 1000, 60'000}) {
    const Pipeline pipeline(padding > 1000 ? 200 : 20'000, padding);
    TlsClient client(port(), Trusted());
    Serve();
    ASSERT_TRUE(client.ShakeHands());
    ASSERT_TRUE(client.Send(pipeline.requests)) << client.failure();
    EXPECT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies) << padding;
  }
}

// The client writes while there is room and reads nothing, so both directions block.
TEST_F(TransportTest, AClientThatReadsLateGetsEveryByte) {
  TlsClientOptions options = Trusted();
  options.receive_buffer_bytes = 4096;
  TlsClient client(port(), options);
  Serve(4096);
  ASSERT_TRUE(client.ShakeHands());
  const Pipeline pipeline(5'000, 100);
  std::string_view rest = pipeline.requests;
  for (pollfd room{.fd = client.descriptor(), .events = POLLOUT, .revents = 0};
       !rest.empty() && poll(&room, 1, 200) == 1;) {
    std::size_t sent = 0;
    if (SSL_write_ex(client.session(), rest.data(), rest.size(), &sent) == 1) {
      rest.remove_prefix(sent);
    }
  }
  ASSERT_TRUE(client.Send(rest));
  EXPECT_TRUE(client.Receive(pipeline.replies.size()) == pipeline.replies);
}

// Keys change in the middle of requests, and the server is asked to change its own: its next read
// then has to write.
TEST_F(TransportTest, KeysMayChangeAtAnyTime) {
  TlsClient client(port(), Trusted());
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(SSL_key_update(client.session(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_TRUE(client.Send("PIN"));
    ASSERT_TRUE(client.Send("G\r\n"));
    ASSERT_EQ(client.Receive(kPong.size()), kPong);
  }
}

// A client that does nothing but ask for new keys would otherwise keep its thread busy.
TEST_F(TransportTest, NewKeysWithoutEndAreRefused) {
  TlsClient client(port(), Trusted());
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  ASSERT_TRUE(client.Send(kPing));
  ASSERT_EQ(client.Receive(kPong.size()), kPong);
  const std::uint64_t commands = thread_.worker().counters["total_commands_processed"].value();
  EXPECT_FALSE(client.ChangesKeys(Scaled(100'000)) && client.Send(kPing) &&
               client.Receive(kPong.size()) == kPong);
  EXPECT_TRUE(AwaitClients(0));
  EXPECT_EQ(thread_.worker().counters["total_commands_processed"].value(), commands);
}

TEST_F(TransportTest, RenegotiationIsRefused) {
  TlsClient client(port(), Trusted(TLS1_2_VERSION));
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  ASSERT_EQ(SSL_renegotiate(client.session()), 1);
  EXPECT_FALSE(client.Send(kPing) && client.Receive(kPong.size()) == kPong);
  EXPECT_EQ(client.failure(), "no renegotiation");
}

TEST_F(TransportTest, AClientThatEndsItsStreamGetsAllReplies) {
  const Pipeline pipeline(5'000);
  TlsClient client(port(), Trusted());
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  ASSERT_TRUE(client.Send(pipeline.requests));
  client.SayTheEnd();
  EXPECT_TRUE(client.ReceiveAll() == pipeline.replies);
  EXPECT_TRUE(client.was_told_the_end());
  EXPECT_TRUE(AwaitClients(0));
}

TEST_F(TransportTest, AnErrorArrivesInFullThoughTheClientSendsOn) {
  TlsClient client(port(), Trusted());
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  EXPECT_TRUE(client.Send("PING\r\n*1\r\n:1\r\n" + std::string(1'000'000, 'x')));
  EXPECT_EQ(client.ReceiveAll(), "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TransportTest, AStopAnswersWhatHasBeenReceived) {
  const Pipeline pipeline(500);
  TlsClient busy(port(), Trusted());
  Serve();
  TlsClient idle(port(), Trusted());
  Serve();
  TlsClient handshaking(port(), Trusted());
  Serve();
  ASSERT_TRUE(busy.ShakeHands());
  ASSERT_TRUE(idle.ShakeHands());
  for (TlsClient* const client : {&busy, &idle}) {
    ASSERT_TRUE(client->Send(kPing));
    ASSERT_EQ(client->Receive(kPong.size()), kPong);
  }
  ASSERT_TRUE(busy.Send(pipeline.requests + "*2\r\n$4\r\nEC"));
  ASSERT_TRUE(busy.AwaitDelivery());
  thread_.Drain();
  EXPECT_TRUE(busy.ReceiveAll() == pipeline.replies);
  EXPECT_TRUE(busy.was_told_the_end());
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_TRUE(idle.was_told_the_end());
  EXPECT_FALSE(handshaking.ShakeHands());
}

TEST_F(TransportTest, AStopComesToItsEnd) {
  {
    TlsClient client(port(), Trusted());
    Serve();
    ASSERT_TRUE(client.ShakeHands());
    TlsClient silent(port(), Trusted());
    Serve();
    ASSERT_TRUE(AwaitClients(2));
    thread_.Drain();
  }
  EXPECT_EQ(ended_.get_future().wait_for(kLoopbackDeadline), std::future_status::ready);
}

// --- Accepted clients-----------------------------------------------------------------------------

TEST_F(TransportTest, OnlyTls12AndTls13AreSpoken) {
  EXPECT_EQ(Outcome(Trusted(TLS1_3_VERSION)), "served");
  EXPECT_EQ(Outcome(Trusted(TLS1_2_VERSION)), "served");
  EXPECT_EQ(Outcome(Trusted(TLS1_1_VERSION)), "tlsv1 alert protocol version");
  EXPECT_EQ(Outcome(Trusted(TLS1_VERSION)), "tlsv1 alert protocol version");
}

TEST_F(TransportTest, OnlyTheAuthoritysClientsAreServed) {
  const TestCertificate expired = authority_.Issue("expired", {.seconds = -3600});
  const TestCertificate foreign = stranger_.Issue("client");
  TlsClientOptions options = Trusted();
  options.certificate = {};
  EXPECT_EQ(Outcome(options), "tlsv13 alert certificate required");
  options.certificate = expired;
  EXPECT_THAT(Outcome(options), EndsWith(" alert certificate expired"));
  options.certificate = foreign;
  EXPECT_EQ(Outcome(options), "tlsv1 alert unknown ca");
  EXPECT_TRUE(AwaitClients(0));

  LoadTls(TlsAuthClients::kOptional);
  EXPECT_EQ(Outcome(options), "tlsv1 alert unknown ca");
  options.certificate = {};
  EXPECT_EQ(Outcome(options), "served");

  LoadTls(TlsAuthClients::kNo);
  EXPECT_EQ(Outcome(options), "served");
  options.certificate = foreign;
  EXPECT_EQ(Outcome(options), "served");
}

TEST_F(TransportTest, AServerOfAnotherAuthorityIsNotTrusted) {
  TlsClientOptions options = Trusted();
  options.authority = stranger_.path();
  EXPECT_EQ(Outcome(options), "certificate verify failed");
  EXPECT_TRUE(AwaitClients(0));
}

TEST_F(TransportTest, AClientWithoutTlsIsClosed) {
  for (const std::string_view words : {kPing, std::string_view("GET / HTTP/1.1\r\n\r\n"),
                                       std::string_view("\x16\x03\x01\xff\xff\x01garbage")}) {
    LoopbackClient client(port());
    Serve();
    EXPECT_TRUE(client.Send(words));
    client.FinishSending();
    EXPECT_EQ(client.ReceiveAll().find("PONG"), std::string::npos);
    EXPECT_TRUE(AwaitClients(0));
  }
}

// --- Slow clients ----------------------------------------------------------------------------

TEST_F(TransportTest, AHandshakeHasItsTimeAndNotMore) {
  LoopbackClient silent(port());
  Serve();
  LoopbackClient slow(port());
  Serve();
  TlsClient quick(port(), Trusted());
  Serve();
  ASSERT_TRUE(AwaitClients(3));
  Settle(thread_);
  for (const char byte : {'\x16', '\x03', '\x01', '\x02', '\x00'}) {
    ASSERT_TRUE(slow.Send({&byte, 1}));  // a byte now and then buys no time
    ASSERT_TRUE(slow.AwaitDelivery());
    Tick(thread_);
    ASSERT_EQ(services_.clients.size(), 3U);
    clock_.Advance(kHandshakeTime / 5 - Nanos{1});
  }
  ASSERT_TRUE(quick.ShakeHands());
  ASSERT_TRUE(quick.Send(kPing));
  ASSERT_EQ(quick.Receive(kPong.size()), kPong);
  clock_.Advance(Nanos{5});
  Tick(thread_);
  EXPECT_EQ(silent.ReceiveAll(), "");
  slow.ReceiveAll();
  EXPECT_TRUE(AwaitClients(1));
  clock_.Advance(std::chrono::hours{24});
  Tick(thread_);
  ASSERT_TRUE(quick.Send(kPing));
  EXPECT_EQ(quick.Receive(kPong.size()), kPong);
}

TEST_F(TransportTest, HalfARequestHasAllOfItsTime) {
  TlsClient client(port(), Trusted());
  Serve();
  ASSERT_TRUE(client.ShakeHands());
  ASSERT_TRUE(client.Send(kPing));
  ASSERT_EQ(client.Receive(kPong.size()), kPong);
  clock_.Advance(kHandshakeTime);
  ASSERT_TRUE(client.Send("PING\r\n*1\r\n$4\r\nPI"));
  ASSERT_EQ(client.Receive(kPong.size()), kPong);
  Settle(thread_);
  clock_.Advance(kStalledTime - Nanos{1});
  Tick(thread_);
  EXPECT_EQ(services_.clients.size(), 1U);
  clock_.Advance(Nanos{1});
  Tick(thread_);
  EXPECT_EQ(client.ReceiveAll(), "");
}

}  // namespace
}  // namespace weir
