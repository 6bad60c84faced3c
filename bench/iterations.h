// The size of a benchmark: its steps, as many as its time allows or a fixed number, and its keys.
//
//     BENCHMARK(BM_Parse)->Apply(Iterations);
//
// With WEIR_BENCH_ITERATIONS=N in the environment it runs N steps. bench/instructions.py runs it
// with two values of N: the difference in instructions is the cost of the additional steps, without
// that of the setup.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <benchmark/benchmark.h>

namespace weir {

inline void Iterations(benchmark::internal::Benchmark* bench) {
  const char* const wanted = std::getenv("WEIR_BENCH_ITERATIONS");
  if (wanted) bench->Iterations(std::atoi(wanted));
}

// WEIR_BENCH_KEYS in the environment, or `usual`.
inline std::int64_t BenchKeys(std::int64_t usual) {
  const char* const wanted = std::getenv("WEIR_BENCH_KEYS");
  return wanted ? std::atoll(wanted) : usual;
}

}  // namespace weir
