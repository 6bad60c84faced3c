// One client that hears something without asking. It is made by the client's first MONITOR or
// SUBSCRIBE. For its session's thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "server/observe/channels.h"
#include "server/observe/monitors.h"
#include "server/observe/outbox.h"

namespace weir {

class User;

struct News {
  News(Outboxes& outboxes, Channels& channels, std::shared_ptr<ClientRecord> record)
      : outbox(outboxes, std::move(record)), subscriber(channels, outbox) {}

  // Whether the user may hear all of it; null: a client that has not logged in.
  [[nodiscard]] bool IsPermitted(const User* user) const;

  Outbox outbox;
  std::optional<Monitor> monitor;  // while it monitors
  Subscriber subscriber;
};

}  // namespace weir
