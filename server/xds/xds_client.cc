#include "server/xds/xds_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <sodium/randombytes.h>
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "http2/http2_field.h"
#include "server/config/version.h"
#include "server/os/log.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::size_t kInputBytesAtOnce = std::size_t{64} * 1024;
// The most that is read before the loop does its other work.
constexpr int kReadsPerTurn = 16;
constexpr std::chrono::seconds kHoldBack{1};
constexpr std::chrono::seconds kHoldBackMax{30};
constexpr int kRefusalsLogged = 10;  // in a row
constexpr std::string_view kMethod =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

XdsNode NodeOf(const Options& options) {
  return {.id = options.rls_xds_node,
          .metadata = ParsePairs(options.rls_xds_node_metadata, '=').value_or(PairList()),
          .user_agent_version = std::string(kVersion)};
}

// Has the kernel end a connection whose peer is gone within a minute: it is asked after 30 s of
// silence, and what was sent must be acknowledged.
void KeepAlive(int descriptor) {
  const auto set = [descriptor](int level, int option, int value) {
    static_cast<void>(setsockopt(descriptor, level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

// From 0 to 1, at random.
double RandomShare() {
  constexpr std::uint32_t kParts = 1 << 20;
  return static_cast<double>(randombytes_uniform(kParts)) / kParts;
}

}  // namespace

XdsClient::XdsClient(asio::io_context& context, Services& services, const SharedTlsContext* tls,
                     Use use, BeforeAttempt before_attempt, XdsTimes times)
    : context_(context),
      services_(services),
      tls_(tls),
      use_(std::move(use)),
      before_attempt_(std::move(before_attempt)),
      times_(times),
      server_(services.options.rls_xds.servers.front()),
      timer_(context),
      hold_(context),
      stream_(NodeOf(services.options)) {}

XdsClient::~XdsClient() = default;

void XdsClient::Start() {
  asio::post(context_, [this] { Connect(); });
}

void XdsClient::Stop() {
  has_stopped_ = true;
  timer_.cancel();
  hold_.cancel();
  look_up_.reset();
  Close();
}

// Handlers that wait in the loop hold their socket, and end with an error.
void XdsClient::Close() {
  std::error_code ignored;
  is_up_ = false;
  services_.xds.connected.store(false);
  call_.reset();
  if (connecting_) std::exchange(connecting_, nullptr)->close(ignored);
  if (transport_) std::exchange(transport_, nullptr)->Close();
}

void XdsClient::Connect() {
  if (has_stopped_) return;
  if (before_attempt_) before_attempt_();
  BoundAttempt(times_.to_look_up);
  look_up_.emplace(server_.host, context_, [this](std::error_code error, const auto& found) {
    if (error) return Fail(error.message());
    addresses_.assign(found.rbegin(), found.rend());
    TryNextAddress();
  });
}

void XdsClient::BoundAttempt(Nanos span) {
  timer_.expires_after(span);
  timer_.async_wait([this](std::error_code error) {
    if (error || is_up_ || has_stopped_) return;
    if (addresses_.empty()) return Fail("timed out");
    Close();
    ForgetOutput();
    TryNextAddress();  // The next address may be of a server that lives.
  });
}

void XdsClient::TryNextAddress() {
  const StreamEndpoint endpoint = tcp::endpoint(addresses_.back(), server_.port);
  addresses_.pop_back();
  BoundAttempt(times_.to_connect);
  connecting_ = std::make_shared<StreamSocket>(context_);
  connecting_->async_connect(endpoint, [this, socket = connecting_](std::error_code error) {
    if (socket != connecting_) return;
    if (!error) return OnConnected(std::move(*std::exchange(connecting_, nullptr)));
    if (addresses_.empty()) return Fail(error.message());
    TryNextAddress();
  });
}

void XdsClient::OnConnected(StreamSocket socket) {
  WEIR_CHECK(!is_up_ && !transport_);
  look_up_.reset();
  std::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  KeepAlive(socket.native_handle());
  TlsSession session = tls_ ? tls_->NewSession(socket.native_handle()) : nullptr;
  if (tls_ && !session) return Fail("TLS: there is no memory for it");
  transport_ = std::make_shared<Transport>(std::move(socket), std::move(session));
  BeginCall();
  // The client's side of TLS speaks first, which reading does.
  if (!transport_->is_handshaking()) Send();
  if (transport_) Receive();
}

void XdsClient::BeginCall() {
  const std::string authority = AddressText(server_);
  const std::string agent = absl::StrCat("weir/", AbslView(kVersion));
  std::vector<Http2Field> fields = {
      {":method", "POST"},       {":scheme", tls_ ? "https" : "http"}, {":path", kMethod},
      {":authority", authority}, {"content-type", "application/grpc"}, {"te", "trailers"},
      {"user-agent", agent}};
  const PairList headers =
      ParseHeaders(services_.settings.All().rls_xds_headers.text()).value_or(PairList());
  for (const auto& [name, value] : headers) fields.push_back({name, value});
  call_ = std::make_unique<Http2Call>(fields);
  messages_ = GrpcMessageReader(kXdsMessageBytesMax);
  WriteMessage(stream_.FirstRequest());
}

void XdsClient::WriteMessage(std::string_view message) {
  std::string framed;
  AppendGrpcMessage(message, framed);
  call_->Write(framed);
}

void XdsClient::OnUp() {
  is_up_ = true;
  services_.xds.connected.store(true);
  services_.xds.set_failure("");
  told_.clear();
  spdlog::info("connected to the control plane {}", EscapedForLog(AddressText(server_)));
  WaitToPing();
}

void XdsClient::WaitToPing() {
  timer_.expires_after(times_.between_pings);
  timer_.async_wait([this, link = transport_](std::error_code error) {
    if (error || link != transport_ || !link) return;
    call_->Ping();
    was_heard_ = false;
    Send();
    if (link == transport_) AwaitPong();
  });
}

void XdsClient::AwaitPong() {
  timer_.expires_after(times_.to_answer_ping);
  timer_.async_wait([this, link = transport_](std::error_code error) {
    if (error || link != transport_ || !link) return;
    if (!call_->awaits_pong()) return WaitToPing();
    const bool was_heard = std::exchange(was_heard_, false) || is_holding_;
    if (!was_heard) return Fail("it does not answer a PING");
    AwaitPong();
  });
}

void XdsClient::Receive() {
  input_.resize(kInputBytesAtOnce);
  const std::shared_ptr<Transport> link = transport_;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    std::error_code error;
    const std::size_t received = link->Read(input_, error);
    if (error == asio::error::would_block) break;
    if (error) return Fail(ReasonOf(error));
    if (!Take({input_.data(), received})) return;
    if (received < input_.size() || is_held_back_) break;
  }
  if (!link->is_handshaking()) Send();
  if (link == transport_) AwaitInput();
}

void XdsClient::AwaitInput() {
  if (std::exchange(is_held_back_, false)) {
    const int doublings = std::clamp(refusals_ - 2, 0, 5);
    hold_.expires_after(std::min(kHoldBack * (1 << doublings), kHoldBackMax));
    is_holding_ = true;
    return hold_.async_wait([this, link = transport_](std::error_code error) {
      if (link != transport_ || !link || error) return;
      is_holding_ = false;
      Receive();
    });
  }
  transport_->WaitToRead([this, link = transport_](std::error_code error) {
    if (link == transport_ && !error) Receive();
  });
}

bool XdsClient::Take(std::string_view bytes) {
  const std::shared_ptr<Transport> link = transport_;
  was_heard_ = true;
  call_->Receive(bytes);
  messages_.Append(call_->TakeBody());
  std::string message;
  GrpcBody found = GrpcBody::kIncomplete;
  const bool has_ended = call_->has_ended();
  const std::string& type = call_->content_type();
  if (call_->is_answered() && !type.empty() && !type.starts_with("application/grpc")) {
    call_->Cancel(absl::StrCat("it answers with ", EscapedForLog(type), ", not with gRPC"));
  }
  // A message that has come whole counts, also if the stream has ended behind it.
  while (call_->is_answered() && call_->has_ended() == has_ended) {
    found = messages_.Next(message);
    if (found != GrpcBody::kMessage) break;
    Answer(message);
  }
  if (found == GrpcBody::kTooLong) call_->Cancel("a response has more than 16 MiB");
  if (found == GrpcBody::kCompressed) call_->Cancel("a response is compressed");
  Send();
  if (link != transport_) return false;
  if (!call_->has_ended()) {
    if (!is_up_) OnUp();  // An answer may begin with the first response.
    return true;
  }
  const std::string reason = call_->reason();
  Fail(reason);
  return false;
}

void XdsClient::Answer(std::string_view message) {
  absl::StatusOr<XdsResponse> response = ReadXdsResponse(message);
  if (!response.ok()) {
    services_.xds.refused.fetch_add(1);
    return call_->Cancel(StdView(response.status().message()));
  }
  const std::string version = EscapedForLog(response->version);
  const absl::Status used = use_(*response, message);
  if (used.ok()) {
    back_off_.Reset();
    services_.xds.accepted.fetch_add(1);
    services_.xds.set_version(response->version);
    services_.xds.set_refusal("");
    refusals_ = 0;
    refusal_.clear();
    spdlog::info("the rules of the control plane are in force{}",
                 version.empty() ? "" : absl::StrCat(": version ", version));
    return WriteMessage(stream_.Accept(*response));
  }
  services_.xds.refused.fetch_add(1);
  services_.xds.set_refusal(std::string(StdView(used.message())));
  is_held_back_ = ++refusals_ > 1;
  std::string refusal = absl::StrCat(version, ": ", used.message());
  if (refusal != std::exchange(refusal_, refusal) && refusals_ <= kRefusalsLogged) {
    spdlog::error("version {} of the control plane is refused, and the rules are unchanged: {}",
                  version, EscapedForLog(StdView(used.message())));
  }
  WriteMessage(stream_.Refuse(*response, StdView(used.message())));
}

void XdsClient::Send() {
  call_->Flush(out_);
  if (out_.size() - sent_ > kHttp2CallOutputBytesMax) return Fail("it does not read");
  if (waits_for_room_) return;
  while (sent_ < out_.size()) {
    std::error_code error;
    sent_ += transport_->Write(std::string_view(out_).substr(sent_), error);
    if (error == asio::error::would_block) {
      waits_for_room_ = true;
      return transport_->WaitToWrite([this, link = transport_](std::error_code failed) {
        if (link != transport_) return;
        waits_for_room_ = false;
        if (!failed) Send();
      });
    }
    if (error) return Fail(ReasonOf(error));
  }
  out_.clear();
  sent_ = 0;
}

void XdsClient::Fail(std::string_view reason) {
  const std::string told(reason);  // which may be a part of what is cleared here
  const bool was_up = is_up_;
  Close();
  look_up_.reset();  // A late answer would connect beside the next attempt.
  addresses_.clear();
  ForgetOutput();
  services_.xds.set_failure(told);
  if (was_up || told != told_) {
    spdlog::warn("no connection to the control plane {}: {}", EscapedForLog(AddressText(server_)),
                 EscapedForLog(told));
  }
  told_ = told;
  timer_.expires_after(back_off_.Next(RandomShare()));
  timer_.async_wait([this](std::error_code error) {
    if (!error) Connect();
  });
}

void XdsClient::ForgetOutput() {
  out_.clear();
  sent_ = 0;
  waits_for_room_ = false;
  is_held_back_ = false;
  is_holding_ = false;
}

std::string XdsClient::ReasonOf(const std::error_code& error) const {
  if (error == asio::error::eof) return "it has closed the connection";
  const std::string& tls = transport_ ? transport_->tls_failure() : std::string();
  return tls.empty() ? error.message() : absl::StrCat("TLS: ", tls);
}

}  // namespace weir
