// The text of INFO: sections of "field:value" lines, with the fields that tools for Redis read, and
// a section of weir's own. The fields are the rows of server/measures/measure.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/session/services.h"

namespace weir {

// The text of the sections with these names, in any case. With no name, or "default": all sections
// except Commandstats and Latencystats; with "all" or "everything": these, too. An unknown name
// adds nothing. Lines end in CRLF. Cost: a look at the heap (MeasureMemory), and about 10 us; with
// --allow-explicit-time a scan of the table, too.
[[nodiscard]] std::string InfoText(Services& services, Instant now,
                                   std::span<const std::string_view> sections);

}  // namespace weir
