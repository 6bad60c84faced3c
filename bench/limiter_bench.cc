// The cost of a whole decision: hash, lock, find, decide, commit. One step is one request for one
// of `keys` keys, in scrambled order. All keys have their buckets, and all requests are admitted
// unless the benchmark's name says otherwise.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "core/limiter/call_decider.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

constexpr Instant kStart{std::chrono::hours{24 * 365 * 50}};

std::vector<std::string> ManyKeys(std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = "user:" + std::to_string(i);
  return keys;
}

// The tests run this benchmark, too, and finding many such keys in a debug build takes too long.
#ifdef NDEBUG
constexpr int kCrafted = 1 << 17;
#else
constexpr int kCrafted = 1 << 10;
#endif

// Returns the one key in 512 whose absl::Hash alone would put it close to the others in a table.
std::vector<std::string> CraftedKeys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; keys.size() < count; ++i) {
    std::string key = "user:" + std::to_string(i);
    if ((absl::HashOf(key) >> 7 & 511) == 0) keys.push_back(std::move(key));
  }
  return keys;
}

// Asks for `limits_text` on the keys, in an order that no prefetcher guesses.
// Requires: the number of keys is a power of two.
void Run(benchmark::State& state, const std::vector<std::string>& keys,
         const std::vector<std::string>& limits_text, std::int64_t cost) {
  Limiter limiter({.secret = RandomHashSecret()});
  std::vector<Limit> limits;
  for (const std::string& text : limits_text) limits.push_back(*ParseLimitWord(text)->limit);
  std::vector<LimitHint> hints(limits.size());

  const auto request_for = [&](const std::string& key, std::int64_t tokens) {
    Request request;
    const KeyHash hash = limiter.Hash(key);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      request.push_back(
          {.key = key, .limit = &limits[i], .cost = tokens, .hint = &hints[i], .hash = hash});
    }
    return request;
  };
  for (const std::string& key : keys) {
    if (!limiter.Decide(request_for(key, 1), kStart).ok())
      return state.SkipWithError("not decided");
  }
  std::int64_t denied = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    const absl::StatusOr<Verdict> verdict = limiter.Decide(request_for(keys[i], cost), kStart);
    denied += verdict->allowed ? 0 : 1;
    i = (i * 5 + 1) & (keys.size() - 1);  // Visits every key of a power of two once a lap.
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["denied"] = {static_cast<double>(denied), benchmark::Counter::kAvgIterations};
}

// Each step inserts a new key into a partition at its bound, which has to make room.
void BM_NewKeyAtTheBound(benchmark::State& state) {
  Limiter limiter(
      {.secret = RandomHashSecret(), .memory_max = static_cast<std::size_t>(state.range(0)) << 20});
  const Limit limit = *ParseLimitWord("100/h")->limit;
  LimitHint hint;
  std::uint64_t next = 0;
  const auto ask = [&] {
    std::string key = "user:" + std::to_string(next++);
    return limiter.Decide({{.key = key, .limit = &limit, .hint = &hint, .hash = limiter.Hash(key)}},
                          kStart + Nanos{static_cast<std::int64_t>(next)});
  };
  LimiterUpkeep upkeep(limiter.table());
  while (upkeep.counts().evicted < upkeep.size().buckets) {
    for (int i = 0; i < 100'000; ++i) {
      if (!ask().ok()) return state.SkipWithError("not decided");
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(ask());
  state.SetItemsProcessed(state.iterations());
}

void Run(benchmark::State& state, const std::vector<std::string>& limits_text, std::int64_t cost) {
  Run(state, ManyKeys(static_cast<std::size_t>(state.range(0))), limits_text, cost);
}

void BM_OneLimit(benchmark::State& state) { Run(state, {"1G/h,burst=1G"}, 1); }
void BM_ThreeLimits(benchmark::State& state) {
  Run(state, {"1G/h,burst=1G", "10G/d,burst=10G", "100G/w,burst=100G"}, 1);
}
void BM_OneLimitDenied(benchmark::State& state) { Run(state, {"1G/h,burst=1G"}, 2'000'000'000); }
void BM_OneFixedWindow(benchmark::State& state) { Run(state, {"2G/3000d,fixed"}, 1); }
// Compare with BM_OneFixedWindow.
void BM_OneCalendarMonth(benchmark::State& state) {
  Run(state, {"2G/month,tz=Europe/Berlin,from=15"}, 1);
}
// Compare with BM_OneLimit of the same number of keys.
void BM_OneLimitOfCraftedKeys(benchmark::State& state) {
  Run(state, CraftedKeys(static_cast<std::size_t>(state.range(0))), {"1G/h,burst=1G"}, 1);
}

// Each step is a call of two rules on two keys, as Envoy's rate limit service asks them.
void BM_CallOfTwoRules(benchmark::State& state) {
  Limiter limiter({.secret = RandomHashSecret()});
  const Limit limit = *ParseLimitWord("2G/3000d,fixed,aligned")->limit;
  LimitHint hints[2];
  std::int64_t denied = 0;
  for (auto _ : state) {
    CallRequest call;
    for (const std::size_t rule : {0, 1}) {
      const std::string_view key = rule == 0 ? "rls:shop:user=42" : "rls:shop:path=/api";
      const Check check = {
          .key = key, .limit = &limit, .hint = &hints[rule], .hash = limiter.Hash(key)};
      call.Add({.way = Way::kAsk, .marks = true}, {&check, 1});
    }
    denied += Limiter::CallDecider(limiter).Decide(call, kStart)->over ? 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["denied"] = {static_cast<double>(denied), benchmark::Counter::kAvgIterations};
}

BENCHMARK(BM_NewKeyAtTheBound)->ArgName("MB")->Arg(32)->Arg(512);
BENCHMARK(BM_OneLimit)->Apply(Iterations)->ArgName("keys")->Arg(1)->Arg(kCrafted)->Arg(1 << 20);
BENCHMARK(BM_OneFixedWindow)->Apply(Iterations)->ArgName("keys")->Arg(1);
BENCHMARK(BM_OneCalendarMonth)->Apply(Iterations)->ArgName("keys")->Arg(1);
BENCHMARK(BM_OneLimitOfCraftedKeys)->ArgName("keys")->Arg(kCrafted);
BENCHMARK(BM_ThreeLimits)->Apply(Iterations)->ArgName("keys")->Arg(1)->Arg(1 << 20);
BENCHMARK(BM_CallOfTwoRules)->Apply(Iterations);
BENCHMARK(BM_OneLimitDenied)->Apply(Iterations)->ArgName("keys")->Arg(1)->Arg(1 << 20);

}  // namespace
}  // namespace weir
