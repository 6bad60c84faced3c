// The text of INFO: sections of "field:value" lines, with the fields that tools for Redis read and
// a section of ours.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/instant.h"
#include "server/worker.h"

namespace weir {

// The sections with these names, in any case; none given, or "all", "everything", "default": all of
// them. An unknown name adds nothing. Lines end in CRLF. Cost: locks every partition once, about
// 100 us.
[[nodiscard]] std::string InfoText(Services& services, Instant now,
                                   std::span<const std::string_view> sections);

}  // namespace weir
