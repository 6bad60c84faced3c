// The cost of the records of a stream: to write, and to read, the changes of a tick of 2 ms at
// 500,000 changes a second: 1,000 buckets in as many partitions, of `limits` limits. And of a
// copy of a partition, of a table of WEIR_BENCH_KEYS buckets; about half of it under its lock.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "core/base/id_type.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"
#include "core/words/limit_grammar.h"
#include "replication/records.h"

namespace weir {
namespace {

constexpr std::uint16_t kChanges = 1'000;

struct Tick {
  explicit Tick(std::size_t limit_count) {
    for (std::size_t i = 0; i < limit_count; ++i) {
      limits.push_back(*ParseLimitWord(std::to_string(10 + i) + "/s")->limit);
    }
    for (std::uint16_t i = 0; i < kChanges; ++i) {
      const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15;
      changes.buckets.push_back(
          {.key = {hash, LimitId{static_cast<std::uint32_t>(i % limit_count)}},
           .partition = static_cast<std::uint16_t>(4 * i),
           .algorithm = Algorithm::kTokenBucket,
           .went_back = false,
           .erased = false,
           .bucket = {.low = i, .high = 400'000'000, .extra = 0}});
    }
  }
  [[nodiscard]] std::string Write(RecordsWriter& writer) const {
    std::string bytes;
    const auto limit_of = [this](LimitId id) { return &limits[NumberOf(id)]; };
    writer.WriteChanges(changes, limit_of, kChangesBytes,
                        [&](const RecordsWriter::Body& body) { bytes = body.bytes; });
    return bytes;
  }

  std::vector<Limit> limits;
  LimiterChanges changes;
};

void BM_WriteChanges(benchmark::State& state) {
  const Tick tick(static_cast<std::size_t>(state.range(0)));
  RecordsWriter writer;
  std::size_t bytes = 0;
  for (auto _ : state) bytes = tick.Write(writer).size();
  state.SetItemsProcessed(state.iterations() * kChanges);
  state.counters["bytes_per_change"] = static_cast<double>(bytes) / kChanges;
}

void BM_ReadChanges(benchmark::State& state) {
  RecordsWriter writer;
  const std::string body = Tick(static_cast<std::size_t>(state.range(0))).Write(writer);
  for (auto _ : state) {
    const auto read = ReadRecords(body, RecordsKind::kChanges);
    if (!read || read->buckets.size() != kChanges) state.SkipWithError("not read");
  }
  state.SetItemsProcessed(state.iterations() * kChanges);
}

void BM_CopyPartition(benchmark::State& state) {
  const std::int64_t keys = BenchKeys(10'000'000);
  const Instant now{std::chrono::hours{24}};
  Limiter limiter({.secret = {}, .logs_changes = false});
  const Limit limit = *ParseLimitWord("1M/3285d")->limit;
  for (std::int64_t key = 0; key < keys; ++key) {
    const std::string name = std::to_string(key);
    static_cast<void>(limiter.Decide(
        {{.key = name, .limit = &limit, .cost = 1, .hash = limiter.Hash(name)}}, now));
  }
  std::size_t partition = 0;
  std::size_t buckets = 0;
  LimiterChanges changes;
  for (auto _ : state) {
    changes.buckets.clear();
    changes.rewritten_partitions.clear();
    ChangeReader(limiter.table()).CopyPartition(partition, now, changes);
    partition = (partition + 1) % kPartitionCount;
    buckets = std::max(buckets, changes.buckets.size());
  }
  state.counters["most_buckets"] = static_cast<double>(buckets);
}

BENCHMARK(BM_CopyPartition)->Iterations(kPartitionCount)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_WriteChanges)->ArgName("limits")->Arg(1)->Arg(100);
BENCHMARK(BM_ReadChanges)->ArgName("limits")->Arg(1)->Arg(100);

}  // namespace
}  // namespace weir
