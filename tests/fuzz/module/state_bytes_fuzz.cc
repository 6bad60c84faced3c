// Property: any bytes are either read as buckets and policies or refused; a value that was read is
// written as it was, without the buckets of policies that do not exist here.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/rules/rule.h"
#include "module/values/policy_bytes.h"
#include "module/values/state_bytes.h"
#include "tests/support/decide_or_ban.h"

namespace weir {
namespace {

void TryState(std::string_view bytes) {
  Policies policies;
  const std::string_view words[] = {"5/s", "7/h,fixed"};
  WEIR_CHECK(policies.Set("free", *ParsePolicyLimits(words)).ok());
  const auto saved = ReadStateBytes(bytes, policies);
  if (!saved) return;
  LimitRegistry registry;
  KeyBuckets buckets(registry);
  for (const SavedBucket& one : *saved) {
    LimitHint hint;
    buckets.Keep(*registry.Intern(one.limit, hint), one.bucket);
    const Instant now{std::chrono::hours{500'000}};
    const Nanos to_full = TimeToFull(one.limit, one.bucket, now);
    WEIR_CHECK(to_full >= Nanos{0});
    WEIR_CHECK(now + to_full >= now);
    const Nanos ban = BanLeft(one.limit, one.bucket, now, Nanos{0});
    const Decision decision = DecideOrBan(one.limit, one.bucket, now, 1, Nanos{0}).decision;
    WEIR_CHECK(decision.remaining >= 0);
    WEIR_CHECK(ban == Nanos{0} || (!decision.allowed && decision.retry_after == ban));
  }
  LimitTexts texts(registry, policies);
  const std::string written = StateBytes(buckets, texts);
  const auto again = ReadStateBytes(written, policies);
  WEIR_CHECK(again.has_value());
  WEIR_CHECK(again->size() == saved->size());
  // All buckets, except those of policies that do not exist here.
  if (bytes.find('@') == std::string_view::npos) WEIR_CHECK(written == bytes);
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
