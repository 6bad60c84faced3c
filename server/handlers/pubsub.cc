// Pub/sub: SUBSCRIBE and its relatives, PUBLISH, PUBSUB.
#include <algorithm>
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

constexpr std::size_t kStepsPerUnit = 1024;  // of matching, in a unit of work

// Confirms one change of a subscription by a message.
void Confirm(Call& call, std::optional<std::string_view> name, std::size_t subscriptions) {
  call.reply.Push(3);
  call.reply.Bulk(absl::AsciiStrToLower(AbslView(call.spec.name)));
  name ? call.reply.Bulk(*name) : call.reply.Null();
  call.reply.Integer(static_cast<std::int64_t>(subscriptions));
}

void Add(Call& call, SubscriptionKind kind, std::string_view what, std::size_t bytes_max) {
  const auto names = call.arguments();
  const bool are_short = std::ranges::all_of(
      names, [bytes_max](std::string_view name) { return name.size() <= bytes_max; });
  if (!are_short) {
    return call.Fail(absl::StrCat("a ", AbslView(what), " has at most ", bytes_max, " bytes"));
  }
  call.Charge(names.size());
  Subscriber& subscriber = call.client().MakeNews().subscriber;
  const auto sizes = subscriber.Subscribe(kind, names, call.client().introducer());
  if (!sizes.ok()) return call.Fail(sizes.status());
  for (std::size_t i = 0; i < names.size(); ++i) Confirm(call, names[i], sizes->at(i));
}

void Remove(Call& call, SubscriptionKind kind) {
  const auto arguments = call.arguments();
  std::vector<std::string> names(arguments.begin(), arguments.end());
  if (names.empty()) {
    const auto& all = call.client().MakeNews().subscriber.names(kind);
    names.assign(all.begin(), all.end());
  }
  call.Charge(names.size());
  Subscriber& subscriber = call.client().MakeNews().subscriber;
  if (names.empty()) return Confirm(call, std::nullopt, subscriber.size());
  for (const std::string& name : names) {
    subscriber.Unsubscribe(kind, name);
    Confirm(call, name, subscriber.size());
  }
}

// Charges the steps of a match. A transaction is one turn, so it may match for about twice the
// steps of one command; returns false, and answers an error, if this match exceeds them.
bool MayMatch(Call& call, std::size_t steps) {
  constexpr std::size_t kUnitsMax = 2 * kMatchStepsMax / kStepsPerUnit;
  const std::size_t units = steps / kStepsPerUnit;
  if (call.queued && units > 0 && call.session.work().units() + units > kUnitsMax) {
    call.Fail("the transaction compares too many patterns");
    return false;
  }
  call.Charge(units);
  return true;
}

// Takes a hello of Sentinel from a user that could also change the role by REPLICAOF.
void HandleIfHello(Call& call) {
  const Services& services = call.services();
  if (services.options.sentinel.empty() || call.arguments()[0] != kHelloChannel) return;
  const std::shared_ptr<const User>& user = call.client().user();
  const bool may = user->MayRun(*FindCommand("REPLICAOF")) || user->MayRun(*FindCommand("SLAVEOF"));
  if (!may || !services.replication) return;
  services.replication->OnHello(std::string(call.arguments()[1]));
}

}  // namespace

void Subscribe(Call& call) { Add(call, SubscriptionKind::kChannel, "channel", kChannelBytesMax); }
void SubscribeToPatterns(Call& call) {
  Add(call, SubscriptionKind::kPattern, "pattern", kGlobPatternBytesMax);
}
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
  HandleIfHello(call);
  Channels& channels = call.services().channels;
  if (!MayMatch(call, channels.StepsToPublish(channel))) return;
  const std::size_t receivers = channels.Publish(channel, call.arguments()[1]);
  call.Charge(receivers);
  call.reply.Integer(static_cast<std::int64_t>(receivers));
}

void ListChannels(Call& call) {
  const std::string_view pattern = call.arguments().empty() ? "*" : call.arguments()[0];
  if (pattern.size() > kGlobPatternBytesMax) {
    return call.Fail(absl::StrCat("a pattern has at most ", kGlobPatternBytesMax, " bytes"));
  }
  const Channels& channels = call.services().channels;
  if (!MayMatch(call, std::min(channels.StepsToSearch(pattern), kMatchStepsMax))) return;
  const auto matching = channels.Matching(pattern);
  if (!matching.ok()) return call.Fail(matching.status());
  call.reply.Array(matching->size());
  for (const std::string& channel : *matching) call.reply.Bulk(channel);
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
