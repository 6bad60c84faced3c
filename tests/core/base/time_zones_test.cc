// Goal: a zone has exactly a name that the database lists, and comes from the database's directory
// alone. Method: the system's database; small databases in a temporary directory.
#include "core/base/time_zones.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "absl/time/civil_time.h"
#include "gtest/gtest.h"

#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

// A database of these lines, whose only file is the system's of Berlin.
struct Database {
  explicit Database(std::string_view lines) {
    directory.Write("tzdata.zi", lines);
    std::filesystem::create_directory(directory.path() + "/Europe");
    std::filesystem::copy("/usr/share/zoneinfo/Europe/Berlin", directory.path() + "/Europe/Berlin");
  }

  TemporaryDirectory directory;
};

// The hours by which the clocks of a zone are ahead of UTC on July 1, 2026.
int SummerOffsetHours(const TimeZones& zones, std::string_view name) {
  const absl::TimeZone& zone = zones.Zone(zones.Find(name).value());
  return zone.At(absl::FromCivil(absl::CivilDay(2026, 7, 1), absl::UTCTimeZone())).offset / 3600;
}

TEST(TimeZonesTest, KnowsEveryNameOfTheSystemsDatabaseAndItsClocks) {
  const TimeZones& zones = SystemTimeZones();
  EXPECT_GT(zones.size(), 500U);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const ZoneId id{static_cast<std::uint16_t>(i)};
    names.insert(zones.NameOf(id));
    EXPECT_EQ(zones.Find(zones.NameOf(id)), id) << zones.NameOf(id);
  }
  EXPECT_EQ(names.size(), zones.size());
  EXPECT_EQ(SummerOffsetHours(zones, "Europe/Berlin"), 2);
  EXPECT_EQ(SummerOffsetHours(zones, "Asia/Kolkata"), 5);
  EXPECT_EQ(SummerOffsetHours(zones, "Asia/Calcutta"), 5);  // a link
  EXPECT_EQ(SummerOffsetHours(zones, "America/New_York"), -4);
  EXPECT_EQ(SummerOffsetHours(zones, "Etc/GMT+12"), -12);
  EXPECT_EQ(zones.Find("UTC"), kUtc);
  EXPECT_EQ(SummerOffsetHours(zones, "UTC"), 0);
}

TEST(TimeZonesTest, KnowsNoOtherName) {
  for (const std::string_view name : {"",
                                      "utc",
                                      "europe/berlin",
                                      "Europe",
                                      "Europe/",
                                      "Europe/Berlin ",
                                      "/Europe/Berlin",
                                      "/usr/share/zoneinfo/Europe/Berlin",
                                      "../zoneinfo/Europe/Berlin",
                                      "Europe/../Europe/Berlin",
                                      "Europe/Berlin/..",
                                      ".",
                                      "..",
                                      "tzdata.zi",
                                      "zone.tab",
                                      "Fixed/UTC+01:00:00",
                                      "Fixed/UTC",
                                      "libc:localtime",
                                      "libc:UTC",
                                      "file:Europe/Berlin",
                                      "right/Europe/Berlin",
                                      "posix/Europe/Berlin",
                                      "posixrules",
                                      "localtime",
                                      ":Europe/Berlin",
                                      "CET-1CEST",
                                      "+01:00"}) {
    EXPECT_EQ(SystemTimeZones().Find(name), std::nullopt) << name;
  }
  EXPECT_EQ(SystemTimeZones().Find(std::string_view("UTC\0", 4)), std::nullopt);
  EXPECT_EQ(SystemTimeZones().Find(std::string(1 << 20, 'A')), std::nullopt);
}

TEST(TimeZonesTest, OnlyUtcIsThereWithoutADatabase) {
  const TemporaryDirectory empty;
  const TimeZones zones(empty.path());
  EXPECT_EQ(zones.size(), 1U);
  EXPECT_EQ(zones.Find("UTC"), kUtc);
  EXPECT_EQ(zones.Find("Europe/Berlin"), std::nullopt);
  EXPECT_EQ(zones.NameOf(kUtc), "UTC");
}

TEST(TimeZonesTest, ReadsZonesAndLinksAndIgnoresTheRest) {
  const Database database(
      "# version 2025b\n"
      "R E 1977 1980 - Ap Su>=1 1u 1 S\n"
      "Z Europe/Berlin 0:53:28 - LMT 1893 Ap\n"
      "1 c CE%sT 1945 May 24 2\n"
      "L Europe/Berlin Arctic/Longyearbyen\n"
      "L Europe/Paris Europe/Monaco\n"
      "Z Europe/Oslo 1 - CET\n"
      "L Europe/Berlin\n"
      "Z\n"
      "L Europe/Berlin ../up\n"
      "L Europe/Berlin /root\n"
      "L Europe/Berlin a,b\n"
      "L Europe/Berlin ");
  const TimeZones zones(database.directory.path());
  EXPECT_EQ(zones.size(), 3U);
  EXPECT_EQ(SummerOffsetHours(zones, "Europe/Berlin"), 2);
  EXPECT_EQ(SummerOffsetHours(zones, "Arctic/Longyearbyen"), 2);
  EXPECT_EQ(zones.Find("Europe/Oslo"), std::nullopt);  // It has no file.
}

TEST(TimeZonesTest, EnvironmentChangesNothing) {
  const Database database("Z Europe/Berlin 1 c CE%sT\n");
  const TemporaryDirectory other;
  setenv("TZDIR", other.path().c_str(), 1);
  setenv("TZ", "America/New_York", 1);
  const TimeZones zones(database.directory.path());
  unsetenv("TZDIR");
  unsetenv("TZ");
  EXPECT_EQ(SummerOffsetHours(zones, "Europe/Berlin"), 2);
  EXPECT_EQ(SummerOffsetHours(zones, "UTC"), 0);
}

}  // namespace
}  // namespace weir
