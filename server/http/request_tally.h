// Counts the requests for tokens that come over HTTP, and the calls of Envoy's rate limit service,
// by their results.
//
// The counts of requests that INFO shows are those of all faces. Requests over RESP are the rest,
// so RESP pays nothing for the distinction.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

struct CommandSpec;
struct Services;

// True for the commands that ask for tokens: RL.ALLOW and its like, which RL.STATS counts.
[[nodiscard]] bool AsksForTokens(const CommandSpec& spec) noexcept;

// The number of requests since the start by result: allowed, denied, answered an error.
inline constexpr auto kRequestResults =
    std::to_array<std::string_view>({"allowed", "denied", "error"});
using RequestResults = std::array<std::uint64_t, kRequestResults.size()>;

// Thread-safe.
class RequestTally {
 public:
  enum class Result : std::uint8_t { kAllowed, kDenied, kError };

  void Add(Result result, std::uint64_t n = 1) noexcept {
    counts_[static_cast<std::size_t>(result)].fetch_add(n, std::memory_order_relaxed);
  }

  // Counts a call of Envoy's rate limit service.
  void AddCall(Result result) noexcept {
    calls_[static_cast<std::size_t>(result)].fetch_add(1, std::memory_order_relaxed);
  }

  struct ByFace {
    RequestResults resp;
    RequestResults http;
    RequestResults rls;
  };
  // A request over HTTP that another thread has not counted here yet may count as one over RESP;
  // `resp` never goes back for that.
  [[nodiscard]] ByFace Read(const Services& services);

 private:
  std::array<std::atomic<std::uint64_t>, kRequestResults.size()> counts_{};
  std::array<std::atomic<std::uint64_t>, kRequestResults.size()> calls_{};
  Mutex mutex_;
  RequestResults resp_shown_ ABSL_GUARDED_BY(mutex_){};  // the highest that were returned
};

}  // namespace weir
