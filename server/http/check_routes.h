// The routes of checks, and the file that declares them (docs/http.md):
//
//     [api]                                   # any method on /check/api and below
//     key    = "ip:{ip}"                      # a template, check_template.h
//     limits = ["@api"]                       # words of RL.ALLOW, templates, too
//     cost   = "1"
//     user   = "gateway"                      # runs as this user of the users file
//     once   = "{header:x-request-id}"        # admits checks with the same value at one charge
//     [[api.and]]                             # more groups: one transaction
//     key    = "tenant:{header:x-tenant}"
//     limits = ["@tenant"]
//     [api.answer]
//     denied  = 429                           # 400 to 499, or 503
//     missing = "deny"                        # a variable without a value: deny, allow, skip
//     fields  = ["ratelimit", "retry-after"]  # also "x-ratelimit", "pk"
//     show    = "named"                       # named, all, decisive, none
//     body    = "problem"                     # or none
//     ip_hops = 1
//     ipv6    = 64
//     original = "x-forwarded"                # x-forwarded, x-original, path
//
// Everything is read when the file is loaded: a request meets no TOML. A route is constant, so all
// threads may read it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "server/http/check_template.h"
#include "server/http/proxied_request.h"
#include "server/http/rate_limit_fields.h"
#include "server/state/admitted_checks.h"

namespace weir {

inline constexpr std::size_t kCheckRoutesMax = 1000;
inline constexpr std::size_t kCheckGroupsMax = 8;  // of one route

// The time between two lines of the log about incomplete checks by one route.
inline constexpr std::chrono::minutes kIncompleteInterval{1};

inline constexpr int kDeniedStatus = 429;
// True for the statuses that can stand for a denial: 400 to 499, and 503.
[[nodiscard]] constexpr bool IsDeniedStatus(std::int64_t status) noexcept {
  return (status >= 400 && status <= 499) || status == 503;
}

// One key and its limits.
struct CheckGroup {
  CheckTemplate key;
  std::vector<CheckTemplate> limits;  // 1 to kChecksMax
  std::optional<CheckTemplate> cost;
};

// The response to a request that lacks the value of a variable: that of a denial, that of an
// admission, or the verdict on the other groups.
enum class OnMissing : std::uint8_t { kDeny, kAllow, kSkip };

// The form of the responses of a route.
struct CheckAnswer {
  int denied = kDeniedStatus;
  OnMissing missing = OnMissing::kDeny;
  FieldChoice fields;
  bool has_problem = true;  // the body of a denial: application/problem+json, or nothing
};

struct CheckRoute {
  std::vector<CheckGroup> groups;     // 1 to kCheckGroupsMax
  std::string user;                   // empty: the user of a new connection
  std::optional<CheckTemplate> once;  // has a variable
  ProxyForm proxy;
  CheckAnswer answer;
};

// Routes by name.
using CheckRoutes = absl::flat_hash_map<std::string, std::shared_ptr<const CheckRoute>>;

// True for the name of a user that can run commands.
using IsUser = absl::FunctionRef<bool(std::string_view name)>;

// Reads a file of routes. Fails with kUnavailable if it cannot be read; else with kInvalidArgument
// and one line that names the place, and what would be right.
[[nodiscard]] absl::StatusOr<CheckRoutes> ReadCheckRoutes(const std::string& path, IsUser is_user);

// Reads the text of such a file; `path` is its name in errors.
[[nodiscard]] absl::StatusOr<CheckRoutes> ParseCheckRoutes(std::string_view text,
                                                           const std::string& path, IsUser is_user);

// True for a text that RL.ALLOW reads as a limit, whether good or not, and not as a keyword.
[[nodiscard]] bool LooksLikeLimit(std::string_view word) noexcept;

// The routes in force. Thread-safe. Cost: a lock for a look-up, no copy of the route.
class CheckRouteTable {
 public:
  // Null if there is no such route.
  [[nodiscard]] std::shared_ptr<const CheckRoute> Find(std::string_view name) const;
  // Replaces all routes. Those that stay keep their count of incomplete checks.
  void Replace(CheckRoutes routes);

  // Counts a check by the route `name`, for which a variable had no value. Returns the number of
  // those since the last line of the log about the route if it is time for another line: at most
  // one a minute and route.
  std::optional<std::uint64_t> AddIncomplete(std::string_view name, HostInstant now);
  // The counts of all routes, by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> Incomplete() const;

  // The admitted checks of routes with `once`. Not null after a route with `once` was in force.
  [[nodiscard]] AdmittedChecks* admitted() const noexcept {
    return admitted_.load(std::memory_order_acquire);
  }

 private:
  struct IncompleteChecks {
    std::uint64_t count = 0;
    std::uint64_t told = 0;  // those that the log's lines have counted
    std::optional<HostInstant> told_at;
  };

  mutable Mutex mutex_;
  CheckRoutes routes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, IncompleteChecks> incomplete_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AdmittedChecks> owned_ ABSL_GUARDED_BY(mutex_);
  std::atomic<AdmittedChecks*> admitted_{nullptr};
};

}  // namespace weir
