// Goal: edges together admit what one bucket without a delay would, ask the primary rarely, answer
// at once, and waste nothing. Method: four edges on links with a fixed delay, of which greedy
// clients ask for three times the rate, or for half of it, in random bursts; beside them a bucket
// that is asked for the same requests with no delay. Then requests of a large cost among them, and
// a primary that stalls.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "edge/edge.h"
#include "tests/edge/event_queue.h"
#include "tests/edge/sim_primary.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kFleetBegin = std::chrono::seconds{1'767'225'600};
constexpr std::string_view kKey = "k";
constexpr std::size_t kEdges = 4;
constexpr int kWarmUpMs = 2000;
constexpr int kEndMs = 6000;

struct Totals {
  std::int64_t admitted = 0;
  std::int64_t denied = 0;
  std::int64_t at_once = 0;
  std::int64_t asks = 0;  // and COMMITs
  std::int64_t ideal = 0;
  std::int64_t wasted = 0;  // units, over the whole run
};

class Fleet {
 public:
  Fleet(std::string_view limit, Nanos delay) : limit_(limit), delay_(delay) {
    for (std::size_t i = 0; i < kEdges; ++i) members_.push_back(std::make_unique<Member>(*this, i));
  }

  // From now on the first edge has a request of so many units each so many milliseconds.
  Fleet& WithCost(std::int64_t units, int ms) {
    large_ = {units, ms};
    return *this;
  }
  // The primary does nothing for so long from this millisecond on.
  Fleet& WithStall(int ms, Nanos length) {
    stall_begin_ = kFleetBegin + milliseconds{ms};
    stall_end_ = stall_begin_ + length;
    return *this;
  }
  // Returns what happened after the warm-up. `requests`: of an edge in a millisecond.
  Totals Run(const std::function<double(std::size_t edge, int ms)>& requests) {
    std::vector<double> due(kEdges);
    Totals before;
    for (int ms = 0; ms < kEndMs; ++ms) {
      if (ms == kWarmUpMs) before = totals_;
      if (large_.second > 0 && ms % large_.second == 0) Ask(*members_[0], large_.first);
      for (std::size_t i = 0; i < kEdges; ++i) {
        constexpr double kBursts[] = {0, .5, 1, 2.5};
        due[i] += requests(i, ms) * kBursts[random_() % 4];
        for (; due[i] >= 1; due[i] -= 1) Ask(*members_[i], 1);
        if (ms % 10 == 0) members_[i]->edge.Tick(Local());
      }
      events_.RunUntil(now() + milliseconds{1});
    }
    Totals after = {totals_.admitted - before.admitted, totals_.denied - before.denied,
                    totals_.at_once - before.at_once, totals_.asks - before.asks,
                    totals_.ideal - before.ideal};
    for (const auto& member : members_) {
      after.wasted += static_cast<std::int64_t>(member->edge.counts().wasted);
    }
    return after;
  }

 private:
  struct Member final : Edge::Host {
    Member(Fleet& of, std::size_t index) : fleet(of), edge(*this, absl::StrCat(index), {}) {
      edge.OnLinkUp(of.Local());
    }
    void Send(std::span<const std::string_view> words) override {
      ++fleet.totals_.asks;
      const bool is_ask = words.front() == "RL.SLICE";
      fleet.Later([this, is_ask, texts = std::vector<std::string>(words.begin() + 1, words.end())] {
        const std::vector<std::string_view> sent(texts.begin(), texts.end());
        const Instant now{fleet.now()};
        std::string reply = is_ask ? fleet.primary_.Slice(sent, now, now, Nanos{0}).bytes
                                   : fleet.primary_.Commit(sent, now).bytes;
        fleet.Later([this, reply = std::move(reply)] { edge.OnReply(reply, fleet.Local()); });
      });
    }
    void Answer(std::uint64_t /*ticket*/, const EdgeAnswer& answer) override { Count(answer); }
    void Count(const EdgeAnswer& answer) {
      ++(answer.allowed() ? fleet.totals_.admitted : fleet.totals_.denied);
    }

    Fleet& fleet;
    Edge edge;
  };

  void Ask(Member& member, std::int64_t units) {
    const std::string cost = absl::StrCat(units);
    std::vector<std::string_view> words = {kKey, limit_};
    if (units != 1) words.insert(words.end(), {"COST", cost});
    totals_.ideal += ideal_.Allow(words, Instant{now()}).granted;
    const EdgeAnswer answer = member.edge.Decide(words, 0, Local());
    if (answer.kind == EdgeAnswer::Kind::kVerdict) {
      ++totals_.at_once;
      member.Count(answer);
    }
    if (answer.kind != EdgeAnswer::Kind::kPassOn) return;
    ++totals_.asks;
    Later([this, &member, passed_on = answer.passed_on,
           texts = std::vector<std::string>(words.begin(), words.end())] {
      const SimReply reply =
          primary_.Allow(std::vector<std::string_view>(texts.begin(), texts.end()), Instant{now()});
      ++(reply.granted == 1 ? totals_.admitted : totals_.denied);
      Later([this, &member, passed_on, bytes = reply.bytes] {
        member.edge.OnPassedReply(passed_on, bytes, Local());
      });
    });
  }
  void Later(std::function<void()> happens) {
    const Nanos at = now() + delay_;
    events_.At(at >= stall_begin_ && at < stall_end_ ? stall_end_ : at, std::move(happens));
  }
  [[nodiscard]] Nanos now() const { return events_.now(); }
  [[nodiscard]] HostInstant Local() const { return HostInstant{now()}; }

  const std::string_view limit_;
  const Nanos delay_;
  std::mt19937_64 random_{1};
  EventQueue events_{kFleetBegin};
  SimPrimary primary_{EdgeBug::kNone};
  SimPrimary ideal_{EdgeBug::kNone};
  std::vector<std::unique_ptr<Member>> members_;
  Totals totals_;
  std::pair<std::int64_t, int> large_{};
  Nanos stall_begin_{};
  Nanos stall_end_{};
};

// What edges have admitted / what one bucket has.
double ShareOf(const Totals& totals) {
  return static_cast<double>(totals.admitted) / static_cast<double>(totals.ideal);
}
double AsksASecondOf(const Totals& totals) {
  return static_cast<double>(totals.asks) * 1000 / (kEndMs - kWarmUpMs) / kEdges;
}

TEST(EdgeUtilisation, OfGreedyClientsIsThatOfOneBucket) {
  for (const int delay : {1, 20, 100}) {
    const Totals totals =
        Fleet("10k/s", milliseconds{delay}).Run([](std::size_t, int) { return 30.0 / kEdges; });
    EXPECT_NEAR(ShareOf(totals), 1, .03) << delay;
    EXPECT_LE(AsksASecondOf(totals), 20.5) << delay;
    EXPECT_EQ(totals.at_once, totals.admitted + totals.denied) << delay;
    EXPECT_EQ(totals.wasted, 0) << delay;
  }
}

TEST(EdgeUtilisation, OfARoamingDemandIsThatOfOneBucket) {
  for (const int delay : {1, 20, 100}) {
    const Totals totals = Fleet("10k/s", milliseconds{delay}).Run([](std::size_t edge, int ms) {
      return static_cast<std::size_t>(ms) / 300 % kEdges == edge ? 30.0 : 0.0;
    });
    EXPECT_NEAR(ShareOf(totals), 1, .05) << delay;
  }
}

TEST(EdgeUtilisation, OfHalfTheRateIsAllOfIt) {
  for (const int delay : {1, 20, 100}) {
    const Totals totals =
        Fleet("10k/s", milliseconds{delay}).Run([](std::size_t, int) { return 5.0 / kEdges; });
    EXPECT_NEAR(ShareOf(totals), 1, .01) << delay;
    EXPECT_EQ(totals.denied, 0) << delay;
    EXPECT_LE(AsksASecondOf(totals), 20.5) << delay;
    EXPECT_GE(totals.at_once, (totals.admitted + totals.denied) * 99 / 100) << delay;
  }
}

TEST(EdgeUtilisation, OfWindowsWastesNothing) {
  for (const int delay : {1, 20}) {
    const Totals totals = Fleet("20k/2s,fixed", milliseconds{delay}).Run([](std::size_t, int) {
      return 30.0 / kEdges;
    });
    EXPECT_EQ(totals.wasted, 0) << delay;
  }
}

TEST(EdgeUtilisation, OutlastsRequestsOfALargeCost) {
  for (const std::int64_t units : {3'900, 5'000}) {
    const Totals totals =
        Fleet("4k/s", milliseconds{1}).WithCost(units, 1000).Run([](std::size_t, int) {
          return 1.2 / kEdges;
        });
    EXPECT_LE(AsksASecondOf(totals), 23) << units;
    EXPECT_GE(totals.at_once, (totals.admitted + totals.denied) * 9 / 10) << units;
    EXPECT_EQ(totals.wasted, 0) << units;
  }
}

TEST(EdgeUtilisation, OutlastsAStall) {
  for (const int stall : {300, 900}) {
    const Totals totals = Fleet("4k/s", milliseconds{1})
                              .WithStall(kWarmUpMs, milliseconds{stall})
                              .Run([](std::size_t, int) { return 1.2 / kEdges; });
    EXPECT_LE(AsksASecondOf(totals), 90) << stall;
    EXPECT_GE(totals.at_once, (totals.admitted + totals.denied) * 6 / 10) << stall;
  }
}

}  // namespace
}  // namespace weir
