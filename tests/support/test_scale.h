// The share of a long test that is run: the environment variable WEIR_TEST_SCALE multiplies steps,
// keys and random cases.
//
// It is 1 if it is not set. The sanitizers' runs set it lower (0.1), a long run at night higher.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace weir {

// `full` times the scale, at least 1. A scale that is not a positive number counts as 1.
[[nodiscard]] inline std::int64_t Scaled(std::int64_t full) {
  const char* const text = std::getenv("WEIR_TEST_SCALE");
  const double scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  if (!(scale > 0.0) || !std::isfinite(scale)) return full;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(static_cast<double>(full) * scale));
}

// Whether runs are short, as those with a sanitizer are: for cases whose size is that of a bound of
// the product and whose code smaller cases run, too.
[[nodiscard]] inline bool IsShort() { return Scaled(100) < 100; }

// `count` in a whole run and 0 in a short one: how often a random law must have met its subject at
// least. A short run can miss what is rare by chance.
[[nodiscard]] inline std::int64_t InWholeRuns(std::int64_t count) { return IsShort() ? 0 : count; }

// Scaled(full), or a third of it at a scale below 1, for cases of one thread that a seed decides.
// The builds with a sanitizer, which have such a scale, take 20 to 40 times as long for one, and
// report code that runs at all; what only many runs meet is found by the other builds.
[[nodiscard]] inline std::int64_t ScaledRuns(std::int64_t full) {
  const std::int64_t runs = Scaled(full);
  return runs < full ? std::max(std::int64_t{1}, runs / 3) : runs;
}

}  // namespace weir
