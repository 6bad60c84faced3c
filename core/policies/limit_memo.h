// A bounded cache of parsed limit words, from a word's text to its limits.
//
// A fleet sends the same few limits again and again, so a word is parsed once (270 to 500 ns) and
// then costs a look-up (about 20). An entry also remembers the ids of its limits (LimitHint). The
// entry of a policy's word holds the policy's limits, which are read again after any policy has
// changed. When the cache is full it is emptied: the words in use come back with the next requests.
// Not thread-safe: each thread has its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"

#include "core/policies/policies.h"
#include "core/rules/limit_counters.h"
#include "core/table/limit_registry.h"
#include "core/words/limit_grammar.h"

namespace weir {

// The number of limits, of all words in the cache together, at which it is full.
inline constexpr std::size_t kMemoLimitsMax = 4096;

// One limit that a word stands for.
struct CachedLimit {
  Limit limit;
  std::optional<std::int64_t> cost;  // the word's, else the policy's
  std::optional<std::int64_t> keep;  // likewise
  std::string name;                  // for WITHLIMITS
  LimitHint hint;
  std::string counted_as;    // for RL.STATS
  CountersHint counts = {};  // of that name
  bool is_named = false;     // a label (name=) is its name
};

class LimitMemo {
 public:
  struct Entry {
    LimitWord word;
    absl::InlinedVector<CachedLimit, 1> limits;
    std::shared_ptr<Overrides> overrides;  // set for a policy's word
    std::uint64_t version = 0;             // of the policies when `limits` was filled
  };

  // `policies` may be null: then no policy is known. It must outlive the memo.
  explicit LimitMemo(const Policies* policies = nullptr) : policies_(policies) {}
  LimitMemo(const LimitMemo&) = delete;
  LimitMemo& operator=(const LimitMemo&) = delete;

  // Empties a full cache, and takes note of changed policies. Entries live until the next
  // BeginRequest, so it must be called while no entry is in use.
  void BeginRequest();

  // Returns the word's entry. Fails as ParseLimitWord and CheckLabel do, and with kNotFound for an
  // unknown or retired policy. At most kChecksMax calls between two BeginRequest.
  [[nodiscard]] absl::StatusOr<Entry*> Read(std::string_view text);

  // Returns the same for a word that was read lately, and null for most others. No keyword is
  // found, since Read fails for it. Requires: a call of BeginRequest, as Read does.
  [[nodiscard]] Entry* FindRecent(std::string_view text) noexcept {
    const Recent& recent = RecentOf(text);
    const bool is_it = recent.entry && recent.entry->version == version_ && *recent.text == text;
    return is_it ? recent.entry : nullptr;
  }

  // The limits that a policy's word stands for if the policy, or an override of it, has `limits`.
  [[nodiscard]] absl::InlinedVector<CachedLimit, 1> Expand(const LimitWord& word,
                                                           const PolicyLimits& limits) const;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept;
  };

  struct Recent {
    const std::string* text = nullptr;
    Entry* entry = nullptr;
  };

  [[nodiscard]] Recent& RecentOf(std::string_view text) noexcept {
    const auto byte = [](char c) { return static_cast<unsigned char>(c); };
    const std::size_t hash = text.empty() ? 0 : byte(text.front()) * 7U + byte(text.back());
    return recent_[(hash + text.size()) % recent_.size()];
  }
  absl::Status Fill(Entry& entry);

  const Policies* const policies_;
  std::uint64_t version_ = 0;
  std::size_t limits_ = 0;
  absl::node_hash_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  // The words read last, each in a place computed from its size and two of its bytes: to find a
  // word here takes 40 instructions, not 160.
  std::array<Recent, 32> recent_;
};

// The error for the name of an unknown policy, with the nearest known one if this thread may still
// compare the names of all policies: BeginRequest lets it compare some more. `mark` stands before a
// name where the word was: "@", or nothing. Cost: some 100 ns a policy.
[[nodiscard]] absl::Status UnknownPolicyAmong(std::string_view name, const Policies& policies,
                                              std::string_view mark);

}  // namespace weir
