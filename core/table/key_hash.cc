#include "core/table/key_hash.h"

#include <cstring>

#include <sodium.h>

#include "core/base/check.h"

namespace weir {

static_assert(sizeof(HashSecret) == crypto_shorthash_siphashx24_KEYBYTES);
static_assert(sizeof(KeyHash::hash) + sizeof(KeyHash::partition) <=
              crypto_shorthash_siphashx24_BYTES);

HashSecret RandomHashSecret() {
  WEIR_CHECK(sodium_init() >= 0);
  HashSecret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

KeyHasher::KeyHasher(const HashSecret& secret) : secret_(secret) {}

KeyHash KeyHasher::operator()(std::string_view key) const noexcept {
  std::array<unsigned char, crypto_shorthash_siphashx24_BYTES> digest;
  crypto_shorthash_siphashx24(digest.data(), reinterpret_cast<const unsigned char*>(key.data()),
                              key.size(), secret_.data());
  KeyHash hash;
  std::memcpy(&hash.hash, digest.data(), sizeof hash.hash);
  std::memcpy(&hash.partition, digest.data() + sizeof hash.hash, sizeof hash.partition);
  hash.partition %= kPartitionCount;
  return hash;
}

}  // namespace weir
