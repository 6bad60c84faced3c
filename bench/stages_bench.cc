// The cost of each stage of a command: parsing its words, finding its row, hashing the key, finding
// the bucket, writing the reply. (For the limit's text see limit_memo_bench, for the rule
// token_bucket_bench, for a whole decision limiter_bench, for all together session_bench.)
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "core/commands/replies.h"
#include "core/table/bucket_table.h"
#include "core/table/key_hash.h"
#include "protocol/resp_parser.h"
#include "protocol/resp_writer.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

constexpr std::string_view kRequest =
    "*3\r\n$8\r\nRL.ALLOW\r\n$16\r\nkey:000000123456\r\n$8\r\n1M/3285d\r\n";

void BM_Parse(benchmark::State& state) {
  RespParser parser;
  for (auto _ : state) benchmark::DoNotOptimize(parser.Parse(kRequest));
}

// The same request in two pieces: the cost of the parser's slow way.
void BM_ParseInPieces(benchmark::State& state) {
  RespParser parser;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parser.Parse(kRequest.substr(0, kRequest.size() - 1)));
    benchmark::DoNotOptimize(parser.Parse(kRequest));
  }
}

void BM_FindCommand(benchmark::State& state) {
  const std::string_view name = state.range(0) != 0 ? "RL.ALLOW" : "rl.allow";
  for (auto _ : state) benchmark::DoNotOptimize(FindCommand(name));
}

void BM_HashKey(benchmark::State& state) {
  const KeyHasher hasher(RandomHashSecret());
  const std::string key(static_cast<std::size_t>(state.range(0)), 'k');
  for (auto _ : state) benchmark::DoNotOptimize(hasher(key));
}

void BM_Reply(benchmark::State& state) {
  Verdict verdict;
  verdict.allowed = true;
  verdict.remaining = 999'999;
  verdict.reset_after = std::chrono::hours{78'840};
  verdict.decisions.push_back({.allowed = true});
  std::string out;
  RespWriter reply(out);
  for (auto _ : state) {
    out.clear();
    WriteVerdict(reply, 1, verdict, false, [](std::size_t) { return AskedLimit{}; });
    benchmark::DoNotOptimize(out.data());
  }
}

// A table of the given number of buckets, visited in an order that no prefetcher guesses.
class FilledTable {
 public:
  explicit FilledTable(std::int64_t buckets) : buckets_(static_cast<std::uint64_t>(buckets)) {
    for (std::uint64_t i = 0; i < buckets_; ++i) Insert(KeyOf(i));
  }

  [[nodiscard]] KeyHash Next() { return KeyOf(next_++ * 7'919 % buckets_); }
  [[nodiscard]] KeyHash NextNew() { return KeyOf(buckets_ + next_++); }
  [[nodiscard]] const Bucket* Find(const KeyHash& key) {
    const PartitionLock lock(table_, key.partition);
    return table_.partition(key.partition).Find({key.hash, LimitId{0}});
  }
  void Insert(const KeyHash& key) {
    const PartitionLock lock(table_, key.partition);
    table_.partition(key.partition)
        .Insert({key.hash, LimitId{0}}, Algorithm::kTokenBucket, {1, 2, 3});
    table_.PublishSize(key.partition);
  }
  void Prefetch(const std::vector<KeyHash>& keys) {
    for (const KeyHash& key : keys) table_.PrefetchPartition(key);
    for (const KeyHash& key : keys) table_.PrefetchBuckets(key);
  }

 private:
  // A number that is as well mixed as a hash.
  static KeyHash KeyOf(std::uint64_t i) {
    std::uint64_t mixed = (i + 1) * 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9;
    return {mixed ^ mixed >> 27, static_cast<std::uint16_t>(mixed >> 20 & (kPartitionCount - 1))};
  }

  BucketTable table_;
  const std::uint64_t buckets_;
  std::uint64_t next_ = 0;
};

void BM_TableHit(benchmark::State& state) {
  const auto table = std::make_unique<FilledTable>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(table->Find(table->Next()));
}

// Eight keys are fetched together, as in a pipeline, where the next keys are known.
void BM_TableHitFetched(benchmark::State& state) {
  const auto table = std::make_unique<FilledTable>(state.range(0));
  std::vector<KeyHash> keys(8);
  while (state.KeepRunningBatch(static_cast<std::int64_t>(keys.size()))) {
    for (KeyHash& key : keys) key = table->Next();
    table->Prefetch(keys);
    for (const KeyHash& key : keys) benchmark::DoNotOptimize(table->Find(key));
  }
}

void BM_TableMiss(benchmark::State& state) {
  const auto table = std::make_unique<FilledTable>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(table->Find(table->NextNew()));
}

// The table grows by the number of steps, a million.
void BM_TableInsert(benchmark::State& state) {
  const auto table = std::make_unique<FilledTable>(state.range(0));
  for (auto _ : state) table->Insert(table->NextNew());
}

// The tests run this benchmark, too; in a debug build large tables take too long.
void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("buckets")->Arg(1'000);
#ifdef NDEBUG
  bench->Arg(1'000'000)->Arg(10'000'000);
#endif
}

BENCHMARK(BM_Parse)->Apply(Iterations);
BENCHMARK(BM_ParseInPieces)->Apply(Iterations);
BENCHMARK(BM_FindCommand)->Apply(Iterations)->ArgName("upper")->Arg(1)->Arg(0);
BENCHMARK(BM_HashKey)->Apply(Iterations)->ArgName("bytes")->Arg(15)->Arg(200);
BENCHMARK(BM_Reply)->Apply(Iterations);
BENCHMARK(BM_TableHit)->Apply(Iterations)->Apply(Sizes);
BENCHMARK(BM_TableHitFetched)->Apply(Sizes);
BENCHMARK(BM_TableMiss)->Apply(Sizes);
BENCHMARK(BM_TableInsert)->Apply(Sizes)->Iterations(1'000'000);

}  // namespace
}  // namespace weir
