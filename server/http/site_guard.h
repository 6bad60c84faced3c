// The guard against the pages of other sites, which a browser on this host may show.
//
// A site can give its own name the address of this host (DNS rebinding). Its scripts then send what
// they like, any content type included, and read the answers, as from the site itself. The browser
// says which name it asked for, in Host, so a name that is not configured is refused. An address
// cannot be given away like a name, and the names of public sites have a dot.
//
// Under every name, an image or a form of a page makes a browser send a request whose answer the
// page cannot read. Browsers mark such a request: by Sec-Fetch-Site where they trust the host (by
// https, and localhost), and by Origin unless the method is GET or HEAD. A program sends neither.
// For an address that the user has typed, Sec-Fetch-Site is "none".
#pragma once

#include <optional>
#include <string_view>

#include "protocol/http_head.h"
#include "server/config/options.h"

namespace weir {

// True for localhost, an address of admin-bind, and a host of admin-hosts; `host` may end with a
// port. An address that means all of a family, such as 0.0.0.0, stands for any address.
[[nodiscard]] bool IsAdminHost(std::string_view host, const Options& options);

// True for localhost, any address, a name without a dot, and a host of http-hosts; `host` may end
// with a port.
[[nodiscard]] bool IsHttpHost(std::string_view host, const Options& options);

struct SiteRefusal {
  int status;
  std::string_view error;
};

// Returns the refusal of a request for a decision that a page may have made a browser send; nothing
// if no page has. For requests of clients that have proved themselves neither by a password nor by
// a certificate.
[[nodiscard]] std::optional<SiteRefusal> RefusalOfSite(const HttpHead& head,
                                                       const Options& options);

}  // namespace weir
