// Random limits, instants, buckets and costs for CheckLaw (property.h), crowded around the edges of
// the rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <rapidcheck.h>

#include "core/base/exact_nanos.h"
#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/token_bucket.h"
#include "tests/random/property.h"
#include "tests/support/printing.h"

namespace weir {

// The limit that a word spells: LimitOf("3/s,burst=5").
[[nodiscard]] Limit LimitOf(std::string_view text);

[[nodiscard]] Limit TokenBucketOf(std::int64_t count, Nanos period, std::int64_t burst);

// One of the limits that these words spell.
[[nodiscard]] rc::Gen<Limit> LimitAmong(std::vector<std::string_view> words);

// The rc::gen functions without RapidCheck's growth of cases from small to large: the first case is
// as likely to hit an edge as the last.
template <typename T>
[[nodiscard]] rc::Gen<T> Between(T low, T high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high + 1));
}
extern template rc::Gen<int> Between(int, int);
extern template rc::Gen<std::int64_t> Between(std::int64_t, std::int64_t);
extern template rc::Gen<std::uint64_t> Between(std::uint64_t, std::uint64_t);

// Everyday limits, limits whose arithmetic is awkward, and the extremes of the accepted range.
[[nodiscard]] rc::Gen<Limit> NotableLimit();

// One limit in four as a shadow.
[[nodiscard]] rc::Gen<Limit> SometimesShadow(const rc::Gen<Limit>& limit);

// One limit in four with a ban, if it can have one: shorter than most waits, of the length of a
// wait, and longer than all.
[[nodiscard]] rc::Gen<Limit> SometimesBan(const rc::Gen<Limit>& limit);

// Any token bucket: E = p / n of all magnitudes, burst from 1 to the largest that the capacity
// allows.
[[nodiscard]] rc::Gen<Limit> StrangeLimit();

[[nodiscard]] rc::Gen<Limit> AnyLimit();

// Instants of all magnitudes, both ends of the range, and instants of this century. At least `room`
// lies between each of them and the end of the range.
[[nodiscard]] rc::Gen<Instant> AnyInstant(Nanos room = Nanos{0});

// The longest wait that a server can be configured to allow.
[[nodiscard]] rc::Gen<Nanos> AnyMaxWait();

// The greatest distance from full that the clamp leaves unchanged.
[[nodiscard]] ExactNanos Farthest(const Limit& limit, Instant now, Nanos max_wait);

// Buckets that a history can produce: absent, full, in use, empty, or reserved for up to
// `max_wait`; often within a nanosecond or a fraction of one from the next of these states.
[[nodiscard]] rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now, Nanos max_wait);

// Any twelve bytes.
[[nodiscard]] rc::Gen<Bucket> ForeignBucket();
// Such bytes that the limit can have (HasFormOf).
[[nodiscard]] rc::Gen<Bucket> AnyFormOf(const Limit& limit);

// Costs of 0 or more, up to the largest sum of many costs.
[[nodiscard]] rc::Gen<std::uint64_t> AnyCost(const Limit& limit);

}  // namespace weir
