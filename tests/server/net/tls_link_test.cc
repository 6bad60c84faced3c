// Goal: both sides of TLS, weir's own, bring every byte in order, also when an end moves to another
// event loop while OpenSSL has bytes that the socket does not announce, or half a record unsent.
// Method: two Transports over loopback with little room in the kernel, pieces of random size, and
// event loops that the test runs.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/socket_base.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/net/tls_context.h"
#include "server/net/transport.h"
#include "tests/server/net/tls_peer.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using asio::ip::tcp;
using testing::EndsWith;

constexpr int kLittleRoom = 4096;

// One end of a connection: sends what it is given, and keeps what comes.
class End {
 public:
  // `room`: the bytes of the next read.
  End(StreamSocket socket, const TlsContext& tls, std::function<std::size_t()> room)
      : transport_(WithSession(std::move(socket), tls)), room_(std::move(room)) {}

  // Also begins the handshake.
  void Receive() {
    std::vector<char> input(room_());
    std::error_code error;
    const std::size_t count = transport_.Read(input, error);
    received_.append(input.data(), count);
    if (error && error != asio::error::would_block) {
      failure_ = transport_.tls_failure().empty() ? error.message() : transport_.tls_failure();
      return transport_.Close();
    }
    WaitToReceive();
    Send({});
  }

  void Send(std::string_view bytes) {
    unsent_ += bytes;
    while (!unsent_.empty() && !waits_for_room_ && !transport_.is_handshaking()) {
      std::error_code error;
      unsent_.erase(0, transport_.Write(unsent_, error));
      if (error != asio::error::would_block) continue;
      waits_for_room_ = true;
      ++blocked_;
      transport_.WaitToWrite([this, move = moves_](std::error_code failed) {
        if (failed || move != moves_) return;
        waits_for_room_ = false;
        Send({});
      });
    }
  }

  void MoveTo(asio::io_context& context) {
    ++moves_;
    transport_.MoveTo(context);
    waits_for_room_ = false;
    WaitToReceive();
    Send({});
  }

  [[nodiscard]] const std::string& received() const { return received_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool is_handshaking() const { return transport_.is_handshaking(); }
  [[nodiscard]] int blocked() const { return blocked_; }

 private:
  static Transport WithSession(StreamSocket socket, const TlsContext& tls) {
    TlsSession session = tls.NewSession(socket.native_handle());
    return Transport(std::move(socket), std::move(session));
  }

  void WaitToReceive() {
    transport_.WaitToRead([this, move = moves_](std::error_code error) {
      if (!error && move == moves_) Receive();
    });
  }

  Transport transport_;
  std::function<std::size_t()> room_;
  std::string unsent_;
  std::string received_;
  std::string failure_;
  bool waits_for_room_ = false;
  int blocked_ = 0;  // the writes that found no room
  int moves_ = 0;
};

class TlsLinkTest : public testing::Test {
 protected:
  TlsLinkTest() { signal(SIGPIPE, SIG_IGN); }  // as the server does

  [[nodiscard]] TlsContext Load(bool is_server, const TestCertificate& shown,
                                const TestAuthority& trusted) const {
    Options options = DefaultOptions();
    options.tls_cert = shown.path;
    options.tls_key = shown.key;
    options.tls_ca = trusted.path();
    absl::StatusOr<TlsContext> loaded =
        is_server ? TlsContext::Load(options) : TlsContext::LoadForLink(options);
    WEIR_CHECK(loaded.ok());
    return *std::move(loaded);
  }

  // Connects two ends, whose handshake has begun.
  void Connect(const TlsContext& server, const TlsContext& client) {
    tcp::acceptor acceptor(home_, {asio::ip::make_address("127.0.0.1"), 0});
    acceptor.set_option(asio::socket_base::receive_buffer_size(kLittleRoom));
    tcp::socket near(home_);
    near.open(tcp::v4());
    near.set_option(asio::socket_base::receive_buffer_size(kLittleRoom));
    near.connect(acceptor.local_endpoint());
    tcp::socket far(home_);
    acceptor.accept(far);
    for (tcp::socket* const socket : {&near, &far}) {
      socket->set_option(asio::socket_base::send_buffer_size(kLittleRoom));
      socket->set_option(tcp::no_delay(true));
    }
    server_.emplace(std::move(far), server, [this] { return room_(); });
    client_.emplace(std::move(near), client, [this] { return room_(); });
    server_->Receive();
    client_->Receive();
  }

  // Runs both event loops until the condition holds.
  template <typename Condition>
  [[nodiscard]] bool RunUntil(Condition condition) {
    return Eventually([&] {
      for (int i = 0; i < 100 && !condition(); ++i) {
        home_.poll_one();
        abroad_.poll_one();
      }
      return condition();
    });
  }

  TemporaryDirectory directory_;
  const TestAuthority authority_{directory_, "ca"};
  const TestAuthority stranger_{directory_, "stranger"};
  const TestCertificate mine_ = authority_.Issue("server");
  const TestCertificate foreign_ = stranger_.Issue("server");
  const TestCertificate expired_ = authority_.Issue("expired", {.seconds = -3600});
  std::function<std::size_t()> room_ = [] { return 16'384; };
  asio::io_context home_;
  asio::io_context abroad_;
  // Without them a loop would end when it has nothing to do.
  asio::executor_work_guard<asio::io_context::executor_type> works_{home_.get_executor()};
  asio::executor_work_guard<asio::io_context::executor_type> works_too_{abroad_.get_executor()};
  std::optional<End> server_;
  std::optional<End> client_;
};

TEST_F(TlsLinkTest, BytesReadAheadAreNotForgottenByAMove) {
  room_ = [] { return 10; };
  Connect(Load(true, mine_, authority_), Load(false, mine_, authority_));
  ASSERT_TRUE(
      RunUntil([this] { return !server_->is_handshaking() && !client_->is_handshaking(); }));
  const std::string record(1000, 'x');
  client_->Send(record);
  ASSERT_TRUE(RunUntil([this] { return !server_->received().empty(); }));
  ASSERT_LT(server_->received().size(), record.size());  // The rest is in OpenSSL.
  server_->MoveTo(abroad_);
  EXPECT_TRUE(RunUntil([&] { return server_->received() == record; }));
}

// The kernel refuses a descriptor that the loop watches already. The transport then closes it,
// and must not write into what gets its number next.
TEST_F(TlsLinkTest, AMoveThatFailsEndsTls) {
  tcp::acceptor acceptor(home_, {asio::ip::make_address("127.0.0.1"), 0});
  tcp::socket socket(home_);
  socket.connect(acceptor.local_endpoint());
  const int number = socket.native_handle();
  const TlsContext tls = Load(false, mine_, authority_);
  TlsSession session = tls.NewSession(number);
  Transport transport(std::move(socket), std::move(session));
  std::array<int, 2> next{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, next.data()), 0);
  asio::posix::stream_descriptor watched(abroad_, number);
  transport.MoveTo(abroad_);
  watched.release();
  ASSERT_EQ(dup2(next[0], number), number);
  std::error_code error;
  EXPECT_EQ(transport.Write("x", error), 0U);
  EXPECT_EQ(error, asio::error::bad_descriptor);
  transport.Close();
  char byte = 0;
  EXPECT_EQ(recv(next[1], &byte, 1, MSG_DONTWAIT), -1) << "nothing was sent";
  for (const int end : {number, next[0], next[1]}) close(end);
}

TEST_F(TlsLinkTest, EveryByteArrivesInOrderWhateverMoves) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t end) { return random() % end; };
  room_ = [&] { return 1 + below(40'000); };
  Connect(Load(true, mine_, authority_), Load(false, mine_, authority_));
  ASSERT_TRUE(
      RunUntil([this] { return !server_->is_handshaking() && !client_->is_handshaking(); }));
  std::string to_server;
  std::string to_client;
  for (std::int64_t i = Scaled(300); i > 0; --i) {
    for (auto [end, sent] : {std::pair(&*client_, &to_server), std::pair(&*server_, &to_client)}) {
      const std::string piece(below(50'000), static_cast<char>('a' + below(26)));
      *sent += piece;
      end->Send(piece);
    }
    for (std::size_t turns = below(20); turns > 0; --turns) {
      home_.poll_one();
      abroad_.poll_one();
    }
    if (below(4) == 0) server_->MoveTo(below(2) == 0 ? home_ : abroad_);
  }
  EXPECT_TRUE(RunUntil([&] { return server_->received().size() == to_server.size(); }));
  EXPECT_TRUE(RunUntil([&] { return client_->received().size() == to_client.size(); }));
  EXPECT_TRUE(server_->received() == to_server);
  EXPECT_TRUE(client_->received() == to_client);
  EXPECT_GT(server_->blocked() + client_->blocked(), 0);
}

// The certificates say "server" and the address is 127.0.0.1: the name is not checked.
TEST_F(TlsLinkTest, EachSideTrustsItsAuthorityAlone) {
  struct Case {
    const TestCertificate& server;
    const TestAuthority& of_servers;
    const TestCertificate& client;
    std::string failure;  // on the client's side, without a version of TLS before it
  };
  const TestCertificate none;
  for (const Case& one :
       {Case{mine_, authority_, mine_, ""},
        Case{foreign_, authority_, mine_,
             "certificate verify failed: unable to get local issuer certificate"},
        Case{mine_, stranger_, mine_,
             "certificate verify failed: self-signed certificate in certificate chain"},
        Case{expired_, authority_, mine_, "certificate verify failed: certificate has expired"},
        Case{mine_, authority_, none, "alert certificate required"},
        Case{mine_, authority_, expired_, "alert certificate expired"},
        Case{mine_, authority_, foreign_, "alert unknown ca"}}) {
    Connect(Load(true, one.server, authority_), Load(false, one.client, one.of_servers));
    client_->Send("x");
    const auto is_over = [this] {
      return !client_->failure().empty() || !server_->received().empty();
    };
    EXPECT_TRUE(RunUntil(is_over)) << one.failure;
    EXPECT_THAT(client_->failure(), EndsWith(one.failure));
    EXPECT_EQ(client_->failure().empty(), one.failure.empty());
    EXPECT_EQ(server_->received(), one.failure.empty() ? "x" : "");
  }
}

}  // namespace
}  // namespace weir
