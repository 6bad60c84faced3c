// The state of a server in a data directory, without the server: a limiter and policies, loaded at
// the start and saved when the test asks for it.
//
//     KeptServer server(clock, {.directory = directory.path()});
//     ASSERT_TRUE(server.Start().ok());
//     server.Decide("user:1", "10/h");
//     EXPECT_TRUE(server.Save().ok());
//     server.End();  // as a crash: nothing more is saved
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "persistence/saver.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"

namespace weir {

class KeptServer {
 public:
  struct Found {  // when it started
    bool unclean_restart = false;
    bool had_exhausted_record = false;
    Instant clock_mark;
    TableGeneration generation{};
    std::uint64_t loaded = 0;
    std::uint64_t dropped = 0;
    std::uint64_t bad = 0;
    std::uint64_t holds = 0;
    std::uint64_t marks = 0;
    std::uint64_t expired = 0;
    std::uint64_t dropped_holds = 0;
    std::vector<std::string> losses;  // that were accepted
    std::vector<std::string> errors{};
  };

  KeptServer(const FakeClock& clock, DatabaseOptions database)
      : clock_(clock), options_{.database = std::move(database)} {}

  absl::Status Start() {
    End();
    absl::StatusOr<std::unique_ptr<Storage>> storage = Storage::Open(options_.database);
    if (!storage.ok()) return storage.status();
    Storage& kept = **storage;
    limiter_ = std::make_unique<Limiter>(LimiterOptions{
        .secret = kept.secret(),
        .logs_changes = true,
        .memory_max = memory_max_,
        .present = [this](const Limit& interned) { return policies_->PresentLimit(interned); }});
    policies_ = std::make_unique<Policies>();
    policies_->StartLogging();
    found_ = {.unclean_restart = kept.unclean_restart(),
              .had_exhausted_record = kept.had_exhausted_record(),
              .clock_mark = kept.clock_mark(),
              .generation = kept.generation(),
              .losses = kept.accepted_losses()};
    LoadReport report;
    const std::atomic<bool> stop{false};
    const absl::Status loaded =
        kept.Load(limiter_->table(), *policies_, {.now = clock_.Now()}, report, stop);
    if (!loaded.ok()) return loaded;
    found_.loaded = report.loaded;
    found_.dropped = report.dropped;
    found_.bad = report.bad;
    found_.holds = report.holds;
    found_.marks = report.marks;
    found_.expired = report.expired;
    found_.dropped_holds = report.dropped_holds;
    found_.errors = report.errors;
    hub_ = std::make_unique<ChangeHub>(limiter_->table(), *policies_, clock_, true);
    saver_ = std::make_unique<Saver>(*hub_, *std::move(storage), options_);
    return absl::OkStatus();
  }

  absl::Status Save() { return saver_->Save(); }
  absl::Status Stop() {
    const absl::Status stopped = saver_->SaveAndStop();
    End();
    return stopped;
  }
  // Ends as kill -9 does.
  void End() {
    saver_.reset();
    hub_.reset();
    policies_.reset();
    limiter_.reset();
  }

  bool Decide(std::string_view key, std::string_view word, std::int64_t cost = 1) {
    const Limit limit = LimitOf(word);
    return limiter_
        ->Decide({{.key = key, .limit = &limit, .cost = cost, .hash = limiter_->Hash(key)}},
                 clock_.Now())
        ->allowed;
  }
  // Takes a slice of what is needed. Returns its life; 0 if nothing was granted.
  Nanos Slice(std::string_view key, const Limit& limit, std::string_view id, Nanos ttl,
              std::int64_t need) {
    const auto slice = limiter_->Slice(
        {{.key = key, .limit = &limit, .hash = limiter_->Hash(key)}},
        {.id = id, .wish = {.need = need, .unit = need, .upto = need, .life = ttl}}, clock_.Now());
    EXPECT_TRUE(slice.ok());
    return slice.ok() && slice->opens_hold() ? slice->life : Nanos{0};
  }
  // Holds `cost` tokens of the limit. Returns whether the reservation was admitted.
  bool Hold(std::string_view key, const Limit& limit, std::string_view id, Nanos ttl,
            std::int64_t cost = 1) {
    const auto grant = limiter_->DecideAndHold(
        {{.key = key, .limit = &limit, .cost = cost, .hash = limiter_->Hash(key)}},
        {.id = id, .ttl = ttl}, clock_.Now());
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.ok() && grant->verdict.allowed;
  }
  // Returns whether the hold is settled.
  bool Commit(std::string_view key, std::string_view id, std::optional<std::int64_t> cost = {}) {
    const SettledKey keys[] = {{{key, limiter_->Hash(key)}, cost}};
    const auto settled = limiter_->SettleHold({.id = id, .keys = keys, .named = {}}, clock_.Now());
    EXPECT_TRUE(settled.ok()) << settled.status();
    return settled.ok() && settled->settled;
  }
  // The limits of the policy; the bucket is of its first limit.
  bool DecideBy(std::string_view policy, std::string_view key, std::int64_t cost = 1) {
    const Limit limit = policies_->Find(policy)->limits.front().limit;
    return limiter_
        ->Decide({{.key = key, .limit = &limit, .cost = cost, .hash = limiter_->Hash(key)}},
                 clock_.Now())
        ->allowed;
  }
  std::int64_t Remaining(std::string_view key, std::string_view word) {
    const Limit limit = LimitOf(word);
    return limiter_
        ->Peek({{.key = key, .limit = &limit, .cost = 0, .hash = limiter_->Hash(key)}},
               clock_.Now())
        .remaining;
  }
  void SetPolicy(std::string_view name, std::string_view word) {
    EXPECT_TRUE(policies_->Set(name, LimitsOf(word)).ok());
  }
  static PolicyLimits LimitsOf(std::string_view word) {
    absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits({&word, 1});
    WEIR_CHECK(limits.ok());
    return *std::move(limits);
  }

  [[nodiscard]] Limiter& limiter() { return *limiter_; }
  [[nodiscard]] LimiterUpkeep upkeep() { return LimiterUpkeep(limiter_->table()); }
  [[nodiscard]] Policies& policies() { return *policies_; }
  [[nodiscard]] ChangeHub& hub() { return *hub_; }
  [[nodiscard]] Saver& saver() { return *saver_; }
  [[nodiscard]] const Found& found() const { return found_; }
  [[nodiscard]] SaverOptions& options() { return options_; }
  // From the next start on.
  void set_memory_max(std::size_t bytes) { memory_max_ = bytes; }

 private:
  const FakeClock& clock_;
  SaverOptions options_;
  std::size_t memory_max_ = 0;
  Found found_;
  std::unique_ptr<Limiter> limiter_;
  std::unique_ptr<Policies> policies_;
  std::unique_ptr<ChangeHub> hub_;
  std::unique_ptr<Saver> saver_;
};

}  // namespace weir
