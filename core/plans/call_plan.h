// A call asks several rules at once, each in its own way, as Envoy's rate limit service does. A
// CallPlan decides all of them on one state, without a table.
//
//     CallRequest call;
//     call.Add({.way = Way::kAsk, .marks = true}, checks_of_a_rule);
//     call.Add({.way = Way::kReport, .quota = true}, checks_of_another);
//     Plan<kManyChecks> plan(call.checks, max_wait);  // gets the stored buckets, as in choice.h
//     const CallVerdict verdict = CallPlan(call, max_wait, plan).Decide(now);
//
// A rule is over if one of its limits denies:
//
//     way      a limit denies if                         its bucket
//     ask      it would deny RL.ALLOW                    is charged if the call admits it
//     report   it would deny RL.ALLOW                    is charged in any case, as by RL.CHARGE
//     look     its bucket is in debt, or a ban runs      is left as it is
//     refund   never                                     gets the tokens back in any case
//
// The call is over if a rule is over that is neither a shadow nor a quota rule, or if there are
// quota rules and all of them are over. A shadow that is over counts as one that passes. A call
// that is over charges no ask. Any other charges each ask that is not over: all limits of its rule.
// (A limit that says `shadow` itself makes no rule over, and is not charged if it denies.)
//
// Checks on one bucket are decided as one: the costs of asks and reports add up, those of refunds
// are subtracted. The sum is a report if one of the checks reports, else an ask if one asks; but a
// sum below 0 is a refund, and a sum of 0 a look. The numbers of the limit with the smallest
// capacity count. (A limit `none` has no bucket: the check of an inline limit of 0 stands alone.)
//
// An ask that its limit denies changes what a denial of RL.ALLOW changes, whatever the call says:
// it cuts a time that lies too far ahead, and bans a limit that says ban=. Looks and reports ban
// nothing. If the rule is one that marks, such an ask *marks* an aligned fixed window of which all
// is used and no more: one token more counts as used, so that a look denies from then on.
//
// The verdict does not depend on the order of the rules. Not thread-safe. Cost: one to three
// decisions of a limit for each bucket; no allocation up to 4 checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"
#include "core/base/wide.h"
#include "core/plans/choice.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/words/request.h"

namespace weir {

// How the tokens of a rule are taken. Of several ways on one bucket the last in this list counts.
enum class Way : std::uint8_t { kRefund, kLook, kAsk, kReport };

// One rule of a call, on one key. Parts on one bucket have the same flags. Their ways, their tokens
// and the numbers of inline limits may differ.
struct CallPart {
  std::uint8_t checks = 1;  // the number of its limits, which CallRequest::Add sets
  Way way = Way::kAsk;
  bool shadow = false;
  bool quota = false;
  bool marks = false;
};

// The rules of a call, and two facts that come from no limit.
struct CallRequest {
  // Requires: 1 to kChecksMax limits in all, none of them held; those of a rule have an owner, as
  // its policy's have. A check's cost is its tokens, also if they are given back; that of a look
  // does not count.
  void Add(CallPart part, std::span<const Check> limits);

  Request checks;  // those of the first part, then those of the second, and so on
  absl::InlinedVector<CallPart, 4> parts;
  bool is_over = false;       // whatever the rules say, shadows included
  bool quota_passes = false;  // there is a quota rule besides, which passes
};

struct PartVerdict {
  bool over = false;  // what the limits say, of a shadow, too
  // The check that decided: if over the one with the longest wait, else the one with the fewest
  // remaining; the first of equals. On a bucket that parts share it is the check with the smallest
  // limit, which may belong to another part.
  std::size_t decider = 0;
  Decision decision;  // of that check

  friend bool operator==(const PartVerdict&, const PartVerdict&) = default;
};

struct CallVerdict {
  bool over = false;
  bool changes = false;  // a bucket: by a charge, a refund, a mark, a ban or a clamp
  Instant now;           // of the decision
  absl::InlinedVector<PartVerdict, 4> parts;
  // One for each check: its limit's own answer, and the numbers behind the call. retry_after is
  // until the limit would pass the same, 0 if it has passed it; reset_after of a fixed window is
  // until its end, even if nothing is used in it.
  absl::InlinedVector<Decision, 4> decisions;
  // A bit for each check, the first check's is the lowest. A check that uses the bucket of an
  // earlier one is repeated, and has no other bit.
  std::uint64_t repeated = 0;
  std::uint64_t taken = 0;   // asks that were charged, and all reports
  std::uint64_t beyond = 0;  // reports of tokens that were not there
  // For each bit of `beyond`, the lowest first: the tokens that were there.
  absl::InlinedVector<std::int64_t, 4> left_of_beyond;
  std::uint64_t banned = 0;

  friend bool operator==(const CallVerdict&, const CallVerdict&) = default;
};

class CallPlan {
 public:
  // Requires: a plan of the call's checks, and its max_wait. The call and the plan must outlive the
  // object.
  CallPlan(const CallRequest& call, Nanos max_wait, Plan<kManyChecks>& plan);

  // Decides the call, and leaves the changes in the plan: Change and IsNew tell them. Once only.
  [[nodiscard]] CallVerdict Decide(Instant now);

  // How the bucket of a check that is its first was decided, and by whose numbers.
  [[nodiscard]] Way WayOf(std::size_t first) const noexcept { return asked_[first].way; }
  [[nodiscard]] const Limit& LimitOf(std::size_t first) const noexcept {
    return *call_.checks[asked_[first].smallest].limit;
  }

 private:
  // What the rules ask of a bucket.
  struct Asked {
    Wide charge = 0;
    Wide refund = 0;
    std::size_t smallest = 0;  // the check with the smallest limit
    Way way = Way::kRefund;
    bool marks = false;
    bool denied = false;     // by its limit
    bool is_barred = false;  // by a limit of its rule
  };

  void AddCheck(std::size_t i, const CallPart& part);
  void SetCost(std::size_t first);
  void Ask(std::size_t first, Instant now);
  void Judge(CallVerdict& verdict);
  [[nodiscard]] Decision NumbersOf(std::size_t first, CallVerdict& verdict);
  [[nodiscard]] Decision Conclude(std::size_t first, CallVerdict& verdict);
  void Deny(std::size_t first, CallVerdict& verdict);
  [[nodiscard]] Decision Leave(std::size_t first, Instant now);
  [[nodiscard]] Decision ChargeBeyond(std::size_t first, CallVerdict& verdict);
  void Tell(Request::Range checks, const CallVerdict& verdict, PartVerdict& rule) const;
  [[nodiscard]] std::size_t FirstOf(std::size_t i) const noexcept { return plan_.bucket(i).first; }

  const CallRequest& call_;
  const Nanos max_wait_;
  Plan<kManyChecks>& plan_;
  PerCheck<Asked, kManyChecks> asked_;
};

}  // namespace weir
