// Limit words that were read before: a bounded cache from a word's text to what it means.
//
// A fleet sends the same few limits for ever, so a word is parsed once and then costs a look-up
// (about 20 ns; a parse costs 270 to 500). An entry also remembers the limit's id (LimitHint). Only
// words that read are kept, and those are short: the grammar bounds them. When the cache is full it
// is emptied: the words in use come back with the next requests. Not thread-safe: one a thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"

#include "core/limit_grammar.h"
#include "core/limit_registry.h"

namespace weir {

inline constexpr std::size_t kMemoWordsMax = 4096;

class LimitMemo {
 public:
  struct Entry {
    LimitWord word;
    LimitHint hint;
  };

  // Forgets what is too much. Entries live until the next BeginRequest, so call it where none is
  // held.
  void BeginRequest();

  // The word's meaning; the errors are ParseLimitWord's. At most kChecksMax calls between two
  // BeginRequest.
  [[nodiscard]] absl::StatusOr<Entry*> Read(std::string_view text);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept;
  };

  absl::node_hash_map<std::string, Entry, Hash, std::equal_to<>> entries_;
};

}  // namespace weir
