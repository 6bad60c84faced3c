#include "core/commands/pending_request.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/heap_bytes.h"

namespace weir {

PendingRequest::PendingRequest(const ParsedRequest& request, Reservation reserved)
    : reservation_(std::move(reserved)) {
  if (request.with_limits) {
    for (std::size_t i = 0; i < request.limits.size(); ++i) {
      rows_.push_back({request.limits[i]->name, request.GroupOf(i), request.checks[i].cost});
    }
  }
  WEIR_CHECK(reservation_.part_of_check.size() == request.limits.size());
  for (std::size_t i = 0; i < request.limits.size(); ++i) {
    if (reservation_.part_of_check[i] < counted_.size()) continue;  // repeated
    const Check& check = request.checks[i];
    counted_.push_back({request.limits[i]->counted_as,
                        std::string(check.key.substr(0, kTopKeyBytesMax)), check.hash});
  }
  WEIR_CHECK(counted_.size() == reservation_.parts.size());
}

std::size_t PendingRequest::held_bytes() const {
  std::size_t bytes = HeapBytes(reservation_.parts) + HeapBytes(reservation_.part_of_check) +
                      HeapBytes(rows_) + HeapBytes(counted_);
  for (const Row& row : rows_) bytes += HeapBytes(row.name);
  for (const Counted& bucket : counted_) {
    bytes += HeapBytes(bucket.limit) + HeapBytes(bucket.key);
  }
  return bytes;
}

void PendingRequest::Count(const Verdict& verdict, RequestCounters& request_counters) const {
  std::size_t part = 0;
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    CountersHint none;
    const Counted& bucket = counted_[part];
    LimitCounters& counts = request_counters.limits.Of(bucket.limit, none);
    if (CountDecision(counts, reservation_.parts[part].limit, verdict.decisions[i],
                      verdict.allowed)) {
      request_counters.near_keys.Add(bucket.key, bucket.hash.hash, bucket.hash.partition);
    }
    if ((verdict.banned >> i & 1) != 0) counts.bans.Add();
    ++part;
  }
  request_counters.CountRequest(verdict);
}

}  // namespace weir
