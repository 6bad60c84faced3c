// Words of a request: a key and its limits, then perhaps AND, another key, its limits. COST, too.
//
//     {"user:42", "10/s", "1000/h"}
//     {"user:42", "10/s", "AND", "team:7", "1k/m", "COST", "5"}
//
// They are those of RL.ALLOW (docs/commands.md), sent as they are: any bytes are a word. A key that
// is empty is a Mistake, as it would be one bucket for all callers.
#pragma once

#include <string>
#include <vector>

namespace weir {

using Words = std::vector<std::string>;

}  // namespace weir
