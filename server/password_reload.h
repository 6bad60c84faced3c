// The reading of the files of passwords while the server runs: at SIGHUP. config/passwords.h has
// their options, and reads them at the start.
#pragma once

#include "server/session/services.h"

namespace weir {

// Puts what each of the files says in force, and logs it; an error leaves that password as it is.
// Clients that have logged in with another password must log in again before their next command, as
// after ACL LOAD. A link to a primary or a control plane stays, and the next one uses what is new.
// Thread-safe.
void ReloadPasswords(Services& services);

}  // namespace weir
