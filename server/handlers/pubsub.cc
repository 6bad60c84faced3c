// Pub/sub: SUBSCRIBE and its relatives, PUBLISH, PUBSUB.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/decision_events.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/observe/channels.h"
#include "server/session/call.h"

namespace weir {
namespace {

using Change = void (Subscriber::*)(SubscriptionKind kind, std::string_view name);

// Changes one subscription, unless there is no name, and confirms it by a message.
void ChangeOne(Call& call, SubscriptionKind kind, Change change,
               std::optional<std::string_view> name) {
  Subscriber& subscriber = call.session.MakeNews().subscriber;
  if (name) (subscriber.*change)(kind, *name);
  call.reply.Push(3);
  call.reply.Bulk(absl::AsciiStrToLower(AbslView(call.spec.name)));
  name ? call.reply.Bulk(*name) : call.reply.Null();
  call.reply.Integer(static_cast<std::int64_t>(subscriber.size()));
}

// Whether the names are short enough; if not, answers an error.
bool AreShort(Call& call) {
  for (const std::string_view name : call.arguments()) {
    if (name.size() <= kChannelBytesMax) continue;
    call.Fail(absl::StrCat("a channel or pattern has at most ", kChannelBytesMax, " bytes"));
    return false;
  }
  return true;
}

void Add(Call& call, SubscriptionKind kind) {
  if (!AreShort(call)) return;
  call.Charge(call.arguments().size());
  for (const std::string_view name : call.arguments()) {
    ChangeOne(call, kind, &Subscriber::Subscribe, name);
  }
}

void Remove(Call& call, SubscriptionKind kind) {
  const auto arguments = call.arguments();
  std::vector<std::string> names(arguments.begin(), arguments.end());
  if (names.empty()) {
    const auto& all = call.session.MakeNews().subscriber.names(kind);
    names.assign(all.begin(), all.end());
  }
  call.Charge(names.size());
  if (names.empty()) return ChangeOne(call, kind, &Subscriber::Unsubscribe, std::nullopt);
  for (const std::string& name : names) ChangeOne(call, kind, &Subscriber::Unsubscribe, name);
}

// Takes a hello of Sentinel from a user that could also change the role by REPLICAOF.
void HearIfHello(Call& call) {
  const Services& services = call.services();
  if (services.options.sentinel.empty() || call.arguments()[0] != kHelloChannel) return;
  const std::shared_ptr<const User>& user = call.session.user();
  const bool may = user->MayRun(*FindCommand("REPLICAOF")) || user->MayRun(*FindCommand("SLAVEOF"));
  if (!may || !services.replication) return;
  services.replication->HearHello(std::string(call.arguments()[1]));
}

}  // namespace

void Subscribe(Call& call) { Add(call, SubscriptionKind::kChannel); }
void SubscribeToPatterns(Call& call) { Add(call, SubscriptionKind::kPattern); }
void Unsubscribe(Call& call) { Remove(call, SubscriptionKind::kChannel); }
void UnsubscribeFromPatterns(Call& call) { Remove(call, SubscriptionKind::kPattern); }

void PublishMessage(Call& call) {
  const std::string_view channel = call.arguments()[0];
  if (channel.size() > kChannelBytesMax) {
    return call.Fail(absl::StrCat("a channel has at most ", kChannelBytesMax, " bytes"));
  }
  if (channel.starts_with(kOwnChannelPrefix)) {
    return call.Fail("channels that begin with 'weir:' are the server's own");
  }
  HearIfHello(call);
  Channels& channels = call.services().channels;
  call.Charge(channels.Count(SubscriptionKind::kPattern));  // Each is compared.
  const std::size_t receivers = channels.Publish(channel, call.arguments()[1]);
  call.Charge(receivers);
  call.reply.Integer(static_cast<std::int64_t>(receivers));
}

void ListChannels(Call& call) {
  const std::string_view pattern = call.arguments().empty() ? "*" : call.arguments()[0];
  if (pattern.size() > kChannelBytesMax) return call.reply.Array(0);  // No name is that long.
  call.Charge(kWholeTableWork);
  const std::vector<std::string> channels = call.services().channels.Matching(pattern);
  call.reply.Array(channels.size());
  for (const std::string& channel : channels) call.reply.Bulk(channel);
}

void CountPatterns(Call& call) {
  const std::size_t patterns = call.services().channels.Count(SubscriptionKind::kPattern);
  call.reply.Integer(static_cast<std::int64_t>(patterns));
}

void CountSubscribers(Call& call) {
  call.Charge(call.arguments().size());
  call.reply.Array(2 * call.arguments().size());
  for (const std::string_view channel : call.arguments()) {
    const std::size_t subscribers = call.services().channels.SubscribersOf(channel);
    call.reply.Field(channel, static_cast<std::int64_t>(subscribers));
  }
}

}  // namespace weir
