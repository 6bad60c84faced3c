// The work of a session's turn, by which the turn ends (kWorkPerTurn in client_session.h), and the
// time that its commands take.
//
//     work.Begin();                        // the turn
//     work.BeginCommand();                 // each of its commands
//     ... the command calls work.Charge(units) ...
//     work.ChargeVisits();
//     if (work.units() >= kWorkPerTurn) ... other clients have their turn
//
// Belongs to the thread of its worker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/instant.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/limiter.h"
#include "server/session/worker.h"

namespace weir {

// Slots visited to find a key's buckets (Limiter::SlotsVisited) are work, too: kSlotsPerUnit are
// one unit. A command, or a whole transaction, visits at most kSlotsPerCommand slots
// (Call::MayLookAt), so a turn visits fewer than 100,000, which takes about 2 ms.
inline constexpr std::size_t kSlotsPerUnit = 32;
inline constexpr std::size_t kSlotsPerCommand = 50'000;
// The units of a command that visits every partition.
inline constexpr std::size_t kWholeTableWork = 64;

class TurnWork {
 public:
  explicit TurnWork(Worker& worker) : worker_(worker) {}

  // Begins a turn: no work is done yet.
  void Begin() noexcept {
    units_ = 0;
    commands_before_turn_ = worker_.counters["total_commands_processed"].value();
    RestartStopwatch();
  }
  // Ends a turn, and counts it.
  void End(std::size_t input_bytes, std::size_t output_bytes, HostInstant now) {
    worker_.CountTurn(commands_before_turn_, input_bytes, output_bytes, now);
  }
  void BeginCommand() noexcept {
    slots_before_command_ = Limiter::SlotsVisited();
    expired_before_command_ = HoldWork::found_expired;
  }

  // The units of the present turn.
  [[nodiscard]] std::size_t units() const noexcept { return units_; }
  void Charge(std::size_t units) noexcept { units_ += units; }
  // Charges the present command for the slots that it has visited so far, and counts from 0 again.
  void ChargeVisits() noexcept {
    Charge(slots_visited() / kSlotsPerUnit);
    slots_before_command_ = Limiter::SlotsVisited();
  }
  // The number of slots that the present command, or transaction, has visited.
  [[nodiscard]] std::uint64_t slots_visited() const noexcept {
    return Limiter::SlotsVisited() - slots_before_command_;
  }
  // True if the present command has found that a hold has expired.
  [[nodiscard]] bool has_expired_holds() const noexcept {
    return HoldWork::found_expired != expired_before_command_;
  }

  // Makes the next command's time begin now instead of at the end of the last command.
  void RestartStopwatch() noexcept { command_begin_ = worker_.services.clock.Stopwatch(); }
  // The stopwatch at the end of the last command.
  [[nodiscard]] Nanos command_begin() const noexcept { return command_begin_; }

 private:
  Worker& worker_;
  std::size_t units_ = 0;
  std::uint64_t commands_before_turn_ = 0;  // total_commands_processed at its beginning
  std::uint64_t slots_before_command_ = 0;
  std::uint64_t expired_before_command_ = 0;
  Nanos command_begin_{0};
};

}  // namespace weir
