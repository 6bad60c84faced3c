// Checks a law on random cases (RapidCheck); a failure shows the smallest case found, and the seed.
//
// RC_PARAMS="seed=<the printed seed>" repeats a run. The law draws random values from `*generator`.
#pragma once

#include <cstdint>
#include <functional>

#include <rapidcheck.h>

namespace weir {

// Checks `law`, which uses RC_ASSERT, on ScaledRuns(cases) random cases.
void CheckLaw(std::int64_t cases, const std::function<void()>& law);

// Whole numbers from 1 to `most`, with every power of two equally likely: small, huge and between.
[[nodiscard]] rc::Gen<std::int64_t> NumberUpTo(std::int64_t most);

}  // namespace weir
