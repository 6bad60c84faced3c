// The meaning of Sentinel's hellos to a server: that it is the primary, that another server is, or
// nothing.
//
//     switch (watch.Observe(hello.epoch, names_us, now)) ...   // each hello of our group
//     if (watch.is_confirmed()) ...                         // a server that starts may serve
//     watch.Promoted(now)                                   // a command has made it the primary
//     watch.RoleChanged()                                   // after any other change of the role
//
// Each failover has a number, its epoch, and hellos of earlier epochs circulate for some seconds
// after it: a new primary still hears that the old one is the primary. So a server obeys hellos
// from its *floor* on: the newest epoch that it had seen when its role last changed, or that
// confirmed it. A hello of that epoch or a newer one that names this server confirms it; one of a
// newer epoch that names another server deposes it. Where all hellos of 10 s are below the floor,
// the Sentinels were set up again: the floor falls to the newest of these.
//
// A server may be promoted before it has heard of the last failover, whose hellos come later. So
// for kPromotionTime a hello that names another server only raises the floor: Sentinel makes no
// other failover so soon.
//
// A failover may be under way when a stopped server starts again. Until it ends, all hellos confirm
// this server; then each Sentinel is silent for 2 s before it names the other one. So neither one
// confirmation nor silence after it is enough. A Sentinel that confirms kConfirmationTime later has
// not switched until then.
//
// Not thread-safe; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/instant.h"

namespace weir {

// In this time every Sentinel has sent a hello: each sends one every 2 s.
inline constexpr Nanos kHelloTime = std::chrono::milliseconds{2100};
// Long, so that most failovers end within it, but shorter than the 2 s between two hellos of one
// Sentinel.
inline constexpr Nanos kConfirmationTime = std::chrono::milliseconds{1900};
inline constexpr Nanos kFloorFallTime = std::chrono::seconds{10};
inline constexpr Nanos kPromotionTime = std::chrono::seconds{5};

class SentinelWatch {
 public:
  // `floor`: that of the last run; none: no hello was heard.
  explicit SentinelWatch(std::optional<std::uint64_t> floor = {}) : floor_(floor), newest_(floor) {}

  enum class Meaning {
    kNothing,
    kConfirms,  // this server is the primary
    kDeposes,   // the server that the hello names is, in a newer epoch
  };
  // `names_us`: the hello names this server as the primary. kDeposes concerns primaries only.
  [[nodiscard]] Meaning Observe(std::uint64_t epoch, bool names_us, HostInstant now);

  // Both raise the floor to the newest epoch so far, so that older hellos say nothing more.
  void Promoted(HostInstant now) noexcept {
    RoleChanged();
    rests_until_ = now + kPromotionTime;
  }
  void RoleChanged() noexcept {
    floor_ = newest_;
    rests_until_ = HostInstant{};
    confirmed_.reset();
  }

  // True if two confirmations since the last change of the role lie kConfirmationTime apart, and
  // none of those between them came more than 2 * kHelloTime after the one before.
  [[nodiscard]] bool is_confirmed() const noexcept {
    return confirmed_ && confirmed_->last - confirmed_->first >= kConfirmationTime;
  }

  [[nodiscard]] std::optional<std::uint64_t> floor() const noexcept { return floor_; }
  // The newest epoch of any hello.
  [[nodiscard]] std::optional<std::uint64_t> newest() const noexcept { return newest_; }

 private:
  struct Below {
    HostInstant since;
    HostInstant last;  // hello
    std::uint64_t newest;
  };
  struct Confirmed {
    HostInstant first;
    HostInstant last;
  };

  std::optional<std::uint64_t> floor_;
  std::optional<std::uint64_t> newest_;
  HostInstant rests_until_{};  // after a promotion
  std::optional<Confirmed> confirmed_;
  std::optional<Below> below_;  // all hellos since then were below the floor
};

}  // namespace weir
