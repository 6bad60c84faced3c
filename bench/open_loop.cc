// A load generator that does not wait for the server: request k is due at k / RATE, whether or not
// earlier ones are answered, and its latency counts from then.
//
//     open_loop PORT|PATH RATE SECONDS CONNECTIONS WORD...
//
// PATH is that of a Unix socket, and begins with a slash.
// A client that waits for each reply sends less while the server is slow, and so hardly measures
// that (coordinated omission). Here request k goes to connection k % CONNECTIONS when it is due,
// behind requests that wait there. With the RATE 0 it does wait: each connection asks again when it
// is answered, for SECONDS. `__rand_int__` in a word stands for a random number below 1,000,000, as
// in redis-benchmark; the word `;` begins another command of the same request. Prints one line:
//
//     requests RATE p50 p99 p99.9 max late       requests a second, microseconds
//
// `late` is the p99.9 of the time between being due and being sent: the part of the latencies that
// the server does not cause.
//
// The program spins, so it needs a core of its own, unless the rate is 0. A reply that is an error
// ends it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "tests/support/resp_value.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::string_view kRandom = "__rand_int__";
constexpr int kKeys = 1'000'000;
constexpr std::chrono::seconds kLastReplyTime{10};

// The bytes of commands, with a new random number for each `__rand_int__` every time.
class Request {
 public:
  explicit Request(const std::vector<std::string>& words) {
    for (auto begin = words.begin();; ++commands_) {
      const auto end = std::find(begin, words.end(), ";");
      text_ += RespRequest(std::vector<std::string>(begin, end));
      if (end == words.end()) break;
      begin = end + 1;
    }
    for (std::size_t at = 0; (at = text_.find(kRandom, at)) != std::string::npos;) {
      numbers_.push_back(at);
      at += kRandom.size();
    }
  }

  [[nodiscard]] std::size_t commands() const { return commands_; }
  [[nodiscard]] const std::string& Next() {
    for (const std::size_t at : numbers_) {
      std::array<char, kRandom.size() + 1> digits;
      std::snprintf(digits.data(), digits.size(), "%012d", number_(engine_));
      text_.replace(at, kRandom.size(), digits.data(), kRandom.size());
    }
    return text_;
  }

 private:
  std::string text_;
  std::size_t commands_ = 1;
  std::vector<std::size_t> numbers_;  // the positions of the numbers
  std::mt19937 engine_{1};
  std::uniform_int_distribution<int> number_{0, kKeys - 1};
};

// Returns a socket that is connected to the path, or to the port of this host.
int ConnectedSocket(const std::string& where) {
  if (where.starts_with('/')) {
    const int path_socket = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    WEIR_CHECK(where.size() < sizeof address.sun_path);
    where.copy(address.sun_path, where.size());
    WEIR_CHECK(connect(path_socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return path_socket;
  }
  const int port_socket = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  WEIR_CHECK(connect(port_socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const int on = 1;
  setsockopt(port_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return port_socket;
}

class Connection {
 public:
  explicit Connection(const std::string& where) : socket_(ConnectedSocket(where)) {
    fcntl(socket_, F_SETFL, O_NONBLOCK);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int socket_number() const { return socket_; }
  [[nodiscard]] bool is_idle() const { return due_.empty(); }

  void Ask(const std::string& request, nanoseconds due) {
    unsent_ += request;
    due_.push_back(due);
    Send();
  }

  // Reads the replies that have arrived by `now`, and adds the latencies of the requests, of
  // `commands` each, that are answered.
  void Receive(nanoseconds now, std::size_t commands, std::vector<nanoseconds>& latencies) {
    std::array<char, 16384> buffer;
    const ssize_t received = recv(socket_, buffer.data(), buffer.size(), 0);
    WEIR_CHECK(received > 0 || (received < 0 && errno == EAGAIN));
    if (received < 0) return;
    unread_.append(buffer.data(), static_cast<std::size_t>(received));
    std::string_view rest = unread_;
    while (const std::optional<RespValue> reply = ReadRespValue(rest)) {
      WEIR_CHECK(!reply->is_error());
      unread_.erase(0, unread_.size() - rest.size());
      rest = unread_;
      if (++replies_ < commands) continue;
      replies_ = 0;
      latencies.push_back(now - due_.front());
      due_.pop_front();
    }
    if (!unsent_.empty()) Send();
  }

 private:
  void Send() {
    const ssize_t sent = send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    WEIR_CHECK(sent > 0 || errno == EAGAIN);
    if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
  }

  const int socket_;
  std::string unsent_;
  std::string unread_;           // the beginning of an incomplete reply
  std::size_t replies_ = 0;      // to the oldest request
  std::deque<nanoseconds> due_;  // when each request without a reply was due
};

double Microseconds(nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

double Percentile(const std::vector<nanoseconds>& sorted, double part) {
  return Microseconds(
      sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))]);
}

void Print(std::vector<nanoseconds>& latencies, std::vector<nanoseconds>& late, nanoseconds took) {
  std::ranges::sort(latencies);
  std::ranges::sort(late);
  const double rate =
      static_cast<double>(latencies.size()) / (static_cast<double>(took.count()) / 1e9);
  std::printf("%zu %.0f %.1f %.1f %.1f %.1f %.1f\n", latencies.size(), rate,
              Percentile(latencies, 0.5), Percentile(latencies, 0.99), Percentile(latencies, 0.999),
              Percentile(latencies, 1), Percentile(late, 0.999));
}

// Adds connections, and returns what poll is to watch.
std::vector<pollfd> Connect(const std::string& where, std::size_t count,
                            std::deque<Connection>& connections) {
  std::vector<pollfd> polled;
  for (std::size_t i = 0; i < count; ++i) {
    connections.emplace_back(where);
    polled.push_back({connections.back().socket_number(), POLLIN, 0});
  }
  return polled;
}

void Run(const std::string& where, double rate, double seconds, std::size_t count,
         Request request) {
  std::deque<Connection> connections;
  std::vector<pollfd> polled = Connect(where, count, connections);
  const auto total = static_cast<std::size_t>(rate * seconds);
  std::vector<nanoseconds> latencies;
  std::vector<nanoseconds> late;
  latencies.reserve(total);
  late.reserve(total);
  const auto begin = steady_clock::now();
  const auto due = [&](std::size_t k) {
    return nanoseconds(static_cast<std::int64_t>(static_cast<double>(k) * 1e9 / rate));
  };
  for (std::size_t asked = 0; latencies.size() < total;) {
    const nanoseconds now = steady_clock::now() - begin;
    WEIR_CHECK(now < due(total) + kLastReplyTime);
    for (; asked < total && due(asked) <= now; ++asked) {
      connections[asked % count].Ask(request.Next(), due(asked));
      late.push_back(now - due(asked));
    }
    if (poll(polled.data(), polled.size(), 0) == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (polled[i].revents != 0) {
        connections[i].Receive(steady_clock::now() - begin, request.commands(), latencies);
      }
    }
  }
  Print(latencies, late, steady_clock::now() - begin);
}

void RunClosed(const std::string& where, double seconds, std::size_t count, Request request) {
  std::deque<Connection> connections;
  std::vector<pollfd> polled = Connect(where, count, connections);
  std::vector<nanoseconds> latencies;
  std::vector<nanoseconds> late = {nanoseconds{0}};
  const auto begin = steady_clock::now();
  const auto now = [&] { return nanoseconds(steady_clock::now() - begin); };
  while (now() < nanoseconds(static_cast<std::int64_t>(seconds * 1e9))) {
    for (Connection& connection : connections) {
      if (connection.is_idle()) connection.Ask(request.Next(), now());
    }
    WEIR_CHECK(poll(polled.data(), polled.size(), milliseconds(kLastReplyTime).count()) > 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (polled[i].revents == 0) continue;
      connections[i].Receive(now(), request.commands(), latencies);
    }
  }
  Print(latencies, late, now());
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.size() < 5) {
    std::fprintf(stderr, "open_loop PORT|PATH RATE SECONDS CONNECTIONS WORD...\n");
    return 2;
  }
  const std::string& where = words[0];
  const double rate = std::stod(words[1]);
  const double seconds = std::stod(words[2]);
  const std::size_t connections = std::stoul(words[3]);
  const weir::Request request({words.begin() + 4, words.end()});
  if (rate > 0) {
    weir::Run(where, rate, seconds, connections, request);
  } else {
    weir::RunClosed(where, seconds, connections, request);
  }
  return 0;
}
