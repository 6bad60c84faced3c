// The TLS peers of a test: an authority that signs certificates on the spot, and a client that is a
// bare socket under OpenSSL.
//
//     const TestAuthority authority(directory, "ca");
//     const TestCertificate mine = authority.Issue("client");
//     TlsClient client(port, {.authority = authority.path(), .certificate = mine});
//     EXPECT_TRUE(client.ShakeHands());
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/base/check.h"
#include "tests/server/loopback.h"
#include "tests/support/temporary_directory.h"

namespace weir {

struct OpensslDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <typename T>
using OpensslPtr = std::unique_ptr<T, OpensslDeleter>;

// Paths of PEM files; an empty path stands for no file.
struct TestCertificate {
  std::string path;
  std::string key;
};

// A certificate authority with a self-signed certificate.
class TestAuthority {
 private:
  static constexpr long kDay = 86'400;

 public:
  TestAuthority(const TemporaryDirectory& directory, const std::string& name)
      : prefix_(directory.path() + "/" + name), key_(EVP_EC_gen("P-256")) {
    WEIR_CHECK(key_ != nullptr);
    certificate_ = Sign(name, key_.get(), kDay);
    AddExtension(NID_basic_constraints, "critical,CA:TRUE");
    WEIR_CHECK(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
    Save(prefix_ + ".pem", certificate_.get());
  }

  [[nodiscard]] std::string path() const { return prefix_ + ".pem"; }

  struct Wish {
    long seconds = kDay;             // valid from yesterday on until then
    const char* password = nullptr;  // the key is encrypted with it
    unsigned bits_of_rsa = 0;        // 0: a key on an elliptic curve
  };
  [[nodiscard]] TestCertificate Issue(const std::string& name) const { return Issue(name, Wish()); }
  [[nodiscard]] TestCertificate Issue(const std::string& name, const Wish& wish) const {
    const OpensslPtr<EVP_PKEY> key(wish.bits_of_rsa > 0 ? EVP_RSA_gen(wish.bits_of_rsa)
                                                        : EVP_EC_gen("P-256"));
    TestCertificate issued{.path = prefix_ + "-" + name + ".pem",
                           .key = prefix_ + "-" + name + ".key"};
    Save(issued.path, Sign(name, key.get(), wish.seconds).get());
    const OpensslPtr<std::FILE> file(std::fopen(issued.key.c_str(), "w"));
    const EVP_CIPHER* const cipher = wish.password != nullptr ? EVP_aes_128_cbc() : nullptr;
    WEIR_CHECK(PEM_write_PrivateKey(file.get(), key.get(), cipher, nullptr, 0, nullptr,
                                    const_cast<char*>(wish.password)) == 1);
    return issued;
  }

 private:
  [[nodiscard]] OpensslPtr<X509> Sign(const std::string& name, EVP_PKEY* key, long seconds) const {
    static long serial = 0;
    OpensslPtr<X509> made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), seconds);
    X509_set_pubkey(made.get(), key);
    X509_NAME* const subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), certificate_ ? X509_get_subject_name(certificate_.get())
                                                  : X509_get_subject_name(made.get()));
    WEIR_CHECK(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0);
    return made;
  }

  void AddExtension(int nid, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    WEIR_CHECK(X509_add_ext(certificate_.get(), extension, -1) == 1);
    X509_EXTENSION_free(extension);
  }

  static void Save(const std::string& path, X509* certificate) {
    const OpensslPtr<std::FILE> file(std::fopen(path.c_str(), "w"));
    WEIR_CHECK(file != nullptr && PEM_write_X509(file.get(), certificate) == 1);
  }

  const std::string prefix_;
  const OpensslPtr<EVP_PKEY> key_;
  OpensslPtr<X509> certificate_;
};

struct TlsClientOptions {
  std::string authority;             // whose servers it trusts
  TestCertificate certificate = {};  // its own
  int version = TLS1_3_VERSION;
  int receive_buffer_bytes = 0;  // about what the kernel keeps for it; 0: as usual
};

class TlsClient {
 public:
  TlsClient(std::uint16_t port, const TlsClientOptions& options)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)), context_(SSL_CTX_new(TLS_client_method())) {
    WEIR_CHECK(socket_ >= 0);
    SSL_CTX_set_min_proto_version(context_.get(), options.version);
    SSL_CTX_set_max_proto_version(context_.get(), options.version);
    if (options.version < TLS1_2_VERSION) SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_locations(context_.get(), options.authority.c_str(), nullptr);
    if (!options.certificate.path.empty()) {
      SSL_CTX_use_certificate_chain_file(context_.get(), options.certificate.path.c_str());
      SSL_CTX_use_PrivateKey_file(context_.get(), options.certificate.key.c_str(),
                                  SSL_FILETYPE_PEM);
    }
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), socket_);
    Connect(port, options.receive_buffer_bytes);
  }
  ~TlsClient() { close(socket_); }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // In TLS 1.3 the handshake ends before the server has seen the client's certificate.
  [[nodiscard]] bool ShakeHands() {
    return Repeat([this] { return SSL_connect(session_.get()); });
  }

  // Sends all of the bytes, and keeps what arrives in the meantime. False if the connection is
  // broken.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      if (!Repeat([&] { return SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent); }))
        return false;
      bytes.remove_prefix(sent);
    }
    return true;
  }

  // Announces new keys `times` times, and sends nothing else. False if the connection is broken.
  bool ChangesKeys(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      if (SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return false;
      if (!Repeat([this] { return SSL_do_handshake(session_.get()); })) return false;
    }
    return true;
  }

  // The next `count` bytes, or fewer if the stream ends before.
  std::string Receive(std::size_t count) {
    while (received_.size() < count && ReceiveSome()) continue;
    std::string bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
  }
  std::string ReceiveAll() { return Receive(SIZE_MAX); }

  // Whether the server has announced the end of its data, and not just closed the stream.
  [[nodiscard]] bool was_told_the_end() const {
    return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  // Why the connection broke, in OpenSSL's words: "tlsv13 alert certificate required".
  [[nodiscard]] const std::string& failure() const { return failure_; }

  SSL* session() { return session_.get(); }
  [[nodiscard]] int descriptor() const { return socket_; }
  void SayTheEnd() { SSL_shutdown(session_.get()); }
  [[nodiscard]] bool AwaitDelivery() const {
    return Eventually([this] { return LoopbackClient::Queued(socket_, SIOCOUTQ) == 0; });
  }

 private:
  void Connect(std::uint16_t port, int receive_buffer_bytes) const {
    const int on = 1;  // each record leaves at once
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(int));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    WEIR_CHECK(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    WEIR_CHECK(fcntl(socket_, F_SETFL, O_NONBLOCK) == 0);
  }

  bool ReceiveSome() {
    std::array<char, 16384> bytes;
    std::size_t count = 0;
    const bool received = Repeat(
        [&] { return SSL_read_ex(session_.get(), bytes.data(), bytes.size(), &count); }, false);
    received_.append(bytes.data(), count);
    return received;
  }

  // Repeats the call until it is done. While writing is blocked it reads the input, so that the
  // server can continue.
  template <typename Call>
  bool Repeat(Call call, bool may_read = true) {
    for (;;) {
      ERR_clear_error();
      const int result = call();
      if (result > 0) return true;
      const int error = SSL_get_error(session_.get(), result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        const char* const reason = ERR_reason_error_string(ERR_peek_error());
        failure_ = reason != nullptr ? reason : "end of the stream";
        return false;
      }
      const bool is_blocked = error == SSL_ERROR_WANT_WRITE;
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      if (is_blocked) ready.events = POLLIN | POLLOUT;
      if (poll(&ready, 1, static_cast<int>(kLoopbackDeadline.count())) != 1) {
        ADD_FAILURE() << "nothing happens on the connection";
        return false;
      }
      if (is_blocked && may_read && (ready.revents & POLLIN) != 0) ReceiveSome();
    }
  }

  const int socket_;
  const OpensslPtr<SSL_CTX> context_;
  OpensslPtr<SSL> session_;
  std::string received_;
  std::string failure_;
};

}  // namespace weir
