// The keys that were denied: how often, when first, and how often in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "core/table/key_hash.h"

namespace weir {

struct DeniedKey {
  std::string key{};
  std::uint64_t denials = 0;
  std::uint64_t longest_streak = 0;  // denials without an admission between them
  Instant first{};

  friend bool operator==(const DeniedKey&, const DeniedKey&) = default;
};

// Remembers nothing about keys that were never denied. Memory: 64 bytes a denied key at most 7/8
// full, and the key's text. Not thread-safe.
class DeniedKeys {
 public:
  // Requires: `hash` is the key's, and times never go back.
  void CountDenial(std::string_view key, const KeyHash& hash, Instant at);
  void CountAdmission(const KeyHash& hash) {
    if (const auto found = keys_.find(hash); found != keys_.end()) found->second.streak = 0;
  }

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  // The keys with the most denials, at most `most`: among equals those that were denied first, and
  // then by name.
  [[nodiscard]] std::vector<DeniedKey> Worst(std::size_t most) const;

 private:
  struct Hash {
    std::size_t operator()(const KeyHash& key) const noexcept { return key.hash; }
  };
  struct Counts {
    Instant first;
    std::uint64_t denials = 0;
    std::uint64_t streak = 0;
    std::uint64_t longest_streak = 0;
    std::uint64_t name_begin = 0;  // in names_
    std::uint32_t name_bytes = 0;
  };

  absl::flat_hash_map<KeyHash, Counts, Hash> keys_;
  std::string names_;
};

}  // namespace weir
