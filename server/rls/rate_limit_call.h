// A call of Envoy's rate limit service, decided for a client.
//
//     RateLimitDecision decision(session, rules, now);
//     if (const std::string error = decision.Decide(call); !error.empty()) ... "NOPERM ..."
//     const std::string message = MessageOf(decision.answer());
//
// The rights are those of the commands that do the same: RL.ALLOW for asks, RL.PEEK for looks,
// RL.CHARGE for reports and RL.REFUND for refunds, on the keys of the descriptors. Nothing is
// decided before all is permitted. Counts the call, and has its answer wait as that of RL.ALLOW
// does (Session::delay).
//
// Cost: that of the matches, a look-up in the thread's memo for each descriptor, and one decision.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/plans/call_plan.h"
#include "core/policies/limit_memo.h"
#include "rls/answer.h"
#include "rls/call.h"
#include "rls/matched_call.h"
#include "server/rls/limit_headers.h"
#include "server/rls/rls_rules.h"
#include "server/session/session.h"

namespace weir {

class RateLimitDecision {
 public:
  // All must outlive the object.
  RateLimitDecision(Session& session, const RlsRules& rules, Instant now)
      : session_(session), rules_(rules.Get()), now_(now) {}

  // Decides the call for the session's user, and shows it to the observers as a command. Returns
  // the error, with its prefix, or an empty text. Once only. `call` must outlive the answer.
  [[nodiscard]] std::string Decide(const RateLimitCall& call);

  // After a call without an error. Views the call and the object.
  [[nodiscard]] const RateLimitAnswer& answer() const noexcept { return answer_; }

 private:
  [[nodiscard]] std::string DecideMatched(const RateLimitCall& call, const MatchedCall& matched);
  void ShowToObservers(const RateLimitCall& call, bool is_error);
  [[nodiscard]] Services& services() const { return session_.worker().services; }
  // Returns why the user, or the server now, does not decide these; OK if nothing is against it.
  [[nodiscard]] absl::Status Refusal(const MatchedCall& matched);
  // Adds what is to be decided of a part.
  [[nodiscard]] absl::Status Add(const MatchedPart& part);
  [[nodiscard]] absl::Status AddRule(const MatchedPart& part);
  void CountByValue(const MatchedPart& part, absl::InlinedVector<CachedLimit, 1>& limits) const;
  [[nodiscard]] absl::Status AddInline(const MatchedPart& part);
  void AddLimit(const MatchedPart& part, CachedLimit& limit, LimitHint& hint);
  void Count(const RateLimitCall& call, const MatchedCall& matched, const CallVerdict& verdict);
  void AnswerWith(const MatchedCall& matched, const CallVerdict& verdict);
  // The fields that rls-headers asks for.
  [[nodiscard]] std::vector<AnsweredHeader> Headers(const MatchedCall& matched,
                                                    const CallVerdict& verdict) const;
  [[nodiscard]] ToldLimit Tell(std::size_t check, const MatchedCall& matched,
                               const CallVerdict& verdict) const;
  [[nodiscard]] DescriptorStatus StatusOfPart(std::size_t part, const MatchedCall& matched,
                                              const CallVerdict& verdict) const;

  Session& session_;
  const std::shared_ptr<const RlsRules::Set> rules_;
  const Instant now_;
  CallRequest request_;
  // The limit of each check, and its part.
  absl::InlinedVector<CachedLimit*, 4> limits_;
  absl::InlinedVector<std::size_t, 4> parts_;
  absl::InlinedVector<Check, 4> checks_;  // of the part that is being added
  // Limits of overrides and of the call, which no memo holds.
  std::vector<std::unique_ptr<absl::InlinedVector<CachedLimit, 1>>> owned_;
  RateLimitAnswer answer_;
};

}  // namespace weir
