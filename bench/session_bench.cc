// The cost of a chunk of 64 pipelined commands in a session: parse, dispatch, decide, reply. Items
// are commands. And the cost of a page of /metrics. There is no socket; the clock is stopped, but
// each command reads the real stopwatch once.
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "bench/stopped_clock.h"
#include "core/limiter/limiter.h"
#include "server/config/options.h"
#include "server/http/http_services.h"
#include "server/http/metrics.h"
#include "server/os/system_clock.h"
#include "server/session/session.h"
#include "server/session/worker.h"
#include "tests/support/resp_value.h"

namespace weir {
namespace {

constexpr int kCommands = 64;
constexpr std::int64_t kKeys = 1 << 20;

// How many chunks there are, a power of two. A hold's mark is gone when its chunk comes again, if
// there are a thousand.
std::size_t Chunks() {
  return std::bit_floor(static_cast<std::size_t>(BenchKeys(kKeys)) / kCommands);
}

std::string Request(const std::vector<std::string>& words) { return RespRequest(words); }
std::string KeyOf(std::size_t i) { return "user:" + std::to_string(i); }

// A session of a server without sockets, and a second thread, with which a lock costs what it costs
// in a server.
struct Server {
  explicit Server(const Clock& clock)
      : services(DefaultOptions(), clock, limiter),
        worker(services),
        session(worker, services.clients.Add("bench", "bench", 0, clock.HostNow())) {}
  ~Server() {
    done.count_down();
    other.join();
  }

  Limiter limiter{{.secret = RandomHashSecret()}};
  Services services;
  Worker worker;
  Session session;
  std::latch done{1};
  std::thread other{[this] { done.wait(); }};
};

// The chunk after the `i`th: far from it, and each once before any comes again.
std::size_t Next(std::size_t i, std::size_t chunks) { return (i * 5 + 1) & (chunks - 1); }

// A clock that moves by a millisecond whenever a chunk is done.
class ChunkClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() const override { return now_; }
  [[nodiscard]] Nanos Stopwatch() const override { return stopped_.Stopwatch(); }
  void Advance() { now_ += std::chrono::milliseconds{1}; }

 private:
  const StoppedClock stopped_{};
  Instant now_ = stopped_.Now();
};

// Chunks of RL.RESERVE, each followed by one of RL.COMMIT that settles its holds below their
// estimate. Counts the time of the one or of the other. A mark of a settled hold stays for a
// second.
enum class HoldCommand { kReserve, kCommit };
void RunHolds(benchmark::State& state, HoldCommand measured) {
  struct Chunk {
    std::string reserve;
    std::string commit;
  };
  ChunkClock clock;
  Server server(clock);
  std::vector<Chunk> chunks(Chunks());
  for (std::size_t i = 0; i < chunks.size() * kCommands; ++i) {
    Chunk& chunk = chunks[i / kCommands];
    const std::string id = absl::StrCat("request-", absl::Hex(i, absl::kZeroPad8));
    chunk.reserve += Request({"RL.RESERVE", KeyOf(i), "1M/s,cost=10", "HOLD", id, "TTL", "1000"});
    chunk.commit += Request({"RL.COMMIT", KeyOf(i), "1M/s,cost=7", "HOLD", id});
  }
  std::string replies;
  const auto execute = [&](const std::string& requests) {
    replies.clear();
    const Nanos begin = clock.Stopwatch();
    benchmark::DoNotOptimize(server.session.Execute(requests, replies));
    const Nanos taken = clock.Stopwatch() - begin;
    if (!replies.starts_with("*5\r\n:1\r\n")) state.SkipWithError(replies.substr(0, 60).c_str());
    return taken;
  };
  std::size_t next = 0;
  for (auto _ : state) {
    const Nanos reserving = execute(chunks[next].reserve);
    const Nanos committing = execute(chunks[next].commit);
    const std::chrono::duration<double> taken =
        measured == HoldCommand::kReserve ? reserving : committing;
    state.SetIterationTime(taken.count());
    clock.Advance();
    next = Next(next, chunks.size());
  }
  state.SetItemsProcessed(state.iterations() * kCommands);
}

// `make(i)` returns the bytes of the i-th command. Chunks name different keys.
template <typename Make>
void Run(benchmark::State& state, Make make) {
  const StoppedClock clock;
  Server server(clock);
  std::vector<std::string> chunks(Chunks());
  for (std::size_t i = 0; i < chunks.size() * kCommands; ++i) chunks[i / kCommands] += make(i);
  std::string replies;
  std::size_t next = 0;
  for (auto _ : state) {
    replies.clear();
    benchmark::DoNotOptimize(server.session.Execute(chunks[next], replies));
    next = Next(next, chunks.size());
  }
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

void BM_Reserve(benchmark::State& state) { RunHolds(state, HoldCommand::kReserve); }

void BM_Commit(benchmark::State& state) { RunHolds(state, HoldCommand::kCommit); }

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

// The first of two alternatives passes, or the second.
void BM_AllowAlternative(benchmark::State& state) {
  const std::string first = state.range(0) == 0 ? "1M/s" : "1/s,cost=2";
  Run(state, [&first](std::size_t i) {
    return Request({"RL.ALLOW", KeyOf(i), first, "OR", "pool", "1G/s"});
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

// A page of /metrics for as many limits, of which 500 are shown one by one. The limits count on
// four threads, as they do in a server. Items are pages.
void BM_Metrics(benchmark::State& state) {
  constexpr std::size_t kThreads = 4;
  const StoppedClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Services services(DefaultOptions(), clock, limiter);
  HttpServices http;
  std::array<std::unique_ptr<Worker>, kThreads> workers;
  for (std::unique_ptr<Worker>& worker : workers) {
    worker = std::make_unique<Worker>(services);
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      CountersHint hint;
      worker->request_counters.limits.Of(absl::StrCat("@policy-", i, "#0"), hint).allowed.Add(7);
    }
  }
  std::size_t bytes = 0;
  for (auto _ : state) bytes += MetricsText(services, http, clock.Now()).size();
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes"] = {static_cast<double>(bytes), benchmark::Counter::kAvgIterations};
}

BENCHMARK(BM_Ping)->Apply(Iterations);
BENCHMARK(BM_AllowOneLimit)->Apply(Iterations);
BENCHMARK(BM_ChargeOneLimit)->Apply(Iterations);
BENCHMARK(BM_AllowKeeping)->Apply(Iterations);
BENCHMARK(BM_Reserve)->Apply(Iterations)->UseManualTime();
BENCHMARK(BM_Commit)->Apply(Iterations)->UseManualTime();
BENCHMARK(BM_AllowThreeLimits)->Apply(Iterations);
BENCHMARK(BM_AllowThreeKeys)->Apply(Iterations);
BENCHMARK(BM_AllowAlternative)->ArgName("second")->Arg(0)->Arg(1)->Apply(Iterations);
BENCHMARK(BM_DenyOneLimit)->Apply(Iterations)->ArgName("keys")->Arg(1)->Arg(2000)->Arg(kKeys);
BENCHMARK(BM_Metrics)->ArgName("limits")->Arg(500)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir
