// RL.STATS on one line, for tests.
#pragma once

#include <string>

#include "tests/support/dialogue.h"
#include "tests/support/resp_value.h"

namespace weir {

// The rows, each as "name allowed denied shadow-denied near-limit;".
inline std::string StatsText(Dialogue& client) {
  std::string rows;
  for (const RespValue& row : client.Ask("RL.STATS").elements) {
    for (const RespValue& field : row.elements) {
      rows += (&field == row.elements.data() ? "" : " ") +
              (field.text.empty() ? std::to_string(field.number) : field.text);
    }
    rows += ";";
  }
  return rows;
}

}  // namespace weir
