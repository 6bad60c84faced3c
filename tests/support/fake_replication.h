// Replication of a server without sockets: a test sets what it shows and reads what it was asked.
//
//     FakeReplication replication(server.services);   // a primary without replicas
//     replication.BecomeReplica();                     // complete, with its link up
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/session/services.h"
#include "server/state/replication.h"

namespace weir {

class FakeReplication final : public Replication {
 public:
  // Must outlive the sessions of `services`.
  explicit FakeReplication(Services& services) { services.replication = this; }

  [[nodiscard]] ReplicationStatus status() const override { return shown; }
  [[nodiscard]] bool IsOwn(const HostAndPort& address) const override { return address == own; }
  void Follow(std::optional<HostAndPort> primary) override { wishes.push_back(std::move(primary)); }
  void BecomePrimaryForSentinel() override { ++promotions_by_sentinel; }
  void OnHello(std::string message) override { hellos.push_back(std::move(message)); }
  [[nodiscard]] absl::Status Failover(const FailoverRequest& request) override {
    failovers.push_back(request);
    return failover_error;
  }
  [[nodiscard]] absl::Status AbortFailover() override { return failover_error; }
  std::size_t CloseReplicas() override { return shown.replicas.size(); }
  std::size_t CloseLink() override { return shown.link ? 1 : 0; }
  void AnswerSync(SyncRequest request, SyncAnswered answered) override {
    requests.push_back(std::move(request));
    answered(answer);
  }

  void BecomeReplica(bool complete = true, bool link_up = true) {
    set_is_complete(complete);
    set_is_link_up(link_up);
    set_role(ServerRole::kReplica);
    LinkStatus& link = shown.link.emplace();
    link.primary = {"10.0.0.1", 7379};
    link.state = !link_up   ? LinkState::kConnect
                 : complete ? LinkState::kConnected
                            : LinkState::kSync;
    link.up = link_up;
    link.complete = complete;
  }
  void BecomeEdge() { set_role(ServerRole::kEdge); }
  void Depose() {
    set_role(ServerRole::kDeposed);
    shown.deposed = true;
  }
  // A primary that has enough replicas until then, by the clock of the services.
  void AdmitUntil(Instant until) { cell().admits_until = until; }
  void BecomePrimary() {
    set_role(ServerRole::kPrimary);
    set_is_complete(true);
    shown.link.reset();
  }

  // No tick is near, so that a change has to request one.
  void SetIdle() { cell().is_idle = true; }

  void Gate() { set_role(ServerRole::kGated); }
  void RefusePing(PingRefusal why) { set_ping_refusal(why); }

  ReplicationStatus shown;
  HostAndPort own{"10.0.0.99", 7379};
  int promotions_by_sentinel = 0;
  std::vector<std::string> hellos;
  SyncAnswer answer;
  std::vector<std::optional<HostAndPort>> wishes;
  std::vector<SyncRequest> requests;
  std::vector<FailoverRequest> failovers;
  absl::Status failover_error;
  int ticks_requested = 0;  // by changes, and by waits for acknowledgements

 private:
  void RequestTick() override { ++ticks_requested; }
};

}  // namespace weir
