// One thread's counts of its verdicts: requests, limits, and the keys that were denied or near
// their limits most often. RL.STATS and RL.TOP report them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counter.h"
#include "core/commands/request_grammar.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/rules/limit_counters.h"
#include "core/rules/limit_keys.h"
#include "core/rules/top_keys.h"

namespace weir {

struct CallRequest;
struct CallVerdict;

// One thread owns it and counts; any thread may read. Cost of a count: one or two additions for
// each limit; for a limit that is nearly used up a TopKeys::Add, and for a denial one and a
// LimitKeys::Add.
class RequestCounters {
 public:
  // `clock` must outlive the counters.
  explicit RequestCounters(const Clock& clock) : keys_by_limit(clock) {}
  RequestCounters(const RequestCounters&) = delete;
  RequestCounters& operator=(const RequestCounters&) = delete;

  // Counts the verdict of a request that takes tokens. Of a request with alternatives that passes
  // counts the limits of the winner, and as denials those that made an earlier alternative lose.
  void Count(const ParsedRequest& request, const Verdict& verdict);
  // Counts a charge as allowed if RL.ALLOW would have admitted it, else as denied; likewise each of
  // its limits.
  void CountCharge(const ParsedRequest& request, const Charged& charged);
  // Counts a call of Envoy's rate limit service as one request. `of_checks`: the limit of each
  // check.
  void CountCall(const CallRequest& call, std::span<CachedLimit* const> of_checks,
                 const CallVerdict& verdict);
  // Counts a request for a slice. The limit that the verdict names may be another than one that
  // denied what was needed; of these the one with the longest wait is counted as the decider.
  void CountSlice(const ParsedRequest& request, Verdict verdict);
  // Counts the verdict of a CL.THROTTLE request.
  void CountThrottle(const Check& check, const Verdict& verdict);
  // Counts one request, but none of its limits.
  void CountRequest(const Verdict& verdict) noexcept {
    (verdict.allowed ? allowed : denied).Add();
    if (verdict.banned != 0) bans.Add(static_cast<std::uint64_t>(std::popcount(verdict.banned)));
  }

  Counter allowed;  // requests
  Counter denied;
  Counter bans;
  LimitCounterTable limits;
  TopKeys denied_keys;
  LimitKeys keys_by_limit;  // the same denials, by the limit that decided
  // Added to once for each count of LimitCounters::near_limit: the key of that limit.
  TopKeys near_keys;

 private:
  void Count(const ParsedRequest& request, const Verdict& verdict, bool taken);
  void CountWinner(const ParsedRequest& request, const Verdict& chosen);
  void CountDenied(const Check& decider, std::string_view limit);
  // Adds one to a count of the limits of `checks`, which has a bit for each check of the request.
  void AddTo(Counter LimitCounters::*count, const ParsedRequest& request, std::uint64_t checks);

  CountersHint throttle_;
};

// The keys of all threads that come up most often, with the greatest estimates first.
[[nodiscard]] std::vector<TopKeys::Row> MergedKeys(std::span<const RequestCounters* const> counters,
                                                   TopKeys RequestCounters::*keys,
                                                   std::size_t rows_max);
// The name of a limit in statistics, from that name or another spelling of the limit's text: "10/s"
// from "10/1s". Cost: parses the text.
[[nodiscard]] std::string NameInStatistics(std::string_view limit);
// The keys that the limit of this name has denied most often; none if it has denied nothing lately.
[[nodiscard]] std::vector<TopKeys::Row> KeysOfLimit(
    std::span<const RequestCounters* const> counters, std::string_view limit, std::size_t rows_max);

// The rows of all sketches whose keys are cut, the same key in several of them. Cost: some ms where
// all sketches are full, for each thread.
[[nodiscard]] std::vector<TopKeys::Row> RowsOfCutKeys(
    std::span<const RequestCounters* const> counters);

// The names of the limits that have denied each key, by the hashes of the keys, as far as the keys
// are among those that the limits deny most.
[[nodiscard]] LimitKeys::LimitsOfKeys LimitsOfDeniedKeys(
    std::span<const RequestCounters* const> counters);

}  // namespace weir
