#include "core/table/key_hash.h"

#include <cstring>
#include <type_traits>

#include <sodium.h>

#include "core/base/check.h"

namespace weir {
namespace {

using Digest = std::array<unsigned char, crypto_shorthash_siphashx24_BYTES>;

Digest DigestOf(std::string_view text, const HashSecret& secret) noexcept {
  Digest digest;
  crypto_shorthash_siphashx24(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                              text.size(), secret.data());
  return digest;
}

}  // namespace

static_assert(std::is_same_v<Digest, HashSecret>);
static_assert(std::is_same_v<Digest, KeyHasher::Fingerprint>);
static_assert(sizeof(HashSecret) == crypto_shorthash_siphashx24_KEYBYTES);
static_assert(sizeof(KeyHash::hash) + sizeof(KeyHash::partition) <=
              crypto_shorthash_siphashx24_BYTES);

HashSecret RandomHashSecret() {
  WEIR_CHECK(sodium_init() >= 0);
  HashSecret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

KeyHasher::KeyHasher(const HashSecret& secret)
    : secret_(secret), fingerprint_secret_(DigestOf("fingerprint", secret)) {}

KeyHasher::Fingerprint KeyHasher::FingerprintOf(std::string_view text) const noexcept {
  return DigestOf(text, fingerprint_secret_);
}

KeyHash KeyHasher::operator()(std::string_view key) const noexcept {
  const Digest digest = DigestOf(key, secret_);
  KeyHash hash;
  std::memcpy(&hash.hash, digest.data(), sizeof hash.hash);
  std::memcpy(&hash.partition, digest.data() + sizeof hash.hash, sizeof hash.partition);
  hash.partition %= kPartitionCount;
  return hash;
}

}  // namespace weir
