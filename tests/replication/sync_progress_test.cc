// Goal: a sync ends wherever the link carries more than changes, and costs a replica that comes
// back only what has changed. Method: policies and overrides of some MB, a ring that is much
// smaller than they are, and a link that carries so many bytes a step.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "core/base/id_type.h"
#include "core/limiter/limiter.h"
#include "core/policies/policies.h"
#include "core/policies/policy_bytes.h"
#include "replication/limiter_target.h"
#include "replication/policy_records.h"
#include "replication/records.h"
#include "replication/ring.h"
#include "replication/sink.h"
#include "replication/source.h"
#include "tests/support/fake_clock.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

class SyncProgressTest : public testing::Test {
 protected:
  static constexpr Instant kNow = FakeClock::kStart;
  static constexpr std::size_t kOverrides = 8'000;
  static constexpr std::size_t kPolicies = 500;
  static constexpr std::size_t kKeyBytes = 100;
  static constexpr std::size_t kRingBytes = 300'000;
  static constexpr std::size_t kLinkBytes = 50'000;  // a step
  static constexpr std::size_t kFrameBytes = 1'000;
  static constexpr FrameKind kChange{
      130};  // a kind of a later version, which a sink counts and passes over

  SyncProgressTest() {
    primary_.StartLogging();
    for (std::size_t i = 0; i < kPolicies; ++i) EXPECT_TRUE(Set(i, "1/s"));
    for (std::size_t i = 0; i < kOverrides; ++i) EXPECT_TRUE(Override(i, "2/s"));
    Take();
  }

  bool Set(std::size_t policy, std::string_view limit) {
    return primary_.Set("policy" + std::to_string(policy), LimitsOf({limit})).ok();
  }
  bool Override(std::size_t number, std::string_view limit) {
    return primary_.Override("policy0", KeyOf(number), LimitsOf({limit})).ok();
  }
  static std::string KeyOf(std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(kKeyBytes - digits.size(), 'k') + digits;
  }

  // As Replicator::Consume.
  void Take() {
    const PolicyChanges changes = primary_.TakeChanges();
    if (changes.empty()) return;
    PartitionSet touched;
    for (const OverrideChange& change : changes.overrides) {
      touched.Add(PartitionOfOverride(change.key));
    }
    WritePolicies(changes, kPoliciesBytes, [&](std::string_view body, bool) {
      ring_.Append(FrameKind::kPolicies, kNow, body, touched);
    });
    for (const auto& change : changes.policies) ring_.TouchPolicy(change.id);
  }

  void Connect(bool resumes) {
    out_.clear();
    source_.emplace(resumes ? sink_.applied() : ring_.head());
    if (resumes) {
      EXPECT_TRUE(sink_.Resume(sink_.applied(), true));
    } else {
      sink_.StartOver(ring_.head(), true);
    }
    std::string need;
    sink_.AppendNeed(kNow, need);
    FrameReader reader;
    reader.Feed(need);
    EXPECT_TRUE(source_->HandleFrame(reader.Next().value()));
  }

  // As Replicator::Fill.
  void Fill() {
    for (;;) {
      const Source::Step step = source_->Next(ring_, kNow, out_);
      if (step.want == Source::Want::kNothing) return;
      if (step.want == Source::Want::kPolicies) {
        PolicyChanges list = primary_.List();
        std::erase_if(list.policies, [&](const auto& change) {
          if (!step.policies_as_of || ring_.policies().Of(change.id) > *step.policies_as_of) {
            return false;
          }
          list.kept.push_back(change.id);
          return true;
        });
        WritePolicies(list, kPoliciesBytes, [&](std::string_view body, bool is_last) {
          source_->AppendPolicies(body, is_last, kNow, out_);
        });
        continue;
      }
      WriteOverrides(step.partition, primary_.OverridesIn(step.partition), kPoliciesBytes,
                     [&](std::string_view body) { source_->AppendOverrides(body, kNow, out_); });
      writer_.WritePartition({}, step.partition, kNoLimit, kPartitionPartBytes,
                             [&](const RecordsWriter::Body& body) {
                               source_->AppendPartition(body.bytes, body.is_last, kNow, out_);
                             });
    }
  }

  // Makes one step: changes of that many bytes, and the bytes that the link carries.
  void Step(std::size_t change_bytes) {
    ++steps_;
    for (std::size_t bytes = 0; bytes < change_bytes; bytes += kFrameBytes) {
      PartitionSet touched;
      touched.Add(++changes_ * 77 % kPartitionCount);
      ring_.Append(kChange, kNow, std::string(kFrameBytes - kFrameBytesMin, 'x'), touched);
    }
    EXPECT_TRUE(Override(steps_ * 7 % kOverrides, steps_ % 2 == 0 ? "3/s" : "4/s"));
    if (steps_ % 10 == 0) {
      EXPECT_TRUE(Set(steps_ % kPolicies, "5/s"));
    }
    Take();
    Carry();
  }
  void Carry() {
    std::size_t left = kLinkBytes;
    for (Fill(); left > 0 && !out_.empty(); Fill()) {
      const std::size_t carried = std::min(out_.size(), left);
      left -= carried;
      carried_ += carried;
      ASSERT_TRUE(sink_.Receive(std::string_view(out_).substr(0, carried))) << sink_.error();
      out_.erase(0, carried);
    }
  }

  // Carries bytes until the replica has the whole state.
  void Drain() {
    do {
      Carry();
    } while (!out_.empty() && !HasFatalFailure());
    EXPECT_TRUE(sink_.synced());
    EXPECT_EQ(TextOf(replica_), TextOf(primary_));
  }

  static std::vector<std::string> TextOf(const Policies& policies) {
    std::vector<std::string> text;
    for (const auto& policy : policies.All()) {
      text.push_back(std::to_string(NumberOf(policy->id)) + PolicyValue(*policy));
      for (const auto& [key, limits] : policy->overrides->All()) {
        text.push_back(key + " " + OverrideValue(*limits));
      }
    }
    return text;
  }

  static constexpr auto kNoLimit = [](LimitId) -> const Limit* { return nullptr; };

  Policies primary_;
  Ring ring_{kRingBytes, 0};
  RecordsWriter writer_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Policies replica_;
  LimiterTarget target_{limiter_->table(), replica_};
  Sink sink_{target_, {.last_changed = LastChanged()}};
  std::optional<Source> source_;
  std::string out_;
  std::size_t steps_ = 0;
  std::size_t changes_ = 0;
  std::size_t carried_ = 0;  // bytes, in all steps
};

class SyncAtRateTest : public SyncProgressTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(SyncAtRateTest, Ends) {
  const std::size_t rate = kLinkBytes * GetParam() / 100;
  Connect(false);
  // The whole state takes less than a key and 100 bytes for each override.
  const std::size_t steps =
      4 * kOverrides * (kKeyBytes + 100) / (kLinkBytes - rate) + 4 * Source::kOutBytes / kLinkBytes;
  while (!sink_.synced() && steps_ < steps) Step(rate);
  EXPECT_TRUE(sink_.synced()) << sink_.partitions_left() << " partitions are left";
  Drain();
}

INSTANTIATE_TEST_SUITE_P(Percents, SyncAtRateTest, testing::Values(0, 50, 90));

TEST_F(SyncProgressTest, AReplicaThatComesBackGetsWhatHasChanged) {
  Connect(false);
  Drain();
  const std::size_t whole = carried_;
  EXPECT_GT(whole, kOverrides * kKeyBytes);
  // More bytes than the ring holds.
  for (std::size_t bytes = 0; bytes < 2 * kRingBytes; bytes += kFrameBytes) {
    ring_.Append(kChange, kNow, std::string(kFrameBytes, 'x'), {});
  }
  EXPECT_TRUE(primary_.RemoveOverride("policy0", KeyOf(5)).value());
  EXPECT_TRUE(primary_.Delete("policy7").ok());
  EXPECT_TRUE(Set(8, "9/s"));
  Take();
  Connect(true);
  carried_ = 0;
  Drain();
  EXPECT_LT(carried_, whole / 30);
}

TEST_F(SyncProgressTest, WhatWasCopiedBeforeACutStaysCopied) {
  Connect(false);
  std::size_t cuts = 0;
  for (; !sink_.synced(); ++cuts) {
    for (int i = 0; i < 10 && !sink_.synced(); ++i) Step(kLinkBytes / 2);
    if (!sink_.synced()) Connect(true);
    ASSERT_LT(cuts, 100U);
  }
  EXPECT_GT(cuts, 2U);
  Drain();
}

}  // namespace
}  // namespace weir
