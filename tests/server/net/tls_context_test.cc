// Goal: an unusable certificate or key is named with the reason, and the options decide which
// clients are let in. Method: files that are missing, wrong, or do not belong together.
#include "server/net/tls_context.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/server/net/tls_peer.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

// The environment runs before any call of OpenSSL.
const bool kAreKeysKept = KeepTlsKeysOutOfDumps();

class TlsContextTest : public testing::Test {
 protected:
  TlsContextTest() {
    options_.tls_cert = good_.path;
    options_.tls_key = good_.key;
    options_.tls_ca = authority_.path();
  }

  [[nodiscard]] std::string ErrorOfLoad() const {
    const absl::StatusOr<TlsContext> context = TlsContext::Load(options_);
    return context.ok() ? "no error" : std::string(StdView(context.status().message()));
  }

  TemporaryDirectory directory_;
  const TestAuthority authority_{directory_, "ca"};
  const TestCertificate good_ = authority_.Issue("server");
  const std::string none_ = directory_.path() + "/none";
  const std::string garbage_ = directory_.Write("garbage", "no PEM");
  Options options_ = DefaultOptions();
};

TEST_F(TlsContextTest, GoodFilesLoad) {
  EXPECT_EQ(ErrorOfLoad(), "no error");
  for (const TlsAuthClients asked : {TlsAuthClients::kYes, TlsAuthClients::kOptional}) {
    options_.tls_auth_clients = asked;
    EXPECT_EQ(ErrorOfLoad(), "no error");
  }
  options_.tls_auth_clients = TlsAuthClients::kNo;
  options_.tls_ca.clear();
  EXPECT_EQ(ErrorOfLoad(), "no error");
}

TEST_F(TlsContextTest, MissingOptionsAreNamed) {
  options_.tls_ca.clear();
  EXPECT_EQ(ErrorOfLoad(),
            "option 'tls-auth-clients': yes needs the authority of the clients' certificates: "
            "--tls-ca (or use 'no' to serve any client)");
  options_.tls_key.clear();
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-key': TLS needs the certificate's key");
  options_.tls_cert.clear();
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-cert': TLS needs a certificate");
}

TEST_F(TlsContextTest, AMissingFileIsNamed) {
  const std::string rest = "': cannot use '" + none_ + "': No such file or directory";
  options_.tls_ca = none_;
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-ca" + rest);
  options_.tls_key = none_;
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-key" + rest);
  options_.tls_cert = none_;
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-cert" + rest);
}

TEST_F(TlsContextTest, AFileWithOtherContentIsNamed) {
  const std::string rest = "': cannot use '" + garbage_ + "': ";
  options_.tls_ca = garbage_;
  EXPECT_TRUE(ErrorOfLoad().starts_with("option 'tls-ca" + rest)) << ErrorOfLoad();
  options_.tls_key = garbage_;
  EXPECT_EQ(ErrorOfLoad(),
            "option 'tls-key" + rest + "it has no private key, or one with a password");
  options_.tls_cert = garbage_;
  EXPECT_TRUE(ErrorOfLoad().starts_with("option 'tls-cert" + rest)) << ErrorOfLoad();
}

TEST_F(TlsContextTest, AnotherCertificatesKeyIsRefused) {
  const std::string elliptic = options_.tls_key;
  const TestCertificate rsa = authority_.Issue("rsa", {.bits_of_rsa = 2048});
  const auto refuses = [this](const std::string& key) {
    options_.tls_key = key;
    return ErrorOfLoad() == "option 'tls-key': cannot use '" + key +
                                "': it is not the key of the certificate in tls-cert";
  };
  EXPECT_TRUE(refuses(authority_.Issue("other").key));
  EXPECT_TRUE(refuses(rsa.key));
  options_.tls_cert = rsa.path;
  EXPECT_TRUE(refuses(elliptic));
  EXPECT_TRUE(refuses(authority_.Issue("other-rsa", {.bits_of_rsa = 2048}).key));
  options_.tls_key = rsa.key;
  EXPECT_EQ(ErrorOfLoad(), "no error");
}

// OpenSSL would ask for the password on a terminal, where there is no user.
TEST_F(TlsContextTest, AKeyWithAPasswordIsRefused) {
  options_.tls_key = authority_.Issue("locked", {.password = "secret"}).key;
  EXPECT_EQ(ErrorOfLoad(), "option 'tls-key': cannot use '" + options_.tls_key +
                               "': it has no private key, or one with a password");
}

TEST_F(TlsContextTest, AnExpiredCertificateLoadsAndIsKnown) {
  EXPECT_FALSE(TlsContext::Load(options_)->is_expired());
  const TestCertificate old = authority_.Issue("old", {.seconds = -3600});
  options_.tls_cert = old.path;
  options_.tls_key = old.key;
  EXPECT_TRUE(TlsContext::Load(options_)->is_expired());
}

// A link needs no certificate of its own, but one with its key if there is one.
TEST_F(TlsContextTest, ALinkNeedsTheAuthority) {
  const auto error = [this] {
    const absl::StatusOr<TlsContext> context = TlsContext::LoadForLink(options_);
    return context.ok() ? "no error" : std::string(StdView(context.status().message()));
  };
  EXPECT_EQ(error(), "no error");
  options_.tls_auth_clients = TlsAuthClients::kNo;
  options_.tls_ca = none_;
  EXPECT_EQ(error(), "option 'tls-ca': cannot use '" + none_ + "': No such file or directory");
  options_.tls_ca = authority_.path();
  options_.tls_cert.clear();
  EXPECT_EQ(error(), "option 'tls-cert': TLS needs a certificate");
  options_.tls_key.clear();
  EXPECT_EQ(error(), "no error");
  EXPECT_FALSE(TlsContext::LoadForLink(options_)->is_expired());
  options_.tls_cert = good_.path;
  EXPECT_EQ(error(), "option 'tls-key': TLS needs the certificate's key");
}

TEST_F(TlsContextTest, KeysAreKeptOutOfCoreDumps) {
  EXPECT_TRUE(kAreKeysKept);
  EXPECT_TRUE(KeepTlsKeysOutOfDumps());  // again is fine
  const std::size_t before = CRYPTO_secure_used();
  const absl::StatusOr<TlsContext> context = TlsContext::Load(options_);
  ASSERT_TRUE(context.ok());
  EXPECT_GT(CRYPTO_secure_used(), before);
}

// Connections keep the keys of the load under which they began.
TEST_F(TlsContextTest, ThereIsRoomForTheKeysOfManyReloads) {
  const TestCertificate rsa = authority_.Issue("rsa", {.bits_of_rsa = 2048});
  options_.tls_cert = rsa.path;
  options_.tls_key = rsa.key;
  std::vector<absl::StatusOr<TlsContext>> contexts;
  while (contexts.empty() || contexts.back().ok()) contexts.push_back(TlsContext::Load(options_));
  EXPECT_GT(contexts.size(), 40U);
  EXPECT_EQ(StdView(contexts.back().status().message()),
            "option 'tls-key': cannot use '" + rsa.key +
                "': no secure memory is left for its key: connections made with earlier keys still "
                "use it");
  contexts.clear();
  EXPECT_TRUE(TlsContext::Load(options_).ok());
}

}  // namespace
}  // namespace weir
