// The server's certificate, its key and the certificate authority of its peers, read from files:
// for the ports, whose clients connect, and for the link of a replica to its primary and the one to
// a control plane, which this server makes.
//
// TLS 1.2 and 1.3, without renegotiation or compression, with key exchanges and ciphers that count
// as secure in 2026. Sessions are not resumed: connections live long, and this way the certificate
// of each connection is checked against the present authority.
//
// The numbers of the key lie in memory that is neither swapped nor dumped (KeepTlsKeysOutOfDumps).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "server/config/options.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir {

struct TlsDeleter {
  void operator()(ssl_ctx_st* context) const noexcept;
  void operator()(ssl_st* session) const noexcept;
};

// The TLS state of one connection, see Transport.
using TlsSession = std::unique_ptr<ssl_st, TlsDeleter>;

// The number of handshake records, including requests for new keys, read since the last call of
// ForgetHandshakeRecords. A session that has read more than kHandshakeRecordsMax ends.
inline constexpr std::uintptr_t kHandshakeRecordsMax = 64;
[[nodiscard]] std::uintptr_t HandshakeRecords(const ssl_st* session) noexcept;
void ForgetHandshakeRecords(ssl_st* session) noexcept;

// Makes OpenSSL put the numbers of private keys where neither a core dump nor swap space gets them,
// and wipe the memory that it frees. Returns whether that is possible. Call it before any other
// function of OpenSSL. When an RSA key signs, OpenSSL copies its factors to ordinary memory, which
// cannot be prevented; a key on an elliptic curve is not copied.
bool KeepTlsKeysOutOfDumps();

class TlsContext {
 public:
  // The server's side of TLS. Reads the files of the options tls-cert, tls-key and tls-ca, as
  // tls-auth-clients requires. Fails with one line that names the option, the file and the reason:
  // "option 'tls-key': cannot use 'weir.key': No such file or directory".
  [[nodiscard]] static absl::StatusOr<TlsContext> Load(const Options& options);

  // The client's side, for replication-tls. The peer's certificate must be signed by tls-ca, but
  // may have any name. tls-cert and tls-key may be empty: no certificate is shown then. Fails
  // likewise.
  [[nodiscard]] static absl::StatusOr<TlsContext> LoadForLink(const Options& options);

  // The client's side, for rls-xds-tls, from the options rls-xds-ca, -cert and -key. The peer's
  // certificate must be signed by that authority, or by one of the system's if it is empty, and
  // have the name rls-xds-san, or else the host of rls-xds. It speaks HTTP/2 alone. Fails likewise.
  // Requires: there is an rls-xds.
  [[nodiscard]] static absl::StatusOr<TlsContext> LoadForControlPlane(const Options& options);

  // This side of TLS on a connected socket; null if there is no memory for it. `alpn`: as in
  // PortProtocol; a client that names none of them is served, too.
  [[nodiscard]] TlsSession NewSession(int descriptor, const char* alpn = nullptr) const;

  // True if the certificate, if there is one, has expired by the system's time.
  [[nodiscard]] bool is_expired() const;

 private:
  using Context = std::unique_ptr<ssl_ctx_st, TlsDeleter>;
  explicit TlsContext(Context context) : context_(std::move(context)) {}

  Context context_;
  std::string asked_name_;  // that a client's side names to the server (SNI); empty: none
};

// A TlsContext that one thread replaces while others make sessions. Thread-safe.
class SharedTlsContext {
 public:
  // Sessions that exist stay as they are.
  void Replace(TlsContext context) {
    MutexLock lock(mutex_);
    context_ = std::move(context);
  }
  // As TlsContext::NewSession. Requires: Replace() was called.
  [[nodiscard]] TlsSession NewSession(int descriptor) const {
    MutexLock lock(mutex_);
    WEIR_CHECK(context_.has_value());
    return context_->NewSession(descriptor);
  }

 private:
  mutable Mutex mutex_;
  std::optional<TlsContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
