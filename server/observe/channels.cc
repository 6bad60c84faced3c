#include "server/observe/channels.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "protocol/resp_writer.h"

namespace weir {
namespace {

using enum SubscriptionKind;

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
  for (const SubscriptionKind kind : {kChannel, kPattern}) {
    for (const std::string& name : names(kind)) channels_.Remove(kind, name, *this);
    names_[IndexOf(kind)].clear();
  }
  PublishSize();
}

absl::StatusOr<std::vector<std::size_t>> Subscriber::Subscribe(
    SubscriptionKind kind, std::span<const std::string_view> names, Introducer user) {
  if (kind == kChannel && names_[IndexOf(kind)].size() + names.size() > kChannelsOfClientMax) {
    const absl::flat_hash_set<std::string_view> asked(names.begin(), names.end());
    const auto is_new = [&](std::string_view name) {
      return !names_[IndexOf(kind)].contains(AbslView(name));
    };
    const auto added = static_cast<std::size_t>(std::ranges::count_if(asked, is_new));
    if (names_[IndexOf(kind)].size() + added > kChannelsOfClientMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a client has at most ", kChannelsOfClientMax, " channels"));
    }
  }
  WEIR_RETURN_IF_ERROR(channels_.Add(kind, names, *this, user));
  std::vector<std::size_t> sizes;
  for (const std::string_view name : names) {
    const bool is_new = names_[IndexOf(kind)].emplace(name).second;
    if (is_new) held_bytes_ += name.size() + kBytesPerSubscription;
    sizes.push_back(size());
  }
  PublishSize();
  return sizes;
}

void Subscriber::Unsubscribe(SubscriptionKind kind, std::string_view name) {
  if (names_[IndexOf(kind)].erase(std::string(name)) == 0) return;
  held_bytes_ -= name.size() + kBytesPerSubscription;
  channels_.Remove(kind, name, *this);
  PublishSize();
}

void Subscriber::PublishSize() {
  ClientRecord& record = outbox_.record();
  record.channels.store(names(kChannel).size(), std::memory_order_relaxed);
  record.patterns.store(names(kPattern).size(), std::memory_order_relaxed);
}

Channels::Channels(const std::vector<std::string>& own) {
  for (const std::string& name : own) own_.push_back({name});
}

void Channels::Send(SubscriptionKind kind, std::string_view name, std::string_view channel,
                    std::string_view message, IfBehind if_behind, Sent& sent) {
  const Named& named = named_[IndexOf(kind)];
  const auto found = named.find(AbslView(name));
  if (found == named.end()) return;
  Message bytes(kind == kChannel
                    ? std::vector<std::string_view>{"message", channel, message}
                    : std::vector<std::string_view>{"pmessage", name, channel, message});
  for (const auto& [subscriber, user] : found->second) {
    Outbox& outbox = subscriber->outbox_;
    if (outbox.record().killed.load(std::memory_order_relaxed)) continue;
    const std::string& in_protocol =
        bytes.In(outbox.record().protocol.load(std::memory_order_relaxed));
    if (if_behind == IfBehind::kDrop) {
      ++(outbox.Offer(in_protocol) ? sent.receivers : sent.dropped);
    } else {
      outbox.Append(in_protocol);
      ++sent.receivers;
    }
  }
}

std::shared_ptr<const Channels::Patterns> Channels::PatternsNow() {
  MutexLock lock(mutex_);
  if (!patterns_) {
    auto patterns = std::make_shared<Patterns>();
    for (const auto& pattern : named_[IndexOf(kPattern)]) patterns->push_back(pattern.first);
    patterns_ = std::move(patterns);
  }
  return patterns_;
}

std::size_t Channels::Publish(std::string_view channel, std::string_view message) {
  const std::shared_ptr<const Patterns> patterns = PatternsNow();
  std::vector<std::string_view> matching;
  for (const std::string& pattern : *patterns) {
    if (MatchesChannel(pattern, channel)) matching.push_back(pattern);
  }
  MutexLock lock(mutex_);
  Sent sent;
  Send(kChannel, channel, channel, message, IfBehind::kClose, sent);
  for (const std::string_view pattern : matching) {
    Send(kPattern, pattern, channel, message, IfBehind::kClose, sent);
  }
  return sent.receivers;
}

std::size_t Channels::StepsToPublish(std::string_view channel) const {
  MutexLock lock(mutex_);
  return name_bytes_[IndexOf(kPattern)] * channel.size();
}

Channels::Sent Channels::PublishOwn(std::size_t own, std::string_view message) {
  MutexLock lock(mutex_);
  Sent sent;
  for (const auto& [kind, name] : own_[own].heard_by) {
    Send(kind, name, own_[own].name, message, IfBehind::kDrop, sent);
  }
  return sent;
}

absl::StatusOr<std::vector<std::string>> Channels::Matching(std::string_view pattern) const {
  if (StepsToSearch(pattern) > kMatchStepsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("there are too many channels to search (",
                                                     Count(kChannel),
                                                     "): PUBSUB NUMSUB takes the name of one"));
  }
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    for (const auto& channel : named_[IndexOf(kChannel)]) names.push_back(channel.first);
  }
  std::erase_if(names, [&](const std::string& name) { return !MatchesChannel(pattern, name); });
  std::ranges::sort(names);
  return names;
}

std::size_t Channels::StepsToSearch(std::string_view pattern) const {
  MutexLock lock(mutex_);
  return named_[IndexOf(kChannel)].size() * kStepsPerChannel +
         name_bytes_[IndexOf(kChannel)] * pattern.size();
}

std::size_t Channels::SubscribersOf(std::string_view channel) const {
  MutexLock lock(mutex_);
  const Named& channels = named_[IndexOf(kChannel)];
  const auto found = channels.find(AbslView(channel));
  return found == channels.end() ? 0 : found->second.size();
}

std::size_t Channels::Count(SubscriptionKind kind) const {
  MutexLock lock(mutex_);
  return named_[IndexOf(kind)].size();
}

absl::Status Channels::CheckRoomForPatterns(std::span<const std::string_view> names,
                                            Introducer user) const {
  const absl::flat_hash_set<std::string_view> asked(names.begin(), names.end());
  const auto exceeds = [&asked](const auto& present, std::size_t max) {
    const auto is_new = [&present](std::string_view name) {
      return !present.contains(AbslView(name));
    };
    return present.size() + static_cast<std::size_t>(std::ranges::count_if(asked, is_new)) > max;
  };
  if (exceeds(named_[IndexOf(kPattern)], kPatternsMax)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("all clients together have at most ", kPatternsMax, " patterns"));
  }
  if (user == kSoleIntroducer) return absl::OkStatus();
  const PatternCounts none;
  const auto found = patterns_of_.find(user);
  if (exceeds(found == patterns_of_.end() ? none : found->second, kPatternsOfUserMax)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the clients of one user have at most ", kPatternsOfUserMax, " patterns"));
  }
  return absl::OkStatus();
}

absl::Status Channels::Add(SubscriptionKind kind, std::span<const std::string_view> names,
                           Subscriber& subscriber, Introducer user) {
  MutexLock lock(mutex_);
  if (kind == kPattern) WEIR_RETURN_IF_ERROR(CheckRoomForPatterns(names, user));
  for (const std::string_view name : names) {
    Subscribers& subscribers = named_[IndexOf(kind)][AbslView(name)];
    if (!subscribers.try_emplace(&subscriber, user).second) continue;
    if (kind == kPattern) ++patterns_of_[user][AbslView(name)];
    if (subscribers.size() == 1) OnFirst(kind, name);
  }
  return absl::OkStatus();
}

void Channels::Remove(SubscriptionKind kind, std::string_view name, Subscriber& subscriber) {
  MutexLock lock(mutex_);
  Named& named = named_[IndexOf(kind)];
  const auto found = named.find(AbslView(name));
  const auto leaving = found->second.find(&subscriber);
  if (kind == kPattern) {
    const auto of_user = patterns_of_.find(leaving->second);
    const auto pattern = of_user->second.find(AbslView(name));
    if (--pattern->second == 0) of_user->second.erase(pattern);
    if (of_user->second.empty()) patterns_of_.erase(of_user);
  }
  found->second.erase(leaving);
  if (!found->second.empty()) return;
  OnLast(kind, name);
  named.erase(found);
}

void Channels::OnFirst(SubscriptionKind kind, std::string_view name) {
  name_bytes_[IndexOf(kind)] += name.size();
  if (kind == kPattern) patterns_ = nullptr;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const std::string& own = own_[i].name;
    if (kind == kChannel ? name != own : !MatchesChannel(name, own)) continue;
    own_[i].heard_by.emplace_back(kind, name);
    heard_.fetch_or(std::uint32_t{1} << i, std::memory_order_relaxed);
  }
}

void Channels::OnLast(SubscriptionKind kind, std::string_view name) {
  name_bytes_[IndexOf(kind)] -= name.size();
  if (kind == kPattern) patterns_ = nullptr;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    std::erase_if(own_[i].heard_by,
                  [&](const auto& one) { return one.first == kind && one.second == name; });
    if (own_[i].heard_by.empty()) {
      heard_.fetch_and(~(std::uint32_t{1} << i), std::memory_order_relaxed);
    }
  }
}

}  // namespace weir
