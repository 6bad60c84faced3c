// Limited: what there is in place of an action that may not run.
//
// It is a value, in an Outcome, and nothing throws it but Outcome::value().
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "weir/decision.h"

namespace weir {

struct Limited : std::runtime_error {
  Limited(std::string of, Decision denial);

  std::string key;                                         // whose limit decided
  std::optional<std::chrono::milliseconds> retry_after{};  // unset: never, or not known
  Decision
      decision;  // its reason is kUnavailable if weir gave no answer, and is to be failed closed
};

}  // namespace weir
