// RL.STATS and RL.TOP, of this node.
#include <array>

#include "absl/strings/match.h"

#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/words/number_word.h"
#include "module/handlers/call.h"

namespace weir {
namespace {

constexpr std::int64_t kTopRowsDefault = 10;

}  // namespace

void RlStats(Call& call) {
  Module& module = TheModule();
  const std::array<Tally*, 1> tallies = {&module.tally};
  const auto arguments = call.arguments();
  if (!arguments.empty()) {
    if (!absl::EqualsIgnoreCase(AbslView(arguments[0]), "RESET")) return call.Fail("syntax error");
    module.limit_report.Reset(tallies);
    return call.reply.SimpleString("OK");
  }
  WriteStats(call.reply, module.limit_report.Total(tallies), module.limit_report.Since(tallies));
}

void RlTop(Call& call) {
  absl::StatusOr<std::int64_t> rows_max = kTopRowsDefault;
  const auto arguments = call.arguments();
  if (!arguments.empty()) {
    rows_max = ReadNumber("rows", arguments[0], 1, static_cast<std::int64_t>(kTopKeysMax));
  }
  if (!rows_max.ok()) return call.Fail(rows_max.status());
  const std::array<const TopKeys*, 1> sketches = {&TheModule().tally.denied_keys};
  WriteTop(call.reply, TopKeys::Merge(sketches, static_cast<std::size_t>(*rows_max)));
}

}  // namespace weir
