#include "tests/random/random_turns.h"

namespace weir {

rc::Gen<Turn> AnyTurn(const TurnWeights& weights, std::size_t keys, std::size_t limits) {
  std::vector<Turn::What> kinds;
  for (const auto& [weight, what] : weights) kinds.insert(kinds.end(), weight, what);
  // Most asks keep nothing.
  const auto keep = rc::gen::mapcat(Between(0, 3), [](int drawn) {
    return drawn == 0 ? AnyMove() : rc::gen::just(Move{.cost = Move::Cost::kZero});
  });
  const auto ask =
      rc::gen::build<Ask>(rc::gen::set(&Ask::key, Between<std::size_t>(0, keys - 1)),
                          rc::gen::set(&Ask::limit, Between<std::size_t>(0, limits - 1)),
                          rc::gen::set(&Ask::move, AnyMove()), rc::gen::set(&Ask::keep, keep));
  const auto asks = rc::gen::mapcat(Between<std::size_t>(1, 5), [ask](std::size_t count) {
    return rc::gen::container<std::vector<Ask>>(count, ask);
  });
  return rc::gen::build<Turn>(
      rc::gen::set(&Turn::what, rc::gen::elementOf(kinds)), rc::gen::set(&Turn::move, AnyMove()),
      rc::gen::set(&Turn::patience, rc::gen::cast<Turn::Patience>(Between(0, 3))),
      rc::gen::set(&Turn::asks, asks));
}

}  // namespace weir
