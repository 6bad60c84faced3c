// The functions behind the rows of the commands that limit. Server and module define them, each in
// its own handlers/: a handler reads its arguments, makes one call and writes one reply. None
// fails: errors are replies. Each runs on the thread of its session.
#pragma once

namespace weir {

struct Call;

// handlers/limit.cc
void RlAllow(Call& call);
void RlPeek(Call& call);
void RlTake(Call& call);
void RlRefund(Call& call);
void RlWait(Call& call);
void RlReset(Call& call);
void RlInspect(Call& call);
void RlHelp(Call& call);

// handlers/policy.cc
void PolicyDel(Call& call);
void PolicyGet(Call& call);
void PolicyList(Call& call);
void PolicyOverride(Call& call);
void PolicyOverrides(Call& call);
void PolicyReload(Call& call);
void PolicySet(Call& call);
void PolicyUnoverride(Call& call);

// handlers/stats.cc
void RlStats(Call& call);
void RlTop(Call& call);

// handlers/throttle.cc
void Throttle(Call& call);

// Lists the subcommands of the row's container.
void ContainerHelp(Call& call);

}  // namespace weir
