// Pub/sub: the channels of this server, their subscribers, and the messages to them.
//
//     Subscriber subscriber(channels, outbox);          // the client's session
//     subscriber.Subscribe(SubscriptionKind::kChannel, "news");
//     channels.Publish("news", "hello");                // any thread
//
// A message goes to the outbox of each subscriber, in the protocol that its client speaks. It
// reaches the clients of this server only, those connected now, at most once. Names are of any
// bytes; the callers bound them (kChannelBytesMax).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/base/mutex.h"
#include "server/observe/outbox.h"

namespace weir {

// Of the name of a channel, or a pattern. It bounds the time to compare the two.
inline constexpr std::size_t kChannelBytesMax = 512;

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

  // Subscribing twice, or ending a subscription that is not there, does nothing. Cost: O(log of the
  // client's subscriptions).
  void Subscribe(SubscriptionKind kind, std::string_view name);
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

  void ShowSize();

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
  explicit Channels(std::vector<std::string> own = {}) : own_(std::move(own)) {}

  // Sends a message to all subscribers of the channel, and to those of each pattern that it
  // matches, but for killed clients. Returns their number. Cost: O(subscribers + patterns).
  std::size_t Publish(std::string_view channel, std::string_view message);

  // IsHeard: whether the server's channel at this place in `own` has a subscriber. IsAnyHeard:
  // whether one of the server's channels has. Each costs a relaxed load.
  [[nodiscard]] bool IsHeard(std::size_t own) const noexcept {
    return (heard_.load(std::memory_order_relaxed) >> own & 1) != 0;
  }
  [[nodiscard]] bool IsAnyHeard() const noexcept {
    return heard_.load(std::memory_order_relaxed) != 0;
  }

  // The channels with subscribers whose names match, sorted.
  [[nodiscard]] std::vector<std::string> Matching(std::string_view pattern) const;
  // The number of subscribers of a channel; those of patterns do not count.
  [[nodiscard]] std::size_t SubscribersOf(std::string_view channel) const;
  // The number of channels, or patterns, that have a subscriber.
  [[nodiscard]] std::size_t Count(SubscriptionKind kind) const;

 private:
  friend class Subscriber;
  using Subscribers = absl::flat_hash_set<Subscriber*>;
  using Named = absl::flat_hash_map<std::string, Subscribers>;

  void Add(SubscriptionKind kind, std::string_view name, Subscriber& subscriber);
  void Remove(SubscriptionKind kind, std::string_view name, Subscriber& subscriber);
  // Called when the first subscriber of a name has come, or the last one has gone.
  void NoteWhoHears(SubscriptionKind kind, std::string_view name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> own_;
  std::atomic<std::uint32_t> heard_{0};  // a bit for each of own_
  mutable Mutex mutex_;
  std::array<Named, kSubscriptionKinds> named_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
