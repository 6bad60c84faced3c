// The cost of a chunk of 64 pipelined commands in a session: parse, dispatch, decide, reply. Items
// are commands. There is no socket; the clock stands still, but each command reads the real
// stopwatch once.
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "bench/stopped_clock.h"
#include "core/limiter/limiter.h"
#include "server/config/options.h"
#include "server/session/session.h"
#include "server/session/worker.h"
#include "tests/support/resp_value.h"

namespace weir {
namespace {

constexpr int kCommands = 64;
constexpr int kKeys = 1 << 20;

std::string Request(const std::vector<std::string>& words) { return RespRequest(words); }
std::string KeyOf(std::size_t i) { return "user:" + std::to_string(i); }

// `make(i)` returns the bytes of the i-th command. Chunks name different keys.
template <typename Make>
void Run(benchmark::State& state, Make make) {
  const StoppedClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Services services(DefaultOptions(), clock, limiter);
  Worker worker(services);
  Session session(worker, services.clients.Add("bench", "bench", 0, clock.Now()));
  std::vector<std::string> chunks(kKeys / kCommands);
  for (std::size_t i = 0; i < chunks.size() * kCommands; ++i) chunks[i / kCommands] += make(i);
  std::latch done(1);
  std::thread other(
      [&done] { done.wait(); });  // with a second thread a lock costs what it costs in a server
  std::string replies;
  std::size_t next = 0;
  for (auto _ : state) {
    replies.clear();
    benchmark::DoNotOptimize(session.Execute(chunks[next], replies));
    next = (next * 5 + 1) & (chunks.size() - 1);
  }
  done.count_down();
  other.join();
  state.SetItemsProcessed(state.iterations() * kCommands);
}

void BM_Ping(benchmark::State& state) {
  Run(state, [](std::size_t) { return Request({"PING"}); });
}

void BM_AllowOneLimit(benchmark::State& state) {
  Run(state, [](std::size_t i) { return Request({"RL.ALLOW", KeyOf(i), "1M/s"}); });
}

void BM_ChargeOneLimit(benchmark::State& state) {
  Run(state, [](std::size_t i) { return Request({"RL.CHARGE", KeyOf(i), "1M/s"}); });
}

void BM_AllowKeeping(benchmark::State& state) {
  Run(state, [](std::size_t i) { return Request({"RL.ALLOW", KeyOf(i), "1M/s,keep=100"}); });
}

void BM_AllowThreeLimits(benchmark::State& state) {
  Run(state, [](std::size_t i) {
    return Request({"RL.ALLOW", KeyOf(i), "1M/s", "10M/m", "100M/h"});
  });
}

void BM_AllowThreeKeys(benchmark::State& state) {
  Run(state, [](std::size_t i) {
    return Request({"RL.ALLOW", KeyOf(i), "1M/s", "AND", "tenant:" + KeyOf(i % 1000), "10M/m",
                    "AND", "all", "100M/h"});
  });
}

// With a million keys, each denial is of a key that is new to the sketch of RL.TOP; with two
// thousand, every second one is. A single key stays in every cache.
void BM_DenyOneLimit(benchmark::State& state) {
  const auto keys = static_cast<std::size_t>(state.range(0));
  Run(state, [keys](std::size_t i) {
    return Request({"RL.ALLOW", KeyOf(i % keys), "1/s,cost=2"});
  });
}

BENCHMARK(BM_Ping)->Apply(Iterations);
BENCHMARK(BM_AllowOneLimit)->Apply(Iterations);
BENCHMARK(BM_ChargeOneLimit)->Apply(Iterations);
BENCHMARK(BM_AllowKeeping)->Apply(Iterations);
BENCHMARK(BM_AllowThreeLimits)->Apply(Iterations);
BENCHMARK(BM_AllowThreeKeys)->Apply(Iterations);
BENCHMARK(BM_DenyOneLimit)->Apply(Iterations)->ArgName("keys")->Arg(1)->Arg(2000)->Arg(kKeys);

}  // namespace
}  // namespace weir
