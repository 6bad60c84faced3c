#include "server/state/admitted_checks.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"

namespace weir {

struct AdmittedChecks::Part {
  struct Admitted {
    HostInstant at;
    std::size_t place;  // in `order`
  };

  Mutex mutex;
  absl::flat_hash_map<std::uint64_t, Admitted> checks ABSL_GUARDED_BY(mutex);
  // The hashes in the order of their admission, as a ring; `next` is the oldest once it is full.
  std::vector<std::uint64_t> order ABSL_GUARDED_BY(mutex);
  std::size_t next ABSL_GUARDED_BY(mutex) = 0;
};

AdmittedChecks::AdmittedChecks() : parts_(std::make_unique<std::array<Part, kParts>>()) {}
AdmittedChecks::~AdmittedChecks() = default;

AdmittedChecks::Id AdmittedChecks::IdOf(std::string_view route, std::string_view value,
                                        const KeyHasher& hasher) {
  // The name of a route has no blank.
  const KeyHasher::Fingerprint print =
      hasher.FingerprintOf(absl::StrCat(AbslView(route), " ", AbslView(value)));
  Id id{.part = print.back() % kParts, .hash = 0};
  std::memcpy(&id.hash, print.data(), sizeof id.hash);
  return id;
}

AdmittedChecks::Claim::Claim(AdmittedChecks& checks, const Id& id, HostInstant now)
    : part_((*checks.parts_)[id.part]), hash_(id.hash), now_(now), lock_(part_.mutex) {}

// The claim has the lock, which the analysis does not see across functions.
bool AdmittedChecks::Claim::is_admitted() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const auto found = part_.checks.find(hash_);
  return found != part_.checks.end() && now_ - found->second.at < kAdmittedTime;
}

void AdmittedChecks::Claim::Admit() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const std::size_t place = part_.next;
  part_.next = (part_.next + 1) % kChecksOfPart;
  if (place == part_.order.size()) {
    part_.order.push_back(hash_);
  } else {
    // The oldest one goes, unless it was admitted again since.
    const auto oldest = part_.checks.find(part_.order[place]);
    if (oldest != part_.checks.end() && oldest->second.place == place) part_.checks.erase(oldest);
    part_.order[place] = hash_;
  }
  part_.checks.insert_or_assign(hash_, Part::Admitted{.at = now_, .place = place});
  WEIR_DCHECK(part_.checks.size() <= part_.order.size());
}

}  // namespace weir
