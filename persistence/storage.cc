#include "persistence/storage.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/rules/rule.h"
#include "persistence/format.h"

namespace weir {
namespace {

// A time later than this cannot have come from a rule: the greatest of them is an instant, a wait
// and an empty bucket.
constexpr Instant kTimeMax = kInstantMax + kMaxWaitMax + kCapacityMax;

constexpr std::size_t kErasedAtOnce = 1 << 16;

std::string EndOfPrefix(char prefix) { return std::string(1, static_cast<char>(prefix + 1)); }

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> Storage::Open(const DatabaseOptions& options) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(options);
  if (!database.ok()) return database.status();
  std::unique_ptr<Storage> storage(new Storage(*std::move(database)));
  bool is_new = true;
  WEIR_RETURN_IF_ERROR(storage->database_->Scan("", [&](std::string_view, std::string_view) {
    is_new = false;
    return false;
  }));
  const absl::Status ready = is_new ? storage->Begin() : storage->ReadMeta();
  if (ready.ok()) return storage;
  return absl::Status(ready.code(),
                      absl::StrCat("data directory ", options.directory, ": ", ready.message()));
}

absl::Status Storage::Begin() {
  secret_ = RandomHashSecret();
  const auto write = [this](Database::Writer& writer) {
    writer.Put(MetaKey(kMetaFormat), NumberValue(kFormatVersion));
    writer.Put(MetaKey(kMetaSecret), SecretValue(secret_));
    writer.Put(MetaKey(kMetaStopped), NumberValue(1));
  };
  return database_->Write(3, write, Database::WriteMode::kOwnFile);
}

absl::Status Storage::ReadMeta() {
  enum Presence { kRequired, kOptional };
  const auto get = [this](std::string_view name, Presence presence, auto read,
                          auto& into) -> absl::Status {
    const absl::StatusOr<std::string> value = database_->Get(MetaKey(name));
    if (absl::IsNotFound(value.status())) {
      if (presence == kOptional) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat("the record '", AbslView(name), "' is missing"));
    }
    if (!value.ok()) return value.status();
    const auto decoded = read(*value);
    if (!decoded) {
      return absl::DataLossError(absl::StrCat("the record '", AbslView(name), "' is damaged"));
    }
    into = *decoded;
    return absl::OkStatus();
  };
  std::uint32_t format = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaFormat, kRequired, ReadNumber, format));
  if (format != kFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it has format ", format, ", and this server reads format ", kFormatVersion));
  }
  std::uint32_t stopped = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaSecret, kRequired, ReadSecret, secret_));
  WEIR_RETURN_IF_ERROR(get(kMetaStopped, kRequired, ReadNumber, stopped));
  unclean_restart_ = stopped == 0;
  const absl::Status exhausted = database_->Get(MetaKey(kMetaExhausted)).status();
  if (!exhausted.ok() && !absl::IsNotFound(exhausted)) return exhausted;
  had_exhausted_record_ = exhausted.ok();
  // Written by the first use and the first save only.
  WEIR_RETURN_IF_ERROR(get(kMetaClock, kOptional, ReadClock, clock_mark_));
  Instant allowance{};
  WEIR_RETURN_IF_ERROR(get(kMetaClockAllowance, kOptional, ReadClock, allowance));
  clock_allowance_ = allowance.time_since_epoch();
  WEIR_RETURN_IF_ERROR(get(kMetaNextPolicy, kOptional, ReadNumber, next_policy_));
  return get(kMetaGeneration, kOptional, ReadNumber, generation_);
}

// Reads the records of one load into the limiter and the policies.
class Storage::Loading {
 public:
  Loading(Limiter& limiter, Policies& policies, const LoadOptions& options, LoadReport& report)
      : limiter_(limiter), policies_(policies), options_(options), report_(report) {}

  void AddPolicy(std::string_view key, std::string_view value) {
    const std::optional<Policy> policy = ReadPolicy(key, value);
    // Of a damaged one at least the buckets stay.
    if (const std::optional<std::uint32_t> id = ReadNumber(key.substr(1))) policy_ids_.insert(*id);
    if (!policy || !policies_.Restore(*policy)) return CountBad();
  }

  void AddOverride(std::string_view key, std::string_view value) {
    std::optional<SavedOverride> saved = ReadOverride(key, value);
    if (!saved || !policies_.RestoreOverride(saved->policy, saved->key, std::move(saved->limits))) {
      CountBad();
    }
  }

  void AddLimit(std::string_view key, std::string_view value) {
    const std::optional<LimitId> id = ReadLimitKey(key);
    const std::optional<Limit> limit = ReadLimitValue(value);
    if (!id || !limit) return CountBad();
    const std::uint32_t owner = limit->owner().policy;
    const bool has_owner = owner != 0 && limit->owner() != kThrottleOwner;
    // Deleted, and the server ended before it forgot the rest: its buckets are dropped.
    if (has_owner && !policy_ids_.contains(owner)) {
      gone_.emplace_back(key);
      return;
    }
    if (!limiter_.RestoreLimit(*id, *limit)) return CountBad();
    limits_.emplace(*id, *limit);
  }

  // In the order of their keys.
  void AddBucket(std::string_view key, std::string_view value) {
    const std::optional<BucketKey> bucket_key = ReadBucketKey(key);
    const std::optional<Bucket> bucket = ReadBucketValue(value);
    if (!bucket_key || !bucket) return CountBad();
    const std::optional<Instant> full = CertainlyFullAfter(*bucket_key, *bucket);
    if (full && *full > kTimeMax) return CountBad();
    const auto limit = limits_.find(bucket_key->limit);
    // A limit of another algorithm: the id was given out again after this bucket was full.
    if (limit == limits_.end() || limit->second.shape().algorithm != bucket_key->algorithm) {
      return Drop(key, full);
    }
    if (options_.drops_full && IsFull(limit->second, *bucket, options_.now)) {
      return Drop(key, full);
    }
    if (bucket_key->partition != partition_) FlushPartition();
    partition_ = bucket_key->partition;
    buckets_.push_back({{bucket_key->hash, bucket_key->limit}, *bucket});
  }

  // The records of the last scan that are not to be there any more, in the order of their keys.
  [[nodiscard]] std::size_t gone() const { return gone_.size(); }
  [[nodiscard]] std::vector<std::string> TakeGone() { return std::exchange(gone_, {}); }

  void FlushPartition() {
    if (buckets_.empty()) return;
    limiter_.RestorePartition(partition_, buckets_, options_.now);
    report_.loaded.fetch_add(buckets_.size(), std::memory_order_relaxed);
    buckets_.clear();
  }

 private:
  // A number may stand for another limit one day: what has been left of the one before must be
  // full for good by then, or gone.
  void Drop(std::string_view key, std::optional<Instant> full) {
    report_.dropped.fetch_add(1, std::memory_order_relaxed);
    const bool stays_full = options_.drops_full && full && *full < options_.now;
    if (!stays_full) gone_.emplace_back(key);
  }
  void CountBad() { report_.bad.fetch_add(1, std::memory_order_relaxed); }

  Limiter& limiter_;
  Policies& policies_;
  const LoadOptions options_;
  LoadReport& report_;
  absl::flat_hash_set<std::uint32_t> policy_ids_;
  absl::flat_hash_map<LimitId, Limit> limits_;
  std::uint16_t partition_ = 0;
  std::vector<Limiter::RestoredBucket> buckets_;  // of partition_
  std::vector<std::string> gone_;
};

absl::Status Storage::Load(Limiter& limiter, Policies& policies, const LoadOptions& options,
                           LoadReport& report, const std::atomic<bool>& stop) {
  Loading loading(limiter, policies, options, report);
  const auto scan = [&](const std::string& first, const std::string& end,
                        void (Loading::*add)(std::string_view, std::string_view)) -> absl::Status {
    absl::Status erased;
    WEIR_RETURN_IF_ERROR(database_->Scan(first, [&](std::string_view key, std::string_view value) {
      if (key >= end || stop.load(std::memory_order_relaxed)) return false;
      (loading.*add)(key, value);
      if (loading.gone() >= kErasedAtOnce) erased = Erase(loading.TakeGone());
      return erased.ok();
    }));
    WEIR_RETURN_IF_ERROR(erased);
    if (stop) return absl::CancelledError("the load was stopped");
    return Erase(loading.TakeGone());
  };
  const auto scan_all = [&](char prefix, auto add) {
    return scan(std::string(1, prefix), EndOfPrefix(prefix), add);
  };
  WEIR_RETURN_IF_ERROR(scan_all(kPolicyPrefix, &Loading::AddPolicy));
  WEIR_RETURN_IF_ERROR(scan_all(kOverridePrefix, &Loading::AddOverride));
  WEIR_RETURN_IF_ERROR(scan_all(kLimitPrefix, &Loading::AddLimit));
  const std::string end =
      generation_ == UINT32_MAX ? EndOfPrefix(kBucketPrefix) : GenerationPrefix(generation_ + 1);
  WEIR_RETURN_IF_ERROR(scan(GenerationPrefix(generation_), end, &Loading::AddBucket));
  loading.FlushPartition();
  report.loaded -= limiter.evicted();  // for want of room
  policies.RestoreNextId(next_policy_);
  limiter.EndRestore(generation_);
  const auto write = [&](Database::Writer& writer) {
    if (options.clock_allowance) {
      writer.Put(MetaKey(kMetaClockAllowance), ClockValue(Instant{*options.clock_allowance}));
    } else {
      writer.Put(MetaKey(kMetaClock), ClockValue(options.now));
      writer.Erase(MetaKey(kMetaClockAllowance));
    }
    if (had_exhausted_record_) writer.Erase(MetaKey(kMetaExhausted));
    writer.Put(MetaKey(kMetaStopped), NumberValue(0));
  };
  // In a file of its own: then a log that is damaged later cannot take it back, and with it the
  // knowledge that something may be lost.
  WEIR_RETURN_IF_ERROR(database_->Write(4, write, Database::WriteMode::kOwnFile));
  clock_allowance_ = options.clock_allowance.value_or(Nanos{0});
  return absl::OkStatus();
}

absl::Status Storage::Erase(const std::vector<std::string>& keys) {
  if (keys.empty()) return absl::OkStatus();
  return database_->Write(keys.size(), [&](Database::Writer& writer) {
    for (const std::string& key : keys) writer.Erase(key);
  });
}

absl::Status Storage::MarkStopped(Instant mark) {
  WEIR_RETURN_IF_ERROR(database_->Write(3, [&](Database::Writer& writer) {
    writer.Put(MetaKey(kMetaClock), ClockValue(mark));
    writer.Erase(MetaKey(kMetaClockAllowance));
    writer.Put(MetaKey(kMetaStopped), NumberValue(1));
  }));
  return database_->Finish();
}

absl::Status Storage::Save(const LimiterChanges& limiter, const PolicyChanges& policies,
                           Instant mark, Instant drop_mark) {
  const auto write_buckets = [&](Database::Writer& writer) {
    for (const std::uint16_t partition : limiter.rewritten_partitions) {
      const auto next = static_cast<std::uint16_t>(partition + 1);
      writer.EraseRange(PartitionPrefix(limiter.generation, partition),
                        PartitionPrefix(limiter.generation, next));
    }
    std::string key;
    std::string value;
    for (const BucketChange& change : limiter.buckets) {
      key.clear();
      AppendBucketKey({limiter.generation, change.partition, change.key.key_hash(),
                       change.algorithm, change.key.limit},
                      key);
      if (change.erased) {
        writer.Erase(key);
        continue;
      }
      value.clear();
      AppendBucketValue(change.bucket, value);
      writer.Put(key, value);
    }
  };
  // Few, so that they may be strings that are sorted.
  std::vector<std::pair<std::string, std::optional<std::string>>> others;
  for (const LimitChange& change : limiter.limits) {
    others.emplace_back(LimitKey(change.id), std::nullopt);
    if (change.limit) others.back().second = LimitValue(*change.limit);
  }
  others.emplace_back(MetaKey(kMetaClock), ClockValue(mark));
  const bool ends_allowance = clock_allowance_ > Nanos{0};
  if (ends_allowance) others.emplace_back(MetaKey(kMetaClockAllowance), std::nullopt);
  others.emplace_back(MetaKey(kMetaGeneration), NumberValue(limiter.generation));
  others.emplace_back(MetaKey(kMetaNextPolicy), NumberValue(policies.next_id));
  for (const PolicyChanges::PolicyChange& change : policies.policies) {
    others.emplace_back(PolicyKey(change.id), std::nullopt);
    if (change.policy) others.back().second = PolicyValue(*change.policy);
  }
  for (const OverrideChange& change : policies.overrides) {
    others.emplace_back(OverrideKey(change.policy, change.key), std::nullopt);
    if (change.limits) others.back().second = OverrideValue(*change.limits);
  }
  std::ranges::sort(others, {}, [](const auto& record) { return std::string_view(record.first); });
  const std::size_t records =
      limiter.rewritten_partitions.size() + limiter.buckets.size() + others.size();
  WEIR_RETURN_IF_ERROR(database_->Write(records, [&](Database::Writer& writer) {
    write_buckets(writer);
    for (const auto& [key, value] : others) {
      value ? writer.Put(key, *value) : writer.Erase(key);
    }
  }));
  clock_allowance_ = Nanos{0};
  generation_ = limiter.generation;
  AllowDrops(drop_mark);
  return absl::OkStatus();
}

void Storage::AllowDrops(Instant mark) {
  database_->drop_rule().generation.store(generation_, std::memory_order_relaxed);
  database_->drop_rule().mark.store(mark, std::memory_order_relaxed);
}

}  // namespace weir
