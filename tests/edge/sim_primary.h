// The primary of a simulation: a real Limiter behind the commands that an edge sends, words in and
// the bytes of replies out. Planted mistakes of a primary are made here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/limit_memo.h"
#include "core/policies/policies.h"
#include "tests/edge/edge_bugs.h"

namespace weir {

inline constexpr Nanos kSimSliceLife = std::chrono::seconds{2};

// Of a request: what the primary did, and the reply.
struct SimReply {
  std::string bytes{};
  std::int64_t granted = 0;  // units
  Nanos retry_after{0};      // as in the reply
  Nanos life{0};             // the true one
  bool is_error = false;
};

class SimPrimary {
 public:
  explicit SimPrimary(EdgeBug bug);

  // RL.SLICE, without the name. `way_back`: how long the reply will take, for a planted mistake.
  SimReply Slice(std::span<const std::string_view> words, Instant now, Instant sent,
                 Nanos way_back);
  SimReply Allow(std::span<const std::string_view> words, Instant now);
  // Answers 1 or 0.
  SimReply Commit(std::span<const std::string_view> words, Instant now);
  void Reset(std::string_view key, Instant now);
  void SetPolicy(std::string_view limit);
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  struct Granted {
    std::vector<std::string> form;
    std::int64_t units;
    SimReply reply;
  };

  void Refund(const Granted& slice, std::int64_t units, Instant now);

  const EdgeBug bug_;
  Policies policies_;
  LimitMemo memo_{&policies_};
  Limiter limiter_;
  std::uint64_t changes_ = 1;
  std::map<std::string, Granted, std::less<>> granted_;  // by id
  std::map<std::string, bool, std::less<>> settled_;
};

}  // namespace weir
