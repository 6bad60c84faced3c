// The number of steps that a benchmark runs: as many as its time allows, or a fixed number.
//
//     BENCHMARK(BM_Parse)->Apply(Iterations);
//
// With WEIR_BENCH_ITERATIONS=N in the environment it runs N steps. bench/instructions.py runs it
// with two values of N: the difference in instructions is the cost of the additional steps, without
// that of the setup.
#pragma once

#include <cstdlib>

#include <benchmark/benchmark.h>

namespace weir {

inline void Iterations(benchmark::internal::Benchmark* bench) {
  const char* const wanted = std::getenv("WEIR_BENCH_ITERATIONS");
  if (wanted) bench->Iterations(std::atoi(wanted));
}

}  // namespace weir
