#include "server/http/request_tally.h"

#include <algorithm>

#include "core/commands/command_spec.h"
#include "server/commands/command_table.h"
#include "server/session/worker.h"

namespace weir {
namespace {

// Over all faces.
RequestResults ResultsOf(const Services& services) {
  RequestResults results{};
  for (const Worker* worker : services.workers) {
    results[0] += worker->request_counters.allowed.value();
    results[1] += worker->request_counters.denied.value();
    for (const CommandSpec& spec : CommandTable()) {
      const CommandCounters* const counts =
          AsksForTokens(spec) ? worker->command_counters.Find(spec) : nullptr;
      if (counts) results[2] += counts->failed.value() + counts->rejected.value();
    }
  }
  return results;
}

}  // namespace

// They are the commands that may need memory for a new bucket.
bool AsksForTokens(const CommandSpec& spec) noexcept { return spec.Is(kDenyOom); }

RequestTally::ByFace RequestTally::Read(const Services& services) {
  MutexLock lock(mutex_);
  ByFace results{};
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    results.http[i] = counts_[i].load(std::memory_order_relaxed);
    results.rls[i] = calls_[i].load(std::memory_order_relaxed);
  }
  results.resp = ResultsOf(services);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const bool is_error = i == static_cast<std::size_t>(Result::kError);
    const std::uint64_t others = results.http[i] + (is_error ? 0 : results.rls[i]);
    results.resp[i] -= std::min(results.resp[i], others);
    resp_shown_[i] = std::max(resp_shown_[i], results.resp[i]);
  }
  results.resp = resp_shown_;
  return results;
}

}  // namespace weir
