// RL.STATS and RL.TOP: which limits deny, and which keys.
#include <vector>

#include "core/commands/replies.h"
#include "core/rules/top_keys.h"
#include "protocol/arg_reader.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::int64_t kTopRowsDefault = 10;

std::vector<Tally*> TalliesOf(const Services& services) {
  std::vector<Tally*> tallies;
  for (Worker* worker : services.workers) tallies.push_back(&worker->tally);
  return tallies;
}

}  // namespace

void RlStats(Call& call) {
  ArgReader arguments(call.arguments());
  const bool reset = arguments.TryKeyword("RESET");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  Services& services = call.services();
  call.Charge(kWholeTableWork * services.workers.size());
  const std::vector<Tally*> tallies = TalliesOf(services);
  if (reset) {
    services.limit_report.Reset(tallies);
    return call.reply.SimpleString("OK");
  }
  WriteStats(call.reply, services.limit_report.Total(tallies),
             services.limit_report.Since(tallies));
}

void RlTop(Call& call) {
  ArgReader arguments(call.arguments());
  std::int64_t rows_max = kTopRowsDefault;
  if (!arguments.AtEnd()) {
    rows_max = arguments.Integer("rows", 1, static_cast<std::int64_t>(kTopKeysMax));
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  call.Charge(kWholeTableWork * call.services().workers.size());
  std::vector<const TopKeys*> sketches;
  for (const Tally* tally : TalliesOf(call.services())) sketches.push_back(&tally->denied_keys);
  WriteTop(call.reply, TopKeys::Merge(sketches, static_cast<std::size_t>(rows_max)));
}

}  // namespace weir
