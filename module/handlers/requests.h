// The request of a call, and its answer.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/commands/replies.h"
#include "core/rules/decision.h"
#include "core/words/request_grammar.h"
#include "module/handlers/call.h"
#include "module/values/module.h"

namespace weir {

// Fails as ParseRequest does, and where the client gives the time and may not.
[[nodiscard]] inline absl::StatusOr<ParsedRequest> ReadRequest(const Call& call, RequestKind kind) {
  Module& module = TheModule();
  absl::StatusOr<ParsedRequest> request =
      ParseRequest(call.arguments(), module.memo, KeyHashes(module.hasher), kind);
  if (request.ok() && request->at && !module.explicit_time.allowed()) {
    request =
        absl::PermissionDeniedError("AT needs a module that was loaded with allow-explicit-time");
  }
  return request;
}

// `first`: 0 or 1, or what RL.TAKE has granted.
inline void Answer(Call& call, const ParsedRequest& request, std::int64_t first,
                   const Verdict& verdict) {
  if (request.at) TheModule().explicit_time.Record(*request.at);
  WriteVerdict(call.reply, first, verdict, request.with_limits, [&](std::size_t i) {
    return NamedLimit{request.limits[i]->name, &request.limits[i]->limit};
  });
}

}  // namespace weir
