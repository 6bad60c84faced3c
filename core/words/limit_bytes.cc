#include "core/words/limit_bytes.h"

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/words/limit_grammar.h"
#include "core/words/request.h"

namespace weir {
namespace {

// True for no owner, for CL.THROTTLE and for a position of a policy.
bool IsOwner(const LimitOwner& owner) {
  if (!IsPolicyId(owner.policy)) return owner.position == 0;
  return owner.position < kPolicyLimitsMax;
}

// True for a limit that buckets can have: CL.THROTTLE's is a token bucket.
bool HasRecord(const Limit& limit) {
  const bool is_throttles = limit.owner().policy == kThrottleOwner.policy;
  const LimitShape& shape = limit.shape();
  return limit.has_bucket() && IsOwner(limit.owner()) &&
         !(is_throttles && (shape.algorithm != Algorithm::kTokenBucket || shape.shadow));
}

LimitOwner TakeOwner(RecordReader& reader) {
  LimitOwner owner;
  owner.policy = PolicyId{reader.Take<std::uint32_t>()};
  owner.position = reader.Take<std::uint32_t>();
  return owner;
}

}  // namespace

std::string LimitValue(const Limit& limit) {
  WEIR_CHECK(HasRecord(limit));
  std::string value;
  AppendNumber(NumberOf(limit.owner().policy), value);
  AppendNumber(limit.owner().position, value);
  return value + LimitText(limit);
}

std::optional<Limit> ReadLimitValue(std::string_view bytes) {
  RecordReader reader(bytes);
  const LimitOwner owner = TakeOwner(reader);
  const absl::StatusOr<LimitWord> word = ParseLimitWord(reader.TakeRest());
  if (!reader.Complete() || !word.ok() || word->kind != LimitWord::Kind::kLimit) {
    return std::nullopt;
  }
  if (word->cost || word->keep || !word->label.empty()) return std::nullopt;
  const Limit limit = word->limit->OwnedBy(owner);
  if (!HasRecord(limit)) return std::nullopt;
  return limit;
}

std::string_view WordInLimitValue(std::string_view bytes) {
  RecordReader reader(bytes);
  static_cast<void>(TakeOwner(reader));
  return reader.TakeRest();
}

}  // namespace weir
