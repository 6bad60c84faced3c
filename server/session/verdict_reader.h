// An interface that takes a verdict in place of its reply, for clients that do not read RESP.
// Called on the thread of the session that runs the command.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/check.h"
#include "core/commands/reply_numbers.h"
#include "core/commands/request_grammar.h"
#include "core/commands/settlement_grammar.h"
#include "core/limiter/hold_request.h"
#include "core/rules/decision.h"

namespace weir {

class VerdictReader {
 public:
  // Called instead of writing the reply of RL.ALLOW and the commands like it. `first`: 0 or 1, or
  // the number of tokens that RL.TAKE has granted. The arguments last until it returns.
  virtual void Read(const ParsedRequest& request, std::int64_t first, const Verdict& verdict) = 0;

  // Called instead of writing the reply of RL.COMMIT and RL.CANCEL. `limits`: one for each decision
  // of the verdict. Readers that are for requests only need not define it.
  virtual void ReadSettled(const ParsedSettlement& /*request*/, const Settled& /*settled*/,
                           std::span<const AskedLimit> /*limits*/) {
    WEIR_CHECK(false);
  }

 protected:
  ~VerdictReader() = default;
};

}  // namespace weir
