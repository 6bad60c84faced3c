// The message of a test that found a difference between a rule and its model.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "tests/support/printing.h"

namespace weir {

[[nodiscard]] inline std::string Difference(Instant now, std::uint64_t cost, const Decision& got,
                                            const Decision& want) {
  std::ostringstream text;
  text << "cost " << cost << " at " << now << "\n  got  " << got << "\n  want " << want;
  return text.str();
}

}  // namespace weir
