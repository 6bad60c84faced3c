// The table's part of a key: 76 bits of a keyed hash, never the key itself.
//
// SipHash-2-4 with 128 bits of output, keyed by a secret that is random per database, so that no
// client can craft keys that collide. 12 bits choose the partition, 64 are stored: two of 100
// million keys share a bucket with probability 7 in 10^8. Source: Aumasson and Bernstein, "SipHash:
// a fast short-input PRF"; the code is libsodium's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/check.h"

namespace weir {

inline constexpr std::size_t kPartitionBits = 12;
inline constexpr std::size_t kPartitionCount = std::size_t{1} << kPartitionBits;
static_assert(kPartitionCount - 1 <= UINT16_MAX, "KeyHash::partition");

struct KeyHash {
  std::uint64_t hash = 0;
  std::uint16_t partition = 0;  // below kPartitionCount

  friend bool operator==(const KeyHash&, const KeyHash&) = default;
};

using HashSecret = std::array<unsigned char, 16>;

// A new secret from the operating system's random source.
[[nodiscard]] HashSecret RandomHashSecret();

// Hashes keys of any bytes and any length. Immutable, thread-safe; about 20 ns for a short key.
class KeyHasher {
 public:
  explicit KeyHasher(const HashSecret& secret);
  [[nodiscard]] KeyHash operator()(std::string_view key) const noexcept;
  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }

  // Another hash of a text, which clients may see. It is keyed by a secret of its own, so it tells
  // nothing about the place of a key in the table.
  using Fingerprint = std::array<unsigned char, 16>;
  [[nodiscard]] Fingerprint FingerprintOf(std::string_view text) const noexcept;

 private:
  HashSecret secret_;
  HashSecret fingerprint_secret_;
};

// A key with its hash.
struct HashedKey {
  std::string_view text;
  KeyHash hash;
};

// The hashes of a command's keys, asked for from left to right.
class KeyHashes {
 public:
  // `known`: the first keys of the command, in order, with their hashes. All arguments must outlive
  // this object.
  explicit KeyHashes(const KeyHasher& hasher, std::span<const HashedKey> known = {}) noexcept
      : KeyHashes(hasher, hasher, known) {}
  // `words`: the hasher of words that are not keys.
  KeyHashes(const KeyHasher& hasher, const KeyHasher& words,
            std::span<const HashedKey> known = {}) noexcept
      : hasher_(hasher), words_(words), known_(known) {}

  // Requires: `key` is the command's next key, in the same memory as its entry in `known`.
  [[nodiscard]] KeyHash Next(std::string_view key) noexcept {
    if (known_.empty()) return hasher_(key);
    const HashedKey& next = known_.front();
    WEIR_CHECK(next.text.data() == key.data());
    WEIR_DCHECK(next.hash == hasher_(key));
    known_ = known_.subspan(1);
    return next.hash;
  }
  // A hash of the words of a request, by which a hold knows its request again.
  [[nodiscard]] std::uint64_t HashOfWords(std::string_view words) const noexcept {
    return words_(words).hash;
  }

 private:
  const KeyHasher& hasher_;
  const KeyHasher& words_;
  std::span<const HashedKey> known_;
};

}  // namespace weir
