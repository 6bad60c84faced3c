// Pub/sub: the channels of this server, their subscribers, and the messages to them.
//
//     Subscriber subscriber(channels, outbox);          // the client's session
//     subscriber.Subscribe(SubscriptionKind::kChannel, {{"news"}});
//     channels.Publish("news", "hello");                // any thread
//
// A message goes to the outbox of each subscriber, in the protocol that its client speaks. It
// reaches the clients of this server only, those connected now, at most once. Names may have any
// bytes; the callers bound their lengths (kChannelBytesMax, kGlobPatternBytesMax).
//
// Patterns are matched outside of the lock, and their number is bounded: so a message costs at most
// kMatchStepsMax steps, a few milliseconds, and no other client waits for them. The server's own
// messages match nothing: the subscriptions that hear its channels are known when they begin.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/mutex.h"
#include "core/table/limit_registry.h"
#include "server/access/glob.h"
#include "server/observe/outbox.h"

namespace weir {

// The bound on the name of a channel.
inline constexpr std::size_t kChannelBytesMax = 512;
// The bound on the channels of one client. They end together, in one go, when the client asks for
// it or leaves: that takes some milliseconds.
inline constexpr std::size_t kChannelsOfClientMax = 4096;
// The bounds on distinct patterns with a subscriber: of all clients, and of the clients of one
// named user.
inline constexpr std::size_t kPatternsMax = 256;
inline constexpr std::size_t kPatternsOfUserMax = 64;
// The bound on the steps of one message, or of one search for channels. A step compares a byte of a
// pattern with a byte of a name; each channel of a search adds kStepsPerChannel.
inline constexpr std::size_t kMatchStepsMax =
    kPatternsMax * kGlobPatternBytesMax * kChannelBytesMax;
inline constexpr std::size_t kStepsPerChannel = 1024;

class Channels;

// The meaning of a subscription's name.
enum class SubscriptionKind : std::uint8_t { kChannel, kPattern };
inline constexpr std::size_t kSubscriptionKinds = 2;

// The subscriptions of one client. For its session's thread.
class Subscriber {
 public:
  Subscriber(Channels& channels, Outbox& outbox) : channels_(channels), outbox_(outbox) {}
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Subscribes to all of the names, and returns the number of subscriptions after each. Subscribing
  // twice does nothing. Fails with kResourceExhausted, and subscribes to none, if there would be
  // too many channels or patterns. The patterns count for `user`; with kSoleIntroducer they count
  // for all clients only. Cost: O(log of the client's subscriptions) a name.
  absl::StatusOr<std::vector<std::size_t>> Subscribe(SubscriptionKind kind,
                                                     std::span<const std::string_view> names,
                                                     Introducer user = kSoleIntroducer);
  // Ends a subscription, if it is there. Cost: the same.
  void Unsubscribe(SubscriptionKind kind, std::string_view name);

  [[nodiscard]] const absl::btree_set<std::string>& names(SubscriptionKind kind) const noexcept {
    return names_[static_cast<std::size_t>(kind)];
  }
  // Of both kinds.
  [[nodiscard]] std::size_t size() const noexcept { return names_[0].size() + names_[1].size(); }
  // Heap bytes of the subscriptions, about.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }

 private:
  friend class Channels;

  void PublishSize();

  Channels& channels_;
  Outbox& outbox_;
  std::array<absl::btree_set<std::string>, kSubscriptionKinds> names_;
  std::size_t held_bytes_ = 0;
};

// Thread-safe.
class Channels {
 public:
  // `own`: the channels that the server itself publishes to, at most 32. IsHeard() answers for
  // them.
  explicit Channels(const std::vector<std::string>& own = {});

  // Sends a message to all subscribers of the channel, and to those of each matching pattern,
  // except killed clients. Returns the number of receivers. Cost: O(subscribers), and
  // StepsToPublish() before any lock is taken.
  std::size_t Publish(std::string_view channel, std::string_view message);
  [[nodiscard]] std::size_t StepsToPublish(std::string_view channel) const;
  // Does the same for the server's channel at this place in `own`. A subscriber that is behind
  // misses the message (Outbox::Offer). Cost: O(subscribers).
  struct Sent {
    std::size_t receivers = 0;
    std::size_t dropped = 0;  // subscribers that have missed it
  };
  Sent PublishOwn(std::size_t own, std::string_view message);

  // IsHeard: whether the server's channel at this place in `own` has a subscriber. IsAnyHeard:
  // whether one of the server's channels has. Each costs a relaxed load.
  [[nodiscard]] bool IsHeard(std::size_t own) const noexcept {
    return (heard_.load(std::memory_order_relaxed) >> own & 1) != 0;
  }
  [[nodiscard]] bool IsAnyHeard() const noexcept {
    return heard_.load(std::memory_order_relaxed) != 0;
  }

  // The channels with subscribers whose names match, sorted. Fails with kResourceExhausted if
  // StepsToSearch() is more than kMatchStepsMax.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Matching(std::string_view pattern) const;
  [[nodiscard]] std::size_t StepsToSearch(std::string_view pattern) const;
  // The number of subscribers of a channel; those of patterns do not count.
  [[nodiscard]] std::size_t SubscribersOf(std::string_view channel) const;
  // The number of channels, or patterns, that have a subscriber.
  [[nodiscard]] std::size_t Count(SubscriptionKind kind) const;

 private:
  friend class Subscriber;
  // The subscribers of a name, each with the user that it counts for.
  using Subscribers = absl::flat_hash_map<Subscriber*, Introducer>;
  using Named = absl::flat_hash_map<std::string, Subscribers>;
  using Patterns = std::vector<std::string>;
  // The patterns of one user, each with the number of its subscribers for that user.
  using PatternCounts = absl::flat_hash_map<std::string, std::size_t>;
  struct OwnChannel {
    std::string name;
    // The subscriptions of all clients that hear it: to its name, or to patterns.
    std::vector<std::pair<SubscriptionKind, std::string>> heard_by = {};
  };

  absl::Status Add(SubscriptionKind kind, std::span<const std::string_view> names,
                   Subscriber& subscriber, Introducer user);
  void Remove(SubscriptionKind kind, std::string_view name, Subscriber& subscriber);
  [[nodiscard]] absl::Status CheckRoomForPatterns(std::span<const std::string_view> names,
                                                  Introducer user) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Called when the first subscriber of a name has come, or the last one is going.
  void OnFirst(SubscriptionKind kind, std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnLast(SubscriptionKind kind, std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends to the subscribers of one name, and counts them.
  enum class IfBehind : std::uint8_t { kClose, kDrop };
  void Send(SubscriptionKind kind, std::string_view name, std::string_view channel,
            std::string_view message, IfBehind if_behind, Sent& sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::shared_ptr<const Patterns> PatternsNow();

  std::atomic<std::uint32_t> heard_{0};  // a bit for each of own_
  mutable Mutex mutex_;
  std::vector<OwnChannel> own_ ABSL_GUARDED_BY(mutex_);
  std::array<Named, kSubscriptionKinds> named_ ABSL_GUARDED_BY(mutex_);
  std::array<std::size_t, kSubscriptionKinds> name_bytes_ ABSL_GUARDED_BY(mutex_) = {};
  absl::flat_hash_map<Introducer, PatternCounts> patterns_of_ ABSL_GUARDED_BY(mutex_);
  // The names of all patterns; null if they have changed since they were asked for.
  std::shared_ptr<const Patterns> patterns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
