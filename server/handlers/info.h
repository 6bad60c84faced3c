// The text of INFO: sections of "field:value" lines, with the fields that tools for Redis read, and
// a section of weir's own.
//
// Each field is a row in info.cc; those that count events are rows in
// server/observe/thread_counters.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/session/services.h"

namespace weir {

class ServerSnapshot;

struct InfoField {
  std::string_view name;
  std::string (*read)(ServerSnapshot& info) = nullptr;
  std::string (*read_human)(ServerSnapshot& info) =
      nullptr;  // the value of "name_human"; null: no such field
  bool (*exists)(const Services& services) = nullptr;  // null: always
};

struct InfoSection {
  std::string_view name;
  std::span<const InfoField> fields = {};
  // In place of rows: adds a field for each counter, command or error.
  void (*list)(ServerSnapshot& info, std::string& text) = nullptr;
  bool is_default = true;
};

[[nodiscard]] std::span<const InfoSection> InfoSections();

// The text of the sections with these names, in any case. With no name, or "default": all sections
// except Commandstats and Latencystats; with "all" or "everything": these, too. An unknown name
// adds nothing. Lines end in CRLF. Cost: a look at the heap (MeasureMemory), and about 10 us; with
// --allow-explicit-time a scan of the table, too.
[[nodiscard]] std::string InfoText(Services& services, Instant now,
                                   std::span<const std::string_view> sections);

}  // namespace weir
