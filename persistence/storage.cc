#include "persistence/storage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/status.h"
#include "core/limiter/limiter_restore.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/policy_bytes.h"
#include "core/rules/rule.h"
#include "core/words/limit_bytes.h"
#include "persistence/bucket_check.h"
#include "persistence/format.h"
#include "persistence/hold_format.h"
#include "persistence/loading.h"

namespace weir {
namespace {

constexpr std::size_t kErasedAtOnce = 1 << 16;

// The kinds of records whose keys begin with a generation, in ascending order.
constexpr std::array kGenerationKinds = {kBucketPrefix, kSumsPrefix, kHoldPrefix};
static_assert(std::ranges::is_sorted(kGenerationKinds));

std::string EndOfPrefix(char prefix) {
  std::string end(1, static_cast<char>(prefix + 1));
  return end;
}

void ErasePartitions(const LimiterChanges& changes, Database::Writer& writer) {
  for (const char kind : kGenerationKinds) {
    for (const std::uint16_t partition : changes.rewritten_partitions) {
      const auto next = static_cast<std::uint16_t>(partition + 1);
      writer.EraseRange(PartitionPrefix(changes.generation, partition, kind),
                        PartitionPrefix(changes.generation, next, kind));
    }
  }
}

void WriteBuckets(const LimiterChanges& changes, Database::Writer& writer) {
  std::string key;
  std::string value;
  for (const BucketChange& change : changes.buckets) {
    key.clear();
    const BucketKey bucket_key{changes.generation, change.partition, change.key.key_hash(),
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
}

void WriteHolds(const LimiterChanges& changes, Database::Writer& writer) {
  std::string key;
  std::string value;
  const auto write = [&](bool is_there) {
    if (is_there) {
      writer.Put(key, value);
    } else {
      writer.Erase(key);
    }
    key.clear();
    value.clear();
  };
  for (const SumsChange& change : changes.sums) {
    AppendSumsKey(
        {changes.generation, change.partition, change.bucket.key_hash(), change.bucket.limit}, key);
    if (change.sums) AppendSumsValue(*change.sums, value);
    write(change.sums.has_value());
  }
  for (const HoldChange& change : changes.holds) {
    AppendHoldKey({changes.generation, change.partition, change.key, change.id}, key);
    if (change.hold) AppendHoldValue(*change.hold, value);
    write(change.hold.has_value());
  }
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
  WEIR_RETURN_IF_ERROR(get(kMetaHoldsClock, kOptional, ReadClock, holds_clock_));
  Instant allowance{};
  WEIR_RETURN_IF_ERROR(get(kMetaClockAllowance, kOptional, ReadClock, allowance));
  clock_allowance_ = allowance.time_since_epoch();
  const bool has_clock = clock_mark_ > Instant{};
  if (clock_allowance_ > Nanos{0} && !has_clock) return RecordIs("missing", kMetaClock);
  WEIR_RETURN_IF_ERROR(get(kMetaNextPolicy, kOptional, ReadNumber, next_policy_));
  // Replication reads it, and begins again if it is damaged.
  const auto as_it_is = [](const std::string& value) { return std::optional(value); };
  WEIR_RETURN_IF_ERROR(get(kMetaHistory, kOptional, as_it_is, history_));
  std::uint32_t generation = 0;
  WEIR_RETURN_IF_ERROR(get(kMetaGeneration, kOptional, ReadNumber, generation));
  generation_ = TableGeneration{generation};
  return absl::OkStatus();
}

absl::Status Storage::Load(LimiterTable& table, Policies& policies, const LoadOptions& options,
                           LoadReport& report, const std::atomic<bool>& stop) {
  WEIR_CHECK(LimiterUpkeep(table).size().buckets == 0);
  WEIR_CHECK(policies.All().empty());
  WEIR_CHECK(options.now <= kInstantMax);
  WEIR_CHECK(!options.clock_allowance || clock_mark_ > Instant{});
  const LoadedMeta meta{generation_, next_policy_, holds_are_stale(), clock_mark_};
  Loading loading(meta, accept_damage_, table, policies, options, report);
  const auto scan = [&](const std::string& first, const std::string& end,
                        void (Loading::*add)(std::string_view, std::string_view)) -> absl::Status {
    absl::Status erased;
    WEIR_RETURN_IF_ERROR(database_->Scan(first, [&](std::string_view key, std::string_view value) {
      if (key >= end || stop.load(std::memory_order_relaxed)) return false;
      (loading.*add)(key, value);
      if (!loading.contradicted().empty()) return false;
      if (loading.gone() >= kErasedAtOnce) erased = Erase(loading.TakeGone());
      return erased.ok();
    }));
    WEIR_RETURN_IF_ERROR(erased);
    if (!loading.contradicted().empty()) {
      return RecordIs(
          "damaged, as other records contradict it; --accept-damaged-state corrects that",
          loading.contradicted());
    }
    if (stop) return absl::CancelledError("the load was stopped");
    return Erase(loading.TakeGone());
  };
  const auto scan_all = [&](char prefix, auto add) {
    return scan(std::string(1, prefix), EndOfPrefix(prefix), add);
  };
  WEIR_RETURN_IF_ERROR(scan_all(kPolicyPrefix, &Loading::AddPolicy));
  WEIR_RETURN_IF_ERROR(scan_all(kOverridePrefix, &Loading::AddOverride));
  WEIR_RETURN_IF_ERROR(scan_all(kLimitPrefix, &Loading::AddLimit));
  const auto scan_present = [&](char kind, auto add) {
    return scan(GenerationPrefix(generation_, kind), EndOfPrefix(kind), add);
  };
  WEIR_RETURN_IF_ERROR(scan_present(kSumsPrefix, &Loading::AddSums));
  WEIR_RETURN_IF_ERROR(scan_present(kHoldPrefix, &Loading::AddHold));
  loading.EndHolds();
  WEIR_RETURN_IF_ERROR(Erase(loading.TakeGone()));
  WEIR_RETURN_IF_ERROR(scan_present(kBucketPrefix, &Loading::AddBucket));
  loading.EndBuckets();
  const bool heals_next_policy = loading.next_policy() != next_policy_;
  next_policy_ = loading.next_policy();
  policies.RestoreNextId(PolicyId{next_policy_});
  LimiterRestore(table).EndRestore(generation_);
  if (database_->is_read_only()) return absl::OkStatus();
  const auto write = [&](Database::Writer& writer) {
    if (options.clock_allowance) {
      writer.Put(MetaKey(kMetaClockAllowance), ClockValue(Instant{*options.clock_allowance}));
    } else {
      writer.Put(MetaKey(kMetaClock), ClockValue(options.now));
      writer.Erase(MetaKey(kMetaClockAllowance));
    }
    if (had_exhausted_record_) writer.Erase(MetaKey(kMetaExhausted));
    if (!options.clock_allowance) writer.Put(MetaKey(kMetaHoldsClock), ClockValue(options.now));
    if (heals_next_policy) writer.Put(MetaKey(kMetaNextPolicy), NumberValue(next_policy_));
    writer.Put(MetaKey(kMetaStopped), NumberValue(0));
  };
  // In a file of its own: a log that is damaged later would lose this record, and with it the fact
  // that the server has not stopped cleanly.
  WEIR_RETURN_IF_ERROR(database_->Write(6, write, Database::WriteMode::kOwnFile));
  clock_allowance_ = options.clock_allowance.value_or(Nanos{0});
  return absl::OkStatus();
}

absl::StatusOr<RecordCounts> Storage::CountRecords() const {
  constexpr std::array kKinds = {kBucketPrefix, kSumsPrefix,     kHoldPrefix,  kLimitPrefix,
                                 kMetaPrefix,   kOverridePrefix, kPolicyPrefix};
  RecordCounts counts;
  const auto count = [&](std::string_view key, std::string_view) {
    ++counts.records;
    for (const char kind : kGenerationKinds) {
      if (key.starts_with(kind) && key < GenerationPrefix(generation_, kind)) ++counts.flushed;
    }
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
  WEIR_RETURN_IF_ERROR(database_->Write(3, [&](Database::Writer& writer) {
    writer.Put(MetaKey(kMetaClock), ClockValue(mark));
    writer.Erase(MetaKey(kMetaClockAllowance));
    writer.Put(MetaKey(kMetaHoldsClock), ClockValue(mark));
  }));
  clock_allowance_ = Nanos{0};
  return database_->Flush();
}

absl::Status Storage::MarkStopped(Instant mark) {
  WEIR_RETURN_IF_ERROR(database_->Write(4, [&](Database::Writer& writer) {
    writer.Put(MetaKey(kMetaClock), ClockValue(mark));
    writer.Erase(MetaKey(kMetaClockAllowance));
    writer.Put(MetaKey(kMetaHoldsClock), ClockValue(mark));
    writer.Put(MetaKey(kMetaStopped), NumberValue(1));
  }));
  return database_->Finish();
}

absl::Status Storage::Save(const LimiterChanges& limiter, const PolicyChanges& policies,
                           Instant mark, Instant drop_mark, std::string_view history) {
  WEIR_CHECK(drop_mark <= mark);
  // The other records are few, so they are kept as strings and sorted.
  std::vector<std::pair<std::string, std::optional<std::string>>> others;
  for (const LimitChange& change : limiter.limits) {
    others.emplace_back(LimitKey(change.id), std::nullopt);
    if (change.limit) others.back().second = LimitValue(*change.limit);
  }
  others.emplace_back(MetaKey(kMetaClock), ClockValue(mark));
  others.emplace_back(MetaKey(kMetaHoldsClock), ClockValue(mark));
  const bool ends_allowance = clock_allowance_ > Nanos{0};
  if (ends_allowance) others.emplace_back(MetaKey(kMetaClockAllowance), std::nullopt);
  others.emplace_back(MetaKey(kMetaGeneration), NumberValue(NumberOf(limiter.generation)));
  const bool has_new_secret = limiter.new_secret.has_value() && *limiter.new_secret != secret_;
  if (has_new_secret) {
    WEIR_CHECK(limiter.generation != generation_);
    others.emplace_back(MetaKey(kMetaSecret), SecretValue(*limiter.new_secret));
  }
  others.emplace_back(MetaKey(kMetaNextPolicy), NumberValue(NumberOf(policies.next_id)));
  if (!history.empty()) others.emplace_back(MetaKey(kMetaHistory), std::string(history));
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
  // The clock of a replica may go back: no compaction may drop by a later time what is written now.
  if (drop_mark < database_->drop_rule().mark.load(std::memory_order_relaxed)) {
    database_->drop_rule().mark.store(drop_mark, std::memory_order_relaxed);
  }
  const std::size_t records = kGenerationKinds.size() * limiter.rewritten_partitions.size() +
                              limiter.size() + others.size();
  WEIR_RETURN_IF_ERROR(database_->Write(records, [&](Database::Writer& writer) {
    ErasePartitions(limiter, writer);
    WriteBuckets(limiter, writer);
    WriteHolds(limiter, writer);
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
  if (has_new_secret) secret_ = *limiter.new_secret;
  if (!history.empty()) history_ = history;
  AllowDrops(drop_mark);
  return absl::OkStatus();
}

absl::Status Storage::SaveHistory(std::string_view history) {
  WEIR_RETURN_IF_ERROR(database_->Write(
      1, [history](Database::Writer& writer) { writer.Put(MetaKey(kMetaHistory), history); }));
  history_ = history;
  return absl::OkStatus();
}

void Storage::AllowDrops(Instant mark) {
  database_->drop_rule().generation.store(generation_, std::memory_order_relaxed);
  database_->drop_rule().mark.store(mark, std::memory_order_relaxed);
}

}  // namespace weir
