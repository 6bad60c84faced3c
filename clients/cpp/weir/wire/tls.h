// TLS of OpenSSL over a Socket: what all connections share, and one connection.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "weir/options.h"
#include "weir/wire/socket.h"

namespace weir::client {

// Thread-safe.
class TlsContext {
 public:
  // Throws Mistake if a file cannot be read.
  explicit TlsContext(const Tls& tls);

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
};

class TlsSession {
 public:
  // Speaks over the socket, which outlives it. The certificate must be of `host`.
  // If that cannot be checked, the handshake fails.
  TlsSession(const TlsContext& context, Socket& socket, const std::string& host);

  // As those of Socket. A handshake is repeated until it is done.
  [[nodiscard]] Io Shake();
  [[nodiscard]] Io Write(std::string_view bytes, std::size_t& count);
  [[nodiscard]] Io Read(std::span<char> buffer, std::size_t& count);

  // Reads what belongs to TLS alone, such as tickets.
  [[nodiscard]] bool is_quiet();

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  // What the result of an SSL call means.
  [[nodiscard]] Io Meaning(int result);

  Socket& socket_;
  bool checks_name_ = false;
  std::unique_ptr<SSL, void (*)(SSL*)> session_;
  std::string error_;
};

}  // namespace weir::client
