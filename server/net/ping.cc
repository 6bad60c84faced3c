#include "server/net/ping.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/integer.h"
#include "server/net/stream_socket.h"
#include "server/net/transport.h"
#include "server/observe/client_registry.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::string_view kQuestion = "PING\r\n";
constexpr std::size_t kAnswerBytesMax = 1024;  // of a line; the rest is not read

struct Target {
  std::string place;  // as errors name it
  std::vector<StreamEndpoint> endpoints;
  bool tls = false;
};

absl::StatusOr<Target> UnixTarget(const std::string& path) {
  constexpr std::size_t kPathBytesMax = 107;  // unix(7)
  if (path.size() > kPathBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of the Unix socket ", Quote(path), " is too long"));
  }
  return Target{.place = Quote(path), .endpoints = {asio::local::stream_protocol::endpoint(path)}};
}

absl::StatusOr<Target> TcpTarget(const std::string& host, std::int64_t port, bool tls) {
  const bool is_v6 = host.find(':') != std::string::npos;
  Target target{
      .place = is_v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port),
      .endpoints = {},
      .tls = tls};
  asio::io_context context;
  std::error_code error;
  for (const auto& found : tcp::resolver(context).resolve(host, std::to_string(port), error)) {
    target.endpoints.emplace_back(found.endpoint());
  }
  if (!error) return target;
  return absl::UnavailableError(
      absl::StrCat("no answer from ", target.place, ": ", error.message()));
}

// The address to reach a server at that listens on all of these: one that protected mode serves, if
// it is among them.
const std::string& NearestOf(const AddressList& addresses) {
  const auto nearest = std::ranges::find_if(addresses, [](const std::string& text) {
    std::error_code ignored;
    const asio::ip::address address = asio::ip::make_address(text, ignored);
    return address.is_loopback() || address.is_unspecified();
  });
  return nearest != addresses.end() ? *nearest : addresses.front();
}

// Returns the server at the ports of the options on `host`. If `host` is empty, the server is at
// the bind address or the Unix socket of the options.
absl::StatusOr<Target> TargetAtOwnPorts(const Options& options, const std::string& host) {
  const std::string& from = host.empty() ? NearestOf(options.bind) : host;
  if (!options.tls_only && options.port != 0) return TcpTarget(from, options.port, false);
  if (host.empty() && !options.unix_socket.empty()) return UnixTarget(options.unix_socket);
  if (options.tls_port != 0) return TcpTarget(from, options.tls_port, true);
  return absl::InvalidArgumentError(
      "--ping needs an address: with port 0 the server takes any port");
}

absl::StatusOr<Target> TargetOf(const Options& options, std::string_view address) {
  if (address.empty()) return TargetAtOwnPorts(options, {});
  if (address.find('/') != std::string_view::npos) return UnixTarget(std::string(address));
  std::error_code error;
  asio::ip::make_address_v6(std::string(address), error);
  if (!error) return TargetAtOwnPorts(options, std::string(address));
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const std::string_view host = HostOf(address);
  const auto port = ParseInteger(address.substr(std::min(colon + 1, address.size())));
  if (host.empty() || !port || *port < 1 || *port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ping ", Quote(address),
                     ": must be HOST:PORT, as in 127.0.0.1:7379, or the path of a Unix socket, as "
                     "in ./weir.sock"));
  }
  return TcpTarget(std::string(host), *port, *port == options.tls_port);
}

// The client's side of TLS on a socket; null if there is no memory for it.
TlsSession TlsSessionOf(int descriptor) {
  const std::unique_ptr<SSL_CTX, TlsDeleter> context(SSL_CTX_new(TLS_client_method()));
  TlsSession session(context ? SSL_new(context.get()) : nullptr);
  if (!session || SSL_set_fd(session.get(), descriptor) != 1) return nullptr;
  SSL_set_connect_state(session.get());
  return session;
}

// A connection on which one thing happens after the other, until a deadline.
class Conversation {
 public:
  explicit Conversation(std::chrono::milliseconds time) : deadline_(context_, time) {
    deadline_.async_wait([this](std::error_code) { is_over_ = true; });
  }

  std::error_code Connect(const Target& target) {
    std::error_code error = asio::error::host_not_found;
    for (const StreamEndpoint& endpoint : target.endpoints) {
      StreamSocket socket(context_);
      error = Await([&](auto done) { socket.async_connect(endpoint, done); });
      if (error == asio::error::timed_out) return error;
      if (error) continue;
      TlsSession session = target.tls ? TlsSessionOf(socket.native_handle()) : nullptr;
      if (target.tls && !session) return asio::error::no_memory;
      transport_.emplace(std::move(socket), std::move(session));
      return {};
    }
    return error;
  }

  // Requires: Connect has succeeded. So do the others.
  std::error_code Send(std::string_view bytes) {
    while (!bytes.empty()) {
      std::error_code error;
      bytes.remove_prefix(transport_->Write(bytes, error));
      if (error == asio::error::would_block) {
        error = Await([&](auto done) { transport_->WaitToWrite(done); });
      }
      if (error) return error;
    }
    return {};
  }

  // Reads to the end of a line, which `line` is then without.
  std::error_code ReceiveLine(std::string& line) {
    std::array<char, kAnswerBytesMax> room;
    while (line.find('\n') == std::string::npos && line.size() < kAnswerBytesMax) {
      std::error_code error;
      line.append(room.data(), transport_->Read(room, error));
      if (error == asio::error::would_block) {
        error = Await([&](auto done) { transport_->WaitToRead(done); });
      }
      if (error) return error;
    }
    line.resize(std::min(line.find_first_of("\r\n"), line.size()));
    return {};
  }

  // The reason of an error in words.
  [[nodiscard]] std::string ReasonOf(const std::error_code& error) const {
    if (error == asio::error::timed_out) return "timed out";
    if (error == asio::error::eof) return "it has closed the connection";
    const std::string& tls = transport_ ? transport_->tls_failure() : std::string();
    return tls.empty() ? error.message() : tls;
  }

 private:
  // Starts what takes time and waits for its end. After a timeout the conversation is over: nothing
  // may run that would call the handler.
  template <typename Start>
  std::error_code Await(Start start) {
    std::optional<std::error_code> result;
    start([&result](std::error_code error) { result = error; });
    while (!result && !is_over_) context_.run_one();
    return result.value_or(asio::error::timed_out);
  }

  asio::io_context context_{1};
  asio::steady_timer deadline_;
  bool is_over_ = false;
  std::optional<Transport> transport_;
};

// True if the server has ended TLS because it wants a certificate of its clients.
bool WantsCertificate() {
  return ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED;
}

}  // namespace

absl::Status Ping(const Options& options, std::string_view address,
                  std::chrono::milliseconds time) {
  const absl::StatusOr<Target> target = TargetOf(options, address);
  if (!target.ok()) return target.status();
  Conversation conversation(time);
  std::string answer;
  std::error_code error = conversation.Connect(*target);
  if (!error) error = conversation.Send(kQuestion);
  if (!error) error = conversation.ReceiveLine(answer);
  if (error && target->tls && WantsCertificate()) return absl::OkStatus();
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("no answer from ", target->place, ": ", conversation.ReasonOf(error)));
  }
  if (answer == "+PONG" || answer.starts_with("-NOAUTH ")) return absl::OkStatus();
  const absl::string_view words = absl::StripPrefix(answer, "-");
  return absl::UnavailableError(absl::StrCat(target->place, " answers: ", words));
}

}  // namespace weir
