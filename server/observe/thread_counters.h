// The counters of the server, which are the section Stats of INFO.
//
// A new counter is a row of kStatsFields and the place that counts:
//
//     {.name = "protocol_errors"},                     // the row
//     worker.counters["protocol_errors"].Add();        // the place; without the row: no such name
//
// The sum over the threads and the reset by CONFIG RESETSTAT go by the rows
// (server/session/server_totals.h). A row of server/measures/measures.cc shows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/base/counter.h"
#include "core/base/instant.h"
#include "server/observe/rate.h"

namespace weir {

struct StatsField {
  std::string_view name;
  bool is_rate = false;  // how often in the last second, which no reset changes
};

inline constexpr StatsField kStatsFields[] = {
    {.name = "total_connections_received"},
    {.name = "total_commands_processed"},  // errors included
    {.name = "instantaneous_ops_per_sec", .is_rate = true},
    {.name = "total_net_input_bytes"},
    {.name = "total_net_output_bytes"},
    {.name = "instantaneous_input_kbps", .is_rate = true},
    {.name = "instantaneous_output_kbps", .is_rate = true},
    {.name = "rejected_connections"},
    {.name = "expired_keys"},     // counted by the Sweeper
    {.name = "evicted_keys"},     // counted by the Limiter
    {.name = "evicted_clients"},  // counted by ClientMemory
    {.name = "events_dropped"},   // of the server's own channels, for subscribers behind
    {.name = "monitor_lines_dropped"},
    {.name = "total_error_replies"},  // raised by Worker::Fail only
    {.name = "protocol_errors"},      // connections ended for what they sent
};
inline constexpr std::size_t kStatsFieldCount = std::size(kStatsFields);

// A number for each row.
using StatsNumbers = std::array<std::uint64_t, kStatsFieldCount>;

// The row of a counter or of a rate, found by its name when the code is compiled.
template <bool kIsRate>
class StatsRow {
 public:
  consteval StatsRow(const char* name) {  // implicit: a literal is a row
    while (index_ < kStatsFieldCount && kStatsFields[index_].name != name) ++index_;
    if (index_ == kStatsFieldCount || kStatsFields[index_].is_rate != kIsRate) NoSuchField();
  }
  // Requires: the index of a row of this kind.
  constexpr explicit StatsRow(std::size_t index) : index_(index) {}

  [[nodiscard]] constexpr std::size_t index() const noexcept { return index_; }

 private:
  static void NoSuchField();  // not constexpr, so that a call does not compile

  std::size_t index_ = 0;
};

// The counters of one thread, which alone raises them; any thread may read. Cost: an addition.
class ThreadCounters {
 public:
  [[nodiscard]] Counter& operator[](StatsRow<false> row) noexcept { return counters_[row.index()]; }
  [[nodiscard]] const Counter& operator[](StatsRow<false> row) const noexcept {
    return counters_[row.index()];
  }
  [[nodiscard]] Rate& rate(StatsRow<true> row) noexcept { return rates_[row.index()]; }

  // Of the counters; 0 in the rows of rates.
  [[nodiscard]] StatsNumbers totals() const noexcept {
    StatsNumbers totals{};
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] = counters_[i].value();
    return totals;
  }
  [[nodiscard]] std::uint64_t InLastSecond(StatsRow<true> row, HostInstant now) const noexcept {
    return rates_[row.index()].InLastSecond(now);
  }

 private:
  std::array<Counter, kStatsFieldCount> counters_;  // by row; those of rates stay 0
  std::array<Rate, kStatsFieldCount> rates_;        // likewise
};

}  // namespace weir
