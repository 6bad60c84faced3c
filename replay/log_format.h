// The formats of logs, as their lines show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

enum class LogFormat : std::uint8_t { kAccess, kCsv, kJson, kMonitor };

// The name of a format for programs, and for people: "csv", "a CSV file".
[[nodiscard]] std::string_view WordOf(LogFormat format);
[[nodiscard]] std::string_view NameOf(LogFormat format);

// Returns the format that the first bytes of a line tell: an object is JSON, a time with a client
// in brackets is MONITOR's, and a time or the names of columns with commas are CSV. Returns nothing
// for any other line, those of access logs among them. Pure.
[[nodiscard]] std::optional<LogFormat> TellFormat(std::string_view line);

// A kind of log that weir-replay does not read, and what helps: "syslog", "the part of each line
// ...".
struct UnreadFormat {
  std::string_view name;
  std::string_view use;
};

// Returns what the first line of a log that has no request looks like. Pure.
[[nodiscard]] std::optional<UnreadFormat> TellUnread(std::string_view line);

}  // namespace weir
