// The rows of the commands of pub/sub. Part of command_table.cc.
#pragma once

#include <array>

#include "core/commands/command_spec.h"
#include "server/commands/command_examples.h"
#include "server/commands/handlers.h"

namespace weir::rows {

// Their replies are messages, which have no place in the reply of EXEC.
inline constexpr std::uint32_t kOfSubscriber =
    kLoading | kNotInTransaction | kOwnConnection | kWhileSubscribed;

inline constexpr std::array kPubSubCommands = {
    CommandSpec{.name = "PSUBSCRIBE",
                .arity = AtLeast(2),
                .flags = kOfSubscriber,
                .channels = ChannelUse::kPatterns,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(patterns)",
                .summary =
                    "Sends the client the messages of all channels that match the patterns. A "
                    "pattern has at most 64 bytes. All clients together have at most 256 "
                    "patterns, and those of one named user 64 of these; more is an error.",
                .syntax = "pattern [pattern ...]",
                .handler = SubscribeToPatterns},
    CommandSpec{.name = "PUBLISH",
                .arity = Exactly(3),
                .flags = kFast | kLoading,
                .work = kManyTextsWork,
                .channels = ChannelUse::kFirst,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(subscribers of the channel + patterns of all clients)",
                .summary = "Sends a message to the subscribers of a channel on this server. "
                           "Returns their number. A channel that begins with `weir:` is an error.",
                .syntax = "channel message",
                .examples = examples::kPublish,
                .handler = PublishMessage},
    CommandSpec{.name = "PUBSUB",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "pubsub",
                .since = "0.2.0",
                .summary = "Commands about the channels of pub/sub."},
    CommandSpec{.name = "PUBSUB|CHANNELS",
                .arity = Between(2, 3),
                .flags = kLoading,
                .work = kListWork,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(channels)",
                .summary = "Returns the channels that have a subscriber, sorted; only those that "
                           "match, if there is a pattern, of at most 64 bytes. Subscribers of "
                           "patterns do not count. It is an error if there are too many channels "
                           "to search: more than 8,192, less if names and pattern are long.",
                .syntax = "[pattern]",
                .handler = ListChannels},
    HelpRow("PUBSUB|HELP", "pubsub", 0, "0.2.0"),
    CommandSpec{.name = "PUBSUB|NUMPAT",
                .arity = Exactly(2),
                .flags = kLoading,
                .group = "pubsub",
                .since = "0.2.0",
                .summary = "Returns the number of patterns that have a subscriber.",
                .handler = CountPatterns},
    CommandSpec{.name = "PUBSUB|NUMSUB",
                .arity = AtLeast(2),
                .flags = kLoading,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(channels named)",
                .summary = "Returns each channel and the number of its subscribers. Those of "
                           "patterns do not count.",
                .syntax = "[channel ...]",
                .examples = examples::kNumSub,
                .handler = CountSubscribers},
    CommandSpec{.name = "PUNSUBSCRIBE",
                .arity = AtLeast(1),
                .flags = kOfSubscriber,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(patterns)",
                .summary = "Ends the subscriptions to the patterns, or to all.",
                .syntax = "[pattern ...]",
                .handler = UnsubscribeFromPatterns},
    CommandSpec{.name = "SUBSCRIBE",
                .arity = AtLeast(2),
                .flags = kOfSubscriber,
                .channels = ChannelUse::kAll,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(channels)",
                .summary =
                    "Sends the client the messages of the channels. A client has at most 4,096 "
                    "channels; more is an error.",
                .syntax = "channel [channel ...]",
                .handler = Subscribe},
    CommandSpec{.name = "UNSUBSCRIBE",
                .arity = AtLeast(1),
                .flags = kOfSubscriber,
                .group = "pubsub",
                .since = "0.2.0",
                .complexity = "O(channels)",
                .summary = "Ends the subscriptions to the channels, or to all.",
                .syntax = "[channel ...]",
                .handler = Unsubscribe},
};

}  // namespace weir::rows
