// Property: any bytes are either read as buckets, holds and policies or refused; a value that was
// read is written as it was, without the buckets and holds of policies that do not exist here, and
// its holds can be settled.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/rules/rule.h"
#include "module/values/module.h"
#include "module/values/open_key.h"
#include "module/values/policy_bytes.h"
#include "module/values/state_bytes.h"
#include "tests/support/decide_or_ban.h"

namespace weir {
namespace {

// A value that is no key's.
class ValueStore final : public HoldStore {
 public:
  explicit ValueStore(KeyBuckets& value) : value_(value) {}
  HoldTable* holds() override { return value_.holds(); }
  HoldTable& MakeHolds() override { return value_.MakeHolds(); }
  void HoldsChanged() override {}
  std::optional<Bucket> FindBucket(const SlotKey& slot) override {
    const Bucket* const bucket = value_.Find(slot.limit);
    return bucket ? std::optional(*bucket) : std::nullopt;
  }
  void StoreBucket(const SlotKey& slot, const Limit& /*limit*/, Bucket bucket,
                   Instant /*now*/) override {
    value_.Keep(slot.limit, bucket);
  }
  bool HasRoomFor(std::uint64_t /*key*/, std::size_t added, Instant /*now*/) override {
    return value_.size() + added <= kKeyBucketsMax;
  }

 private:
  KeyBuckets& value_;
};

// Lets some holds expire, and then all.
void Expire(Module& module, KeyBuckets& value) {
  ValueStore store(value);
  for (const Instant now : {Instant{std::chrono::hours{500'000}}, kInstantMax + kHoldMax}) {
    static_cast<void>(module.keeper.ExpireHolds(store, now));
  }
  WEIR_CHECK(module.hold_records.counts().open() == 0);
  const std::string written = StateBytes(value, module.limit_texts);
  WEIR_CHECK(!written.starts_with('\0'));
  WEIR_CHECK(ReadStateBytes(written, module.policies).has_value());
}

void TryState(std::string_view bytes) {
  Policies policies;
  const std::string_view words[] = {"5/s", "7/h,fixed"};
  WEIR_CHECK(policies.Set("free", *ParsePolicyLimits(words)).ok());
  const auto saved = ReadStateBytes(bytes, policies);
  if (!saved) return;
  for (const SavedState::OfLimit& one : saved->limits) {
    if (!one.limit || !one.bucket) continue;
    const Instant now{std::chrono::hours{500'000}};
    const Nanos to_full = TimeToFull(*one.limit, *one.bucket, now);
    WEIR_CHECK(to_full >= Nanos{0});
    WEIR_CHECK(now + to_full >= now);
    const Nanos ban = BanLeft(*one.limit, *one.bucket, now, Nanos{0});
    const Decision decision = DecideOrBan(*one.limit, *one.bucket, now, 1, Nanos{0}).decision;
    WEIR_CHECK(decision.remaining >= 0);
    WEIR_CHECK(ban == Nanos{0} || (!decision.allowed && decision.retry_after == ban));
  }
  Module module({});
  WEIR_CHECK(module.policies.Set("free", *ParsePolicyLimits(words)).ok());
  KeyBuckets value(module.values);
  FillValue(module, *saved, value);
  const std::string written = StateBytes(value, module.limit_texts);
  const auto again = ReadStateBytes(written, module.policies);
  WEIR_CHECK(again.has_value());
  KeyBuckets copy(module.values);
  FillValue(module, *again, copy);
  WEIR_CHECK(StateBytes(copy, module.limit_texts) == written);
  value.Clear();
  // All buckets, except those of policies that do not exist here.
  const bool is_first_version = !bytes.starts_with('\0');
  if (is_first_version && bytes.find('@') == std::string_view::npos) WEIR_CHECK(written == bytes);
  Expire(module, copy);
}

void TryPolicies(std::string_view bytes) {
  Policies policies;
  if (!ReadPolicyBytes(bytes, policies)) return;
  const std::string written = PolicyBytes(policies);
  Policies again;
  WEIR_CHECK(ReadPolicyBytes(written, again));
  WEIR_CHECK(PolicyBytes(again) == written);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  weir::TryState(bytes);
  weir::TryPolicies(bytes);
  return 0;
}
