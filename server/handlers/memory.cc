// MEMORY: shows how much memory the server uses, and for what.
#include "server/os/memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/ignore_case.h"
#include "core/limiter/limiter_upkeep.h"
#include "protocol/integer.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

// A slot, its bucket and its control byte. Empty places in the table are not counted for any key.
constexpr std::int64_t kBytesPerBucket = sizeof(SlotKey) + sizeof(Bucket) + 1;

}  // namespace

// Nothing is nested, so SAMPLES is checked and has no effect.
void MemoryUsage(Call& call) {
  const auto options = call.arguments().subspan(1);
  for (std::size_t i = 0; i < options.size(); i += 2) {
    if (!EqualsIgnoreCase(options[i], "SAMPLES") || i + 1 == options.size()) {
      return call.Fail("syntax error");
    }
    const std::optional<std::int64_t> samples = ParseInteger(options[i + 1]);
    if (!samples) return call.Fail("value is not an integer or out of range");
    if (*samples < 0) return call.Fail("syntax error");
  }
  if (!call.MayLookAt(call.arguments().first(1))) return;
  const std::string_view key = call.arguments()[0];
  const Services& services = call.services();
  const auto buckets = services.limiter.Inspect(
      key, services.explicit_time.View(call.now),
      [&](const Limit& limit) { return services.policies.PresentLimit(limit, key); });
  if (buckets.empty()) return call.reply.Null();
  call.reply.Integer(static_cast<std::int64_t>(buckets.size()) * kBytesPerBucket);
}

void MemoryStats(Call& call) {
  call.Charge(kWholeTableWork);
  const MemoryUse memory = MeasureMemory();
  const LimiterUpkeep::Size size = call.services().upkeep.size();
  const std::array<std::pair<std::string_view, std::uint64_t>, 11> figures = {{
      {"peak.allocated", memory.resident_peak},
      {"total.allocated", memory.heap},
      {"keys.count", size.buckets},
      {"keys.bytes-per-key", size.table_bytes / std::max<std::size_t>(size.buckets, 1)},
      {"dataset.bytes", size.table_bytes},
      {"overhead.total", memory.heap - std::min<std::uint64_t>(size.table_bytes, memory.heap)},
      {"allocator.allocated", memory.heap},
      {"allocator.active", memory.heap_held},
      {"allocator.resident", memory.resident},
      {"allocator-fragmentation.bytes", memory.heap_held - std::min(memory.heap, memory.heap_held)},
      {"fragmentation.bytes", memory.resident - std::min(memory.heap, memory.resident)},
  }};
  call.reply.Map(figures.size());
  for (const auto& [name, bytes] : figures) {
    call.reply.Bulk(name);
    call.reply.Integer(static_cast<std::int64_t>(bytes));
  }
}

void MemoryPurge(Call& call) {
  call.Charge(kWholeTableWork);
  ReturnFreeMemory();
  call.reply.SimpleString("OK");
}

}  // namespace weir
