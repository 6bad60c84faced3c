// The answer of an edge to a request, and its form as a reply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/commands/replies.h"
#include "core/commands/reply_numbers.h"

namespace weir {

// A request that the host passes on, by which the edge knows its reply again.
struct PassedOn {
  std::uint64_t form = 0;  // 0: the edge learns nothing from the reply
  std::int64_t units = 1;
  HostInstant sent{};
};

struct EdgeAnswer {
  enum class Kind : std::uint8_t {
    kVerdict,
    kWaits,   // The answer comes later, under the request's ticket.
    kPassOn,  // The host sends the request to the primary as it is.
    kAway     // It needs the primary, which is away.
  };

  // A limit of WITHLIMITS: its name, which lives as long as the answer, and the numbers of
  // kDecisionFields but the last.
  struct Row {
    std::string_view name;
    std::array<std::int64_t, kDecisionFields.size() - 1> numbers;
  };

  Kind kind = Kind::kAway;
  PassedOn passed_on{};  // with kPassOn

  // With kVerdict:
  std::array<std::int64_t, kVerdictFields.size()> numbers{};
  bool with_limits = false;
  std::vector<Row> rows{};  // empty unless with_limits
  bool was_needed = false;  // The primary decided it, as a part of NEED;
  bool is_counted = false;  // and has counted it, as one request for all that NEED named.

  [[nodiscard]] bool allowed() const noexcept { return numbers.front() == 1; }
};

// Writes a verdict as a server writes that of RL.ALLOW. `Reply`: see replies.h.
template <typename Reply>
void WriteEdgeVerdict(Reply& reply, const EdgeAnswer& answer) {
  reply.ArrayOf(answer.numbers.size() + (answer.with_limits ? 1 : 0), answer.numbers);
  if (!answer.with_limits) return;
  reply.Array(answer.rows.size());
  for (const EdgeAnswer::Row& row : answer.rows) {
    WriteNamedNumbers(reply, row.name, std::span(kDecisionFields).first(row.numbers.size()),
                      row.numbers);
  }
}

}  // namespace weir
