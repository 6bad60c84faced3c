// RL.STATS on one line, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/rules/limit_counters.h"
#include "tests/support/dialogue.h"
#include "tests/support/resp_value.h"

namespace weir {

// The rows, each as "name allowed denied shadow-denied near-limit;". The other counts follow with
// their names where they are not 0.
inline std::string StatsText(Dialogue& client) {
  std::string rows;
  for (const RespValue& row : client.Ask("RL.STATS").elements) {
    rows += row.elements[0].text;
    for (std::size_t i = 1; i < row.elements.size(); ++i) {
      const std::int64_t count = row.elements[i].number;
      if (i <= 4) rows += " " + std::to_string(count);
      if (i > 4 && count != 0)
        rows += std::string(" ") + LimitCounters::kNames[i - 1] + "=" + std::to_string(count);
    }
    rows += ";";
  }
  return rows;
}

}  // namespace weir
