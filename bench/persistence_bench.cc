// The cost of keeping the state on disk: the note of a change in a decision, a save, and a load.
//
// CPU is that of the whole process, including RocksDB's threads; `us_per_bucket` is that time per
// bucket. WEIR_BENCH_KEYS is the number of buckets to load, by default 100,000.
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include <benchmark/benchmark.h>

#include "bench/iterations.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"
#include "persistence/save_fold.h"
#include "persistence/storage.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr Instant kNow{std::chrono::hours{24 * 365 * 56}};
constexpr std::int64_t kTokens = 1'000'000'000;

double ProcessCpuMicros() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

// A limiter with one bucket for each of `keys` keys, which are charged in scrambled order.
class Buckets {
 public:
  Buckets(std::int64_t keys, bool logs_changes, const HashSecret& secret = {})
      : limiter_(std::make_unique<Limiter>(
            LimiterOptions{.secret = secret, .logs_changes = logs_changes})),
        hub_(limiter_->table(), policies_, clock_, true),
        fold_(limiter_->table()),
        keys_(static_cast<std::uint64_t>(keys)) {
    if (logs_changes) hub_.Attach(fold_);
  }

  void Fill() {
    for (std::uint64_t i = 0; i < keys_; ++i) Touch();
  }

  // Charges the next key; `keys` calls charge each key once.
  void Touch() {
    const std::string_view key(reinterpret_cast<const char*>(&next_), sizeof(next_));
    const auto verdict = limiter_->Decide({{key, &limit_, 1, &hint_, limiter_->Hash(key)}}, kNow);
    WEIR_CHECK(verdict.ok() && verdict->allowed);
    constexpr std::uint64_t kStride = 7'919;  // a prime that divides none of the sizes here
    next_ = (next_ + kStride) % keys_;
  }

  // Takes all changes, part by part, as a saver does.
  void TakeChanges(absl::FunctionRef<void(const LimiterChanges&)> take) {
    const ChangesLock changes_lock(hub_.reader());
    for (std::size_t partition = 0; partition < kPartitionCount;) {
      const std::size_t taken = hub_.TakePart(partition, false);
      LimiterChanges changes;
      partition = fold_.TakeInto(changes, partition, taken, kNow);
      changes.limits = hub_.reader().TakeLimits();
      take(changes);
    }
  }

  void SaveTo(Storage& storage) {
    TakeChanges([&](const LimiterChanges& changes) {
      WEIR_CHECK(storage.Save(changes, {}, kNow, kNow).ok());
    });
  }

 private:
  struct FixedClock final : Clock {
    [[nodiscard]] Instant Now() const override { return kNow; }
  };

  std::unique_ptr<Limiter> limiter_;
  Policies policies_;
  FixedClock clock_;
  ChangeHub hub_;
  SaveFold fold_;
  const Limit limit_ = *ParseLimitWord(std::to_string(kTokens) + "/3000d")->limit;
  LimitHint hint_;
  const std::uint64_t keys_;
  std::uint64_t next_ = 0;
};

// A decision on one of a million buckets; with notes, each is the bucket's first since a save.
void BM_Decide(benchmark::State& state) {
  const std::int64_t keys = BenchKeys(1'000'000);
  const bool notes = state.range(0) != 0;
  Buckets buckets(keys, notes);
  buckets.Fill();
  if (notes) buckets.TakeChanges([](const LimiterChanges&) {});
  std::int64_t touched = 0;
  for (auto _ : state) {
    buckets.Touch();
    if (!notes || ++touched % keys != 0) continue;
    state.PauseTiming();
    buckets.TakeChanges([](const LimiterChanges&) {});
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Decide)->ArgName("notes")->Arg(0)->Arg(1);

// A save of `changed` buckets of `keys`, as at a tick: take, write, sync.
void BM_Save(benchmark::State& state) {
  const TemporaryDirectory directory;
  auto storage = Storage::Open({.directory = directory.path() + "/data"});
  WEIR_CHECK(storage.ok());
  Buckets buckets(state.range(0), true);
  buckets.Fill();
  buckets.SaveTo(**storage);
  double cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::int64_t i = 0; i < state.range(1); ++i) buckets.Touch();
    const double before = ProcessCpuMicros();
    state.ResumeTiming();
    buckets.SaveTo(**storage);
    cpu += ProcessCpuMicros() - before;
  }
  const double saved = static_cast<double>(state.iterations() * state.range(1));
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.counters["us_per_bucket"] = cpu / saved;
}
BENCHMARK(BM_Save)
    ->ArgNames({"keys", "changed"})
    ->Args({100'000, 1'000})
    ->Args({1'000'000, 100'000})
    ->Unit(benchmark::kMillisecond);

// A load of `keys` buckets, and the bytes of a bucket on disk.
void BM_Load(benchmark::State& state) {
  const TemporaryDirectory directory;
  const DatabaseOptions options{.directory = directory.path() + "/data"};
  {
    auto storage = Storage::Open(options);
    WEIR_CHECK(storage.ok());
    Buckets buckets(state.range(0), true, (*storage)->secret());
    buckets.Fill();
    buckets.SaveTo(**storage);
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
    bytes += entry.file_size();
  }
  for (auto _ : state) {
    auto storage = Storage::Open(options);
    WEIR_CHECK(storage.ok());
    Limiter limiter({.secret = (*storage)->secret(), .logs_changes = true});
    Policies policies;
    LoadReport report;
    const std::atomic<bool> stop{false};
    WEIR_CHECK((*storage)->Load(limiter.table(), policies, {.now = kNow}, report, stop).ok());
    WEIR_CHECK(report.loaded == static_cast<std::uint64_t>(state.range(0)));
    state.PauseTiming();  // freeing is not measured
    LimiterUpkeep upkeep(limiter.table());
    upkeep.Clear();
    while (upkeep.FreeDiscarded()) {
    }
    storage->reset();
    state.ResumeTiming();
  }
  state.counters["bytes_on_disk"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Load)->ArgName("keys")->Apply([](auto* bench) { bench->Arg(BenchKeys(100'000)); })
    -> Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
