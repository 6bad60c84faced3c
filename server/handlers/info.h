// The text of INFO: sections of "field:value" lines, with the fields that tools for Redis read and
// a section of ours.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/session/worker.h"

namespace weir {

// The sections with these names, in any case. None given, or "default": all but Commandstats and
// Latencystats; "all" or "everything": these, too. An unknown name adds nothing. Lines end in CRLF.
// Cost: locks every partition up to three times, about 100 us each, and a look at the heap
// (MeasureMemory).
[[nodiscard]] std::string InfoText(Services& services, Instant now,
                                   std::span<const std::string_view> sections);

}  // namespace weir
