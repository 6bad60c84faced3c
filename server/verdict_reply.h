// The replies of the deciding commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"

#include "core/decision.h"
#include "core/limit.h"
#include "protocol/resp_writer.h"

namespace weir {

// One limit of a request, as WITHLIMITS calls it.
struct NamedLimit {
  std::string_view name;
  const Limit* limit = nullptr;
};

// [first, remaining, retry_after_ms, reset_after_ms, limit_index], where `first` is 0 or 1, or what
// RL.TAKE has granted. With limits a sixth element says what each of them says; `limit_at` knows
// those of the request, one for each of the verdict's decisions.
void WriteVerdict(RespWriter& reply, std::int64_t first, const Verdict& verdict, bool with_limits,
                  absl::FunctionRef<NamedLimit(std::size_t)> limit_at);

}  // namespace weir
