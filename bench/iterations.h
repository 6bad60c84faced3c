// How often a benchmark runs its step: as often as its time allows, unless instructions are
// counted.
//
//     BENCHMARK(BM_Parse)->Apply(Iterations);
//
// With WEIR_BENCH_ITERATIONS=N in the environment it is N times, which bench/instructions.py needs:
// what N steps more cost more is the cost of the steps, whatever went before.
#pragma once

#include <cstdlib>

#include <benchmark/benchmark.h>

namespace weir {

inline void Iterations(benchmark::internal::Benchmark* bench) {
  const char* const wanted = std::getenv("WEIR_BENCH_ITERATIONS");
  if (wanted) bench->Iterations(std::atoi(wanted));
}

}  // namespace weir
