// One --ask on its way through a log: its limiter, and the counts of its answers.
//
// Decides at the times of the log, which must not go back. Memory: the limiter's 29 to 57 bytes a
// bucket that is not full (core/table/bucket_table.h), the denied keys, and with a fit those of
// burst_fit.h. Cost: a decision, about 100 ns and a miss of the cache or two. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/rules/decision.h"
#include "core/table/key_hash.h"
#include "replay/burst_fit.h"
#include "replay/denied_keys.h"
#include "replay/logged_request.h"
#include "replay/question.h"
#include "replay/report.h"

namespace weir {

class Trial {
 public:
  // `secret`: that of the hasher of the logged keys. `max_wait`: as in LimiterOptions. With `fit`,
  // a share as for BurstFit, keeps the requests in memory and fits bursts to them.
  Trial(std::unique_ptr<Question> question, const HashSecret& secret, Nanos max_wait,
        std::optional<std::int64_t> fit);

  // As Question::MayAsk.
  [[nodiscard]] absl::Status MayAsk(const LoggedRequest& logged) const {
    return question_->MayAsk(logged);
  }

  // Asks for the request. Returns whether it was admitted; nothing if it asked for no tokens.
  // Requires: MayAsk(logged), and a kWait no longer than max_wait.
  std::optional<bool> Replay(const LoggedRequest& logged);

  // Fetches the memory that Replay will read for this key.
  void Prefetch(const KeyHash& key) { limiter_->PrefetchBuckets(key); }

  // Cost: some passes over all requests for each fit.
  [[nodiscard]] AskReport MakeReport();

 private:
  struct LimitFit {
    std::size_t limit;  // its index among those of the question
    BurstFit fit;
  };

  [[nodiscard]] Verdict Ask(const LoggedRequest& logged, const Request& request);
  void Reset(const LoggedRequest& logged);
  void Clear();
  void Count(const LoggedRequest& logged, const Request& request, const Verdict& verdict);
  void SweepAgeing(Instant now);
  void SweepSome(Instant now);

  const std::unique_ptr<Question> question_;
  const std::optional<std::int64_t> fit_;
  const std::unique_ptr<Limiter> limiter_;
  LimiterUpkeep upkeep_{limiter_->table()};
  std::vector<LimitFit> fits_;
  DeniedKeys denied_keys_;
  AskReport report_;  // the counts so far
  std::uint64_t calls_ = 0;
  Instant last_call_;
  Instant swept_at_;  // by SweepAgeing
};

}  // namespace weir
