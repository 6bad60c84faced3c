#include "server/net/tls_context.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include <malloc.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

constexpr const char* kCiphersOfTls12 = "ECDHE+AESGCM:ECDHE+CHACHA20";

// Room for the file of one key and the numbers of hundreds of keys: an old key stays as long as the
// connections that were made with it. If that much memory cannot be locked, room for dozens of
// keys, which every process may lock.
constexpr std::size_t kSecureBytes = 256 * 1024;
constexpr std::size_t kFewSecureBytes = 64 * 1024;
constexpr std::size_t kSecureBytesMin = 32;  // the smallest piece
constexpr int kKeyBytesMax = 16 * 1024;      // the largest file

struct Free {
  void operator()(BIO* bio) const noexcept { BIO_free_all(bio); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// Memory that is not dumped and is wiped when it is freed.
class SecureBuffer {
 public:
  SecureBuffer() : bytes_(static_cast<char*>(OPENSSL_secure_zalloc(kKeyBytesMax))) {}
  ~SecureBuffer() { OPENSSL_secure_clear_free(bytes_, kKeyBytesMax); }
  SecureBuffer(const SecureBuffer&) = delete;
  SecureBuffer& operator=(const SecureBuffer&) = delete;
  [[nodiscard]] char* data() const noexcept { return bytes_; }

 private:
  char* const bytes_;
};

// Needed because OpenSSL frees copies of decoded keys without wiping them.
void WipeAndFree(void* memory, const char* /*file*/, int /*line*/) {
  if (memory != nullptr) explicit_bzero(memory, malloc_usable_size(memory));
  std::free(memory);
}

void* Allocate(std::size_t bytes, const char* /*file*/, int /*line*/) { return std::malloc(bytes); }

void* Reallocate(void* memory, std::size_t bytes, const char* file, int line) {
  void* const moved = bytes > 0 ? std::malloc(bytes) : nullptr;
  if (bytes > 0 && moved == nullptr) return nullptr;
  if (memory != nullptr && moved != nullptr) {
    std::memcpy(moved, memory, std::min(bytes, malloc_usable_size(memory)));
  }
  WipeAndFree(memory, file, line);
  return moved;
}

std::string FirstError() {
  const unsigned long error = ERR_get_error();
  if (error == 0) return "unknown error";
  if (ERR_SYSTEM_ERROR(error)) return std::generic_category().message(ERR_GET_REASON(error));
  const char* const text = ERR_reason_error_string(error);
  return text != nullptr ? text : absl::StrCat("error ", error);
}

absl::Status Unusable(std::string_view option, std::string_view path, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(option), "': cannot use ",
                                                 Quote(path), ": ", AbslView(reason)));
}

// A file, and the option that names it.
struct PemFile {
  std::string_view option;
  const std::string& path;
};

absl::Status Missing(std::string_view option, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("option '", AbslView(option), "': ", AbslView(reason)));
}

// Fails, because a server has no terminal on which to ask for the key's password.
int NoPassword(char* /*buffer*/, int /*size*/, int /*for_writing*/, void* /*context*/) {
  return -1;
}

// OpenSSL reports a key that does not fit into the secure memory as no key; this tells the two
// apart.
bool IsSecureMemoryUsedUp() {
  constexpr std::size_t kBytesOfKey = 4096;  // more than RSA needs for 4,096 bits
  void* const room = OPENSSL_secure_malloc(kBytesOfKey);
  OPENSSL_secure_free(room);
  return room == nullptr;
}

// Returns whether the memory could be reserved and locked.
bool ReserveSecureMemory(std::size_t bytes) {
  if (CRYPTO_secure_malloc_init(bytes, kSecureBytesMin) == 1) return true;
  CRYPTO_secure_malloc_done();
  return false;
}

// Reads without the buffer of a stream, which would keep a copy of the key.
absl::Status ReadKey(const PemFile& file_of_key, const PemFile& certificate, SSL_CTX* context) {
  const auto& [option, path] = file_of_key;
  const SecureBuffer text;
  constexpr std::string_view kNoMemory =
      "no secure memory is left for its key: connections made with earlier keys still use it";
  if (text.data() == nullptr) return Unusable(option, path, kNoMemory);
  const std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return Unusable(option, path, std::generic_category().message(errno));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  const std::size_t bytes = std::fread(text.data(), 1, kKeyBytesMax, file.get());
  if (std::ferror(file.get()) != 0) {
    return Unusable(option, path, std::generic_category().message(errno));
  }
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(text.data(), static_cast<int>(bytes)));
  const std::unique_ptr<EVP_PKEY, Free> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr) : nullptr);
  if (!key) {
    return Unusable(
        option, path,
        IsSecureMemoryUsedUp() ? kNoMemory : "it has no private key, or one with a password");
  }
  // SSL_CTX_use_PrivateKey accepts a key of another kind than the certificate's; only the check
  // finds it.
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Unusable(
        option, path,
        absl::StrCat("it is not the key of the certificate in ", AbslView(certificate.option)));
  }
  return absl::OkStatus();
}

// Reads the certificate that this side shows, and its key.
absl::Status ReadCertificate(const PemFile& certificate, const PemFile& key, SSL_CTX* context) {
  if (certificate.path.empty()) return Missing(certificate.option, "TLS needs a certificate");
  if (key.path.empty()) return Missing(key.option, "TLS needs the certificate's key");
  if (SSL_CTX_use_certificate_chain_file(context, certificate.path.c_str()) != 1) {
    return Unusable(certificate.option, certificate.path, FirstError());
  }
  return ReadKey(key, certificate, context);
}

// Likewise of a side that need not show one.
absl::Status ReadCertificateIfAny(const PemFile& certificate, const PemFile& key,
                                  SSL_CTX* context) {
  if (certificate.path.empty() && key.path.empty()) return absl::OkStatus();
  return ReadCertificate(certificate, key, context);
}

absl::Status ReadAuthority(const PemFile& authority, SSL_CTX* context) {
  if (SSL_CTX_load_verify_locations(context, authority.path.c_str(), nullptr) == 1) {
    return absl::OkStatus();
  }
  return Unusable(authority.option, authority.path, FirstError());
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Has a client's side accept certificates with this name alone, a host's or an address.
bool ExpectName(const std::string& name, SSL_CTX* context) {
  X509_VERIFY_PARAM* const expected = SSL_CTX_get0_param(context);
  if (IsAddress(name)) return X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(
      expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) == 1;
}

absl::Status ReadAuthorityOfClients(const Options& options, SSL_CTX* context) {
  if (options.tls_auth_clients == TlsAuthClients::kNo) return absl::OkStatus();
  if (options.tls_ca.empty()) {
    return Missing("tls-auth-clients",
                   absl::StrCat(AbslView(WordOf(options.tls_auth_clients)),
                                " needs the authority of the clients' certificates: --tls-ca (or "
                                "use 'no' to serve any client)"));
  }
  WEIR_RETURN_IF_ERROR(ReadAuthority({"tls-ca", options.tls_ca}, context));
  if (STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(options.tls_ca.c_str())) {
    SSL_CTX_set_client_CA_list(context, names);
  }
  const bool is_optional = options.tls_auth_clients == TlsAuthClients::kOptional;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (is_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
                     nullptr);
  return absl::OkStatus();
}

// Called for each record. OpenSSL reads all records that are not data within one call, so a client
// could block its thread with them. After too many, the socket is taken away from OpenSSL, which
// then finds nothing more to read.
void CountRecord(int is_written, int /*version*/, int content_type, const void* bytes,
                 std::size_t /*size*/, SSL* session, void* /*argument*/) {
  const bool is_type = content_type == SSL3_RT_HEADER || content_type == SSL3_RT_INNER_CONTENT_TYPE;
  if (is_written != 0 || !is_type) return;
  if (*static_cast<const unsigned char*>(bytes) != SSL3_RT_HANDSHAKE) return;
  const std::uintptr_t count = HandshakeRecords(session) + 1;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): OpenSSL keeps a pointer, which points to nothing.
  SSL_set_app_data(session, reinterpret_cast<void*>(count));
  if (count > kHandshakeRecordsMax) BIO_set_fd(SSL_get_rbio(session), -1, BIO_NOCLOSE);
}

// The place in a session of the protocols that its client may choose from.
int AlpnIndex() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kIndex;
}

int ChooseProtocol(SSL* session, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void* /*argument*/) {
  const auto* const ours = static_cast<const unsigned char*>(SSL_get_ex_data(session, AlpnIndex()));
  if (ours == nullptr) return SSL_TLSEXT_ERR_NOACK;
  unsigned char* common = nullptr;
  const auto size = static_cast<unsigned int>(std::strlen(reinterpret_cast<const char*>(ours)));
  if (SSL_select_next_proto(&common, chosen_size, ours, size, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = common;
  return SSL_TLSEXT_ERR_OK;
}

// What both sides of TLS have in common.
bool Configure(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // An idle connection keeps no buffer of 16 KiB, and a write may be repeated from another address.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_msg_callback(context, CountRecord);
  SSL_CTX_set_read_ahead(context, 1);  // a record in one system call instead of two
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set_cipher_list(context, kCiphersOfTls12) == 1;
}

absl::Status NoTls() {
  return absl::InternalError(absl::StrCat("cannot set up TLS: ", FirstError()));
}

}  // namespace

void TlsDeleter::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void TlsDeleter::operator()(ssl_st* session) const noexcept { SSL_free(session); }

std::uintptr_t HandshakeRecords(const ssl_st* session) noexcept {
  return reinterpret_cast<std::uintptr_t>(SSL_get_app_data(session));
}

void ForgetHandshakeRecords(ssl_st* session) noexcept { SSL_set_app_data(session, nullptr); }

bool KeepTlsKeysOutOfDumps() {
  if (CRYPTO_secure_malloc_initialized() != 0) return true;
  if (CRYPTO_set_mem_functions(Allocate, Reallocate, WipeAndFree) != 1) return false;
  if (ReserveSecureMemory(kSecureBytes) || ReserveSecureMemory(kFewSecureBytes)) return true;
  CRYPTO_secure_malloc_init(kSecureBytes, kSecureBytesMin);  // not dumped, but perhaps swapped
  return false;
}

absl::StatusOr<TlsContext> TlsContext::Load(const Options& options) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context || !Configure(context.get())) return NoTls();
  WEIR_RETURN_IF_ERROR(
      ReadCertificate({"tls-cert", options.tls_cert}, {"tls-key", options.tls_key}, context.get()));
  WEIR_RETURN_IF_ERROR(ReadAuthorityOfClients(options, context.get()));
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  return TlsContext(std::move(context));
}

absl::StatusOr<TlsContext> TlsContext::LoadForLink(const Options& options) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context || !Configure(context.get())) return NoTls();
  WEIR_RETURN_IF_ERROR(ReadCertificateIfAny({"tls-cert", options.tls_cert},
                                            {"tls-key", options.tls_key}, context.get()));
  WEIR_RETURN_IF_ERROR(ReadAuthority({"tls-ca", options.tls_ca}, context.get()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return TlsContext(std::move(context));
}

absl::StatusOr<TlsContext> TlsContext::LoadForControlPlane(const Options& options) {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context || !Configure(context.get())) return NoTls();
  WEIR_RETURN_IF_ERROR(ReadCertificateIfAny({"rls-xds-cert", options.rls_xds_cert},
                                            {"rls-xds-key", options.rls_xds_key}, context.get()));
  if (!options.rls_xds_ca.empty()) {
    WEIR_RETURN_IF_ERROR(ReadAuthority({"rls-xds-ca", options.rls_xds_ca}, context.get()));
  } else if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
    return NoTls();
  }
  const std::string& host = options.rls_xds.servers.front().host;
  std::string name = options.rls_xds_san.name.empty() ? host : options.rls_xds_san.name;
  if (name.ends_with('.')) name.pop_back();  // of DNS, not of certificates
  const bool has_protocol =
      SSL_CTX_set_alpn_protos(context.get(), kHttp2.data(), kHttp2.size()) == 0;
  if (!has_protocol || !ExpectName(name, context.get())) return NoTls();
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  TlsContext made(std::move(context));
  if (!IsAddress(name)) made.asked_name_ = name;  // RFC 6066, section 3, names no address.
  return made;
}

TlsSession TlsContext::NewSession(int descriptor, const char* alpn) const {
  ERR_clear_error();
  TlsSession session(SSL_new(context_.get()));
  if (!session || SSL_set_fd(session.get(), descriptor) != 1) return nullptr;
  // OpenSSL keeps the pointer, and changes nothing behind it.
  if (SSL_set_ex_data(session.get(), AlpnIndex(), const_cast<char*>(alpn)) != 1) return nullptr;
  if (!asked_name_.empty() && SSL_set_tlsext_host_name(session.get(), asked_name_.c_str()) != 1) {
    return nullptr;
  }
  if (SSL_is_server(session.get()) != 0) {
    SSL_set_accept_state(session.get());
  } else {
    SSL_set_connect_state(session.get());
  }
  return session;
}

bool TlsContext::is_expired() const {
  const X509* const certificate = SSL_CTX_get0_certificate(context_.get());
  return certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

}  // namespace weir
