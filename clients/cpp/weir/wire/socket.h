// Socket: a stream to a place, whose calls never block.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/core/address.h"
#include "weir/wire/until.h"

namespace weir::client {

// One step of a stream: done; or what to wait for before it is tried again; or the end.
enum class Io { kDone, kWantsRead, kWantsWrite, kClosed, kFailed };

// An address that a socket connects to.
struct Endpoint {
  int family = AF_UNSPEC;
  std::vector<std::byte> bytes;  // a sockaddr
};

// The endpoints of a place. Asks the resolver, which takes as long as it takes. The text says why
// there is none.
[[nodiscard]] std::vector<Endpoint> Resolve(const Place& place, std::string& text);

class Socket {
 public:
  Socket() = default;
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // Begins again, with a connection to one endpoint.
  [[nodiscard]] std::optional<Failure> Connect(const Endpoint& endpoint, const Until& until);

  // Waits for POLLIN or POLLOUT.
  [[nodiscard]] std::optional<Failure> Await(short events, const Until& until) const;

  // Writes what it can; `count` of the bytes. Never a signal.
  [[nodiscard]] Io Write(std::string_view bytes, std::size_t& count);

  // Reads at least a byte: `count`.
  [[nodiscard]] Io Read(std::span<char> buffer, std::size_t& count);

  // Whether there is nothing to read: no byte that no request asked for, and no end.
  [[nodiscard]] bool is_quiet() const;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  // The text of the last error.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  [[nodiscard]] Io Failed();

  int descriptor_ = -1;
  std::string error_;
};

}  // namespace weir::client
