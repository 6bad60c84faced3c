#include "core/table/hold_bytes.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

static_assert(kBucketValueBytes == sizeof(Bucket));

// The flags of a hold.
constexpr std::uint8_t kSettled = 1;
constexpr std::uint8_t kHasIntervals = 2;
constexpr std::uint8_t kLapses = 4;

static_assert(kHoldPartsMax <= UINT8_MAX);

// The latest instant at which a hold may expire.
constexpr Instant kExpiryMax = kInstantMax + kHoldMax;

// Takes a number of 63 bits.
template <typename Number>
bool TakeSigned(RecordReader& reader, std::int64_t most, Number& number) {
  const auto read = reader.Take<std::uint64_t>();
  number = Number{static_cast<std::int64_t>(read)};
  return read <= static_cast<std::uint64_t>(most);
}

// Reads the fields that marks do not have.
bool TakeEstimate(RecordReader& reader, HoldPart& part) {
  const std::optional<Bucket> left = ReadBucketValue(reader.TakeBytes(kBucketValueBytes));
  part.left = left.value_or(Bucket{});
  part.sums.given_back = reader.Take<std::uint64_t>();
  part.sums.cut_off = reader.Take<std::uint64_t>();
  return left.has_value() && !part.is_held();
}

bool TakeInterval(RecordReader& reader, HoldInterval& interval) {
  const bool is_signed = TakeSigned(reader, INT64_MAX, interval.period);
  interval.denominator = reader.Take<std::uint32_t>();
  return is_signed && interval.denominator > 0;
}

}  // namespace

void AppendBucketValue(const Bucket& bucket, std::string& out) {
  AppendNumber(bucket.high, out);
  AppendNumber(bucket.low, out);
  AppendNumber(bucket.extra, out);
}

void AppendSumsValue(const SettlementSums& sums, std::string& out) {
  AppendNumber(sums.given_back, out);
  AppendNumber(sums.cut_off, out);
}

void AppendHoldValue(const SavedHold& hold, std::string& out) {
  WEIR_CHECK(hold.parts.size() <= kHoldPartsMax);
  WEIR_CHECK(hold.intervals.empty() || hold.intervals.size() == hold.parts.size());
  WEIR_CHECK(!hold.settled || (hold.intervals.empty() && !hold.lapses));
  WEIR_CHECK(hold.expiry >= Instant{});
  WEIR_CHECK(hold.expiry <= kExpiryMax);
  WEIR_CHECK(hold.granted >= 0);
  const unsigned flags = (hold.settled ? kSettled : 0U) |
                         (hold.intervals.empty() ? 0U : kHasIntervals) |
                         (hold.lapses ? kLapses : 0U);
  AppendNumber(static_cast<std::uint8_t>(flags), out);
  AppendNumber(static_cast<std::uint64_t>(hold.expiry.time_since_epoch().count()), out);
  AppendNumber(hold.order, out);
  AppendNumber(hold.request, out);
  AppendNumber(static_cast<std::uint64_t>(hold.granted), out);
  AppendNumber(static_cast<std::uint8_t>(hold.parts.size()), out);
  for (std::size_t i = 0; i < hold.parts.size(); ++i) {
    const HoldPart& part = hold.parts[i];
    AppendNumber(NumberOf(part.limit), out);
    AppendNumber(part.cost, out);
    if (hold.settled) continue;
    WEIR_CHECK(!part.is_held());  // SavedHold has no mark of a held limit.
    AppendBucketValue(part.left, out);
    AppendSumsValue(part.sums, out);
    if (hold.intervals.empty()) continue;
    AppendNumber(static_cast<std::uint64_t>(hold.intervals[i].period), out);
    AppendNumber(hold.intervals[i].denominator, out);
  }
}

std::optional<Bucket> ReadBucketValue(std::string_view bytes) {
  RecordReader reader(bytes);
  Bucket bucket;
  bucket.high = reader.Take<std::uint32_t>();
  bucket.low = reader.Take<std::uint32_t>();
  bucket.extra = reader.Take<std::uint32_t>();
  if (!reader.Complete()) return std::nullopt;
  return bucket;
}

std::optional<SettlementSums> ReadSumsValue(std::string_view bytes) {
  RecordReader reader(bytes);
  SettlementSums sums;
  sums.given_back = reader.Take<std::uint64_t>();
  sums.cut_off = reader.Take<std::uint64_t>();
  if (!reader.Complete()) return std::nullopt;
  return sums;
}

std::optional<SavedHold> ReadHoldValue(std::string_view bytes) {
  RecordReader reader(bytes);
  SavedHold hold;
  const auto flags = reader.Take<std::uint8_t>();
  hold.settled = (flags & kSettled) != 0;
  hold.lapses = (flags & kLapses) != 0;
  const bool has_intervals = (flags & kHasIntervals) != 0;
  Nanos expiry{0};
  if (!TakeSigned(reader, kExpiryMax.time_since_epoch().count(), expiry)) return std::nullopt;
  hold.expiry = Instant{expiry};
  hold.order = reader.Take<std::uint32_t>();
  hold.request = reader.Take<std::uint64_t>();
  if (!TakeSigned(reader, INT64_MAX, hold.granted)) return std::nullopt;
  const auto parts = reader.Take<std::uint8_t>();
  constexpr std::uint8_t kAll = kSettled | kHasIntervals | kLapses;
  if (flags > kAll || parts > kHoldPartsMax) return std::nullopt;
  // The others are of an open hold, and intervals of its parts.
  if (hold.settled && flags != kSettled) return std::nullopt;
  if (has_intervals && parts == 0) return std::nullopt;
  for (std::size_t i = 0; i < parts; ++i) {
    HoldPart& part = hold.parts.emplace_back();
    part.limit = LimitId{reader.Take<std::uint32_t>()};
    part.cost = reader.Take<std::uint64_t>();
    if (!hold.settled && !TakeEstimate(reader, part)) return std::nullopt;
    if (has_intervals && !TakeInterval(reader, hold.intervals.emplace_back())) return std::nullopt;
  }
  if (!reader.Complete()) return std::nullopt;
  return hold;
}

}  // namespace weir
