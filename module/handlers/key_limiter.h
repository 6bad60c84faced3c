// Decides requests on the buckets in Redis's keys, as core/limiter/limiter.h does in the server:
// with the same rules (core/plans/choice.h) and the same verdicts.
//
//     KeyLimiter limiter(TheModule(), call);
//     absl::StatusOr<Verdict> verdict = limiter.Decide(request, now);
//
// A KeyLimiter lives for one command. Every function opens the request's keys, settles their holds
// that are due, decides, and commits the changes (open_key.h) before it returns. The functions
// fail, with nothing charged, with kAborted (a key has a value of another type), kResourceExhausted
// (too many distinct limits), kOutOfRange (too many limits on one key) or TooManyDue.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/limiter/hold_request.h"
#include "core/plans/choice.h"
#include "core/plans/reservation.h"
#include "core/policies/live_bucket.h"
#include "core/policies/policy.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/words/request.h"
#include "module/handlers/call.h"
#include "module/values/module.h"
#include "module/values/open_key.h"

namespace weir {

class KeyLimiter {
 public:
  // Requires: the keys of the requests are words of the call.
  KeyLimiter(Module& module, const Call& call) : module_(module), call_(call) {}

  [[nodiscard]] absl::StatusOr<Verdict> Decide(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Verdict> Peek(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Grant> Take(const Request& request, std::int64_t upto, Instant now);
  [[nodiscard]] absl::StatusOr<Charged> Charge(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Verdict> Refund(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Admission> Reserve(const Request& request, Nanos patience,
                                                  Instant now);

  // Holds: as the limiter's functions of these names.
  [[nodiscard]] absl::StatusOr<Grant> DecideAndHold(const Request& request, HoldRequest hold,
                                                    Instant now);
  [[nodiscard]] absl::StatusOr<SliceGrant> Slice(const Request& request, SliceRequest wanted,
                                                 Instant now);
  [[nodiscard]] absl::StatusOr<Settled> SettleHold(const SettleRequest& request, Instant now);
  [[nodiscard]] absl::StatusOr<std::vector<LiveHold>> InspectHolds(std::string_view key,
                                                                   Instant now);

  // Forgets the key's buckets: those of `limits`, or all if `limits` is empty. Returns how many of
  // them were not full.
  [[nodiscard]] absl::StatusOr<std::size_t> Reset(std::string_view key,
                                                  std::span<const Limit> limits, Instant now);
  [[nodiscard]] absl::StatusOr<std::vector<LiveBucket>> Inspect(std::string_view key, Instant now);

  // Cuts what the key's buckets owe beyond the new limits of a policy (core/limiter/policy_trim.h),
  // in all databases, as an override holds in all. Returns the number of cut buckets. Does nothing
  // with a command that comes from a primary or an AOF: the cuts come from there, too.
  std::size_t Trim(std::string_view key, const PolicyLimits& before, const PolicyLimits& limits,
                   Instant now);

 private:
  // Of a request with alternatives (core/plans/choice.h): settles the due holds of all its keys,
  // and finds the errors that a call about one alternative could meet after others.
  [[nodiscard]] absl::Status OpenAll(const Request& request, Instant now, int mode);
  [[nodiscard]] absl::StatusOr<Verdict> DecideAlternatives(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Verdict> PeekAlternatives(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Grant> HoldAlternative(const Request& request,
                                                      const HoldRequest& hold, Instant now);

  class SettledKeys;
  struct OpenedRequest;

  // Whose limits get ids: those of new buckets, or all, which a hold needs.
  enum class Named : bool { kNewBuckets, kAll };

  [[nodiscard]] static bool HasRoom(OpenedRequest& opened, std::size_t key, std::size_t added,
                                    Instant now);
  // The calling user, as an introducer of limits.
  [[nodiscard]] Introducer Caller() const;
  absl::Status TryIntern(OpenedRequest& opened, const Request& request, Named named);
  absl::Status Intern(OpenedRequest& opened, const Request& request, Named named);
  absl::Status MakeRoom(OpenedRequest& opened, const Request& request, Instant now);
  absl::Status Keep(OpenedRequest& opened, const Request& request, Instant now);
  void CountCharges(OpenedRequest& opened, const Request& request, Instant now);
  void CountRefunds(OpenedRequest& opened, const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Verdict> Conclude(OpenedRequest& opened, const Request& request,
                                                 Instant now);
  // Concludes a request that is decided and admitted, and opens its holds.
  [[nodiscard]] absl::StatusOr<Verdict> OpenHolds(OpenedRequest& opened, const Request& request,
                                                  const HoldRequest& hold, std::int64_t granted,
                                                  HoldEnd end, Instant now);

  Module& module_;
  const Call& call_;
};

}  // namespace weir
