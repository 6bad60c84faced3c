// Long work of a command on the side thread (Services::run_aside): ACL LOAD, RL.POLICY DEL and
// RL.POLICY RELOAD. The client waits for it, and other clients are served meanwhile.
//
// The work continues if the client leaves, after CLIENT UNBLOCK, when the server's role changes,
// and when it shuts down.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"

#include "server/session/call.h"

namespace weir {

struct AsideWork {
  std::function<absl::Status()> aside;      // on the side thread
  std::function<absl::Status()> then = {};  // on the client's thread, if that is OK; or null
  bool changes = false;                     // the command changes the state
  std::string_view unblocked;               // the error after CLIENT UNBLOCK
};

// Answers OK when the work is over, or its error. Fails, and does nothing, if too much work waits
// for the side thread. Requires: the client may wait.
[[nodiscard]] absl::Status AnswerFromAside(Call& call, AsideWork work);

}  // namespace weir
