// The cost of reading a limit's text each time, and of finding it in the memo.
#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "core/policies/limit_memo.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

void BM_ParseLimitWord(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseLimitWord("100k/m,burst=200k"));
}

void BM_LimitMemoHit(benchmark::State& state) {
  LimitMemo memo;
  for (auto _ : state) {
    memo.BeginRequest();
    benchmark::DoNotOptimize(memo.Read("100k/m,burst=200k"));
  }
}

BENCHMARK(BM_ParseLimitWord)->Apply(Iterations);
BENCHMARK(BM_LimitMemoHit)->Apply(Iterations);

}  // namespace
}  // namespace weir
