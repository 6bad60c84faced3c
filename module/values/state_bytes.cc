#include "module/values/state_bytes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/base/record_bytes.h"
#include "core/limiter/hold_request.h"
#include "core/rules/rule.h"
#include "core/table/hold_bytes.h"

namespace weir {
namespace {

constexpr std::size_t kSumsBytes = 16;
constexpr char kHeldMark = 0;  // the length of no text

enum class StateKind : std::uint8_t { kWhole = 0, kChange = 1 };

// The flags of a limit.
constexpr std::uint8_t kHasBucket = 1;
constexpr std::uint8_t kHasSums = 2;

// True for a time that no rule writes: so near the end of 63 bits that sums with it would overflow.
bool IsBeyondTime(const Limit& limit, const Bucket& bucket) {
  return limit.shape().algorithm != Algorithm::kSlidingWindow && bucket.high == INT32_MAX;
}

// False for bytes that no rule of the limit writes.
bool IsPossible(const Limit& limit, const Bucket& bucket) {
  return HasFormOf(limit, bucket) && !IsBeyondTime(limit, bucket);
}

void AppendText(std::string_view text, std::string& out) {
  WEIR_CHECK(text.size() <= UINT8_MAX);
  AppendNumber(static_cast<std::uint8_t>(text.size()), out);
  out += text;
}

// --- Version 1 ---

std::string BucketBytes(const KeyBuckets& buckets, LimitTexts& texts) {
  using Named = std::pair<std::string_view, Bucket>;
  absl::InlinedVector<Named, 4> named;
  for (const KeyBuckets::KeyBucket& one : buckets) {
    const std::string_view text = texts.Of(one.limit);
    if (!text.empty() && !texts.LimitOf(one.limit).is_held()) named.emplace_back(text, one.bucket);
  }
  std::ranges::sort(named, {}, &Named::first);
  std::string bytes;
  for (const auto& [text, bucket] : named) {
    AppendText(text, bytes);
    AppendBucketValue(bucket, bytes);
  }
  return bytes;
}

// Takes a limit's text, which must come after `before` in the order of texts. Returns false if it
// does not, or is no limit's text.
bool TakeText(RecordReader& reader, const Policies& policies, std::string_view& before,
              SavedState::OfLimit& limit) {
  const std::string_view text = reader.TakeBytes(reader.Take<std::uint8_t>());
  if (text <= before) return false;
  before = text;
  absl::StatusOr<std::optional<Limit>> read = ReadLimitText(text, policies);
  if (!read.ok()) return false;
  limit.limit = *std::move(read);
  return true;
}

bool TakeBucket(RecordReader& reader, SavedState::OfLimit& limit) {
  limit.bucket = ReadBucketValue(reader.TakeBytes(kBucketValueBytes));
  if (!limit.bucket) return false;
  return !limit.limit || (!limit.limit->is_held() && IsPossible(*limit.limit, *limit.bucket));
}

std::optional<SavedState> ReadBuckets(std::string_view bytes, const Policies& policies) {
  SavedState state;
  std::string_view before;
  RecordReader reader(bytes);
  for (std::size_t count = 0; !reader.Complete(); ++count) {
    SavedState::OfLimit limit;
    if (count == kKeyBucketsMax || !TakeText(reader, policies, before, limit)) return std::nullopt;
    if (!TakeBucket(reader, limit)) return std::nullopt;
    if (limit.limit) state.limits.push_back(limit);
  }
  return state;
}

// --- Version 2 ---

// The limits of a state that is written, sorted by their texts.
class LimitList {
 public:
  explicit LimitList(LimitTexts& texts) : texts_(texts) {}

  // Returns the limit's entry, or null if its policy no longer exists.
  SavedState::OfLimit* Add(LimitId id) {
    const std::string_view text = texts_.Of(id);
    if (text.empty()) return nullptr;
    return &entries_.try_emplace(id, Entry{text, {}}).first->second.saved;
  }
  void Sort() {
    for (const auto& [id, entry] : entries_) sorted_.emplace_back(entry.text, id);
    std::ranges::sort(sorted_);
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      numbers_[sorted_[i].second] = static_cast<std::uint32_t>(i);
    }
  }
  // Requires: sorted, and an entry of the limit.
  [[nodiscard]] LimitId NumberOf(LimitId id) const { return LimitId{numbers_.at(id)}; }
  void AppendTo(std::string& bytes) const {
    AppendNumber(static_cast<std::uint32_t>(sorted_.size()), bytes);
    for (const auto& [text, id] : sorted_) {
      const SavedState::OfLimit& limit = entries_.at(id).saved;
      AppendText(text, bytes);
      const unsigned flags = (limit.bucket ? kHasBucket : 0U) | (limit.sums ? kHasSums : 0U);
      AppendNumber(static_cast<std::uint8_t>(flags), bytes);
      if (limit.bucket) AppendBucketValue(*limit.bucket, bytes);
      if (limit.sums) AppendSumsValue(*limit.sums, bytes);
    }
  }

 private:
  struct Entry {
    std::string_view text;
    SavedState::OfLimit saved;
  };

  LimitTexts& texts_;
  absl::flat_hash_map<LimitId, Entry> entries_;
  std::vector<std::pair<std::string_view, LimitId>> sorted_;
  absl::flat_hash_map<LimitId, std::uint32_t> numbers_;
};

std::string HeldBytes(const KeyBuckets& buckets, StateKind kind,
                      std::vector<SavedState::OfHold> holds, LimitTexts& texts) {
  LimitList limits(texts);
  for (const KeyBuckets::KeyBucket& one : buckets) {
    if (texts.LimitOf(one.limit).is_held()) continue;
    if (SavedState::OfLimit* const limit = limits.Add(one.limit)) limit->bucket = one.bucket;
  }
  buckets.holds()->ForEachSums([&](const SlotKey& bucket, const SettlementSums& sums) {
    if (SavedState::OfLimit* const limit = limits.Add(bucket.limit)) limit->sums = sums;
  });
  std::erase_if(holds, [&](const SavedState::OfHold& one) {
    return one.hold && std::ranges::any_of(one.hold->parts, [&](const HoldPart& part) {
             return limits.Add(part.limit) == nullptr;
           });
  });
  limits.Sort();
  std::ranges::sort(holds, {}, &SavedState::OfHold::id);
  std::string bytes(1, kHeldMark);
  AppendNumber(kHeldStateVersion, bytes);
  AppendNumber(static_cast<std::uint8_t>(kind), bytes);
  limits.AppendTo(bytes);
  std::string value;
  for (SavedState::OfHold& one : holds) {
    value.clear();
    if (one.hold) {
      for (HoldPart& part : one.hold->parts) part.limit = limits.NumberOf(part.limit);
      AppendHoldValue(*one.hold, value);
    }
    AppendText(one.id, bytes);
    WEIR_CHECK(value.size() <= UINT16_MAX);
    AppendNumber(static_cast<std::uint16_t>(value.size()), bytes);
    bytes += value;
  }
  return bytes;
}

bool TakeLimits(RecordReader& reader, const Policies& policies, SavedState& state) {
  std::string_view before;
  std::size_t buckets = 0;
  for (auto left = reader.Take<std::uint32_t>(); left > 0; --left) {
    SavedState::OfLimit limit;
    if (!TakeText(reader, policies, before, limit)) return false;
    const auto flags = reader.Take<std::uint8_t>();
    if (flags > (kHasBucket | kHasSums)) return false;
    if ((flags & kHasBucket) != 0) {
      if (++buckets > kKeyBucketsMax || !TakeBucket(reader, limit)) return false;
    }
    if ((flags & kHasSums) != 0) {
      limit.sums = ReadSumsValue(reader.TakeBytes(kSumsBytes));
      if (!limit.sums) return false;
    }
    state.limits.push_back(limit);
  }
  return true;
}

// True if the rules may have left the hold. Its limits are indexes into `limits`.
bool IsPossible(const SavedHold& hold, std::span<const SavedState::OfLimit> limits) {
  return std::ranges::all_of(hold.parts, [&](const HoldPart& part) {
    const std::size_t number = NumberOf(part.limit);
    if (number >= limits.size()) return false;
    const std::optional<Limit>& limit = limits[number].limit;
    return !limit || (IsPossible(*limit, part.left) && !(hold.lapses && limit->is_held()));
  });
}

std::optional<SavedState> ReadHeld(std::string_view bytes, const Policies& policies) {
  SavedState state;
  RecordReader reader(bytes);
  reader.Expect(kHeldMark);
  const auto version = reader.Take<std::uint8_t>();
  const auto kind = reader.Take<std::uint8_t>();
  if (version != kHeldStateVersion || kind > static_cast<std::uint8_t>(StateKind::kChange)) {
    return std::nullopt;
  }
  state.is_change = kind == static_cast<std::uint8_t>(StateKind::kChange);
  if (!TakeLimits(reader, policies, state)) return std::nullopt;
  std::size_t open = 0;
  std::string_view before;
  while (!reader.Complete()) {
    const std::string_view id = reader.TakeBytes(reader.Take<std::uint8_t>());
    const std::string_view value = reader.TakeBytes(reader.Take<std::uint16_t>());
    if (id <= before || id.size() > kHoldIdBytesMax) return std::nullopt;
    before = id;
    std::optional<SavedHold> hold = ReadHoldValue(value);
    const bool is_gone = state.is_change && value.empty();
    if (!is_gone && (!hold || !IsPossible(*hold, state.limits))) return std::nullopt;
    if (hold && !hold->settled && ++open > kKeyHoldsMax) return std::nullopt;
    state.holds.push_back({std::string(id), std::move(hold)});
  }
  return state;
}

}  // namespace

std::string StateBytes(const KeyBuckets& buckets, LimitTexts& texts) {
  const HoldTable* const holds = buckets.holds();
  if (!holds || (holds->open().empty() && holds->marks().empty())) {
    return BucketBytes(buckets, texts);
  }
  std::vector<SavedState::OfHold> all;
  holds->open().ForEach([&](const Hold& hold) {
    all.push_back({std::string(hold.id()), SavedHoldOf(hold, false)});
  });
  holds->marks().ForEach([&](const Hold& hold) {
    all.push_back({std::string(hold.id()), SavedHoldOf(hold, true)});
  });
  return HeldBytes(buckets, StateKind::kWhole, std::move(all), texts);
}

std::string ChangeBytes(KeyBuckets& buckets, LimitTexts& texts) {
  HoldTable* const holds = buckets.holds();
  const bool is_long =
      holds && holds->open().size() + holds->marks().size() > holds->changes().size();
  if (!is_long || holds->changes().overflowed()) return StateBytes(buckets, texts);
  std::vector<SavedState::OfHold> changed;
  holds->TakeChanges(
      [&](std::uint64_t /*key*/, std::string_view id, std::optional<SavedHold> hold) {
        changed.push_back({std::string(id), std::move(hold)});
      },
      [](const SlotKey&, const SettlementSums*) {});
  return HeldBytes(buckets, StateKind::kChange, std::move(changed), texts);
}

std::optional<SavedState> ReadStateBytes(std::string_view bytes, const Policies& policies) {
  return bytes.starts_with(kHeldMark) ? ReadHeld(bytes, policies) : ReadBuckets(bytes, policies);
}

}  // namespace weir
