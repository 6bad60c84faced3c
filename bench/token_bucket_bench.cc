// The cost of the rule alone: a decision on one of `keys` buckets, in scrambled order. About every
// second one is a denial.
#include <vector>

#include <benchmark/benchmark.h>

#include "core/rules/token_bucket.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

void Decide(benchmark::State& state, const char* text) {
  const Limit limit = *ParseLimitWord(text)->limit;
  std::vector<Bucket> buckets(static_cast<std::size_t>(state.range(0)));
  // Each bucket is asked twice in the time in which it gains a token.
  const Nanos step = limit.shape().period / limit.shape().count / (2 * state.range(0));
  Instant now{std::chrono::hours{24 * 365 * 50}};
  std::int64_t denied = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    const Step decided = DecideTokenBucket(limit, buckets[i], now += step, 1, Nanos{0});
    buckets[i] = decided.bucket;
    denied += decided.decision.allowed ? 0 : 1;
    benchmark::DoNotOptimize(decided);
    i = (i * 5 + 1) & (buckets.size() - 1);  // Visits every slot of a power of two once a lap.
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["denied"] = {static_cast<double>(denied), benchmark::Counter::kAvgIterations};
}

void BM_WholeNanoseconds(benchmark::State& state) { Decide(state, "10/s"); }
void BM_FractionOfANanosecond(benchmark::State& state) { Decide(state, "3/s"); }

BENCHMARK(BM_WholeNanoseconds)->ArgName("keys")->Arg(1)->Arg(1 << 18);
BENCHMARK(BM_FractionOfANanosecond)->ArgName("keys")->Arg(1)->Arg(1 << 18);

}  // namespace
}  // namespace weir
