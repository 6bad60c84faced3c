// Goal: the 76 bits of a key's hash are those of SipHash-2-4, depend on the secret, and spread
// evenly. Method: the test vectors of the reference implementation; chi-squared over the partitions
// and over each stored bit, in whole numbers.
#include "core/table/key_hash.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/test_scale.h"

namespace weir {
namespace {

// The secret of the reference vectors: 00 01 02 .. 0f.
HashSecret CountingSecret() {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<unsigned char>(i);
  return secret;
}

// From vectors_sip128 of the reference implementation (github.com/veorq/SipHash): the hash of the
// first bytes of 00 01 02 ..., as many as the line has. Bytes 0 to 7 are stored, least significant
// first; bytes 8 and 9 name the partition.
TEST(KeyHashTest, ReferenceVectors) {
  const KeyHasher hasher(CountingSecret());
  std::string bytes(15, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  EXPECT_EQ(hasher(""), (KeyHash{0xE6A825BA047F81A3, 0xF66D % kPartitionCount}));
  EXPECT_EQ(hasher(bytes.substr(0, 1)), (KeyHash{0x44AF996BD8C187DA, 0x7634 % kPartitionCount}));
  EXPECT_EQ(hasher(bytes.substr(0, 2)), (KeyHash{0xC75DA4A48D227781, 0xA3FC % kPartitionCount}));
  EXPECT_EQ(hasher(bytes), (KeyHash{0x11A8B03399E99354, 0x087E % kPartitionCount}));
}

TEST(KeyHashTest, SameKeySameHash) {
  const KeyHasher one(CountingSecret());
  const KeyHasher other(CountingSecret());
  const std::string key = "user:42";
  EXPECT_EQ(one(key), other(std::string(key)));
}

TEST(KeyHashTest, EveryByteCounts) {
  const KeyHasher hasher(CountingSecret());
  std::set<std::uint64_t> hashes;
  std::string key(100, 'k');
  hashes.insert(hasher(key).hash);
  for (char& byte : key) {
    byte ^= 1;
    hashes.insert(hasher(key).hash);
    byte ^= 1;
  }
  for (std::size_t size = 0; size < key.size(); ++size)
    hashes.insert(hasher(key.substr(0, size)).hash);
  EXPECT_EQ(hashes.size(), 1 + key.size() + key.size());
}

// Without the secret, a client cannot know which keys collide.
TEST(KeyHashTest, EveryBitOfTheSecretCounts) {
  std::set<std::uint64_t> hashes;
  HashSecret secret = CountingSecret();
  for (std::size_t bit = 0; bit < 8 * secret.size(); ++bit) {
    secret[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    hashes.insert(KeyHasher(secret)("user:42").hash);
    secret[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }
  EXPECT_EQ(hashes.size(), 128u);
}

TEST(KeyHashTest, RandomSecretsDiffer) {
  std::set<HashSecret> secrets;
  for (int i = 0; i < 100; ++i) secrets.insert(RandomHashSecret());
  EXPECT_EQ(secrets.size(), 100u);
}

// Keys that one secret sends to one partition are spread over all partitions by another secret.
TEST(KeyHashTest, KeysCraftedForOneSecretSpreadUnderAnother) {
  const KeyHasher known(CountingSecret());
  const KeyHasher secret(RandomHashSecret());
  std::set<std::uint16_t> partitions;
  std::size_t crafted = 0;
  for (int i = 0; crafted < 100; ++i) {
    const std::string key = std::to_string(i);
    if (known(key).partition != 7) continue;
    ++crafted;
    partitions.insert(secret(key).partition);
  }
  EXPECT_GT(partitions.size(), 80u);  // About 98.8.
}

// Goal: clients may see a fingerprint. Method: it is as long as SipHash's whole output, and shares
// no 8 bytes with it, whose first 10 bytes place the key.
TEST(KeyHashTest, FingerprintIsAnotherHash) {
  const KeyHasher hasher(CountingSecret());
  EXPECT_EQ(hasher.FingerprintOf("user:42"), KeyHasher(CountingSecret()).FingerprintOf("user:42"));
  EXPECT_NE(hasher.FingerprintOf("user:42"), hasher.FingerprintOf("user:43"));
  EXPECT_NE(hasher.FingerprintOf("user:42"), KeyHasher({}).FingerprintOf("user:42"));
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    std::uint64_t hash = 0;
    std::memcpy(&hash, hasher.FingerprintOf(key).data(), sizeof hash);
    EXPECT_NE(hash, hasher(key).hash);
  }
}

// Pearson's chi-squared, times the expected count, over cells that are expected to hold `expected`
// each.
std::uint64_t ChiSquaredTimes(std::uint64_t expected, const std::vector<std::uint64_t>& cells) {
  std::uint64_t sum = 0;
  for (const std::uint64_t cell : cells) {
    const std::uint64_t off = cell > expected ? cell - expected : expected - cell;
    sum += off * off;
  }
  return sum;
}

TEST(KeyHashTest, PartitionsFillEvenly) {
  const KeyHasher hasher(RandomHashSecret());
  const auto expected = static_cast<std::uint64_t>(Scaled(50));
  std::vector<std::uint64_t> cells(kPartitionCount);
  for (std::uint64_t i = 0; i < expected * kPartitionCount; ++i) {
    const KeyHash hash = hasher("user:" + std::to_string(i));
    ASSERT_LT(hash.partition, kPartitionCount);
    ++cells[hash.partition];
  }
  // With 4,095 degrees of freedom the mean is 4,095 and the standard deviation 90; six deviations
  // are allowed on either side.
  EXPECT_GT(ChiSquaredTimes(expected, cells), expected * (4095 - 540));
  EXPECT_LT(ChiSquaredTimes(expected, cells), expected * (4095 + 600));
}

// The stored bits are independent of the partition: within one partition, every bit is evenly
// spread.
TEST(KeyHashTest, StoredBitsAreIndependentOfThePartition) {
  const KeyHasher hasher(RandomHashSecret());
  constexpr std::uint64_t kPartitions = 16;  // told apart by 4 of the 12 bits, at either end
  const auto keys = static_cast<std::uint64_t>(Scaled(160'000));
  for (const int shift : {0, 8}) {
    std::vector<std::uint64_t> in_partition(kPartitions);
    std::vector<std::array<std::uint64_t, 64>> ones(kPartitions);
    for (std::uint64_t i = 0; i < keys; ++i) {
      const KeyHash hash = hasher(std::to_string(i));
      const std::size_t partition = hash.partition >> shift & 15;
      ++in_partition[partition];
      for (std::size_t bit = 0; bit < 64; ++bit) ones[partition][bit] += hash.hash >> bit & 1;
    }
    for (std::size_t partition = 0; partition < kPartitions; ++partition) {
      for (std::size_t bit = 0; bit < 64; ++bit) {
        // The square of twice the ones less the total is the count on average; 49 times the count
        // are seven standard deviations.
        const auto all = static_cast<std::int64_t>(in_partition[partition]);
        const std::int64_t off = 2 * static_cast<std::int64_t>(ones[partition][bit]) - all;
        EXPECT_LT(off * off, 49 * all) << "bit " << bit << " in partition " << partition;
      }
    }
  }
}

}  // namespace
}  // namespace weir
