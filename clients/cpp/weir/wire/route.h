// Route: the way to a server. It knows which Sentinel to ask first, and the primary that Sentinels
// have named; and it logs in.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/core/answer.h"
#include "weir/core/settings.h"
#include "weir/wire/link.h"
#include "weir/wire/tls.h"
#include "weir/wire/until.h"

namespace weir::client {

// A Link, or why there is none.
struct Connected {
  std::unique_ptr<Link> link{};
  Answer answer{};
};

// Thread-safe.
class Route {
 public:
  explicit Route(const Settings& settings);

  // A Link that is logged in. Asks each Sentinel once at most, for a deadline each.
  [[nodiscard]] Connected Connect(const Until& until);

  // The primary is to be asked for again, if Sentinels know it.
  void Forget();

 private:
  struct Known {
    std::optional<Place> primary;
    std::vector<Place> sentinels;
  };

  [[nodiscard]] Known known() const;
  [[nodiscard]] std::optional<Place> AskSentinel(const Place& sentinel, const Until& until) const;
  [[nodiscard]] std::optional<Place> AskSentinels(const std::vector<Place>& sentinels,
                                                  const Until& until);

  const Address address_;
  const milliseconds deadline_;
  std::optional<TlsContext> tls_;
  mutable std::mutex mutex_;
  Known known_;  // guarded by mutex_
};

}  // namespace weir::client
