// The watch over the server: reads its facts once a second and keeps the health that follows.
//
//     HealthWatch watch(services);        // sets services.health_watch
//     watch.Look();                       // one thread, each second (kLookInterval)
//     watch.health()->state              // any thread
//
// A reader gets the health of the last look, which never changes, so INFO and the page say one
// thing. A look reads counters and copies of states; it locks no partition and delays no decision.
// Cost: about 50 us a look.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"
#include "server/health/event_log.h"
#include "server/health/health.h"
#include "server/health/last_minute.h"
#include "server/health/replica_roll.h"

namespace weir {

struct Services;

inline constexpr std::chrono::seconds kLookInterval{1};

class HealthWatch {
 public:
  // `services` must outlive it, and its sessions must have ended before it does.
  explicit HealthWatch(Services& services);
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Judges this moment. One thread.
  void Look();

  // The health at the last look; before the first, that of a server that is well. Thread-safe.
  // Cost: a lock and a reference.
  [[nodiscard]] std::shared_ptr<const Health> health() const;
  // The last minute at that look. Thread-safe. Cost: a lock.
  [[nodiscard]] MinuteFacts minute() const;

  // The events since the start. Look() adds the start, changes of the role, and reasons that
  // begin or end; AddEvent() (add_event.h) adds what users have done.
  [[nodiscard]] EventLog& events() noexcept { return events_; }
  [[nodiscard]] const EventLog& events() const noexcept { return events_; }

 private:
  [[nodiscard]] HealthFacts ReadFacts();
  void ReadReplication(HealthFacts& facts);
  void ReadMinute(HealthFacts& facts);
  void ReadRules(HealthFacts& facts);
  void AddEventsOfChanges(const HealthFacts& facts, const Health& before, const Health& after);

  Services& services_;
  LastMinute last_minute_;
  ReplicaRoll roll_;
  std::optional<HostInstant> plane_lost_;  // when the control plane was first seen to be away
  std::string role_;  // at the last look, as its event says; empty before the first
  EventLog events_;
  mutable Mutex mutex_;
  std::shared_ptr<const Health> health_ ABSL_GUARDED_BY(mutex_);
  MinuteFacts minute_ ABSL_GUARDED_BY(mutex_);
};

// The health of the server and its last minute, as health() and minute(). A server without a watch,
// in tests only, is well, and nothing has come in its last minute.
[[nodiscard]] std::shared_ptr<const Health> HealthOf(const Services& services);
[[nodiscard]] MinuteFacts MinuteOf(const Services& services);

// The part of max-memory that is in use, in thousandths, 1,000 at most: how near the table is to
// dropping buckets, or holds to their share, whichever is nearer. None: there is no bound. Cost:
// about 10 us.
[[nodiscard]] std::optional<std::uint64_t> MemoryPermille(const Services& services);

// An address that other hosts reach and that asks them for no login, as its clients find it now:
// "0.0.0.0:7379". Empty: there is none.
[[nodiscard]] std::string OpenPlace(const Services& services);

// "NAME:PORT": the option server-name, or else the name of the host, and the port for Redis
// clients. Requires: the server listens.
[[nodiscard]] std::string ServerName(const Services& services);

}  // namespace weir
