#include "server/verdict_reply.h"

#include "core/reply_numbers.h"

namespace weir {
namespace {

// One element of WITHLIMITS: an array, or in RESP3 a map with the fields' names.
void WriteDecision(RespWriter& reply, const NamedLimit& named, const Decision& decision) {
  const auto numbers = DecisionNumbers(*named.limit, decision);
  if (reply.protocol() == 2) {
    reply.Array(1 + numbers.size());
    reply.Bulk(named.name);
    reply.Integers(numbers);
    return;
  }
  reply.Map(1 + numbers.size());
  reply.Bulk("name");
  reply.Bulk(named.name);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    reply.Bulk(kDecisionFields[i]);
    reply.Integer(numbers[i]);
  }
}

}  // namespace

void WriteVerdict(RespWriter& reply, std::int64_t first, const Verdict& verdict, bool with_limits,
                  absl::FunctionRef<NamedLimit(std::size_t)> limit_at) {
  auto numbers = VerdictNumbers(verdict);
  numbers.front() = first;
  reply.Array(numbers.size() + (with_limits ? 1 : 0));
  reply.Integers(numbers);
  if (!with_limits) return;
  reply.Array(verdict.decisions.size());
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    WriteDecision(reply, limit_at(i), verdict.decisions[i]);
  }
}

}  // namespace weir
