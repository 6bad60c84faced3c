// The server's certificate, its key and the authority whose clients it trusts, from their files.
//
// TLS 1.2 and 1.3, no renegotiation, no compression, only key exchanges and ciphers that are
// thought well of in 2026. Sessions are not resumed: connections live long, and so each of them
// shows its certificate to the authority that is in force.
//
// The key's numbers lie in memory of their own that is neither swapped nor dumped
// (KeepTlsKeysOutOfDumps).
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "server/config/options.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir {

struct TlsDeleter {
  void operator()(ssl_ctx_st* context) const noexcept;
  void operator()(ssl_st* session) const noexcept;
};

// One connection's, see Transport.
using TlsSession = std::unique_ptr<ssl_st, TlsDeleter>;

// How many records of handshakes, or asking for new keys, were read since the last call of
// ForgetHandshakeRecords. A session that has read more than the most that it may ends.
inline constexpr std::uintptr_t kHandshakeRecordsMax = 64;
[[nodiscard]] std::uintptr_t HandshakeRecords(const ssl_st* session) noexcept;
void ForgetHandshakeRecords(ssl_st* session) noexcept;

// From now on the numbers of what is read as a private key lie where neither a core dump nor swap
// space gets them, and what OpenSSL frees is wiped. Call it before anything else of OpenSSL's.
// Returns whether that is possible. Of an RSA key the factors are copied when it signs, out of our
// reach; a key on an elliptic curve is not.
bool KeepTlsKeysOutOfDumps();

class TlsContext {
 public:
  // Reads what the options tls-cert, tls-key, tls-ca and tls-auth-clients say. Fails with one line
  // that names the option, the file and the reason:
  // "option 'tls-key': cannot use 'weir.key': No such file or directory".
  [[nodiscard]] static absl::StatusOr<TlsContext> Load(const Options& options);

  // The server's side on a socket that has been accepted; null if there is no memory for it.
  [[nodiscard]] TlsSession NewSession(int descriptor) const;

  // The certificate is not valid at this time of the system.
  [[nodiscard]] bool is_expired() const;

 private:
  using Context = std::unique_ptr<ssl_ctx_st, TlsDeleter>;
  explicit TlsContext(Context context) : context_(std::move(context)) {}

  Context context_;
};

}  // namespace weir
