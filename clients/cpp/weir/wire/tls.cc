#include "weir/wire/tls.h"

#include <arpa/inet.h>

#include <array>
#include <cstdint>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "weir/errors.h"

namespace weir::client {
namespace {

// The newest error of OpenSSL in this thread.
std::string OpenSslError() {
  const unsigned long error = ERR_peek_last_error();
  const char* const text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "an error of TLS" : text;
}

// What a BIO of a Socket returns for a step.
int BioResult(BIO* bio, Io io, std::size_t count) {
  BIO_clear_retry_flags(bio);
  if (io == Io::kWantsRead) BIO_set_retry_read(bio);
  if (io == Io::kWantsWrite) BIO_set_retry_write(bio);
  if (io == Io::kClosed) return 0;
  return io == Io::kDone ? static_cast<int>(count) : -1;
}

int WriteToSocket(BIO* bio, const char* bytes, int size) {
  std::size_t count = 0;
  auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  const Io io = socket.Write({bytes, static_cast<std::size_t>(size)}, count);
  return BioResult(bio, io, count);
}

int ReadFromSocket(BIO* bio, char* bytes, int size) {
  std::size_t count = 0;
  auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  const Io io = socket.Read({bytes, static_cast<std::size_t>(size)}, count);
  return BioResult(bio, io, count);
}

long ControlSocket(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// OpenSSL's own BIO of a socket writes without MSG_NOSIGNAL.
const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(method, WriteToSocket);
    BIO_meth_set_read(method, ReadFromSocket);
    BIO_meth_set_ctrl(method, ControlSocket);
    return method;
  }();
  return kMethod;
}

bool IsAddress(const std::string& host) {
  std::array<std::uint8_t, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

void ThrowIf(bool has_failed, const std::string& file) {
  if (has_failed) throw Mistake("TLS cannot use " + file + ": " + OpenSslError());
}

void LoadFiles(SSL_CTX* context, const Tls& tls) {
  ERR_clear_error();
  if (tls.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else {
    ThrowIf(SSL_CTX_load_verify_locations(context, tls.ca.c_str(), nullptr) != 1, tls.ca);
  }
  if (tls.certificate.empty() != tls.key.empty()) {
    throw Mistake("TLS needs the client's certificate and its key, or neither");
  }
  if (tls.certificate.empty()) return;
  // A key with a passphrase is an error. OpenSSL would ask for it on the terminal, and wait.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  ThrowIf(SSL_CTX_use_certificate_chain_file(context, tls.certificate.c_str()) != 1,
          tls.certificate);
  ThrowIf(SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM) != 1, tls.key);
  ThrowIf(SSL_CTX_check_private_key(context) != 1, tls.key);
}

}  // namespace

TlsContext::TlsContext(const Tls& tls) : context_(tls.context, SSL_CTX_free) {
  if (tls.context != nullptr) {
    SSL_CTX_up_ref(tls.context);
    if (!tls.ca.empty() || !tls.certificate.empty() || !tls.key.empty()) {
      throw Mistake("TLS has a context of the program's own, or files");
    }
    return;
  }
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!context_) throw Mistake("OpenSSL has no TLS: " + OpenSslError());
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  LoadFiles(context_.get(), tls);
}

TlsSession::TlsSession(const TlsContext& context, Socket& socket, const std::string& host)
    : socket_(socket), session_(SSL_new(context.get()), SSL_free) {
  BIO* const bio = BIO_new(SocketMethod());
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
  SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(session_.get());
  if (IsAddress(host)) {
    checks_name_ = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  } else {
    checks_name_ = X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1;
    SSL_set_tlsext_host_name(session_.get(), host.c_str());
  }
  SSL_set_connect_state(session_.get());
}

Io TlsSession::Shake() {
  if (!checks_name_) {
    error_ = "the server's name cannot be checked";
    return Io::kFailed;
  }
  ERR_clear_error();
  return Meaning(SSL_do_handshake(session_.get()));
}

Io TlsSession::Write(std::string_view bytes, std::size_t& count) {
  ERR_clear_error();
  return Meaning(SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count));
}

Io TlsSession::Read(std::span<char> buffer, std::size_t& count) {
  ERR_clear_error();
  return Meaning(SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &count));
}

bool TlsSession::is_quiet() {
  ERR_clear_error();
  char byte = 0;
  std::size_t count = 0;
  return Meaning(SSL_peek_ex(session_.get(), &byte, 1, &count)) == Io::kWantsRead;
}

Io TlsSession::Meaning(int result) {
  if (result == 1) return Io::kDone;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Io::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::kWantsWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Io::kClosed;
    case SSL_ERROR_SYSCALL:
      error_ = socket_.error();
      return error_.empty() ? Io::kClosed : Io::kFailed;
    default:
      break;
  }
  const long verified = SSL_get_verify_result(session_.get());
  error_ = verified == X509_V_OK ? OpenSslError()
                                 : std::string("the server's certificate: ") +
                                       X509_verify_cert_error_string(verified);
  return Io::kFailed;
}

}  // namespace weir::client
