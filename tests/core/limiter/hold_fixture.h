// A fixture that holds, settles and inspects in words: Reserve({{"k", "10/s", 5}}, "id",
// seconds{9}).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/limit_shapes.h"

namespace weir {

// The true cost of a limit of a hold.
struct Priced {
  std::string_view key;
  Limit limit;
  std::optional<std::int64_t> cost = std::nullopt;
};

[[nodiscard]] inline Limit HeldLimit(std::int64_t count) {
  return *Limit::Create(HeldShape(count));
}

class HoldFixture : public LimiterFixture {
 protected:
  using LimiterFixture::LimiterFixture;

  Check CheckOf(std::string_view key, const Limit& limit, std::int64_t cost) {
    return {.key = key, .limit = &limit, .cost = cost, .hash = limiter_->Hash(key)};
  }
  // The words of a request differ in their number.
  absl::StatusOr<Grant> Hold(const Request& request, std::string_view id, Nanos ttl,
                             std::uint64_t words = 0, std::int64_t upto = 0) {
    return limiter_->DecideAndHold(
        request, {.id = id, .ttl = ttl, .words = words, .upto = upto, .user = kSoleIntroducer},
        now_);
  }
  // Returns whether the request was admitted.
  bool Reserve(const std::vector<Asked>& asked, std::string_view id, Nanos ttl) {
    const absl::StatusOr<Grant> grant = Hold(Of(asked), id, ttl);
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.ok() && grant->verdict.allowed;
  }
  std::string ErrorOf(const std::vector<Asked>& asked, std::string_view id, std::uint64_t words) {
    return std::string(Hold(Of(asked), id, kHoldMax, words).status().message());
  }

  HashedKey KeyOf(std::string_view key) { return {key, limiter_->Hash(key)}; }
  // `cost`: of all limits that are not named.
  Settled Settle(std::string_view id, const std::vector<std::string_view>& keys,
                 const std::vector<Priced>& named = {},
                 std::optional<std::int64_t> cost = std::nullopt) {
    std::vector<SettledKey> settled_keys;
    for (const std::string_view key : keys) settled_keys.push_back({KeyOf(key), cost});
    std::vector<TrueCost> costs;
    for (const Priced& name : named) {
      costs.push_back({KeyOf(name.key), &name.limit, kNoPolicy, name.cost});
    }
    absl::StatusOr<Settled> settled =
        limiter_->SettleHold({.id = id, .keys = settled_keys, .named = costs}, now_);
    EXPECT_TRUE(settled.ok()) << settled.status();
    return settled.ok() ? *std::move(settled) : Settled{};
  }
  bool Commit(std::string_view id, std::string_view key, std::optional<std::int64_t> cost = {}) {
    return Settle(id, {key}, {}, cost).settled;
  }
  bool Cancel(std::string_view id, std::string_view key) { return Commit(id, key, 0); }
};

}  // namespace weir
