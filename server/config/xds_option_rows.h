// The rows of the options of the control plane that has the rules of Envoy's rate limit service,
// sorted by name; options.h says what a row holds.
#pragma once

#include <array>

#include "server/config/options.h"

namespace weir {

inline constexpr auto kXdsOptionRows = std::to_array<OptionSpec>({
    {.name = "rls-xds",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds,
     .fallback = "",
     .summary = "The control plane that has the rules of Envoy's rate limit service, HOST:PORT, in "
                "place of rls-config: Envoy Gateway's, for example. See docs/envoy.md."},
    {.name = "rls-xds-ca",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_ca,
     .fallback = "",
     .summary =
         "A PEM file: the authorities that sign the certificate of rls-xds; by default those "
         "of the system. Read again at SIGHUP, as the next two are."},
    {.name = "rls-xds-cert",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_cert,
     .fallback = "",
     .summary = "A PEM file: the certificate that this server shows to rls-xds; by default none."},
    {.name = "rls-xds-headers",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_headers,
     .fallback = "",
     .secret = true,
     .summary = "Fields of the call to rls-xds, as name:value,name:value. Never shown: one may be "
                "a token. Safer in a file than on a command line, which other users can read."},
    {.name = "rls-xds-headers-file",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_headers_file,
     .fallback = "",
     .summary = "A file whose first line is rls-xds-headers; read at the start and at SIGHUP."},
    {.name = "rls-xds-key",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_key,
     .fallback = "",
     .summary = "A PEM file: the key of rls-xds-cert, without a password."},
    {.name = "rls-xds-node",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_node,
     .fallback = "default",
     .summary = "The name of this server's node, by which rls-xds chooses its rules."},
    {.name = "rls-xds-node-metadata",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_node_metadata,
     .fallback = "",
     .summary = "What rls-xds hears of the node besides, as key=value,key=value."},
    {.name = "rls-xds-san",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_san,
     .fallback = "",
     .summary = "The name in the certificate of rls-xds; by default the host of rls-xds."},
    {.name = "rls-xds-tls",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_xds_tls,
     .fallback = "false",
     .summary = "Whether rls-xds is reached by TLS."},
});

}  // namespace weir
