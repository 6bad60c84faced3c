// A request that waits for its tokens (RL.WAIT), with copies of all that its answer will need,
// because the command's words do not last until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/commands/replies.h"
#include "core/commands/request_counters.h"
#include "core/commands/request_grammar.h"
#include "core/plans/reservation.h"
#include "core/rules/decision.h"
#include "core/table/key_hash.h"

namespace weir {

class PendingRequest {
 public:
  PendingRequest(const ParsedRequest& request, Reservation reserved);

  [[nodiscard]] const Reservation& reservation() const noexcept { return reservation_; }

  // Bytes on the heap.
  [[nodiscard]] std::size_t held_bytes() const;

  // Counts the final verdict.
  void Count(const Verdict& verdict, RequestCounters& request_counters) const;

  template <typename Reply>
  void Answer(Reply& reply, const Verdict& verdict) const {
    WriteVerdict(reply, verdict.allowed ? 1 : 0, verdict, !rows_.empty(), [this](std::size_t i) {
      const Row& row = rows_[i];
      return AskedLimit{row.name, &reservation_.parts[reservation_.part_of_check[i]].limit,
                        row.group, row.cost};
    });
  }

 private:
  // A check, as WITHLIMITS shows it.
  struct Row {
    std::string name;
    std::uint32_t group;
    std::int64_t cost;
  };

  // A bucket, as RL.STATS and RL.TOP count it.
  struct Counted {
    std::string limit;
    std::string key;  // its first kTopKeyBytesMax bytes
    KeyHash hash;
  };

  const Reservation reservation_;
  std::vector<Row> rows_;         // one per check; empty without WITHLIMITS
  std::vector<Counted> counted_;  // one per bucket
};

}  // namespace weir
