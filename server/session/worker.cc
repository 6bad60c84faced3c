#include "server/session/worker.h"

#include "core/base/check.h"

namespace weir {

void Worker::Fail(RespWriter& reply, std::string_view error) {
  CountError(error);
  reply.Error(error);
}

void Worker::CountError(std::string_view error) {
  counters["total_error_replies"].Add();
  error_counters.Count(error);
}

std::size_t Worker::PublishEvents() {
  std::size_t messages = 0;
  for (const DecisionEvent& event : events.Take()) {
    const Channels::Sent sent = services.channels.PublishOwn(event.index(), event.message);
    counters["events_dropped"].Add(sent.dropped);
    messages += sent.receivers + sent.dropped;
  }
  return messages;
}

void Worker::EndKilled() {
  if (killed.empty()) return;
  services.open_waits.GiveBackKilled();
  for (const auto& record : std::exchange(killed, {})) record->Wake();
}

void Worker::CountTurn(std::uint64_t commands_before, std::size_t input_bytes,
                       std::size_t output_bytes, HostInstant now) {
  counters["total_net_input_bytes"].Add(input_bytes);
  counters["total_net_output_bytes"].Add(output_bytes);
  WEIR_DCHECK(counters["total_commands_processed"].value() >= commands_before);
  const std::uint64_t commands = counters["total_commands_processed"].value() - commands_before;
  counters.rate("instantaneous_ops_per_sec").Add(commands, now);
  counters.rate("instantaneous_input_kbps").Add(input_bytes, now);
  counters.rate("instantaneous_output_kbps").Add(output_bytes, now);
}

}  // namespace weir
