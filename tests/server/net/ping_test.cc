// Goal: a ping succeeds when the server can be asked, and otherwise says in one line why not.
// Method: real servers, and peers that answer what the test wants, or nothing. (TLS: tls_test.py.)
#include "server/net/ping.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/server/loopback.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using asio::ip::tcp;

std::string ResultOf(const Options& options, std::string_view address = "") {
  const absl::Status answered = Ping(options, address, kLoopbackDeadline);
  return answered.ok() ? "answered" : std::string(StdView(answered.message()));
}

std::string Place(std::uint16_t port) { return absl::StrCat("127.0.0.1:", port); }

Options At(std::uint16_t port) {
  Options options = DefaultOptions();
  options.port = port;
  return options;
}

// A peer that waits for the question of one client, sends a text and closes.
class Peer {
 public:
  explicit Peer(std::string_view text) : thread_([this, text] { Answer(text); }) {}
  ~Peer() { thread_.join(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void Answer(std::string_view text) {
    tcp::socket socket = acceptor_.accept();
    std::array<char, 64> question;
    const std::size_t bytes = socket.read_some(asio::buffer(question));
    EXPECT_EQ(std::string_view(question.data(), bytes), "PING\r\n");
    // The client may close before it has read all of a long text.
    std::error_code ignored;
    asio::write(socket, asio::buffer(text), ignored);
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

TEST(PingTest, AServerAnswersAtTheAddressOfItsOptionsOrAtTheGivenOne) {
  const TemporaryDirectory directory;
  Options options = LoopbackOptions();
  options.unix_socket = directory.path() + "/weir.sock";
  const LoopbackServer server(options);
  const std::string port = absl::StrCat(server.port());
  EXPECT_EQ(ResultOf(At(server.port())), "answered");
  EXPECT_EQ(ResultOf(At(1), Place(server.port())), "answered");
  EXPECT_EQ(ResultOf(At(1), "localhost:" + port), "answered");
  EXPECT_EQ(ResultOf(At(1), options.unix_socket), "answered");
  EXPECT_EQ(ResultOf(options), "answered") << "port 0 is any port, so the Unix socket is asked";
  options.port = 1;
  options.tls_only = true;
  EXPECT_EQ(ResultOf(options), "answered") << "there is no plain port, so the Unix socket is asked";
}

TEST(PingTest, AmongSeveralAddressesOneOfThisHostIsAsked) {
  const LoopbackServer server;
  Options options = At(server.port());
  options.bind = {"192.0.2.1", "127.0.0.1"};
  EXPECT_EQ(ResultOf(options), "answered");
  options.bind = {"192.0.2.1", "0.0.0.0"};
  EXPECT_EQ(ResultOf(options), "answered");
}

TEST(PingTest, AServerThatAsksForAPasswordHasAnswered) {
  Options options = LoopbackOptions();
  options.requirepass = "secret";
  const LoopbackServer server(options);
  EXPECT_EQ(ResultOf(At(server.port())), "answered");
}

TEST(PingTest, AnyOtherAnswerIsTheReason) {
  const auto result_of = [](std::string_view text) {
    const Peer peer(text);
    const std::string result = ResultOf(At(peer.port()));
    const std::string place = Place(peer.port());
    return result.substr(result.find(place) + place.size());
  };
  EXPECT_EQ(result_of("-LOADING weir is loading\r\n"), " answers: LOADING weir is loading");
  EXPECT_EQ(result_of("-ERR max number of clients reached\r\n"),
            " answers: ERR max number of clients reached");
  EXPECT_EQ(result_of("HTTP/1.1 400 Bad Request\r\nA: b\r\n\r\n"),
            " answers: HTTP/1.1 400 Bad Request");
  EXPECT_EQ(result_of("+PONGS\r\n"), " answers: +PONGS");
  EXPECT_EQ(result_of("-NOAUTHENTIC\n"), " answers: NOAUTHENTIC");
  EXPECT_EQ(result_of(""), ": it has closed the connection");
  EXPECT_EQ(result_of("+PO"), ": it has closed the connection");
  EXPECT_EQ(result_of(std::string(100'000, 'x')).substr(0, 12), " answers: xx");
}

TEST(PingTest, AServerThatIsNotThereOrHangsIsNamed) {
  asio::io_context context;
  tcp::acceptor silent(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = silent.local_endpoint().port();
  const absl::Status hung = Ping(At(port), "", std::chrono::milliseconds{1});
  EXPECT_EQ(hung.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(hung.message(), absl::StrCat("no answer from ", Place(port), ": timed out"));
  silent.close();
  EXPECT_EQ(ResultOf(At(port)),
            absl::StrCat("no answer from ", Place(port), ": Connection refused"));
  EXPECT_EQ(ResultOf(At(1), "/nonexistent/weir.sock"),
            "no answer from '/nonexistent/weir.sock': No such file or directory");
  EXPECT_EQ(ResultOf(At(1), "[::1]:1"), "no answer from [::1]:1: Connection refused");
  EXPECT_EQ(ResultOf(At(1), "::1"), "no answer from [::1]:1: Connection refused");
}

TEST(PingTest, AWrongAddressIsAnErrorOfTheCommandLine) {
  const std::string expected =
      ": must be HOST:PORT, as in 127.0.0.1:7379, or the path of a Unix socket, as in ./weir.sock";
  for (const std::string address : {"localhost", "7379", ":7379", "localhost:", "localhost:0",
                                    "localhost:65536", "a:b", ":", "[]:1"}) {
    const absl::Status answered = Ping(DefaultOptions(), address);
    EXPECT_EQ(answered.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(answered.message(), absl::StrCat("--ping '", address, "'", expected));
  }
  EXPECT_EQ(Ping(At(0), "::1").code(), absl::StatusCode::kInvalidArgument) << "it has no port";
  EXPECT_EQ(Ping(At(0), "").message(),
            "--ping needs an address: with port 0 the server takes any port");
  EXPECT_EQ(Ping(At(0), "/" + std::string(108, 'x')).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
