#include "server/session/observers.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "server/commands/redaction.h"
#include "server/session/call.h"

namespace weir {
namespace {

std::optional<Nanos> SlowerThan(const Options& options) {
  const std::chrono::microseconds threshold{options.slowlog_log_slower_than};
  if (threshold.count() < 0) return std::nullopt;
  return threshold;
}

}  // namespace

Observers::Observers(const Options& options)
    : slow_log(SlowerThan(options), static_cast<std::size_t>(options.slowlog_max_len)),
      latency_monitor(std::chrono::milliseconds{options.latency_monitor_threshold}) {}

void Observers::Configure(const Options& options) {
  slow_log.set_threshold(SlowerThan(options));
  slow_log.set_length_max(static_cast<std::size_t>(options.slowlog_max_len));
  latency_monitor.set_threshold(std::chrono::milliseconds{options.latency_monitor_threshold});
}

void Observers::Show(const Call& call, Nanos duration) {
  Show(call.spec, RedactedWords(call.spec, call.words), call.now, call.session, duration);
}

void Observers::Show(const CommandSpec& spec, std::span<const std::string_view> words, Instant now,
                     Session& session, Nanos duration) {
  using Event = LatencyMonitor::Event;
  const ClientRecord& client = session.client().record();
  const bool runs_others = spec.name == "EXEC";
  if (slow_log.IsSlow(duration) && !runs_others) {
    slow_log.Add({.at = now,
                  .duration = duration,
                  .arguments = SlowLog::Cut(words),
                  .address = client.address,
                  .client_name = client.name()});
  }
  if (latency_monitor.IsSlow(duration) && !runs_others) {
    const Event event = spec.Is(kFast) ? Event::kFastCommand : Event::kCommand;
    latency_monitor.Add(event, session.worker().services.clock.HostNow(), duration);
  }
  // As in Redis, monitors do not see admin commands, unless these change buckets.
  const bool is_shown = spec.Is(kWrite) || !spec.Is(kAdmin);
  if (!is_shown || !monitors.any()) return;
  session.worker().counters["monitor_lines_dropped"].Add(monitors.Show(now, client.address, words));
}

}  // namespace weir
