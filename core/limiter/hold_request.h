// The arguments and the answers of the limiter's functions about holds (limiter.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/rules/slice.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/words/settle_request.h"

namespace weir {

// A settled hold is remembered until it would have expired, but no longer than this.
inline constexpr Nanos kHoldMarkMax = std::chrono::seconds{60};
// So no id is good for two slices in one life.
static_assert(kSliceLifeMax <= kHoldMarkMax);
inline constexpr std::size_t kHoldsMax = 1'000'000;  // open holds, by default
// The open holds of one key, where a hold counts once for each of its limits. A request that
// settles all of them takes about 10 ms.
inline constexpr std::size_t kKeyHoldsMax = 64 * 1024;
// The same for the marks of a store, which is a key in the module and a partition in the server.
inline constexpr std::size_t kStoreMarksMax = 64 * 1024;
// RL.INSPECT shows at most this many limits of holds.
inline constexpr std::size_t kInspectedPartsMax = 4096;

// The work of a call on the holds of its key.
enum class KeyWork : std::uint8_t { kLook, kShowHolds, kForget };

// The work of this thread's calls on holds so far.
struct HoldWork {
  // NOLINTNEXTLINE(*-identifier-naming): public. The buckets and holds that they have visited.
  static inline constinit thread_local std::uint64_t visits = 0;
  // NOLINTNEXTLINE(*-identifier-naming): public. The expired holds that they have found.
  static inline constinit thread_local std::uint64_t found_expired = 0;
};

// The error of a request about several keys that would settle too many holds at once.
[[nodiscard]] inline absl::Status TooManyDue() {
  return absl::UnavailableError("too many holds of these keys have expired at once: try again");
}

// The name and the terms of a hold to come, which is cancelled at its end.
struct HoldRequest {
  std::string_view id;      // 1 to kHoldIdBytesMax bytes; a name among the holds of each key
  Nanos ttl{0};             // above 0, at most kHoldMax
  std::uint64_t words = 0;  // a hash of the request's words: the same for a repeated request
  std::int64_t upto = 0;    // how many times the request is taken at most; 0: once or not at all
  Introducer user = kSoleIntroducer;  // that the hold counts for
};

// The same of a slice (core/rules/slice.h), which lapses at the end of its life. No request repeats
// it: its id is good for one slice.
struct SliceRequest {
  std::string_view id;
  SliceWish wish;
  Introducer user = kSoleIntroducer;

  // The hold of a slice that was granted.
  [[nodiscard]] HoldRequest HoldFor(Nanos life) const noexcept {
    return {.id = id, .ttl = life, .upto = wish.upto, .user = user};
  }
};

struct SettleRequest {
  std::string_view id;
  std::span<const SettledKey> keys;  // distinct, 1 to kChecksMax
  std::span<const TrueCost> named;   // of these keys
  bool is_cancel = false;            // for LimiterUpkeep::Counts
};

struct Settled {
  Settled() noexcept;  // as Verdict has one

  // True if the hold is settled, by this call or by an earlier one. False: there is no such hold,
  // and nothing has changed.
  bool settled = false;
  // The index of the first of SettleRequest::named that the hold does not have, or that is held and
  // has a cost. Then nothing has changed.
  std::optional<std::size_t> foreign;
  // The numbers after the settlement: of the limits named; where none is named of the hold's limits
  // that are not held; where there is none of the held ones. retry_after is until each has a token.
  Verdict verdict;
  // One for each decision of the verdict.
  struct Row {
    Limit limit;
    std::uint64_t cost;               // the true cost; of a held limit what was reserved
    std::size_t key;                  // in SettleRequest::keys
    std::optional<std::size_t> name;  // in SettleRequest::named, if it is there
  };
  absl::InlinedVector<Row, 1> rows;
};

inline Settled::Settled() noexcept = default;

// A hold as RL.INSPECT shows it.
struct LiveHold {
  struct Part {
    Limit limit;
    std::uint64_t cost;
  };
  std::string id;
  Nanos expires_in{0};
  bool settled = false;
  std::vector<Part> parts;
};

}  // namespace weir
