#include "replication/records.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/rules/rule.h"
#include "core/table/hold.h"
#include "core/table/hold_bytes.h"
#include "core/words/limit_bytes.h"
#include "replication/varint.h"

namespace weir {
namespace {

constexpr std::uint8_t kReplaces = 1;  // the flag of a section

constexpr std::uint8_t kAlgorithmMask = 3;
constexpr std::uint8_t kErased = 4;
constexpr std::uint8_t kWentBack = 8;
static_assert(static_cast<unsigned>(Algorithm::kHeld) <= kAlgorithmMask);
static_assert(static_cast<unsigned>(Algorithm::kUnlimited) > kAlgorithmMask);
static_assert(kHoldIdBytesMax <= UINT8_MAX);

// The least bytes of one of each, against counts that no body has room for.
constexpr std::size_t kLimitBytesMin = 1;
constexpr std::size_t kBucketBytesMin = 10;
constexpr std::size_t kHoldBytesMin = 11;
constexpr std::size_t kSumsBytesMin = 10;

constexpr std::size_t kBucketBytesMax =
    1 + sizeof(std::uint64_t) + kVarintBytesMax + 2 * sizeof(std::uint32_t) + kVarintBytesMax;

// The records of one partition.
template <typename Record>
struct Run {
  const Record* begin;
  const Record* end;
};

template <typename Record>
class Runs {
 public:
  explicit Runs(const std::vector<Record>& records)
      : at_(records.data()), end_(records.data() + records.size()) {}
  // kPartitionCount at the end.
  [[nodiscard]] std::size_t partition() const {
    return at_ == end_ ? kPartitionCount : at_->partition;
  }
  Run<Record> Take(std::size_t partition) {
    const Record* const begin = at_;
    while (at_ != end_ && at_->partition == partition) ++at_;
    return {begin, at_};
  }

 private:
  const Record* at_;
  const Record* end_;
};

template <typename Record>
Run<Record> AllOf(const std::vector<Record>& records) {
  return {records.data(), records.data() + records.size()};
}

// The kinds of runs of a section, in their order.
enum : int { kBucketRun, kHoldRun, kSumsRun, kRunsInSection };

}  // namespace

void RecordsWriter::WriteChanges(const LimiterChanges& changes, LimitOf limit_of, std::size_t bytes,
                                 Take take) {
  bytes_ = bytes;
  take_ = &take;
  PartitionSet left_out;
  for (const std::uint16_t partition : changes.rewritten_partitions) left_out.Add(partition);
  Runs buckets(changes.buckets);
  Runs holds(changes.holds);
  Runs sums(changes.sums);
  BeginBody();
  while (true) {
    const std::size_t partition =
        std::min({buckets.partition(), holds.partition(), sums.partition()});
    if (partition >= kPartitionCount) break;
    const Run<BucketChange> bucket_run = buckets.Take(partition);
    const Run<HoldChange> hold_run = holds.Take(partition);
    const Run<SumsChange> sums_run = sums.Take(partition);
    if (left_out.Contains(partition)) continue;
    section_ = {static_cast<std::uint16_t>(partition), 0};
    if (IsFull()) {
      EndBody(false);
      BeginBody();
    }
    BeginSection();
    WriteRun(bucket_run.begin, bucket_run.end, kBucketRun, limit_of);
    WriteRun(hold_run.begin, hold_run.end, kHoldRun, limit_of);
    WriteRun(sums_run.begin, sums_run.end, kSumsRun, limit_of);
    EndSection();
  }
  if (!sections_.empty()) EndBody(true);
}

void RecordsWriter::WritePartition(const LimiterChanges& copy, std::uint16_t partition,
                                   LimitOf limit_of, std::size_t bytes, Take take) {
  WEIR_CHECK(partition < kPartitionCount);
  bytes_ = bytes;
  take_ = &take;
  section_ = {partition, kReplaces};
  BeginBody();
  BeginSection();
  const Run<BucketChange> buckets = AllOf(copy.buckets);
  const Run<HoldChange> holds = AllOf(copy.holds);
  const Run<SumsChange> sums = AllOf(copy.sums);
  WriteRun(buckets.begin, buckets.end, kBucketRun, limit_of);
  WriteRun(holds.begin, holds.end, kHoldRun, limit_of);
  WriteRun(sums.begin, sums.end, kSumsRun, limit_of);
  EndSection();
  EndBody(true);
}

// Writes the records of one kind of the open section; begins another body whenever one is full.
template <typename Record>
void RecordsWriter::WriteRun(const Record* begin, const Record* end, int kind, LimitOf limit_of) {
  std::uint32_t count = 0;
  for (const Record* record = begin; record != end; ++record) {
    WEIR_CHECK(record->partition == section_.partition);
    if (IsFull()) {
      EndRun(kind, count);
      EndSection();
      EndBody(false);
      BeginBody();
      BeginSection();
      count = 0;
    }
    if (Append(*record, limit_of)) ++count;
  }
  if (begin != end) EndRun(kind, count);
}

bool RecordsWriter::Append(const BucketChange& change, LimitOf limit_of) {
  const std::optional<std::uint32_t> limit = IndexOf(change.key.limit, limit_of);
  if (!limit) {
    WEIR_CHECK(change.erased);
    return false;
  }
  const unsigned tag = static_cast<unsigned>(change.algorithm) | (change.erased ? kErased : 0U) |
                       (change.went_back ? kWentBack : 0U);
  char bytes[kBucketBytesMax];
  char* end = bytes;
  *end++ = static_cast<char>(tag);
  end = PutNumber(change.key.key_hash(), end);
  end = PutVarint(*limit, end);
  if (!change.erased) {
    WEIR_DCHECK(HasFormOf(*limit_of(change.key.limit), change.bucket));
    end = PutNumber(change.bucket.high, end);
    end = PutNumber(change.bucket.low, end);
    end = PutVarint(change.bucket.extra, end);
  }
  run_.append(bytes, static_cast<std::size_t>(end - bytes));
  return true;
}

bool RecordsWriter::Append(const HoldChange& change, LimitOf limit_of) {
  WEIR_CHECK(!change.id.empty());
  WEIR_CHECK(change.id.size() <= kHoldIdBytesMax);
  AppendNumber(change.key, run_);
  AppendNumber(static_cast<std::uint8_t>(change.id.size()), run_);
  run_ += change.id;
  if (!change.hold) {
    AppendVarint(0, run_);
    return true;
  }
  SavedHold hold = *change.hold;
  for (HoldPart& part : hold.parts) {
    const std::optional<std::uint32_t> limit = IndexOf(part.limit, limit_of);
    WEIR_CHECK(limit.has_value());
    part.limit = LimitId{*limit};
  }
  std::string value;
  AppendHoldValue(hold, value);
  AppendVarint(static_cast<std::uint32_t>(value.size()), run_);
  run_ += value;
  return true;
}

bool RecordsWriter::Append(const SumsChange& change, LimitOf limit_of) {
  const std::optional<std::uint32_t> limit = IndexOf(change.bucket.limit, limit_of);
  if (!limit) {
    WEIR_CHECK(!change.sums);
    return false;
  }
  AppendNumber(change.sums ? std::uint8_t{0} : kErased, run_);
  AppendNumber(change.bucket.key_hash(), run_);
  AppendVarint(*limit, run_);
  if (change.sums) AppendSumsValue(*change.sums, run_);
  return true;
}

// The place of the limit in the body's dictionary, to which it is added if it is new there.
std::optional<std::uint32_t> RecordsWriter::IndexOf(LimitId id, LimitOf limit_of) {
  const std::size_t number = NumberOf(id);
  if (number >= indices_.size()) indices_.resize(std::max(number + 1, 2 * indices_.size()));
  Index& entry = indices_[number];
  if (entry.body == body_) return entry.index;
  const Limit* const limit = limit_of(id);
  if (limit == nullptr) return std::nullopt;
  const std::string value = LimitValue(*limit);
  AppendVarint(static_cast<std::uint32_t>(value.size()), dictionary_);
  dictionary_ += value;
  entry = {.body = body_, .index = limits_++};
  return entry.index;
}

void RecordsWriter::BeginBody() {
  if (++body_ == 0) {  // the numbers begin again: no entry may be of an earlier body of this number
    std::ranges::fill(indices_, Index{});
    ++body_;
  }
  limits_ = 0;
  dictionary_.clear();
  sections_.clear();
  run_.clear();
  partitions_ = {};
}

void RecordsWriter::EndBody(bool is_last) {
  whole_.clear();
  AppendVarint(limits_, whole_);
  whole_ += dictionary_;
  whole_ += sections_;
  (*take_)({.bytes = whole_, .partitions = partitions_, .is_last = is_last});
}

void RecordsWriter::BeginSection() {
  partitions_.Add(section_.partition);
  AppendNumber(section_.partition, sections_);
  AppendNumber(section_.flags, sections_);
  runs_ = 0;
}

// Ends the run of that kind; earlier ones that the section lacks are empty.
void RecordsWriter::EndRun(int kind, std::uint32_t count) {
  for (; runs_ < kind; ++runs_) AppendVarint(0, sections_);
  WEIR_CHECK(runs_ == kind);
  AppendVarint(count, sections_);
  sections_ += run_;
  run_.clear();
  ++runs_;
}

void RecordsWriter::EndSection() {
  for (; runs_ < kRunsInSection; ++runs_) AppendVarint(0, sections_);
}

bool RecordsWriter::IsFull() const {
  return dictionary_.size() + sections_.size() + run_.size() >= bytes_;
}

namespace {

// Reads the records of a body into `changes_`.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : reader_(body) {}

  std::optional<LimiterChanges> Read(RecordsKind kind) {
    const std::uint8_t flags = kind == RecordsKind::kPartition ? kReplaces : 0;
    TakeLimits();
    while (!reader_.failed() && reader_.left() > 0) TakeSection(flags);
    if (!reader_.Complete()) return std::nullopt;
    const bool is_about_one = changes_.rewritten_partitions.size() == 1;
    if (kind == RecordsKind::kPartition && !is_about_one) return std::nullopt;
    return std::move(changes_);
  }

 private:
  // A count of things that take at least `bytes_min` each; 0 if there is no room for them.
  std::size_t TakeCount(std::size_t bytes_min) {
    const std::size_t count = TakeVarint(reader_);
    if (count <= reader_.left() / bytes_min) return count;
    reader_.Fail();
    return 0;
  }

  void TakeLimits() {
    const std::size_t count = TakeCount(kLimitBytesMin);
    for (std::size_t i = 0; i < count && !reader_.failed(); ++i) {
      const std::optional<Limit> limit = ReadLimitValue(reader_.TakeBytes(TakeVarint(reader_)));
      if (!limit) return reader_.Fail();
      changes_.limits.push_back({LimitId{static_cast<std::uint32_t>(i)}, limit});
    }
  }

  void TakeSection(std::uint8_t flags) {
    partition_ = reader_.Take<std::uint16_t>();
    if (reader_.Take<std::uint8_t>() != flags || partition_ >= kPartitionCount) {
      return reader_.Fail();
    }
    if (flags == kReplaces) changes_.rewritten_partitions.push_back(partition_);
    const std::size_t buckets = TakeCount(kBucketBytesMin);
    for (std::size_t i = 0; i < buckets && !reader_.failed(); ++i) TakeBucket();
    const std::size_t holds = TakeCount(kHoldBytesMin);
    for (std::size_t i = 0; i < holds && !reader_.failed(); ++i) TakeHold();
    const std::size_t sums = TakeCount(kSumsBytesMin);
    for (std::size_t i = 0; i < sums && !reader_.failed(); ++i) TakeSums();
  }

  bool IsLimit(LimitId id) const { return NumberOf(id) < changes_.limits.size(); }
  bool CanHave(LimitId id, const Bucket& bucket) const {
    return IsLimit(id) && HasFormOf(*changes_.limits[NumberOf(id)].limit, bucket);
  }

  void TakeBucket() {
    const auto tag = reader_.Take<std::uint8_t>();
    const auto hash = reader_.Take<std::uint64_t>();
    const LimitId limit{TakeVarint(reader_)};
    const auto algorithm = static_cast<Algorithm>(tag & kAlgorithmMask);
    const bool erased = (tag & kErased) != 0;
    Bucket bucket;
    if (!erased) {
      bucket.high = reader_.Take<std::uint32_t>();
      bucket.low = reader_.Take<std::uint32_t>();
      bucket.extra = TakeVarint(reader_);
    }
    if (tag > (kAlgorithmMask | kErased | kWentBack) || !CanHave(limit, bucket) ||
        changes_.limits[NumberOf(limit)].limit->shape().algorithm != algorithm) {
      return reader_.Fail();
    }
    changes_.buckets.push_back({.key = {hash, limit},
                                .partition = partition_,
                                .algorithm = algorithm,
                                .went_back = (tag & kWentBack) != 0,
                                .erased = erased,
                                .bucket = bucket});
  }

  void TakeHold() {
    const auto key = reader_.Take<std::uint64_t>();
    const std::string_view id = reader_.TakeBytes(reader_.Take<std::uint8_t>());
    const std::string_view value = reader_.TakeBytes(TakeVarint(reader_));
    if (id.empty() || id.size() > kHoldIdBytesMax) return reader_.Fail();
    HoldChange change = {partition_, key, std::string(id), std::nullopt};
    if (!value.empty()) {
      change.hold = ReadHoldValue(value);
      const bool is_whole =
          change.hold && std::ranges::all_of(change.hold->parts, [this](const HoldPart& part) {
            return CanHave(part.limit, part.left);
          });
      if (!is_whole) return reader_.Fail();
    }
    changes_.holds.push_back(std::move(change));
  }

  void TakeSums() {
    const auto tag = reader_.Take<std::uint8_t>();
    const auto hash = reader_.Take<std::uint64_t>();
    const LimitId limit{TakeVarint(reader_)};
    if ((tag & ~kErased) != 0 || !IsLimit(limit)) return reader_.Fail();
    SumsChange change = {partition_, {hash, limit}, std::nullopt};
    if (tag != kErased) {
      change.sums.emplace();
      change.sums->given_back = reader_.Take<std::uint64_t>();
      change.sums->cut_off = reader_.Take<std::uint64_t>();
    }
    changes_.sums.push_back(change);
  }

  RecordReader reader_;
  LimiterChanges changes_;
  std::uint16_t partition_ = 0;
};

}  // namespace

std::optional<LimiterChanges> ReadRecords(std::string_view body, RecordsKind kind) {
  return BodyReader(body).Read(kind);
}

}  // namespace weir
