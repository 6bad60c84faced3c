// The cost of a decision at an edge, beside the limiter's in the same run: from the hand, by a
// denial in force, and of a request that is cold, for one of `keys` keys. All begin with the words
// of the request, as they are parsed.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <benchmark/benchmark.h>

#include "core/commands/request_grammar.h"
#include "core/limiter/limiter.h"
#include "edge/edge.h"

namespace weir {
namespace {

constexpr HostInstant kStart{std::chrono::hours{24 * 365 * 50}};
constexpr std::int64_t kGranted = std::int64_t{1} << 40;  // more than a benchmark spends

// A primary that is asked for slices, and remembers for how many.
class Asked final : public Edge::Host {
 public:
  void Send(std::span<const std::string_view> /*words*/) override { ++asks; }
  void Answer(std::uint64_t /*ticket*/, const EdgeAnswer& answer) override {
    benchmark::DoNotOptimize(&answer);
  }
  std::int64_t asks = 0;
};

// An edge with a hand of each key that holds for a minute.
class HotEdge {
 public:
  explicit HotEdge(std::size_t keys) {
    for (std::size_t i = 0; i < keys; ++i) keys_.push_back(absl::StrCat("user:", i));
    edge.OnLinkUp(kStart);
  }

  [[nodiscard]] std::array<std::string_view, 2> WordsOf(std::size_t key) const {
    return {keys_[key & (keys_.size() - 1)], "100k/s"};
  }
  void Heat(std::string_view reply) {
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      for (int i = 0; i < 4; ++i) benchmark::DoNotOptimize(edge.Decide(WordsOf(key), 0, kStart));
      edge.OnReply(reply, kStart);
      // What was asked for ahead.
      while (host.asks > ++answered_) edge.OnReply(reply, kStart);
    }
  }

  Asked host;
  Edge edge{host, "bench", HashSecret{}};

 private:
  std::vector<std::string> keys_;
  std::int64_t answered_ = 0;
};

std::string SliceOf(std::int64_t units, std::int64_t retry_us) {
  return absl::StrCat("*8\r\n:", units, "\r\n:0\r\n:", retry_us,
                      "\r\n:0\r\n:0\r\n:60000000\r\n:1\r\n*1\r\n*9\r\n$6\r\n100k/s\r\n:1\r\n"
                      ":100000\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n:0\r\n");
}

void Decide(benchmark::State& state, HotEdge& hot, EdgeAnswer::Kind expected) {
  std::size_t key = 0;
  std::int64_t others = 0;
  for (auto _ : state) {
    const EdgeAnswer answer = hot.edge.Decide(hot.WordsOf(key), 0, kStart);
    others += answer.kind == expected ? 0 : 1;
    key = key * 5 + 1;
  }
  if (others != 0) state.SkipWithError("another answer");
  state.SetItemsProcessed(state.iterations());
}

void BM_FromTheHand(benchmark::State& state) {
  HotEdge hot(static_cast<std::size_t>(state.range(0)));
  hot.Heat(SliceOf(kGranted, 0));
  Decide(state, hot, EdgeAnswer::Kind::kVerdict);
}

void BM_Denied(benchmark::State& state) {
  HotEdge hot(static_cast<std::size_t>(state.range(0)));
  hot.Heat(SliceOf(0, 60'000'000));
  Decide(state, hot, EdgeAnswer::Kind::kVerdict);
}

// Each step is a second later, so that no key becomes hot.
void BM_Cold(benchmark::State& state) {
  HotEdge hot(static_cast<std::size_t>(state.range(0)));
  std::size_t key = 0;
  HostInstant now = kStart;
  for (auto _ : state) {
    benchmark::DoNotOptimize(hot.edge.Decide(hot.WordsOf(key), 0, now));
    key = key * 5 + 1;
    now += std::chrono::seconds{1};
  }
  if (hot.host.asks != 0) state.SkipWithError("hot");
  state.SetItemsProcessed(state.iterations());
}

// The grammar and the limiter, as at a server.
void BM_Limiter(benchmark::State& state) {
  HotEdge keys(static_cast<std::size_t>(state.range(0)));
  Limiter limiter({.secret = RandomHashSecret()});
  LimitMemo memo;
  Instant now{kStart.time_since_epoch()};
  std::size_t key = 0;
  for (auto _ : state) {
    const absl::StatusOr<ParsedRequest> request =
        ParseRequest(keys.WordsOf(key), memo, KeyHashes(limiter.hasher()));
    benchmark::DoNotOptimize(limiter.Decide(request->checks, now));
    key = key * 5 + 1;
    now += std::chrono::microseconds{10};
  }
  state.SetItemsProcessed(state.iterations());
}

void Keys(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("keys")->Arg(1)->Arg(1024);
}
BENCHMARK(BM_Limiter)->Apply(Keys);
BENCHMARK(BM_FromTheHand)->Apply(Keys);
BENCHMARK(BM_Denied)->Apply(Keys);
BENCHMARK(BM_Cold)->Apply(Keys);

}  // namespace
}  // namespace weir
