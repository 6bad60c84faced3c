// Options of a Limiter: where weir is, who asks, and what is done if it gives no answer.
//
//     weir::Limiter limiter({.url = std::getenv("WEIR_URL"), .fail = weir::Fail::kClosed});
//
// All that is not said has its default. What the URL says, an option may not say again.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace weir {

// The decision of a call that gets no answer: kOpen allows it, kClosed denies it.
enum class Fail { kOpen, kClosed };

// "open" or "closed", as a configuration says it. Throws Mistake for another word.
[[nodiscard]] Fail ParseFail(std::string_view word);

// TLS 1.2 or later. The server's certificate must be of the host's name or address.
struct Tls {
  std::string ca{};           // path of the authorities' certificates, PEM; empty: the system's
  std::string certificate{};  // path of the client's own certificate (chain), PEM; with `key`
  std::string key{};          // path of its private key, PEM
  // In place of the paths: a context of the program's own, which the Limiter shares. It decides
  // whether certificates are checked (SSL_CTX_set_verify); names are, if they are.
  ssl_ctx_st* context = nullptr;
};

// Calls a function again and again, from another thread. Returns a function that ends that; it may
// be called from within the function, and after it no call begins.
using Every = std::function<std::function<void()>(std::chrono::milliseconds period,
                                                  std::function<void()> function)>;

struct Options {
  // redis://[user[:password]@]host[:port]    rediss:// with TLS, ?ca=PATH
  // unix:///path
  // redis+sentinel://[user:password@]h1:26379,h2:26379/NAME    rediss+sentinel:// with TLS
  // Each with ?deadline=50ms and ?fail=closed. User, password, path and NAME are percent-decoded.
  std::optional<std::string> url{};

  // In its place: a host (127.0.0.1) and a port (7379); or a path; or Sentinels.
  std::optional<std::string> host{};
  std::optional<int> port{};
  std::optional<std::string> unix_socket{};
  std::vector<std::string> sentinels{};  // "host" or "host:port"; by default port 26379
  std::optional<std::string> master{};   // the name by which the Sentinels know the primary

  std::optional<std::string> username{};  // of weir's users file; unset: the default user
  std::optional<std::string> password{};
  std::optional<Tls> tls{};  // set: with TLS

  // The most time that a call may take, from queueing to its reply; above 0, at most an hour.
  std::optional<std::chrono::milliseconds> deadline{};  // unset: 50 ms
  std::optional<Fail> fail{};                           // unset: open

  // Called at each answer that is missing, with the cause (decision.h), on the thread of the call;
  // several threads may call it at the same time. What it throws is swallowed and counted. Unset:
  // standard error gets a line, one a minute.
  std::function<void(std::string_view cause)> on_unavailable{};

  // For tests: the time, and what begins heartbeats. Unset: the steady clock; a thread for each.
  std::function<std::chrono::steady_clock::time_point()> clock{};
  Every every{};
};

}  // namespace weir
