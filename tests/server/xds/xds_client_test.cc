// Goal: a control plane that is silent is left and asked again, and one that answers is kept.
// Method: the client and a control plane of the test in one loop, with short times.
#include "server/xds/xds_client.h"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "http2/http2_session.h"
#include "rls/xds.pb.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

// Long enough for a machine that is busy; a test that passes needs a fraction of it.
constexpr std::chrono::seconds kPatience{30};

// A control plane with one connection at a time, which sends an empty response to each call.
class Plane : public Http2Receiver {
 public:
  explicit Plane(asio::io_context& context)
      : acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        socket_(context),
        slow_timer_(context) {
    Accept();
  }

  void OnProgress(Http2Stream& stream) override {
    if (stream.is_answered) return;
    has_answered_ = true;
    constexpr Http2Field kFields[] = {{":status", "200"}, {"content-type", "application/grpc"}};
    xds::DiscoveryResponse response;
    response.set_version_info("1");
    response.set_type_url(std::string(kXdsRuleType));
    std::string framed;
    AppendGrpcMessage(response.SerializeAsString(), framed);
    http2_->Begin(stream, kFields);
    http2_->Write(stream, framed);
    if (ends_at_once) http2_->End(stream, std::array<Http2Field, 1>{{{"grpc-status", "0"}}});
    slow_bytes_ = std::move(framed);
    slow_stream_ = stream.id;
  }
  // Sends the response once more, a byte in each `span`.
  void SendSlowly(milliseconds span) {
    slow_timer_.expires_after(span);
    slow_timer_.async_wait([this, span](std::error_code error) {
      if (error || slow_bytes_.empty()) return;
      http2_->Write(*http2_->Find(slow_stream_), slow_bytes_.substr(0, 1));
      slow_bytes_.erase(0, 1);
      std::string out;
      http2_->Flush(out);
      asio::write(socket_, asio::buffer(out), error);
      SendSlowly(span);
    });
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  int connections = 0;
  std::size_t bytes_heard = 0;
  bool is_deaf = false;       // it reads nothing after its answer
  bool ends_at_once = false;  // the stream, behind its first response

 private:
  void Accept() {
    acceptor_.async_accept([this](std::error_code error, tcp::socket socket) {
      if (error) return;
      ++connections;
      has_answered_ = false;
      socket_ = std::move(socket);
      http2_ = std::make_unique<Http2Session>(*this);
      Read();
      Accept();
    });
  }
  void Read() {
    socket_.async_read_some(asio::buffer(input_), [this](std::error_code error, std::size_t size) {
      if (error) return;
      bytes_heard += size;
      http2_->Receive({input_.data(), size}, HostInstant(std::chrono::hours(1)), 1'000'000);
      std::string out;
      http2_->Flush(out);
      asio::write(socket_, asio::buffer(out), error);
      if (!is_deaf || !has_answered_) Read();
    });
  }

  tcp::acceptor acceptor_;
  tcp::socket socket_;
  std::array<char, 4096> input_{};
  std::unique_ptr<Http2Session> http2_;
  bool has_answered_ = false;  // on this connection
  asio::steady_timer slow_timer_;
  std::string slow_bytes_;
  std::int32_t slow_stream_ = 0;
};

class XdsClientTest : public testing::Test {
 protected:
  void Follow(XdsTimes times) {
    ConfigureLog(LogLevel::kError);
    Options options = DefaultOptions();
    options.rls_xds.servers = {{"127.0.0.1", plane_.port()}};
    services_ = std::make_unique<Services>(options, clock_, limiter_);
    client_ = std::make_unique<XdsClient>(
        context_, *services_, nullptr,
        [this](XdsResponse& /*response*/, std::string_view /*message*/) {
          ++responses_;
          return absl::OkStatus();
        },
        [this] { ++attempts_; }, times);
    client_->Start();
  }
  [[nodiscard]] bool RunUntil(const std::function<bool()>& done) {
    bool is_late = false;
    asio::steady_timer end(context_, kPatience);
    end.async_wait([&is_late](std::error_code error) { is_late = !error; });
    while (!done() && !is_late) context_.run_one();
    end.cancel();
    context_.poll();  // the end of the wait, which names what is gone then
    return done();
  }

  FakeClock clock_;
  Limiter limiter_{LimiterOptions()};
  asio::io_context context_{1};
  Plane plane_{context_};
  std::unique_ptr<Services> services_;
  std::unique_ptr<XdsClient> client_;
  int responses_ = 0;
  int attempts_ = 0;
};

TEST_F(XdsClientTest, AControlPlaneThatAnswersPingsIsKept) {
  Follow({.between_pings = milliseconds(1), .to_answer_ping = milliseconds(2000)});
  ASSERT_TRUE(RunUntil([&] { return responses_ == 1; }));
  const std::size_t heard = plane_.bytes_heard;
  constexpr std::size_t kPingBytes = 17;
  EXPECT_TRUE(RunUntil([&] { return plane_.bytes_heard >= heard + 2 * kPingBytes; }));
  EXPECT_EQ(plane_.connections, 1);
  EXPECT_TRUE(services_->xds.connected.load());
}

TEST_F(XdsClientTest, AControlPlaneThatAnswersNoPingIsLeftAndAskedAgain) {
  plane_.is_deaf = true;
  Follow({.between_pings = milliseconds(1), .to_answer_ping = milliseconds(1)});
  ASSERT_TRUE(RunUntil([&] { return responses_ >= 1; }));
  EXPECT_TRUE(RunUntil([&] { return !services_->xds.connected.load(); }));
  EXPECT_EQ(services_->xds.error(), "it does not answer a PING");
  const int connections = plane_.connections;
  EXPECT_TRUE(RunUntil([&] { return plane_.connections > connections; }));
}

// Its bytes come long after the time for a PING, but none of them that long after the one before.
TEST_F(XdsClientTest, AControlPlaneThatSendsSlowlyIsKept) {
  plane_.is_deaf = true;
  Follow({.between_pings = milliseconds(1), .to_answer_ping = milliseconds(1000)});
  ASSERT_TRUE(RunUntil([&] { return responses_ == 1; }));
  plane_.SendSlowly(milliseconds(20));
  EXPECT_TRUE(RunUntil([&] { return responses_ == 2; }));
  EXPECT_EQ(plane_.connections, 1);
}

TEST_F(XdsClientTest, AResponseThatComesWithTheEndOfItsStreamIsUsed) {
  plane_.ends_at_once = true;
  Follow({});
  EXPECT_TRUE(RunUntil([&] { return responses_ == 1; }));
  EXPECT_TRUE(RunUntil([&] { return plane_.connections == 2; }));
  EXPECT_EQ(attempts_, 2);
  EXPECT_EQ(services_->xds.accepted.load(), static_cast<std::uint64_t>(responses_));
}

TEST_F(XdsClientTest, AClientThatHasStoppedLeavesNothingInTheLoop) {
  Follow({});
  ASSERT_TRUE(RunUntil([&] { return responses_ == 1; }));
  client_->Stop();
  EXPECT_FALSE(services_->xds.connected.load());
  context_.restart();
  context_.poll();
  EXPECT_FALSE(services_->xds.connected.load());
  EXPECT_EQ(responses_, 1);
}

}  // namespace
}  // namespace weir
