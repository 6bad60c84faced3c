// The state of a replica in its primary's history. It outlives the links: each continues where the
// one before has ended.
//
//     weir-link, while there is a link:  its sink, and what it logs of the link
//     any thread:                        LinkCell, the facts that INFO and the saver read
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"

#include "core/base/host_and_port.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/policies.h"
#include "replication/limiter_target.h"
#include "replication/sink.h"
#include "server/state/replication.h"

namespace weir {

// The present link and what this server has, at one moment.
struct LinkFacts {
  LinkState state = LinkState::kConnect;
  std::string history{};                 // that the table is a state of; empty: of none
  std::optional<std::uint64_t> shown{};  // as Sink::shown
  std::uint64_t read_offset = 0;
  std::uint64_t partitions_left = 0;
  Instant exact_time{};   // as Sink::exact_time
  HostInstant last_io{};  // HostInstant{}: nothing has come yet
};

// Thread-safe.
class LinkCell {
 public:
  [[nodiscard]] LinkFacts Read() const {
    MutexLock lock(mutex_);
    return facts_;
  }
  // Calls change(facts) with a lock held.
  template <typename Change>
  void Write(Change change) {
    MutexLock lock(mutex_);
    change(facts_);
  }

 private:
  mutable Mutex mutex_;
  LinkFacts facts_ ABSL_GUARDED_BY(mutex_);
};

class FollowedHistory {
 public:
  // `history`: the id of what the table is a state of; empty: none.
  FollowedHistory(LimiterTable& table, Policies& policies, const Sink::State& state,
                  const std::string& history);
  FollowedHistory(const FollowedHistory&) = delete;
  FollowedHistory& operator=(const FollowedHistory&) = delete;

  [[nodiscard]] Sink& sink() noexcept { return sink_; }
  [[nodiscard]] LinkCell& cell() noexcept { return cell_; }
  [[nodiscard]] const LinkCell& cell() const noexcept { return cell_; }
  // Puts the state of the sink into the cell, which names that history from now on.
  void Show(const std::string& history);

  // The primary whose time the clock shows; an empty address before the first one.
  HostAndPort time_of{};

  // Logs the number of dropped records whenever it has doubled; logs once that buckets are evicted.
  void ReportDropped();
  // Logs why there is no link: each reason once, until the link was in sync.
  void LogFailure(const HostAndPort& asked, const absl::Status& reason);
  void ForgetFailures() { logged_.clear(); }

 private:
  LimiterUpkeep upkeep_;
  LimiterTarget target_;
  Sink sink_;
  LinkCell cell_;
  std::size_t reported_dropped_ = 0;
  bool reported_evicted_ = false;
  const std::uint64_t evicted_before_;
  absl::btree_set<std::string> logged_;
};

}  // namespace weir
