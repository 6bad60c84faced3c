// A reservation of what an action will use, as estimated, that is settled with what it did use.
//
//     Hold hold(gate, 1500, 120s, {"team:7", "5,held", "100k/m,cost={}"});
//     if (!hold.answer().passes) return;  // as of Gate::Ask
//     hold.Settle(CallModel());           // frees the slot, charges 812 tokens and not 1500
//
// Each `cost={}` is the estimate's place; the other limits are charged as they stand. The end of
// the scope cancels what has not been settled: all of it is given back at once. So it is after the
// time to live, here 120 s, if the program dies.
//
// A request whose reply is lost is sent once more. It has the same id, a random one, so it is
// charged once. A Gate that fails open runs the action while weir is away; then there is no hold,
// and Settle does nothing. A denial is not kept, as a slot may be free at any time.
//
// A Hold is for one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clients/cpp/limited.h"

namespace weir::example {

class Hold {
 public:
  // Reserves. Requires: the Gate outlives the Hold.
  Hold(Gate& gate, std::int64_t estimate, milliseconds ttl, const Words& words)
      : gate_(gate),
        groups_(SplitAtAnd(words)),
        words_(JoinWithAnd(WithCost(estimate, true))),
        hold_{"HOLD", RandomId()},
        ttl_{"TTL", std::to_string(ttl.count())},
        answer_(Ask()),
        is_open_(answer_.passes) {
    if (!answer_.answered) answer_ = gate_.NoAnswer(words_);
  }
  ~Hold() { Cancel(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  [[nodiscard]] const Answer& answer() const { return answer_; }

  // Charges what was used in place of the estimate. Returns whether that is so. It is not if there
  // is no hold, if it has expired, or if weir does not answer; only then can it be repeated. Throws
  // a Mistake.
  bool Settle(std::int64_t used) {
    if (is_open_) {
      has_settled_ = true;
      is_settled_ = End("RL.COMMIT", WithCost(used, false));
    }
    return is_settled_;
  }

  // Settles; if the hold has expired, charges what was used. Returns whether it is settled. A hold
  // that expires gives back all that it reserved. So a budget that must not be undercounted wants
  // this, and one that must not be overdrawn wants Settle.
  bool SettleOrCharge(std::int64_t used) {
    const bool was_open = is_open_;
    if (Settle(used) || !was_open || is_open_) return is_settled_;
    std::vector<Words> charge = WithCost(used, false);
    std::erase_if(charge, [](const Words& group) { return group.size() < 2; });
    // Without an answer it may have been charged, so it is not repeated.
    if (!charge.empty()) Call("RL.CHARGE", charge, {}, 1);
    return false;
  }

  // Gives all of it back, unless it has been settled.
  void Cancel() {
    if (!is_open_ || has_settled_) return;
    std::vector<Words> keys = groups_;
    for (Words& group : keys) group.resize(1);
    try {
      End("RL.CANCEL", keys);
    } catch (const Mistake& /*mistake*/) {
      is_open_ = false;  // it expires
    }
  }

 private:
  friend class Lease;

  static constexpr int kTries = 2;
  static constexpr std::string_view kPlace = "cost={}";

  // 128 bits.
  static std::string RandomId() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device random;
    std::string id;
    while (id.size() < 32) id.push_back(kDigits[random() % kDigits.size()]);
    return id;
  }

  // Reserves, or renews the time to live of what is reserved.
  Answer Ask() {
    return gate_.Decide("RL.RESERVE", words_, {hold_[0], hold_[1], ttl_[0], ttl_[1]}, kTries);
  }

  // The groups with the cost in its place; unless all is wanted, without the limits that have none.
  [[nodiscard]] std::vector<Words> WithCost(std::int64_t cost, bool all) const {
    std::vector<Words> groups;
    for (const Words& group : groups_) {
      Words& words = groups.emplace_back();
      for (std::string word : group) {
        const std::size_t place = words.empty() ? std::string::npos : word.find(kPlace);
        if (place != std::string::npos) {
          word.replace(place, kPlace.size(), "cost=" + std::to_string(cost));
        } else if (!words.empty() && !all) {
          continue;
        }
        words.push_back(std::move(word));
      }
    }
    return groups;
  }

  // Ends the hold. Returns whether weir had it.
  bool End(const char* command, const std::vector<Words>& groups) {
    const Gate::Reply reply = Call(command, groups, hold_, kTries);
    if (!reply) return false;
    is_open_ = false;
    return reply->element[0]->integer == 1;
  }

  // Returns null if weir does not answer. Throws a Mistake.
  Gate::Reply Call(const char* command, const std::vector<Words>& groups, const Words& options,
                   int tries) {
    Words request = {command};
    std::ranges::copy(JoinWithAnd(groups), std::back_inserter(request));
    request.insert(request.end(), options.begin(), options.end());
    Gate::Reply reply = gate_.Call(request, tries);
    if (reply && reply->type == REDIS_REPLY_ERROR) {
      throw Mistake(std::string(reply->str, reply->len));
    }
    return reply;
  }

  Gate& gate_;
  const std::vector<Words> groups_;
  const Words words_;
  const Words hold_;
  const Words ttl_;
  Answer answer_;
  bool is_open_;  // weir may have the hold, not settled
  bool is_settled_ = false;
  bool has_settled_ = false;  // has tried to
};

}  // namespace weir::example
