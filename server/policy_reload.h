// The policy file at SIGHUP.
#pragma once

namespace weir {

struct Services;

// Reads the policy file again, and logs what came of it: all of it is used, or nothing changes. A
// server that loads its state, or is a replica, does not read it. Cost: reads the file, and looks
// at each policy.
void ReloadPolicyFile(Services& services);

}  // namespace weir
