#include "server/observe/channels.h"

#include <algorithm>
#include <optional>

#include "core/base/status.h"
#include "protocol/resp_writer.h"
#include "server/access/glob.h"

namespace weir {
namespace {

// The bytes of a subscription besides its name, here and in Channels.
constexpr std::size_t kBytesPerSubscription = 128;

std::size_t IndexOf(SubscriptionKind kind) { return static_cast<std::size_t>(kind); }

// A message in the two protocols, each made once and only if it is needed.
class Message {
 public:
  explicit Message(std::vector<std::string_view> words) : words_(std::move(words)) {}

  const std::string& In(int protocol) {
    std::optional<std::string>& bytes = protocol == 2 ? resp2_ : resp3_;
    if (!bytes) {
      bytes.emplace();
      RespWriter writer(*bytes);
      writer.set_protocol(protocol);
      writer.Push(words_.size());
      for (const std::string_view word : words_) writer.Bulk(word);
    }
    return *bytes;
  }

 private:
  std::vector<std::string_view> words_;
  std::optional<std::string> resp2_;
  std::optional<std::string> resp3_;
};

}  // namespace

Subscriber::~Subscriber() {
  for (const SubscriptionKind kind : {SubscriptionKind::kChannel, SubscriptionKind::kPattern}) {
    for (const std::string& name : names(kind)) channels_.Remove(kind, name, *this);
    names_[IndexOf(kind)].clear();
  }
  ShowSize();
}

void Subscriber::Subscribe(SubscriptionKind kind, std::string_view name) {
  if (!names_[IndexOf(kind)].emplace(name).second) return;
  held_bytes_ += name.size() + kBytesPerSubscription;
  channels_.Add(kind, name, *this);
  ShowSize();
}

void Subscriber::Unsubscribe(SubscriptionKind kind, std::string_view name) {
  if (names_[IndexOf(kind)].erase(std::string(name)) == 0) return;
  held_bytes_ -= name.size() + kBytesPerSubscription;
  channels_.Remove(kind, name, *this);
  ShowSize();
}

void Subscriber::ShowSize() {
  ClientRecord& record = outbox_.record();
  record.channels.store(names(SubscriptionKind::kChannel).size(), std::memory_order_relaxed);
  record.patterns.store(names(SubscriptionKind::kPattern).size(), std::memory_order_relaxed);
}

std::size_t Channels::Publish(std::string_view channel, std::string_view message) {
  std::size_t receivers = 0;
  const auto send = [&receivers](const Subscribers& subscribers, Message&& sent) {
    for (const Subscriber* const subscriber : subscribers) {
      Outbox& outbox = subscriber->outbox_;
      if (outbox.record().killed.load(std::memory_order_relaxed)) continue;
      outbox.Append(sent.In(outbox.record().protocol.load(std::memory_order_relaxed)));
      ++receivers;
    }
  };
  MutexLock lock(mutex_);
  const auto& [channels, patterns] = named_;
  if (const auto found = channels.find(AbslView(channel)); found != channels.end()) {
    send(found->second, Message({"message", channel, message}));
  }
  for (const auto& [pattern, subscribers] : patterns) {
    if (!MatchesChannel(pattern, channel)) continue;
    send(subscribers, Message({"pmessage", pattern, channel, message}));
  }
  return receivers;
}

std::vector<std::string> Channels::Matching(std::string_view pattern) const {
  std::vector<std::string> matching;
  MutexLock lock(mutex_);
  for (const auto& [name, subscribers] : named_[IndexOf(SubscriptionKind::kChannel)]) {
    if (MatchesChannel(pattern, name)) matching.push_back(name);
  }
  std::ranges::sort(matching);
  return matching;
}

std::size_t Channels::SubscribersOf(std::string_view channel) const {
  MutexLock lock(mutex_);
  const Named& channels = named_[IndexOf(SubscriptionKind::kChannel)];
  const auto found = channels.find(AbslView(channel));
  return found == channels.end() ? 0 : found->second.size();
}

std::size_t Channels::Count(SubscriptionKind kind) const {
  MutexLock lock(mutex_);
  return named_[IndexOf(kind)].size();
}

void Channels::Add(SubscriptionKind kind, std::string_view name, Subscriber& subscriber) {
  MutexLock lock(mutex_);
  Subscribers& subscribers = named_[IndexOf(kind)][AbslView(name)];
  subscribers.insert(&subscriber);
  if (subscribers.size() == 1) NoteWhoHears(kind, name);
}

void Channels::Remove(SubscriptionKind kind, std::string_view name, Subscriber& subscriber) {
  MutexLock lock(mutex_);
  Named& named = named_[IndexOf(kind)];
  const auto found = named.find(AbslView(name));
  found->second.erase(&subscriber);
  if (!found->second.empty()) return;
  named.erase(found);
  NoteWhoHears(kind, name);
}

void Channels::NoteWhoHears(SubscriptionKind kind, std::string_view name) {
  const auto hears = [](SubscriptionKind of, std::string_view subscribed,
                        std::string_view channel) {
    return of == SubscriptionKind::kChannel ? subscribed == channel
                                            : MatchesChannel(subscribed, channel);
  };
  const auto& [channels, patterns] = named_;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!hears(kind, name, own_[i])) continue;
    const bool heard =
        channels.contains(own_[i]) || std::ranges::any_of(patterns, [&](const auto& pattern) {
          return MatchesChannel(pattern.first, own_[i]);
        });
    const std::uint32_t bit = std::uint32_t{1} << i;
    heard ? heard_.fetch_or(bit, std::memory_order_relaxed)
          : heard_.fetch_and(~bit, std::memory_order_relaxed);
  }
}

}  // namespace weir
