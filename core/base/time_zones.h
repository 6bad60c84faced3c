// The time zones of the system's database, by name: "Europe/Berlin" -> the zone.
//
// A process reads the database once, whole, at its first call of SystemTimeZones(), which a host
// makes when it starts: no request touches a file. The names are those of the zones and links that
// the file tzdata.zi lists, about 600, so no name is a path. "UTC" is always there; without the
// database it is the only one. The environment (TZ, TZDIR) is not read.
//
// Immutable and thread-safe. Memory: about 7 MB, most of it abseil's. Cost: 0.1 s to load; a
// look-up is a binary search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace weir {

// The number of a zone in this process. Files have its name.
enum class ZoneId : std::uint16_t {};
inline constexpr ZoneId kUtc{0};

inline constexpr std::size_t kZoneNameBytesMax = 64;

class TimeZones {
 public:
  // Loads the database in `directory`, an absolute path.
  explicit TimeZones(const std::string& directory);
  TimeZones(const TimeZones&) = delete;
  TimeZones& operator=(const TimeZones&) = delete;

  // Nothing if no zone has exactly this name.
  [[nodiscard]] std::optional<ZoneId> Find(std::string_view name) const noexcept;

  [[nodiscard]] std::string_view NameOf(ZoneId id) const noexcept;
  [[nodiscard]] const absl::TimeZone& Zone(ZoneId id) const noexcept;

  // At least 1. The zones have the numbers below it.
  [[nodiscard]] std::size_t size() const noexcept { return zones_.size(); }

 private:
  struct NamedZone {
    std::string name;
    absl::TimeZone zone;
  };

  bool Add(const std::string& directory, std::string_view name, std::string_view file);

  std::vector<NamedZone> zones_;  // UTC, then the others by name
};

// The zones of /usr/share/zoneinfo. The first call loads them.
[[nodiscard]] const TimeZones& SystemTimeZones();

}  // namespace weir
