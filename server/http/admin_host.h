// The hosts for which the admin port answers with the page and its JSON.
//
// A site can give its own name the address of this host, and its scripts then read what they like
// from here as from the site itself (DNS rebinding). The browser says which name it asked for, in
// Host, so a name that is not configured is refused. An address cannot be given away like a name.
#pragma once

#include <string_view>

#include "server/config/options.h"

namespace weir {

// True for localhost, an address of admin-bind, and a host of admin-hosts; `host` may end with a
// port. An address that means all of a family, such as 0.0.0.0, stands for any address.
[[nodiscard]] bool IsAdminHost(std::string_view host, const Options& options);

}  // namespace weir
