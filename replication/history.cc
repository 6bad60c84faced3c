#include "replication/history.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

constexpr std::uint8_t kVersion = 1;

constexpr std::uint8_t kHasId = 1;
constexpr std::uint8_t kHasPrevious = 2;
constexpr std::uint8_t kIsReplica = 4;
constexpr std::uint8_t kWasTold = 8;
constexpr std::uint8_t kIsDeposed = 16;
constexpr std::uint8_t kJoinsAny = 32;
constexpr std::uint8_t kHasFloor = 64;
constexpr std::uint8_t kHadReplicas = 128;

// Of the second byte of flags:
constexpr std::uint8_t kLacks = 1;
constexpr std::uint8_t kHasYielded = 2;
constexpr std::uint8_t kHasShift = 4;

static_assert(kPrimaryHostBytesMax <= UINT8_MAX);

}  // namespace

bool IsHistoryId(std::string_view text) noexcept {
  return text.size() == kHistoryIdBytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<std::uint64_t> History::Common(std::string_view from_id,
                                             std::uint64_t from_offset) const {
  if (from_id.empty()) return std::nullopt;
  if (from_id == id) return std::min(from_offset, offset);
  if (from_id == previous) return std::min({from_offset, until, offset});
  return std::nullopt;
}

void History::Promote(std::uint64_t at, std::string_view new_id) {
  WEIR_CHECK(IsHistoryId(new_id));
  term = std::max(term, seen_term) + 1;
  seen_term = term;
  previous = id;
  until = id.empty() ? 0 : at;
  id = new_id;
  offset = at;
  is_replica = false;
  is_deposed = false;
  joins_any = false;
  had_replicas = false;
  lacks = false;
  yielded_in = 0;
  primary = {};
}

void History::Follow(std::uint64_t new_term, std::string_view new_id) {
  WEIR_CHECK(IsHistoryId(new_id));
  seen_term = std::max({seen_term, term, new_term});
  term = new_term;
  if (id == new_id) return;
  id = new_id;
  previous.clear();
  until = 0;
}

void History::ForgetId() {
  id.clear();
  previous.clear();
  until = 0;
}

bool History::LosesTo(std::uint64_t other_term, std::string_view other_id) const {
  if (other_term != term) return other_term > term;
  return term > 0 && !id.empty() && other_id != previous && other_id > id;
}

std::string HistoryValue(const History& history) {
  WEIR_CHECK(history.id.empty() || IsHistoryId(history.id));
  WEIR_CHECK(history.previous.empty() || IsHistoryId(history.previous));
  WEIR_CHECK(history.primary.host.size() <= kPrimaryHostBytesMax);
  std::string value;
  AppendNumber(kVersion, value);
  const unsigned flags =
      (history.id.empty() ? 0U : kHasId) | (history.previous.empty() ? 0U : kHasPrevious) |
      (history.is_replica ? kIsReplica : 0U) | (history.was_told ? kWasTold : 0U) |
      (history.is_deposed ? kIsDeposed : 0U) | (history.joins_any ? kJoinsAny : 0U) |
      (history.sentinel_floor ? kHasFloor : 0U) | (history.had_replicas ? kHadReplicas : 0U);
  AppendNumber(static_cast<std::uint8_t>(flags), value);
  AppendNumber(history.term, value);
  AppendNumber(history.seen_term, value);
  AppendNumber(history.offset, value);
  AppendNumber(history.until, value);
  value += history.id;
  value += history.previous;
  AppendNumber(static_cast<std::uint8_t>(history.primary.host.size()), value);
  value += history.primary.host;
  AppendNumber(history.primary.port, value);
  if (history.sentinel_floor) AppendNumber(*history.sentinel_floor, value);
  const unsigned more = (history.lacks ? kLacks : 0U) |
                        (history.yielded_in > 0 ? kHasYielded : 0U) |
                        (history.clock_shift != Nanos{0} ? kHasShift : 0U);
  AppendNumber(static_cast<std::uint8_t>(more), value);
  if (history.yielded_in > 0) AppendNumber(history.yielded_in, value);
  if (history.clock_shift != Nanos{0}) {
    AppendNumber(static_cast<std::uint64_t>(history.clock_shift.count()), value);
  }
  return value;
}

std::optional<History> ReadHistoryValue(std::string_view bytes) {
  RecordReader reader(bytes);
  const auto version = reader.Take<std::uint8_t>();
  const auto flags = reader.Take<std::uint8_t>();
  if (version != kVersion) return std::nullopt;
  History history;
  history.term = reader.Take<std::uint64_t>();
  history.seen_term = reader.Take<std::uint64_t>();
  history.offset = reader.Take<std::uint64_t>();
  history.until = reader.Take<std::uint64_t>();
  if ((flags & kHasId) != 0) {
    history.id = reader.TakeBytes(kHistoryIdBytes);
    if (!IsHistoryId(history.id)) return std::nullopt;
  }
  if ((flags & kHasPrevious) != 0) {
    history.previous = reader.TakeBytes(kHistoryIdBytes);
    if (!IsHistoryId(history.previous)) return std::nullopt;
  }
  history.is_replica = (flags & kIsReplica) != 0;
  history.was_told = (flags & kWasTold) != 0;
  history.is_deposed = (flags & kIsDeposed) != 0;
  history.joins_any = (flags & kJoinsAny) != 0;
  history.primary.host = reader.TakeBytes(reader.Take<std::uint8_t>());
  history.primary.port = reader.Take<std::uint16_t>();
  history.had_replicas = (flags & kHadReplicas) != 0;
  if ((flags & kHasFloor) != 0) history.sentinel_floor = reader.Take<std::uint64_t>();
  if (reader.left() > 0) {
    const auto more = reader.Take<std::uint8_t>();
    if (more > (kLacks | kHasYielded | kHasShift)) return std::nullopt;
    history.lacks = (more & kLacks) != 0;
    if ((more & kHasYielded) != 0) history.yielded_in = reader.Take<std::uint64_t>();
    if ((more & kHasShift) != 0) {
      history.clock_shift = Nanos{static_cast<std::int64_t>(reader.Take<std::uint64_t>())};
      if (history.clock_shift == Nanos{0}) return std::nullopt;
    }
  }
  if (!reader.Complete()) return std::nullopt;
  return history;
}

}  // namespace weir
