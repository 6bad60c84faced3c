// RL.STATS and RL.TOP: which limit says no, and to whom.
#include <string>
#include <string_view>
#include <vector>

#include "core/top_keys.h"
#include "protocol/arg_reader.h"
#include "server/command.h"
#include "server/handlers.h"

namespace weir {
namespace {

constexpr std::int64_t kTopRowsDefault = 10;
constexpr std::string_view kTotal = "(total)";  // no label: those have no brackets

void WriteRow(RespWriter& reply, std::string_view name, const LimitReport::Numbers& numbers) {
  const bool as_map = reply.protocol() != 2;
  if (as_map) {
    reply.Map(1 + numbers.size());
    reply.Bulk("name");
  } else {
    reply.Array(1 + numbers.size());
  }
  reply.Bulk(name);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (as_map) reply.Bulk(LimitReport::kNumbers[i]);
    reply.Integer(static_cast<std::int64_t>(numbers[i]));
  }
}

}  // namespace

void RlStats(Call& call) {
  ArgReader arguments(call.arguments());
  const bool reset = arguments.TryKeyword("RESET");
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  Services& services = call.services();
  call.Charge(kWholeTableWork * services.workers.size());
  if (reset) {
    services.limit_report.Reset(services.workers);
    for (Worker* worker : services.workers) worker->denied_keys.Clear();
    return call.reply.SimpleString("OK");
  }
  const LimitReport::Rows rows = services.limit_report.Since(services.workers);
  call.reply.Array(1 + rows.size());
  WriteRow(call.reply, kTotal, services.limit_report.Total(services.workers));
  for (const auto& [name, numbers] : rows) WriteRow(call.reply, name, numbers);
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
  for (const Worker* worker : call.services().workers) sketches.push_back(&worker->denied_keys);
  const auto rows = TopKeys::Merge(sketches, static_cast<std::size_t>(rows_max));
  call.reply.Array(rows.size());
  for (const TopKeys::Row& row : rows) {
    call.reply.Array(3);
    call.reply.Bulk(row.key);
    call.reply.Integer(static_cast<std::int64_t>(row.count));
    call.reply.Integer(static_cast<std::int64_t>(row.error));
  }
}

}  // namespace weir
