// The replies of a primary that an edge reads, in RESP2 or RESP3, as the bytes of one whole reply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/commands/reply_numbers.h"

namespace weir {

// What the primary knew about a form when it decided.
struct PrimaryNumbers {
  std::int64_t remaining = 0;  // tokens, of the limit with that index
  Nanos reset_after{0};
  std::int64_t limit_index = 0;
};

// The reply to RL.SLICE.
struct SliceReply {
  struct Row {
    std::string name;
    std::array<std::int64_t, kSliceFields.size()> numbers;  // those of kSliceFields
  };

  std::int64_t granted = 0;  // units
  PrimaryNumbers numbers;
  Nanos retry_after{0};  // until UNIT units are there; kNever
  Nanos life{0};
  std::uint64_t changes = 0;
  std::vector<Row> rows;  // one for each limit
};

// The reply to an RL.ALLOW that was denied.
struct DenialReply {
  PrimaryNumbers numbers;
  Nanos retry_after{0};  // above 0; kNever
};

// Nothing for an error, and for a reply that no primary gives.
[[nodiscard]] std::optional<SliceReply> ReadSliceReply(std::string_view reply);
// Nothing for an admission and an error, too. Cost for an admission: a look at its first bytes.
[[nodiscard]] std::optional<DenialReply> ReadDenialReply(std::string_view reply);

}  // namespace weir
