// Printers for the values of core/, which GoogleTest and RapidCheck use in failure messages.
#pragma once

#include <ostream>

#include "core/base/exact_nanos.h"
#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"

namespace weir {

inline std::ostream& operator<<(std::ostream& out, Instant instant) {
  return out << instant.time_since_epoch().count() << " ns";
}

inline std::ostream& operator<<(std::ostream& out, const ExactNanos& time) {
  return out << time.whole << " + " << time.numerator << "/n ns";
}

inline std::ostream& operator<<(std::ostream& out, const Limit& limit) {
  return out << LimitText(limit);
}

// The bytes, interpreted as a token bucket.
inline std::ostream& operator<<(std::ostream& out, const Bucket& bucket) {
  return out << "bucket{low=" << bucket.low << ", high=" << bucket.high
             << ", extra=" << bucket.extra << "}";
}

inline std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  out << (decision.allowed ? "allowed" : "denied") << ", remaining " << decision.remaining
      << ", retry after ";
  if (decision.retry_after == kNever) {
    out << "never";
  } else {
    out << decision.retry_after.count() << " ns";
  }
  return out << ", reset after " << decision.reset_after.count() << " ns";
}

inline std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  out << (verdict.allowed ? "allowed" : "denied") << " by " << verdict.limit_index << ", remaining "
      << verdict.remaining << ", retry after " << verdict.retry_after.count() << " ns, reset after "
      << verdict.reset_after.count() << " ns, of";
  for (const Decision& decision : verdict.decisions) out << " [" << decision << "]";
  if (verdict.banned != 0) out << ", banned " << verdict.banned;
  return out;
}

}  // namespace weir
