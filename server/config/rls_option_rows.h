// The rows of the options of Envoy's rate limit service, sorted by name; options.h says what a row
// holds.
#pragma once

#include <array>

#include "server/config/options.h"

namespace weir {

inline constexpr auto kRlsOptionRows = std::to_array<OptionSpec>({
    {.name = "rls-config",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_config,
     .fallback = "",
     .summary = "Serves Envoy's rate limit service on http-port by the rules of this file, or of "
                "each *.yaml and *.yml in this folder; they are read again when they change, and "
                "at SIGHUP. See docs/envoy.md."},
    {.name = "rls-headers",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_headers,
     .fallback = "none",
     .live = true,
     .summary =
         "Fields that answers of Envoy's rate limit service have Envoy add to its responses. "
         "`none`; `reference`: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, as "
         "envoyproxy/ratelimit has them; `ratelimit`: RateLimit, RateLimit-Policy and "
         "Retry-After of docs/http.md."},
    {.name = "rls-merge-domains",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_merge_domains,
     .fallback = "false",
     .summary = "Lets several files of rls-config have one domain, whose rules are joined."},
    {.name = "rls-metadata",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_metadata,
     .fallback = "false",
     .live = true,
     .summary =
         "Answers of Envoy's rate limit service have dynamic_metadata: the descriptors, their "
         "codes, and the metadata of their rules."},
    {.name = "rls-metrics",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_metrics,
     .fallback = "own",
     .summary =
         "The names under which /metrics shows Envoy's rate limit service. `own`: those that "
         "begin with weir_; `reference`: those of envoyproxy/ratelimit, too, which count "
         "hits."},
    {.name = "rls-quota",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_quota,
     .fallback = "false",
     .live = true,
     .summary = "Takes each rule of rls-config for a quota rule: a call is over its limits only if "
                "all rules that it meets are."},
    {.name = "rls-shadow",
     .group = OptionGroup::kHttp,
     .field = &Options::rls_shadow,
     .fallback = "false",
     .live = true,
     .summary = "Answers every call of Envoy's rate limit service OK, and tells in the statuses "
                "what the rules have said."},
});

}  // namespace weir
