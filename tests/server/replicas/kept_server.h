// A server in this process whose wall clock the test sets, and a client of it.
//
//     KeptServer primary(options, wall);
//     primary.Decide("RL.ALLOW u 5/h");      // {1, 4}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/state/replication.h"
#include "tests/server/loopback.h"

namespace weir {

// Real time passes from `wall` on.
inline SystemClock::Source ClockAt(Nanos wall) {
  static const SystemClock real;
  const auto boot = [] { return real.Now().time_since_epoch(); };
  return {.wall = [wall, begun = boot(), boot] { return wall + boot() - begun; }, .boot = boot};
}

class KeptServer {
 public:
  KeptServer(const Options& options, Nanos wall)
      : server_(options, ClockAt(wall)), client_(server_.port()) {
    EXPECT_TRUE(Eventually([this] { return !server_->services().admission().loading(); }));
  }

  // The first two integers of a reply: whether the request is admitted, and what is left.
  std::vector<std::int64_t> Decide(const std::string& command) {
    std::vector<std::int64_t> numbers = Integers(command);
    numbers.resize(2);
    return numbers;
  }

  std::vector<std::int64_t> Integers(const std::string& command) {
    client_.Send(command + "\r\n");
    std::vector<std::int64_t> numbers;
    const std::string head = Line();
    EXPECT_EQ(head.substr(0, 1), "*") << command << " -> " << head;
    for (int i = head.empty() ? 0 : std::stoi(head.substr(1)); i > 0; --i) {
      std::string line = Line();
      if (line.substr(0, 1) == "$") line = ":" + Line();
      numbers.push_back(std::stoll(line.substr(1)));
    }
    return numbers;
  }

  void BecomePrimary() {
    client_.Send("REPLICAOF NO ONE\r\n");
    EXPECT_EQ(Line(), "+OK");
    const Replication& replication = *server_->services().replication;
    EXPECT_TRUE(Eventually([&] { return replication.role() == ServerRole::kPrimary; }));
  }

  // As Sentinel tells it.
  void BecomePrimaryForSentinel() {
    Replication& replication = *server_->services().replication;
    EXPECT_TRUE(replication.is_complete());
    replication.BecomePrimaryForSentinel();
    EXPECT_TRUE(Eventually([&] { return replication.role() == ServerRole::kPrimary; }));
  }

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  ReplicationStatus status() { return server_->services().replication->status(); }

 private:
  std::string Line() {
    std::string line;
    for (std::string byte = client_.Receive(1); !byte.empty() && byte != "\n";
         byte = client_.Receive(1)) {
      if (byte != "\r") line += byte;
    }
    return line;
  }

  LoopbackServer server_;
  LoopbackClient client_;
};

inline bool IsConnected(KeptServer& replica) {
  const ReplicationStatus status = replica.status();
  return status.link && status.link->state == LinkState::kConnected;
}

// True once the replica has all that the primary has changed. Requires: the replica was connected
// before, as a change before that is in the copy of the table, and adds nothing to the offset.
inline bool IsLevel(KeptServer& replica, KeptServer& primary) {
  const std::uint64_t offset = replica.status().offset;
  return IsConnected(replica) && offset == primary.status().offset && offset > 0;
}

}  // namespace weir
