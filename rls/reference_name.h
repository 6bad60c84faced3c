// The names under which envoyproxy/ratelimit ("the reference") counts, for those who have its
// dashboards.
//
//     ReferenceName("shop", levels)            "shop.user_7.path": domain, key1, key2
//     ReferenceDomain("shop.example")          "shop_example"
//
// `:` and `|` are written "_", and so are the dots of an IPv4 address. As there, any other dot
// begins a level, one in a domain or a value, too.
//
// Pure. Cost: O(bytes).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rls/rule_tree.h"

namespace weir {

// The domain and the first two levels, with dots between them: each level is KEY, or KEY_VALUE if
// it has a value. All below has the name of its first two levels.
[[nodiscard]] std::string ReferenceName(std::string_view domain,
                                        std::span<const DescriptorEntry> levels);

// The domain as a part of the name of a metric: what may not stand there is "_".
[[nodiscard]] std::string ReferenceDomain(std::string_view domain);

}  // namespace weir
