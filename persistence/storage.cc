#include "persistence/storage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/status.h"
#include "core/rules/rule.h"
#include "persistence/bucket_check.h"
#include "persistence/format.h"

namespace weir {
namespace {

// The latest time in a bucket: that of one which owes as much again as it holds at the last
// instant.
constexpr Instant kTimeMax = kInstantMax + 2 * kCapacityMax;
static_assert(kTimeMax > kInstantMax + kPeriodMax);

constexpr std::size_t kErasedAtOnce = 1 << 16;

std::string EndOfPrefix(char prefix) {
  std::string end(1, static_cast<char>(prefix + 1));
  return end;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> Storage::Open(const DatabaseOptions& options) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(options);
  if (!database.ok()) return database.status();
  std::unique_ptr<Storage> storage(new Storage(*std::move(database), options.accept_damage));
  bool is_new = true;
  WEIR_RETURN_IF_ERROR(storage->database_->Scan("", [&](std::string_view, std::string_view) {
    is_new = false;
    return false;
  }));
  if (is_new && options.read_only) {
    return absl::NotFoundError(
        absl::StrCat("data directory ", options.directory, ": its database has no records"));
  }
  WEIR_RETURN_IF_ERROR(is_new ? storage->Begin() : storage->ReadMeta());
  return storage;
}

// The error of a meta record.
absl::Status Storage::RecordIs(std::string_view how, std::string_view name) const {
  return absl::DataLossError(absl::StrCat("data directory ", database_->directory(),
                                          ": the record '", AbslView(name), "' is ",
                                          AbslView(how)));
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
      return RecordIs("missing", name);
    }
    if (!value.ok()) return value.status();
    const auto decoded = read(*value);
    if (!decoded) return RecordIs("damaged", name);
    into = *decoded;
    return absl::OkStatus();
  };
  std::uint32_t format = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaFormat, kRequired, ReadNumber, format));
  if (format != kFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory ", database_->directory(), ": it has format ", format,
                     ", and this server reads format ", kFormatVersion));
  }
  std::uint32_t stopped = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaSecret, kRequired, ReadSecret, secret_));
  WEIR_RETURN_IF_ERROR(get(kMetaStopped, kRequired, ReadNumber, stopped));
  if (stopped > 1) return RecordIs("damaged", kMetaStopped);
  unclean_restart_ = stopped == 0;
  absl::Status exhausted = database_->Get(MetaKey(kMetaExhausted)).status();
  if (!exhausted.ok() && !absl::IsNotFound(exhausted)) return exhausted;
  had_exhausted_record_ = exhausted.ok();
  // A database that was never loaded or saved does not have these.
  WEIR_RETURN_IF_ERROR(get(kMetaClock, kOptional, ReadClock, clock_mark_));
  Instant allowance{};
  WEIR_RETURN_IF_ERROR(get(kMetaClockAllowance, kOptional, ReadClock, allowance));
  clock_allowance_ = allowance.time_since_epoch();
  const bool has_clock = clock_mark_ > Instant{};
  if (clock_allowance_ > Nanos{0} && !has_clock) return RecordIs("missing", kMetaClock);
  WEIR_RETURN_IF_ERROR(get(kMetaNextPolicy, kOptional, ReadNumber, next_policy_));
  std::uint32_t generation = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaGeneration, kOptional, ReadNumber, generation));
  generation_ = TableGeneration{generation};
  return absl::OkStatus();
}

// A load: takes one record after the other and hands it to the limiter or the policies.
class Storage::Loading {
 public:
  // The reasons why a record is bad.
  static constexpr absl::string_view kUnreadable = "no server writes such bytes";
  static constexpr absl::string_view kImpossible = "its limit cannot have left it";
  static constexpr absl::string_view kTaken = "another record has its number or its meaning";

  Loading(const Storage& storage, Limiter& limiter, Policies& policies, const LoadOptions& options,
          LoadReport& report)
      : storage_(storage),
        limiter_(limiter),
        policies_(policies),
        options_(options),
        report_(report),
        next_policy_(storage.next_policy_) {}

  void AddPolicy(std::string_view key, std::string_view value) {
    const std::optional<Policy> policy = ReadPolicy(key, value);
    // The buckets of a damaged policy stay.
    if (const std::optional<std::uint32_t> id = ReadNumber(key.substr(1)))
      policy_ids_.insert(PolicyId{*id});
    if (!policy) return CountBadLimits(key, value);
    if (!policies_.Restore(*policy)) return CountBad(key, kTaken);
    if (policy->id >= PolicyId{next_policy_}) {
      next_policy_ = NumberOf(Next(policy->id));
      Contradict(key, kMetaNextPolicy);
    }
  }

  void AddOverride(std::string_view key, std::string_view value) {
    std::optional<SavedOverride> saved = ReadOverride(key, value);
    if (!saved) return CountBadLimits(key, value);
    if (!policies_.RestoreOverride(saved->policy, saved->key, std::move(saved->limits))) {
      CountBad(key, "there is no such policy, or it has an override of that key");
    }
  }

  void AddLimit(std::string_view key, std::string_view value) {
    const std::optional<LimitId> id = ReadLimitKey(key);
    const std::optional<Limit> limit = ReadLimitValue(value);
    if (!id || !limit) return CountBadLimits(key, value);
    const PolicyId owner = limit->owner().policy;
    const bool has_owner = owner != kNoPolicy && limit->owner() != kThrottleOwner;
    // The policy was deleted, and the server ended before it had erased the rest.
    if (has_owner && !policy_ids_.contains(owner)) {
      gone_.emplace_back(key);
      return;
    }
    if (!limiter_.RestoreLimit(*id, *limit)) return CountBad(key, kTaken);
    limits_.emplace(*id, *limit);
  }

  // Requires: buckets in the order of their keys.
  void AddBucket(std::string_view key, std::string_view value) {
    const std::optional<BucketKey> bucket_key = ReadBucketKey(key);
    const std::optional<Bucket> bucket = ReadBucketValue(value);
    if (!bucket_key || !bucket) return CountBad(key, kUnreadable);
    if (bucket_key->generation != storage_.generation_) {
      // It is erased, since the table may reach its generation.
      gone_.emplace_back(key);
      return Contradict(key, kMetaGeneration);
    }
    const std::optional<Instant> full = CertainlyFullAfter(*bucket_key, *bucket);
    if (full && *full > kTimeMax) return CountBad(key, kImpossible);
    const auto limit = limits_.find(bucket_key->limit);
    // If the algorithms differ, the id was given out again after this bucket was full.
    if (limit == limits_.end() || limit->second.shape().algorithm != bucket_key->algorithm) {
      return Drop(key, full);
    }
    const bool is_full = IsFull(limit->second, *bucket, options_.now);
    if (is_full && options_.drops_full) {
      report_.full.fetch_add(1, std::memory_order_relaxed);
      return Drop(key, full);
    }
    // A full one may be of a limit that had the id before.
    if (!is_full && !CanHaveLeft(limit->second, *bucket)) {
      // It is erased, since the id may come to stand for a limit that can have left it.
      gone_.emplace_back(key);
      return CountBad(key, kImpossible);
    }
    if (bucket_key->partition != partition_) FlushPartition();
    partition_ = bucket_key->partition;
    buckets_.push_back({{bucket_key->hash, bucket_key->limit}, *bucket});
  }

  // Ok, or the damage to a meta record that another record has shown.
  [[nodiscard]] const absl::Status& damage() const { return damage_; }
  // The number of the next new policy: that on disk, or one above those of all policies.
  [[nodiscard]] std::uint32_t next_policy() const { return next_policy_; }

  // Records from the last scan to erase, in key order.
  [[nodiscard]] std::size_t gone() const { return gone_.size(); }
  [[nodiscard]] std::vector<std::string> TakeGone() { return std::exchange(gone_, {}); }

  void FlushPartition() {
    if (buckets_.empty()) return;
    limiter_.RestorePartition(partition_, buckets_, options_.now);
    report_.loaded.fetch_add(buckets_.size(), std::memory_order_relaxed);
    buckets_.clear();
  }

 private:
  // The id of a limit may be given out again. By then each record of the earlier limit must be of a
  // bucket that stays full under every limit, or must be erased.
  void Drop(std::string_view key, std::optional<Instant> full) {
    report_.dropped.fetch_add(1, std::memory_order_relaxed);
    const bool stays_full = options_.drops_full && full && *full < options_.now;
    if (!stays_full) gone_.emplace_back(key);
  }
  void CountBad(std::string_view key, absl::string_view why) {
    report_.bad.fetch_add(1, std::memory_order_relaxed);
    if (report_.errors.size() >= options_.errors_max) return;
    report_.errors.push_back(absl::StrCat(RecordName(key), ": ", why));
  }
  // Counts a record with limits that cannot be read.
  void CountBadLimits(std::string_view key, std::string_view value) {
    const std::string error = LimitErrorIn(key, value);
    CountBad(key, error.empty() ? kUnreadable : error);
  }
  // Counts a record that contradicts a meta record. The load goes on only if damage is accepted.
  void Contradict(std::string_view key, std::string_view meta_name) {
    CountBad(key, absl::StrCat("it contradicts the record '", AbslView(meta_name), "'"));
    if (storage_.accept_damage_) return;
    damage_ = storage_.RecordIs(
        "damaged, as other records contradict it; --accept-damaged-state corrects that", meta_name);
  }

  const Storage& storage_;
  Limiter& limiter_;
  Policies& policies_;
  const LoadOptions options_;
  LoadReport& report_;
  absl::Status damage_;
  std::uint32_t next_policy_;
  absl::flat_hash_set<PolicyId> policy_ids_;
  absl::flat_hash_map<LimitId, Limit> limits_;
  std::uint16_t partition_ = 0;
  std::vector<Limiter::RestoredBucket> buckets_;  // of partition_
  std::vector<std::string> gone_;
};

absl::Status Storage::Load(Limiter& limiter, Policies& policies, const LoadOptions& options,
                           LoadReport& report, const std::atomic<bool>& stop) {
  WEIR_CHECK(limiter.size().buckets == 0);
  WEIR_CHECK(policies.All().empty());
  WEIR_CHECK(options.now <= kInstantMax);
  WEIR_CHECK(!options.clock_allowance || clock_mark_ > Instant{});
  Loading loading(*this, limiter, policies, options, report);
  const auto scan = [&](const std::string& first, const std::string& end,
                        void (Loading::*add)(std::string_view, std::string_view)) -> absl::Status {
    absl::Status erased;
    WEIR_RETURN_IF_ERROR(database_->Scan(first, [&](std::string_view key, std::string_view value) {
      if (key >= end || stop.load(std::memory_order_relaxed)) return false;
      (loading.*add)(key, value);
      if (!loading.damage().ok()) return false;
      if (loading.gone() >= kErasedAtOnce) erased = Erase(loading.TakeGone());
      return erased.ok();
    }));
    WEIR_RETURN_IF_ERROR(erased);
    WEIR_RETURN_IF_ERROR(loading.damage());
    if (stop) return absl::CancelledError("the load was stopped");
    return Erase(loading.TakeGone());
  };
  const auto scan_all = [&](char prefix, auto add) {
    return scan(std::string(1, prefix), EndOfPrefix(prefix), add);
  };
  WEIR_RETURN_IF_ERROR(scan_all(kPolicyPrefix, &Loading::AddPolicy));
  WEIR_RETURN_IF_ERROR(scan_all(kOverridePrefix, &Loading::AddOverride));
  WEIR_RETURN_IF_ERROR(scan_all(kLimitPrefix, &Loading::AddLimit));
  WEIR_RETURN_IF_ERROR(
      scan(GenerationPrefix(generation_), EndOfPrefix(kBucketPrefix), &Loading::AddBucket));
  loading.FlushPartition();
  WEIR_CHECK(limiter.evicted() <= report.loaded);
  report.loaded -= limiter.evicted();  // for want of room
  const bool heals_next_policy = loading.next_policy() != next_policy_;
  next_policy_ = loading.next_policy();
  policies.RestoreNextId(PolicyId{next_policy_});
  limiter.EndRestore(generation_);
  if (database_->is_read_only()) return absl::OkStatus();
  const auto write = [&](Database::Writer& writer) {
    if (options.clock_allowance) {
      writer.Put(MetaKey(kMetaClockAllowance), ClockValue(Instant{*options.clock_allowance}));
    } else {
      writer.Put(MetaKey(kMetaClock), ClockValue(options.now));
      writer.Erase(MetaKey(kMetaClockAllowance));
    }
    if (had_exhausted_record_) writer.Erase(MetaKey(kMetaExhausted));
    if (heals_next_policy) writer.Put(MetaKey(kMetaNextPolicy), NumberValue(next_policy_));
    writer.Put(MetaKey(kMetaStopped), NumberValue(0));
  };
  // In a file of its own: a log that is damaged later would lose this record, and with it the fact
  // that the server has not stopped cleanly.
  WEIR_RETURN_IF_ERROR(database_->Write(5, write, Database::WriteMode::kOwnFile));
  clock_allowance_ = options.clock_allowance.value_or(Nanos{0});
  return absl::OkStatus();
}

absl::StatusOr<RecordCounts> Storage::CountRecords() const {
  constexpr std::array kKinds = {kBucketPrefix, kLimitPrefix, kMetaPrefix, kOverridePrefix,
                                 kPolicyPrefix};
  RecordCounts counts;
  const std::string first_live = GenerationPrefix(generation_);
  const auto count = [&](std::string_view key, std::string_view) {
    ++counts.records;
    if (key.starts_with(kBucketPrefix) && key < first_live) ++counts.flushed;
    if (std::ranges::count(kKinds, key.front()) == 0) ++counts.unknown;
    return true;
  };
  WEIR_RETURN_IF_ERROR(database_->Scan("", count));
  return counts;
}

absl::Status Storage::Erase(const std::vector<std::string>& keys) {
  if (keys.empty() || database_->is_read_only()) return absl::OkStatus();
  return database_->Write(keys.size(), [&](Database::Writer& writer) {
    for (const std::string& key : keys) writer.Erase(key);
  });
}

absl::Status Storage::Flush(Instant mark) {
  WEIR_RETURN_IF_ERROR(database_->Write(2, [&](Database::Writer& writer) {
    writer.Put(MetaKey(kMetaClock), ClockValue(mark));
    writer.Erase(MetaKey(kMetaClockAllowance));
  }));
  clock_allowance_ = Nanos{0};
  return database_->Flush();
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
  WEIR_CHECK(drop_mark <= mark);
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
      const BucketKey bucket_key{limiter.generation, change.partition, change.key.key_hash(),
                                 change.algorithm, change.key.limit};
      AppendBucketKey(bucket_key, key);
      if (change.erased) {
        writer.Erase(key);
        continue;
      }
      const std::optional<Instant> full = CertainlyFullAfter(bucket_key, change.bucket);
      WEIR_CHECK(!full || *full <= kTimeMax);
      value.clear();
      AppendBucketValue(change.bucket, value);
      writer.Put(key, value);
    }
  };
  // The other records are few, so they are kept as strings and sorted.
  std::vector<std::pair<std::string, std::optional<std::string>>> others;
  for (const LimitChange& change : limiter.limits) {
    others.emplace_back(LimitKey(change.id), std::nullopt);
    if (change.limit) others.back().second = LimitValue(*change.limit);
  }
  others.emplace_back(MetaKey(kMetaClock), ClockValue(mark));
  const bool ends_allowance = clock_allowance_ > Nanos{0};
  if (ends_allowance) others.emplace_back(MetaKey(kMetaClockAllowance), std::nullopt);
  others.emplace_back(MetaKey(kMetaGeneration), NumberValue(NumberOf(limiter.generation)));
  others.emplace_back(MetaKey(kMetaNextPolicy), NumberValue(NumberOf(policies.next_id)));
  for (const PolicyChanges::PolicyChange& change : policies.policies) {
    WEIR_CHECK(change.id < policies.next_id);
    others.emplace_back(PolicyKey(change.id), std::nullopt);
    if (change.policy) others.back().second = PolicyValue(*change.policy);
  }
  for (const OverrideChange& change : policies.overrides) {
    WEIR_CHECK(change.policy < policies.next_id);
    others.emplace_back(OverrideKey(change.policy, change.key), std::nullopt);
    if (change.limits) others.back().second = OverrideValue(*change.limits);
  }
  std::ranges::sort(others, {}, [](const auto& record) { return std::string_view(record.first); });
  const std::size_t records =
      limiter.rewritten_partitions.size() + limiter.buckets.size() + others.size();
  WEIR_RETURN_IF_ERROR(database_->Write(records, [&](Database::Writer& writer) {
    write_buckets(writer);
    for (const auto& [key, value] : others) {
      if (value) {
        writer.Put(key, *value);
      } else {
        writer.Erase(key);
      }
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
