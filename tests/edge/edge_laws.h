// The laws of edges, checked on lists of what happened. It shares nothing with the edge or the
// primary: tokens, instants and exact fractions.
//
//     E1  in any time t from s on at most burst + floor(t * count / period) tokens of those that
//         were charged from s on, and of all at most burst + floor((t + life) * count / period)
//     E2  an aligned window sees at most its count of tokens spent
//     E3  no token of a slice is spent at or after the end of its life
//     E4  of a slice, spent + given back <= granted
//
// E1 begins again where an operator has changed the limit or reset its key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/instant.h"

namespace weir {

// A limit of a simulation, by the numbers of its word.
struct SimLimit {
  enum class Kind : std::uint8_t { kBucket, kWindow };
  std::string word;
  Kind kind = Kind::kBucket;
  std::int64_t count = 1;
  Nanos period{1};
  std::int64_t burst = 0;  // of a bucket
};

// The times of the following are of the primary's clock.

// A slice that an edge may have had: spent from `from` on, before `end`.
struct SimSlice {
  std::size_t edge;
  std::size_t form;
  std::int64_t left;  // units: what was granted or, if it was settled, what was spent in all
  Nanos charged;
  Nanos from;
  Nanos end;
};

// A request that was admitted.
struct SimSpend {
  Nanos at;
  std::int64_t units;
  std::size_t form;
  std::optional<std::size_t> edge{};  // it had it in hand; nothing: the primary charged it for it
  Nanos charged{};
};

// The tokens of one limit that one request took.
struct SimTokens {
  Nanos at;
  Nanos charged;
  std::int64_t tokens;
};

// Finds for each spend of a hand the slices that it is from, and replaces it by one spend of each,
// with `charged` set. Returns what is wrong if there are none, or nothing. (To take from the slice
// that ends first succeeds whenever any choice does.)
[[nodiscard]] std::string MatchSlices(std::vector<SimSlice> slices, std::vector<SimSpend>& spends);

// Returns what is wrong, or nothing. `tokens`: sorted by `at`. `epochs`: when the limit or its
// buckets were changed, the first at the beginning; the numbers of the limit since then.
struct SimEpoch {
  Nanos from;
  SimLimit limit;
};
[[nodiscard]] std::string CheckTokens(const std::vector<SimTokens>& tokens,
                                      const std::vector<SimEpoch>& epochs, Nanos life);

}  // namespace weir
