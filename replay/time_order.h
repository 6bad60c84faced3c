// A queue that puts the requests of a log into the order of their times, and hashes their keys.
//
//     TimeOrder order(slack, hasher);
//     for (each line) {
//       if (absl::Status status = order.Add(line_number, request); !status.ok()) ...  // a bad line
//       if (auto line = order.TakeLeapBack()) ...  // another one, before this
//       order.Release(visit, ahead);
//     }
//     order.ReleaseAll(visit, ahead);
//
// visit(const LoggedRequest&) is called for each request in order, ahead(const KeyHash&) for its
// first key some requests before that, so that memory can be fetched.
//
// A log's lines may go back by `slack` behind the latest time before them. A single line ahead of
// all others, as of a clock that was wrong for a moment, does not count as the latest time: it is
// left out if the next line goes back by more than an hour, and by more than the slack, to where
// the lines before it were. Requests with equal times keep the log's order. Memory: the requests of
// the last 4 * slack, about 90 bytes each and the key. Cost: a keyed hash, one or two copies of a
// request, and a sort where lines are out of order. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/instant.h"
#include "replay/logged_request.h"

namespace weir {

// Returns the text of a span in seconds, rounded up to whole milliseconds: "5 s", "0.025 s".
[[nodiscard]] std::string SecondsOf(Nanos span);

class TimeOrder {
 public:
  // Requires: slack >= 0. The hasher must outlive the queue.
  TimeOrder(Nanos slack, const KeyHasher& hasher) : slack_(slack), hasher_(hasher) {}

  // Copies the request. Fails with kInvalidArgument if its time is too far back.
  absl::Status Add(std::uint64_t line_number, const LoggedRequest& request);

  // A line that was added and is left out after all, since the last Add shows that its time is
  // wrong.
  struct Leap {
    std::uint64_t line_number;
    std::string error;
  };
  [[nodiscard]] std::optional<Leap> TakeLeapBack() { return std::exchange(taken_back_, {}); }

  // The line with the latest time.
  [[nodiscard]] std::uint64_t latest_line() const noexcept { return latest_line_; }

  // Visits the requests that no later line may precede, where there are enough of them to be worth
  // it. The view is good during the visit.
  template <typename Visit, typename Ahead>
  void Release(Visit visit, Ahead ahead) {
    if (queue_.requests.size() < kReleasedMin || may_be_leap_) return;
    if (latest_ - earliest_ <= 4 * slack_) return;
    ReleaseUntil(latest_ - slack_, visit, ahead);
  }
  template <typename Visit, typename Ahead>
  void ReleaseAll(Visit visit, Ahead ahead) {
    ReleaseUntil(kInstantMax, visit, ahead);
  }

 private:
  static constexpr std::size_t kReleasedMin = 4096;
  static constexpr std::size_t kAhead = 8;
  static constexpr Nanos kLeapMin = std::chrono::hours{1};

  struct Queued {
    Instant at;
    std::int64_t number;
    std::size_t first_key;
    std::uint32_t keys;
    LoggedAction action;
  };
  struct QueuedKey {
    std::size_t text;
    std::size_t first_cost;
    std::int64_t cost;
    KeyHash hash;
    std::uint32_t text_bytes;
    std::uint32_t word_costs;
  };
  struct Queue {
    std::vector<Queued> requests;
    std::vector<QueuedKey> keys;
    std::vector<std::int64_t> word_costs;
    std::string text;

    void Append(const LoggedRequest& request);
    void DropLast();
    // Makes a view, whose keys are in `keys`.
    [[nodiscard]] LoggedRequest View(const Queued& queued, std::vector<LoggedKey>& keys) const;
    void Clear();
  };

  template <typename Visit, typename Ahead>
  void ReleaseUntil(Instant end, Visit visit, Ahead ahead) {
    Sort();
    std::size_t next = 0;
    for (; next < queue_.requests.size() && queue_.requests[next].at <= end; ++next) {
      if (next + kAhead < queue_.requests.size()) {
        const Queued& later = queue_.requests[next + kAhead];
        if (later.keys > 0) ahead(queue_.keys[later.first_key].hash);
      }
      visit(std::as_const(queue_).View(queue_.requests[next], view_));
    }
    Keep(next);
  }
  void TakeBackLeap(std::uint64_t line_number, Instant at);
  void Sort();
  // Drops the requests before `first`.
  void Keep(std::size_t first);

  const Nanos slack_;
  const KeyHasher& hasher_;
  Instant latest_;
  std::uint64_t latest_line_ = 0;
  Instant before_latest_;  // the latest time before that line, and its line
  std::uint64_t line_before_latest_ = 0;
  bool may_be_leap_ = false;  // the last request in the queue is far ahead of all before it
  std::optional<Leap> taken_back_;
  Instant earliest_ = kInstantMax;  // in the queue
  bool is_sorted_ = true;
  Queue queue_;
  Queue spare_;
  std::vector<LoggedKey> view_;
};

}  // namespace weir
