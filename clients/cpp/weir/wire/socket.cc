#include "weir/wire/socket.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <netdb.h>

#include "weir/core/causes.h"

namespace weir::client {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string ErrorText(int error) { return std::generic_category().message(error); }

Endpoint ToEndpoint(const void* address, std::size_t size, int family) {
  Endpoint endpoint{family, std::vector<std::byte>(size)};
  std::memcpy(endpoint.bytes.data(), address, size);
  return endpoint;
}

std::vector<Endpoint> UnixEndpoint(const std::string& path, std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    text = "the path of the Unix socket is too long";
    return {};
  }
  path.copy(address.sun_path, path.size());
  return {ToEndpoint(&address, sizeof address, AF_UNIX)};
}

}  // namespace

std::vector<Endpoint> Resolve(const Place& place, std::string& text) {
  if (place.host.empty()) return UnixEndpoint(place.path, text);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(place.port);
  if (const int error = getaddrinfo(place.host.c_str(), port.c_str(), &hints, &found); error != 0) {
    text = place.host + ": " + gai_strerror(error);
    return {};
  }
  std::vector<Endpoint> endpoints;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    endpoints.push_back(ToEndpoint(each->ai_addr, each->ai_addrlen, each->ai_family));
  }
  freeaddrinfo(found);
  return endpoints;
}

Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), error_(std::move(other.error_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(error_, other.error_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<Failure> Socket::Connect(const Endpoint& endpoint, const Until& until) {
  *this = Socket();
  descriptor_ = socket(endpoint.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return Failure{kConnection, ErrorText(errno)};
  if (endpoint.family != AF_UNIX) {
    const int on = 1;
    setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  const auto* const address = reinterpret_cast<const sockaddr*>(endpoint.bytes.data());
  const auto size = static_cast<socklen_t>(endpoint.bytes.size());
  while (connect(descriptor_, address, size) != 0 && errno != EISCONN) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // the queue of a Unix socket is full, which no event ends
      const Until pause{std::min(until.end, SteadyClock::now() + std::chrono::milliseconds(1)),
                        until.cancelled};
      std::optional<Failure> failure = Await(0, pause);
      if (failure && (failure->cause != kTimeout || SteadyClock::now() >= until.end)) {
        return failure;
      }
      continue;
    }
    if (errno != EINPROGRESS && errno != EALREADY) return Failure{kConnection, ErrorText(errno)};
    if (std::optional<Failure> failure = Await(POLLOUT, until)) return failure;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Failure{kConnection, ErrorText(error)};
    break;
  }
  return {};
}

std::optional<Failure> Socket::Await(short events, const Until& until) const {
  // Without an event only the time and a cancellation end it, not the state of the stream.
  std::array<pollfd, 2> polled = {pollfd{events == 0 ? -1 : descriptor_, events, 0},
                                  pollfd{until.cancelled, POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::nanoseconds(until.end - SteadyClock::now());
    if (left.count() <= 0) return Failure{kTimeout, "the deadline has passed"};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec time{seconds.count(), (left - seconds).count()};
    const int ready = ppoll(polled.data(), polled.size(), &time, nullptr);
    if (ready < 0 && errno != EINTR) return Failure{kConnection, ErrorText(errno)};
    if (ready > 0 && polled[1].revents != 0) return Failure{kConnection, "the Limiter is closed"};
    if (ready > 0) return {};
  }
}

Io Socket::Write(std::string_view bytes, std::size_t& count) {
  const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Io::kWantsWrite : Failed();
  count = static_cast<std::size_t>(sent);
  return Io::kDone;
}

Io Socket::Read(std::span<char> buffer, std::size_t& count) {
  const ssize_t received = recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (received < 0) return errno == EAGAIN || errno == EINTR ? Io::kWantsRead : Failed();
  count = static_cast<std::size_t>(received);
  return received == 0 ? Io::kClosed : Io::kDone;
}

bool Socket::is_quiet() const {
  char byte = 0;
  return recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

Io Socket::Failed() {
  error_ = ErrorText(errno);
  return Io::kFailed;
}

}  // namespace weir::client
