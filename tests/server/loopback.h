// A server in this process, and clients of it that are bare sockets, so that a test decides each
// byte, pause and reset.
//
//     LoopbackServer server;
//     LoopbackClient client(server.port());
//     client.Send("PING\r\n");
//     EXPECT_EQ(client.Receive(7), "+PONG\r\n");
//
// Nothing sleeps: everything waits for an event, at most kLoopbackDeadline; going over it fails the
// test.
#pragma once

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sched.h>

#include "core/base/check.h"
#include "server/config/options.h"
#include "server/os/log.h"
#include "server/server.h"

namespace weir {

inline constexpr std::chrono::milliseconds kLoopbackDeadline = std::chrono::seconds{60};

// Waits for a condition that has no event, yielding to other threads. False at the deadline.
template <typename Condition>
[[nodiscard]] bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLoopbackDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    sched_yield();
  }
  return true;
}

[[nodiscard]] inline Options LoopbackOptions() {
  Options options = DefaultOptions();
  options.port = 0;
  options.threads = 2;
  return options;
}

class LoopbackServer {
 public:
  explicit LoopbackServer(const Options& options = LoopbackOptions()) : server_(Quietly(options)) {
    Begin();
  }
  LoopbackServer(const Options& options, SystemClock::Source clocks)
      : server_(Quietly(options), std::move(clocks)) {
    Begin();
  }
  ~LoopbackServer() {
    server_.RequestShutdown();
    AwaitEnd();
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  // Waits until Run() returns; the caller has made sure that it will.
  void AwaitEnd() {
    if (runner_.joinable()) runner_.join();
  }

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  Server* operator->() { return &server_; }

  // Waits until exactly `count` clients are connected.
  [[nodiscard]] bool AwaitClients(std::size_t count) {
    const ClientRegistry& clients = server_.services().clients;
    return Eventually([&] { return clients.size() == count && clients.All().size() == count; });
  }

  // Bytes of replies that the server's threads have written, or tried to write.
  [[nodiscard]] std::uint64_t output_bytes() {
    std::uint64_t sum = 0;
    for (const Worker* worker : server_.services().workers) {
      sum += worker->counters["total_net_output_bytes"].value();
    }
    return sum;
  }

 private:
  void Begin() {
    const absl::Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started;
    runner_ = std::thread([this] { EXPECT_TRUE(server_.Run().ok()); });
  }

  static const Options& Quietly(const Options& options) {
    ConfigureLog(LogLevel::kError);
    return options;
  }

  Server server_;
  std::thread runner_;
};

class LoopbackClient {
 public:
  LoopbackClient() : LoopbackClient(AF_INET) {
    const int on = 1;  // each Send leaves as a segment of its own
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  explicit LoopbackClient(std::uint16_t port, const std::string& address = "127.0.0.1")
      : LoopbackClient() {
    Connect(port, address);
  }
  // Connects through a Unix socket.
  explicit LoopbackClient(const std::string& path) : LoopbackClient(AF_UNIX) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, address.sun_path);
    ConnectTo(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  LoopbackClient(LoopbackClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  ~LoopbackClient() { Close(); }

  void Connect(std::uint16_t port, const std::string& address = "127.0.0.1") {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    WEIR_CHECK(inet_pton(AF_INET, address.c_str(), &place.sin_addr) == 1);
    ConnectTo(reinterpret_cast<const sockaddr*>(&place), sizeof place);
  }

  // How many bytes may wait in the kernel for this client to read them, about. Requires: not
  // connected yet.
  void LimitReceiveBuffer(int bytes) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }

  // Sends all; what comes meanwhile is kept for Receive. Returns false if the server resets the
  // connection before.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!Await(POLLIN | POLLOUT)) return false;
      Keep();
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Sends as much as the kernels on the way take while no one reads; returns the number of bytes.
  std::size_t SendWithoutReading(std::string_view bytes) {
    std::size_t total = 0;
    while (total < bytes.size()) {
      const ssize_t sent =
          send(socket_, bytes.data() + total, bytes.size() - total, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        total += static_cast<std::size_t>(sent);
        continue;
      }
      pollfd room{.fd = socket_, .events = POLLOUT, .revents = 0};
      if (poll(&room, 1, kStallMillis) == 0) break;
    }
    return total;
  }

  // The next `count` bytes, or fewer if the connection ends before.
  std::string Receive(std::size_t count) {
    while (received_.size() < count && !ended_ && Await(POLLIN)) Keep();
    std::string bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
  }

  // Everything up to the end of the connection. See reset() for how it ended.
  std::string ReceiveAll() {
    while (!ended_ && Await(POLLIN)) Keep();
    return std::exchange(received_, {});
  }

  // Whether the connection ended in a reset instead of an orderly close.
  [[nodiscard]] bool reset() const noexcept { return reset_; }

  void FinishSending() { shutdown(socket_, SHUT_WR); }
  void Close() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }
  // Ends the connection with a reset.
  void Reset() {
    const linger abort{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    Close();
  }

  // Waits until the server's kernel has received everything that was sent.
  [[nodiscard]] bool AwaitDelivery() {
    return Eventually([this] { return Queued(socket_, SIOCOUTQ) == 0; });
  }
  // Bytes in this end's receive queue.
  [[nodiscard]] std::size_t unread_bytes() const { return Queued(socket_, SIOCINQ); }

  // Bytes in a queue of any socket of this process.
  static std::size_t Queued(int descriptor, unsigned long queue) {
    int bytes = 0;
    WEIR_CHECK(ioctl(descriptor, queue, &bytes) == 0);
    return static_cast<std::size_t>(bytes);
  }

 private:
  explicit LoopbackClient(int family) : socket_(socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    WEIR_CHECK(socket_ >= 0);
  }

  void ConnectTo(const sockaddr* address, socklen_t bytes) {
    const int connected = connect(socket_, address, bytes);
    EXPECT_TRUE(connected == 0 || errno == EINPROGRESS);
    EXPECT_TRUE(Await(POLLOUT));
  }

  static constexpr int kStallMillis =
      300;  // without room for that long, the peer has stopped reading

  [[nodiscard]] bool Await(short events) {
    pollfd waiting{.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(kLoopbackDeadline.count()));
    EXPECT_EQ(ready, 1) << "nothing happens on the connection";
    return ready == 1;
  }

  void Keep() {
    std::array<char, 65536> bytes;
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0) ended_ = true;
    if (count < 0 && errno != EAGAIN) ended_ = reset_ = true;
  }

  int socket_;
  std::string received_;
  bool ended_ = false;
  bool reset_ = false;
};

// `count` requests, "ECHO <number>" with numbers from 0, and their replies.
struct Pipeline {
  std::string requests;
  std::string replies;

  explicit Pipeline(int count, std::size_t padding_bytes = 0) {
    for (int i = 0; i < count; ++i) {
      const std::string text = std::to_string(i) + std::string(padding_bytes, 'x');
      const std::string bulk = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
      requests += "*2\r\n$4\r\nECHO\r\n" + bulk;
      replies += bulk;
    }
  }
};

}  // namespace weir
