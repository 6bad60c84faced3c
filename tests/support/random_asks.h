// Random requests: stacks of a few checks, on the keys and limits of a ModelLimiter. A check says
// its cost as a Move, which means something only in the state that it meets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "core/base/instant.h"
#include "core/rules/limit.h"
#include "tests/support/generators.h"
#include "tests/support/histories.h"
#include "tests/support/model_limiter.h"

namespace weir {

struct Ask {
  std::size_t key = 0;
  std::size_t limit = 0;
  Move move;  // says what it costs

  friend std::ostream& operator<<(std::ostream& out, const Ask& ask) {
    return out << "key " << ask.key << " limit " << ask.limit << ask.move;
  }
};

// One to five of them; some ask the same.
inline rc::Gen<std::vector<Ask>> AnyAsks() {
  const auto ask =
      rc::gen::build<Ask>(rc::gen::set(&Ask::key, Between<std::size_t>(0, kKeys - 1)),
                          rc::gen::set(&Ask::limit, Between<std::size_t>(0, kLimits - 1)),
                          rc::gen::set(&Ask::move, AnyMove()));
  return rc::gen::mapcat(Between<std::size_t>(1, 5), [ask](std::size_t count) {
    return rc::gen::container<std::vector<Ask>>(count, ask);
  });
}

// What they cost in the model's present state.
inline std::vector<ModelLimiter::Priced> PriceOf(const std::vector<Ask>& asks,
                                                 const ModelLimiter& model,
                                                 const std::vector<Limit>& limits, Instant now) {
  std::vector<ModelLimiter::Priced> checks;
  for (const Ask& ask : asks) {
    const Decision state = model.State({ask.key, ask.limit}, now);
    const std::uint64_t cost = CostOf(ask.move, limits[ask.limit], state);
    checks.push_back({{ask.key, ask.limit},
                      static_cast<std::int64_t>(std::min(cost, std::uint64_t{INT64_MAX}))});
  }
  return checks;
}

// A take, of so many tokens at most as the last of the checks would cost; the others cost little.
struct PricedTake {
  explicit PricedTake(std::vector<ModelLimiter::Priced> priced)
      : upto(std::max<std::int64_t>(1, priced.back().cost)), checks(std::move(priced)) {
    if (checks.size() > 1) checks.pop_back();
    for (ModelLimiter::Priced& check : checks) check.cost = std::min<std::int64_t>(check.cost, 3);
  }

  std::int64_t upto;
  std::vector<ModelLimiter::Priced> checks;
};

}  // namespace weir
