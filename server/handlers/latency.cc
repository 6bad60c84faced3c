// LATENCY: shows the events that took long, and how long the calls of each command take.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

using Event = LatencyMonitor::Event;
using EventHistory = LatencyMonitor::History;

constexpr std::int64_t kBarColumns = 60;

std::string_view NameOf(Event event) {
  return LatencyMonitor::kEventNames[static_cast<std::size_t>(event)];
}

std::optional<EventHistory> HistoryOf(const Call& call, std::string_view name) {
  const std::optional<Event> event = LatencyMonitor::FindEvent(name);
  if (!event) return std::nullopt;
  return call.services().observers.latency_monitor.Of(*event);
}

// One line per sample, with a bar in proportion to the longest.
std::string Graph(const EventHistory& history, HostInstant now) {
  const std::int64_t seconds =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto longest = std::ranges::max(history.samples, {}, &LatencyMonitor::Sample::millis);
  std::string graph =
      absl::StrCat(AbslView(NameOf(history.event)), ": at most ", longest.millis,
                   " ms in this graph, ", history.millis_max, " ms since the reset\n");
  for (const LatencyMonitor::Sample& sample : history.samples) {
    const std::int64_t columns = std::max<std::int64_t>(
        sample.millis * kBarColumns / std::max<std::int64_t>(longest.millis, 1), 1);
    absl::StrAppend(&graph, std::string(static_cast<std::size_t>(columns), '#'), " ", sample.millis,
                    " ms, ", seconds - sample.second, " s ago\n");
  }
  return graph;
}

std::string Diagnosis(const std::vector<EventHistory>& histories, bool is_on) {
  if (!is_on && histories.empty()) {
    return "Latency monitoring is off: set latency-monitor-threshold to the shortest time, in "
           "milliseconds, that is to be recorded.\n";
  }
  if (histories.empty()) return "No event took long enough to be recorded.\n";
  std::string text;
  for (const auto& [event, samples, millis_max] : histories) {
    std::int64_t sum = 0;
    for (const LatencyMonitor::Sample& sample : samples) sum += sample.millis;
    absl::StrAppend(&text, AbslView(NameOf(event)), ": slow in ", samples.size(),
                    " recorded seconds, on average ",
                    sum / static_cast<std::int64_t>(samples.size()), " ms, at most ", millis_max,
                    " ms.\n");
  }
  absl::StrAppend(
      &text,
      "SLOWLOG GET lists the commands that took long, LATENCY HISTOGRAM shows the usual times. If "
      "a fast-command was slow, its thread did not run or waited for a lock: look at the machine's "
      "load, and at commands that visit the whole table.\n");
  return text;
}

// Adds the row, or, for a container, the rows of its subcommands. Each is added only once.
void AddCalled(const CommandRows& rows, const CommandSpec& spec,
               std::vector<const CommandRows::value_type*>& called) {
  const auto add = [&](const CommandSpec& one) {
    const auto row = rows.find(&one);
    if (row == rows.end() || TotalOf(row->second.times) == 0) return;
    if (std::ranges::find(called, &*row) == called.end()) called.push_back(&*row);
  };
  add(spec);
  for (const CommandSpec& subcommand : SubcommandsOf(spec)) add(subcommand);
}

}  // namespace

void LatencyLatest(Call& call) {
  const std::vector<EventHistory> histories = call.services().observers.latency_monitor.All();
  call.reply.Array(histories.size());
  for (const auto& [event, samples, millis_max] : histories) {
    call.reply.Array(4);
    call.reply.Bulk(NameOf(event));
    call.reply.Integer(samples.back().second);
    call.reply.Integer(samples.back().millis);
    call.reply.Integer(millis_max);
  }
}

void LatencyHistory(Call& call) {
  const std::optional<EventHistory> history = HistoryOf(call, call.arguments()[0]);
  if (!history) return call.reply.Array(0);
  call.reply.Array(history->samples.size());
  for (const LatencyMonitor::Sample& sample : history->samples) {
    call.reply.Array(2);
    call.reply.Integer(sample.second);
    call.reply.Integer(sample.millis);
  }
}

void LatencyReset(Call& call) {
  LatencyMonitor& monitor = call.services().observers.latency_monitor;
  const auto names = call.arguments().empty()
                         ? std::span<const std::string_view>(LatencyMonitor::kEventNames)
                         : call.arguments();
  call.Charge(names.size());
  std::int64_t forgotten = 0;
  for (const std::string_view name : names) {
    const std::optional<Event> event = LatencyMonitor::FindEvent(name);
    if (event && monitor.Reset(*event)) ++forgotten;
  }
  call.reply.Integer(forgotten);
}

void LatencyGraph(Call& call) {
  const std::string_view name = call.arguments()[0];
  const std::optional<EventHistory> history = HistoryOf(call, name);
  if (!history) return call.Fail(absl::StrCat("No samples available for event ", Quote(name)));
  call.reply.Verbatim(Graph(*history, call.services().clock.HostNow()));
}

void LatencyDoctor(Call& call) {
  const LatencyMonitor& monitor = call.services().observers.latency_monitor;
  call.reply.Verbatim(Diagnosis(monitor.All(), monitor.is_on()));
}

void LatencyHistograms(Call& call) {
  call.Charge(kWholeTableWork * call.services().workers.size() + call.arguments().size());
  const CommandRows rows = call.services().totals.CommandsOf(call.services());
  std::vector<const CommandRows::value_type*> called;
  for (const std::string_view name : call.arguments()) {
    if (const CommandSpec* spec = FindCommand(name)) AddCalled(rows, *spec, called);
    if (EqualsIgnoreCase(name, RateLimitCallSpec().name)) {
      AddCalled(rows, RateLimitCallSpec(), called);
    }
  }
  if (call.arguments().empty()) {
    for (const auto& row : rows) {
      if (TotalOf(row.second.times) > 0) called.push_back(&row);
    }
  }
  call.reply.Map(called.size());
  for (const auto* row : called) {
    const auto counts = CumulativeCounts(row->second.times);
    call.reply.Bulk(LowerName(*row->first));
    call.reply.Map(2);
    call.reply.Field("calls", static_cast<std::int64_t>(TotalOf(row->second.times)));
    call.reply.Bulk("histogram_usec");
    call.reply.Map(counts.size());
    for (const CumulativeCount& count : counts) {
      call.reply.Integer(count.micros);
      call.reply.Integer(static_cast<std::int64_t>(count.count));
    }
  }
}

}  // namespace weir
