#include "core/base/time_zones.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/status.h"

namespace weir {
namespace {

constexpr char kSystemDirectory[] = "/usr/share/zoneinfo";
constexpr std::string_view kUtcName = "UTC";

bool IsNameByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_+-/").find(c) != std::string_view::npos;
}

// True for a name that may be a part of a limit's text, and no path out of the database.
bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kZoneNameBytesMax && name.front() != '/' &&
         std::ranges::all_of(name, IsNameByte);
}

// The names in tzdata.zi, each with the zone that it is a link to, or with itself. A zone is
// "Z name ...", a link is "L zone name".
std::map<std::string, std::string> ReadNames(const std::string& path) {
  std::map<std::string, std::string> zone_of;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    const bool is_link = words[0] == "L" && words.size() == 3;
    if (!is_link && (words[0] != "Z" || words.size() < 2)) continue;
    const absl::string_view zone = words[1];
    const absl::string_view name = is_link ? words[2] : zone;
    if (!IsName(StdView(name)) || !IsName(StdView(zone))) continue;
    zone_of.emplace(name, zone);
  }
  return zone_of;
}

}  // namespace

TimeZones::TimeZones(const std::string& directory) {
  WEIR_CHECK(directory.starts_with('/'));
  zones_.push_back({std::string(kUtcName), absl::UTCTimeZone()});
  const std::map<std::string, std::string> zone_of = ReadNames(directory + "/tzdata.zi");
  for (const auto& [name, zone] : zone_of) {
    if (name == kUtcName) continue;
    // A link shares the memory of its zone.
    if (!Add(directory, name, zone)) Add(directory, name, name);
  }
  WEIR_CHECK(zones_.size() <= UINT16_MAX);
}

// Adds the zone of a file under a name, if abseil can read the file. abseil reads TZDIR unless the
// name of the file is a path.
bool TimeZones::Add(const std::string& directory, std::string_view name, std::string_view file) {
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(absl::StrCat(directory, "/", AbslView(file)), &zone)) return false;
  zones_.push_back({std::string(name), zone});
  return true;
}

std::optional<ZoneId> TimeZones::Find(std::string_view name) const noexcept {
  if (name == kUtcName) return kUtc;
  const auto others = zones_.begin() + 1;
  const auto found = std::ranges::lower_bound(others, zones_.end(), name, {}, &NamedZone::name);
  if (found == zones_.end() || found->name != name) return std::nullopt;
  return ZoneId{static_cast<std::uint16_t>(found - zones_.begin())};
}

std::string_view TimeZones::NameOf(ZoneId id) const noexcept {
  WEIR_CHECK(NumberOf(id) < zones_.size());
  return zones_[NumberOf(id)].name;
}

const absl::TimeZone& TimeZones::Zone(ZoneId id) const noexcept {
  WEIR_CHECK(NumberOf(id) < zones_.size());
  return zones_[NumberOf(id)].zone;
}

const TimeZones& SystemTimeZones() {
  static const TimeZones kZones(kSystemDirectory);
  return kZones;
}

}  // namespace weir
