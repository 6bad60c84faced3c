// Limit words that were read before: a bounded cache from a word's text to what it means.
//
// A fleet sends the same few limits again and again, so a word is parsed once (270 to 500 ns) and
// then costs a look-up (about 20). An entry also remembers the ids of its limits (LimitHint), and
// of a policy's word the limits that the policy has; those are read again after a policy has
// changed. When the cache is full it is emptied: the words in use come back with the next requests.
// Not thread-safe: one a thread.
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

#include "core/rules/limit_counters.h"
#include "core/table/limit_registry.h"
#include "core/words/limit_grammar.h"
#include "core/words/policies.h"

namespace weir {

// Limits that the words in the cache stand for, all together.
inline constexpr std::size_t kMemoLimitsMax = 4096;

// One limit that a word stands for.
struct CachedLimit {
  Limit limit;
  std::optional<std::int64_t> cost;  // the word's, else the policy's
  std::string name;                  // for WITHLIMITS
  LimitHint hint;
  std::string counted_as;    // for RL.STATS
  CountersHint counts = {};  // of that name
};

class LimitMemo {
 public:
  struct Entry {
    LimitWord word;
    absl::InlinedVector<CachedLimit, 1> limits;
    std::shared_ptr<Overrides> overrides;  // of a policy that has a word
    std::uint64_t version = 0;             // of the policies when `limits` was filled
  };

  // Null: then no policy is known. Outlives the memo.
  explicit LimitMemo(const Policies* policies = nullptr) : policies_(policies) {}
  LimitMemo(const LimitMemo&) = delete;
  LimitMemo& operator=(const LimitMemo&) = delete;

  // Forgets what is too much, and sees which policies are in force. Entries live until the next
  // BeginRequest, so call it where none is held.
  void BeginRequest();

  // The word's meaning. The errors are ParseLimitWord's, and kNotFound for a policy that is not
  // there. At most kChecksMax calls between two BeginRequest.
  [[nodiscard]] absl::StatusOr<Entry*> Read(std::string_view text);

  // The limits that a policy's word stands for where it has these: an override's.
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

  [[nodiscard]] Recent& RecentOf(std::string_view text) noexcept;
  absl::Status Fill(Entry& entry);

  const Policies* const policies_;
  std::uint64_t version_ = 0;
  std::size_t limits_ = 0;
  absl::node_hash_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  // The words of late, each in a place that its size and two of its bytes say: to find them there
  // takes 40 instructions and not 160.
  std::array<Recent, 32> recent_;
};

}  // namespace weir
