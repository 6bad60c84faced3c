// A replica and its link, as the thread of a replicator has them. For replicator*.cc.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "replication/frame.h"
#include "replication/lease.h"
#include "replication/source.h"
#include "server/net/transport.h"
#include "server/os/log.h"
#include "server/replicas/replicator.h"
#include "server/state/replication.h"

namespace weir {

// A replica and its link. Used by the thread; what other threads read is written under mutex_.
struct Replicator::Replica {
  Replica(Transport sync_transport, SyncHandOver answered)
      : transport(std::move(sync_transport)),
        sync(std::move(answered)),
        source(sync.answer.resume ? sync.answer.common : sync.answer.head) {}

  [[nodiscard]] std::string name() const {
    return EscapedForLog(absl::StrCat(sync.request.ip, ":", sync.request.port));
  }

  Transport transport;
  const SyncHandOver sync;
  Source source;
  FrameReader reader;
  std::string out;  // from sent_ on it waits to be sent
  std::size_t sent = 0;
  bool waits_for_room = false;
  bool closed = false;
  bool has_yield = false;  // `out` ends in a YIELD
  int requests = 0;        // to become the primary, without an answer yet
  HostInstant heard{};     // the last ACK
  ReplicaLease lease;
  bool was_synced = false;
};

}  // namespace weir
