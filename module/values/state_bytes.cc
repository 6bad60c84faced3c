#include "module/values/state_bytes.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "module/values/u32_bytes.h"

namespace weir {
namespace {

constexpr std::size_t kBucketBytes = 12;
// True for a time that no rule writes: so near the end of 63 bits that sums with it would overflow.
bool IsBeyondTime(const Limit& limit, const Bucket& bucket) {
  return limit.shape().algorithm != Algorithm::kSlidingWindow && bucket.high == INT32_MAX;
}

// The owner for policies that this node does not have.
constexpr LimitOwner kNowhere{PolicyId{UINT32_MAX}, 1};

// Takes a limit's owner from the front of its text. Returns nothing if the text is invalid.
std::optional<LimitOwner> TakeOwner(std::string_view& text, const Policies& policies) {
  if (text.starts_with(kThrottleText)) {
    text.remove_prefix(kThrottleText.size());
    return kThrottleOwner;
  }
  if (!text.starts_with('@')) return LimitOwner{};
  const std::size_t mark = text.find('#');
  const std::size_t blank = text.find(' ');
  if (mark == std::string_view::npos || blank == std::string_view::npos || blank < mark) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(1, mark - 1);
  const std::optional<std::int64_t> position = ParseDigits(text.substr(mark + 1, blank - mark - 1));
  if (!IsLabel(name) || !position || static_cast<std::size_t>(*position) >= kPolicyLimitsMax) {
    return std::nullopt;
  }
  text.remove_prefix(blank + 1);
  const std::shared_ptr<const Policy> policy = policies.Find(name);
  if (!policy) return kNowhere;
  return LimitOwner{policy->id, static_cast<std::uint32_t>(*position)};
}

}  // namespace

std::string StateBytes(const KeyBuckets& buckets, LimitTexts& texts) {
  using Named = std::pair<std::string_view, Bucket>;
  absl::InlinedVector<Named, 4> named;
  for (const KeyBuckets::KeyBucket& one : buckets) {
    const std::string_view text = texts.Of(one.limit);
    if (!text.empty()) named.emplace_back(text, one.bucket);
  }
  std::ranges::sort(named, {}, &Named::first);
  std::string bytes;
  for (const auto& [text, bucket] : named) {
    WEIR_CHECK(text.size() <= UINT8_MAX);
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(text.size())));
    bytes += text;
    AppendU32(bucket.high, bytes);
    AppendU32(bucket.low, bytes);
    AppendU32(bucket.extra, bytes);
  }
  return bytes;
}

std::optional<std::vector<SavedBucket>> ReadStateBytes(std::string_view bytes,
                                                       const Policies& policies) {
  std::vector<SavedBucket> saved;
  std::string_view before;
  for (std::size_t count = 0; !bytes.empty(); ++count) {
    const std::size_t length = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (count == kKeyBucketsMax || bytes.size() < length + kBucketBytes) return std::nullopt;
    std::string_view text = bytes.substr(0, length);
    const std::string_view words = bytes.substr(length, kBucketBytes);
    bytes.remove_prefix(length + kBucketBytes);
    if (text <= before) return std::nullopt;  // not sorted, or not distinct
    before = text;

    const std::optional<LimitOwner> owner = TakeOwner(text, policies);
    const absl::StatusOr<LimitWord> word = ParseLimitWord(text);
    if (owner && absl::IsNotFound(word.status())) continue;
    if (!owner || !word.ok() || word->kind != LimitWord::Kind::kLimit) return std::nullopt;
    const Limit limit = word->limit->OwnedBy(*owner);
    if (IdentityText(limit) != text) return std::nullopt;
    const Bucket bucket{
        .low = ReadU32(words.substr(4)), .high = ReadU32(words), .extra = ReadU32(words.substr(8))};
    if (IsMarked(bucket) || IsBeyondTime(limit, bucket)) return std::nullopt;
    if (*owner != kNowhere) saved.push_back({limit, bucket});
  }
  return saved;
}

}  // namespace weir
