// The role of a server that Redis Sentinel watches (--sentinel): the changes by hellos and by
// commands of Sentinel, and the gate at the start.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "replication/hello.h"
#include "replication/lease.h"
#include "server/os/log.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// For the primary to yield to this server.
constexpr milliseconds kTakeoverTime{1000};
// PING is refused for at most so long after a planned switch.
constexpr std::chrono::seconds kHandedOverTime{60};
// For the server that this one follows to answer, although Sentinel does not take it for a primary.
constexpr std::chrono::seconds kNamedTime{10};

}  // namespace

// --- The gate ---

bool ReplicationControl::is_watched() const { return !services_.options.sentinel.empty(); }

// Called at the start of a server that is to be a primary. After a crash Sentinel should promote a
// replica, which lacks no more than the lag. So Sentinel must take this server for dead, unless the
// disk has all that was answered. A server without a state may be a replica that has lost it, so
// Sentinel must not promote it.
void ReplicationControl::CloseGate() {
  set_role(ServerRole::kGated);
  const bool has_part = history_.is_replica && history_.id.empty();
  set_is_complete(history_.term > 0 && !has_part);
  if (history_.had_replicas && history_.lacks) set_ping_refusal(PingRefusal::kRestarted);
}

void ReplicationControl::WaitForSentinel() {
  // A primary that never had a replica has no history, and a state all the same.
  if (services_.limiter.size().buckets > 0 && history().term == 0) set_is_complete(true);
  const milliseconds wait = services_.options.sentinel_wait;
  spdlog::warn("this server waits for Sentinel, which monitors it as '{}'",
               EscapedForLog(services_.options.sentinel));
  if (wait == milliseconds{0}) return;
  gate_.expires_after(wait);
  gate_.async_wait([this](std::error_code error) {
    if (!error) OpenGate();
  });
}

void ReplicationControl::OpenGate() {
  if (stopped_ || !TryOpenGate()) return;
  gate_.cancel();
  set_ping_refusal(PingRefusal::kNone);
  set_is_complete(true);
  {
    MutexLock lock(mutex_);
    history_.had_replicas = false;
    history_.lacks = false;
  }
  spdlog::warn("this server serves as a primary now");
}

// --- Hellos ---

void ReplicationControl::HearHello(std::string message) {
  asio::post(control_, [this, message = std::move(message)] {
    std::optional<Hello> hello = ReadHello(message);
    const std::optional<std::string> host = hello ? ParseHost(hello->host) : std::nullopt;
    if (!host) {
      if (const auto suppressed = hello_throttle_.Admit()) {
        spdlog::warn("a message of {} is none of Sentinel's: '{}' ({} similar lines suppressed)",
                     kHelloChannel, EscapedForLog(message.substr(0, 128)), *suppressed);
      }
      return;
    }
    if (hello->name != services_.options.sentinel) {
      if (const auto suppressed = hello_throttle_.Admit()) {
        spdlog::warn(
            "Sentinel monitors '{}', and this server's option sentinel is '{}' ({} similar "
            "lines suppressed)",
            EscapedForLog(hello->name), EscapedForLog(services_.options.sentinel), *suppressed);
      }
      return;
    }
    hello->host = *host;
    const HostInstant now = clock_.HostNow();
    addresses_.Find(hello->host, [this, hello = *hello, now](const asio::ip::address& address) {
      const bool names_us =
          IsOwn({hello.host, hello.port}) || IsOwn({address.to_string(), hello.port});
      Heed(hello, names_us, now);
    });
  });
}

void ReplicationControl::Heed(const Hello& hello, bool names_us, HostInstant now) {
  if (stopped_) return;
  if (hello.epoch > handed_over_in_ && ping_refusal() == PingRefusal::kHandedOver) {
    gate_.cancel();
    set_ping_refusal(PingRefusal::kNone);
    if (is_replica() && !names_us) CloseClients();
  }
  const std::optional<std::uint64_t> floor = watch_.floor();
  const SentinelWatch::Says says = watch_.Hear(hello.epoch, names_us, now);
  if (floor && watch_.floor() < floor) {
    spdlog::warn("the Sentinels were set up again: their epochs are below {}", *floor);
  }
  KeepFloor();
  if (says == SentinelWatch::Says::kConfirms && watch_.is_confirmed() && started_ &&
      role() == ServerRole::kGated && ping_refusal() == PingRefusal::kNone) {
    OpenGate();
  }
  if (is_replica()) return TakeBackIfNamed(says == SentinelWatch::Says::kConfirms);
  if (says != SentinelWatch::Says::kDeposes) return;
  spdlog::warn("Sentinel names {}:{} as the primary since epoch {}", EscapedForLog(hello.host),
               hello.port, hello.epoch);
  CarryOutFollow(HostAndPort{hello.host, hello.port});
  CloseClients();
}

// The Sentinels may take for the primary a server that has yielded to one that has died, or that
// has followed a name which it did not know for its own. It becomes the primary again when all
// hellos of kNamedTime name it, and its link has been down for as long.
void ReplicationControl::TakeBackIfNamed(bool is_named) {
  const HostInstant now = clock_.HostNow();
  const bool is_promotable = is_complete() && !services_.cannot_save() && !status().distrusted;
  if (!is_named || is_link_up() || !is_promotable || !started_ || awaits_promotion_) {
    named_since_.reset();
    return;
  }
  if (!named_since_) named_since_ = now;
  if (now - *named_since_ < kNamedTime) return;
  named_since_.reset();
  spdlog::warn(
      "Sentinel takes this server for the primary, and the one that it follows is not there");
  CarryOutFollow(std::nullopt);
}

// Notes the floor for the record on disk.
void ReplicationControl::KeepFloor() {
  {
    MutexLock lock(mutex_);
    if (history_.sentinel_floor == watch_.floor()) return;
    history_.sentinel_floor = watch_.floor();
  }
  SaveSoon();
}

// --- Takeovers ---

void ReplicationControl::BecomePrimaryForSentinel() {
  asio::post(control_, [this] {
    if (stopped_ || awaits_promotion_) return;
    const bool is_linked = is_replica() && is_link_up();
    const ReplicationStatus now = status();
    const bool is_fed = now.link && now.link->state == LinkState::kConnected;
    if (!is_complete() || (is_linked && !is_fed)) {
      return RefuseSentinel("it does not have the whole state");
    }
    if (now.distrusted) return RefuseSentinel("it may lack what it has acknowledged");
    if (services_.cannot_save() || (is_linked && is_save_failing())) {
      return RefuseSentinel("it cannot save its state");
    }
    if (!is_linked) return CarryOutFollow(std::nullopt);
    {
      MutexLock lock(mutex_);
      if (link_) link_->AskToTakeOver(++request_);
    }
    awaits_promotion_ = true;
    promotion_.expires_after(kTakeoverTime);
    promotion_.async_wait([this](std::error_code error) {
      if (!error && awaits_promotion_ && !stopped_ && is_replica()) EndTakeover();
    });
  });
}

void ReplicationControl::RefuseSentinel(std::string_view why) {
  spdlog::warn("Sentinel asks this server to become a primary, and it refuses: {}", why);
}

// The primary has not yielded. It is dead, frozen or cut off, and this server is promoted. But if
// the link has begun again, and so the primary was not asked, or if this server lacks partitions by
// now, it refuses.
void ReplicationControl::EndTakeover() {
  bool is_there = false;
  {
    MutexLock lock(mutex_);
    if (link_ && link_->has_yielded()) return;  // TakeOver is in the queue.
    const LinkState state = link_ ? link_->status().state : LinkState::kConnect;
    is_there =
        state == LinkState::kSync || (state == LinkState::kConnected && !link_->awaits_yield());
    if (is_there) link_->ForgetTakeover();
  }
  if (is_there) {
    awaits_promotion_ = false;
    return RefuseSentinel(
        "its primary is alive, and this server was not in sync with it all the time");
  }
  spdlog::warn("the primary has not yielded within {} ms", kTakeoverTime.count());
  CarryOutFollow(std::nullopt);
}

void ReplicationControl::OnTakeoverRefused(std::uint64_t request) {
  asio::post(control_, [this, request] {
    {
      // Without a link, this server is to become the primary whatever its last primary has said.
      MutexLock lock(mutex_);
      if (stopped_ || !awaits_promotion_ || !link_ || request != request_) return;
    }
    promotion_.cancel();
    awaits_promotion_ = false;
    RefuseSentinel("its primary is alive, and does not yield to it");
  });
}

// The replicator itself answers a request that comes while the role goes to another server. After
// a standstill of this server, the replica may be a primary already. This server follows it in any
// case: the replica is the primary, or says that it is not.
void ReplicationControl::OnTakeoverAsked(const std::string& run_id, Instant newest) {
  asio::post(control_, [this, run_id, newest] {
    if (stopped_ || role() != ServerRole::kPrimary) return;
    const auto refuse = [this, &run_id](std::string_view why) {
      spdlog::warn("refused a replica that asks to become the primary: {}", why);
      MutexLock lock(mutex_);
      if (replicator_) replicator_->RefuseTakeover(run_id);
    };
    // An older request comes from a server which may have been demoted again.
    if (clock_.Now() - newest > kYieldAgeMax) return refuse("it has asked too long ago");
    const ReplicationStatus now = status();
    const auto asker = std::ranges::find(now.replicas, run_id, &ReplicaStatus::run_id);
    if (asker == now.replicas.end()) return refuse("it is gone");
    if (!asker->synced) return refuse("it does not have the whole state");
    if (asker->cannot_save) return refuse("it cannot save its state");
    {
      MutexLock lock(mutex_);
      switch_.reset();
    }
    if (YieldTo(*asker, now.replicas, SwitchBy::kReplica)) CloseClients();
  });
}

// As Sentinel does when it demotes a server: many client libraries ask for the new primary only
// when they are disconnected.
void ReplicationControl::CloseClients() {
  for (const auto& client : services_.clients.All()) {
    if (client->face != Face::kResp || client->name().starts_with("sentinel-")) continue;
    client->killed.store(true, std::memory_order_relaxed);
    services_.client_memory.Set(*client, 0);
    client->Wake();
  }
}

// Sentinel does not know of a switch that it has not asked for, until it takes this server for
// dead.
void ReplicationControl::RefusePingAfterSwitch() {
  if (!is_watched()) return;
  handed_over_in_ = watch_.newest().value_or(0);
  set_ping_refusal(PingRefusal::kHandedOver);
  gate_.expires_after(kHandedOverTime);
  gate_.async_wait([this](std::error_code error) {
    if (!error) set_ping_refusal(PingRefusal::kNone);
  });
}

void ReplicationControl::OnReplicaInSync() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(history_.had_replicas, true)) return;
  }
  SaveSoon();
}

}  // namespace weir
