#include "server/replicas/followed_history.h"

#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/os/log.h"

namespace weir {
namespace {

constexpr std::size_t kLoggedMax = 16;

}  // namespace

FollowedHistory::FollowedHistory(LimiterTable& table, Policies& policies, const Sink::State& state,
                                 const std::string& history)
    : upkeep_(table),
      target_(table, policies),
      sink_(target_, state),
      evicted_before_(upkeep_.counts().evicted) {
  Show(history);
}

void FollowedHistory::Show(const std::string& history) {
  cell_.Write([&](LinkFacts& facts) {
    facts.history = history;
    facts.shown = sink_.shown();
    facts.read_offset = sink_.applied();
    facts.partitions_left = sink_.partitions_left();
    facts.exact_time = sink_.exact_time();
  });
}

void FollowedHistory::ReportDropped() {
  if (!reported_evicted_ && upkeep_.counts().evicted > evicted_before_) {
    reported_evicted_ = true;
    spdlog::warn(
        "this replica evicts buckets of its primary, which a failover would forget: its "
        "max-memory is smaller than what the primary has");
  }
  const std::size_t dropped = target_.dropped();
  if (dropped < 2 * reported_dropped_ || dropped == reported_dropped_) return;
  reported_dropped_ = dropped;
  spdlog::error(
      "dropped {} records from the primary: this replica's max-holds or max-memory is smaller",
      dropped);
}

// The links may alternate between two servers, each of which fails for its own reason.
void FollowedHistory::LogFailure(const HostAndPort& asked, const absl::Status& reason) {
  std::string line = absl::StrCat(EscapedForLog(asked.host), ":", asked.port, ": ",
                                  EscapedForLog(StdView(reason.message())));
  if (logged_.size() >= kLoggedMax) logged_.clear();
  if (!logged_.insert(line).second) return;
  spdlog::warn("no link to the primary {}", line);
}

}  // namespace weir
