#include "replay/log_format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include "core/base/status.h"
#include "replay/civil_time.h"
#include "replay/log_reader.h"

namespace weir {
namespace {

// True if `text` begins with the shape: 9 stands for a digit, A for a letter, any other byte for
// itself.
bool HasShape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool fits = shape[i] == '9'   ? absl::ascii_isdigit(byte)
                      : shape[i] == 'A' ? absl::ascii_isalpha(byte)
                                        : text[i] == shape[i];
    if (!fits) return false;
  }
  return true;
}

std::string_view AfterDigits(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of("0123456789"), text.size()));
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// True for "1700000000.25 [0 ", with or without a +, and for the OK before such lines.
bool IsMonitor(std::string_view line) {
  if (line.starts_with('+')) line.remove_prefix(1);
  if (line == "OK") return true;
  const std::string_view point = AfterDigits(line);
  if (point.size() == line.size() || !point.starts_with('.')) return false;
  const std::string_view blank = AfterDigits(point.substr(1));
  return blank.size() + 1 < point.size() && HasShape(blank, " [9");
}

bool IsTime(std::string_view text) {
  return ReadIsoTime(text).has_value() || ParseUnixSeconds(text).ok();
}

// True if names are between the commas, and one of them is that of a time.
bool IsHeader(std::string_view line) {
  constexpr auto kTimes = std::to_array<std::string_view>(
      {"time", "timestamp", "@timestamp", "ts", "date", "datetime"});
  static constexpr std::string_view kMarks = "_-. @";
  const std::vector<std::string> fields = absl::StrSplit(AbslView(line), ',');
  bool has_time = false;
  for (const std::string& field : fields) {
    std::string name(absl::StripAsciiWhitespace(field));
    if (name.size() > 2 && name.front() == '"' && name.back() == '"') {
      name = name.substr(1, name.size() - 2);
    }
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char byte) {
      return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || Contains(kMarks, {&byte, 1});
    });
    if (!is_name) return false;
    absl::AsciiStrToLower(&name);
    has_time = has_time || std::ranges::count(kTimes, name) > 0;
  }
  return has_time && fields.size() > 1;
}

bool IsCsv(std::string_view line) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return false;
  std::string_view first = line.substr(0, comma);
  if (first.size() > 2 && first.front() == '"' && first.back() == '"') {
    first = first.substr(1, first.size() - 2);
  }
  return IsTime(first) || IsHeader(line);
}

// The time at the front of the line, up to the next blank, is one of ISO 8601 with a T.
std::string_view AfterIsoTime(std::string_view line) {
  const std::size_t end = std::min(line.find_first_of(" \t;]"), line.size());
  return ReadIsoTime(line.substr(0, end)) ? line.substr(end) : "";
}

bool IsSyslog(std::string_view line) {
  if (line.starts_with('<') && AfterDigits(line.substr(1)).starts_with('>')) return true;
  const std::string_view host = AfterIsoTime(line);
  const bool has_host = host.starts_with(' ') && Contains(host, ": ");
  return has_host || HasShape(line, "AAA 99 99:99:99 ") || HasShape(line, "AAA  9 99:99:99 ");
}

bool IsBalancer(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  constexpr auto kTypes =
      std::to_array<std::string_view>({"http", "https", "h2", "grpcs", "ws", "wss"});
  return std::ranges::count(kTypes, line.substr(0, blank)) > 0 &&
         AfterIsoTime(line.substr(std::min(blank + 1, line.size()))).starts_with(" app/");
}

bool IsLogfmt(std::string_view line) {
  const std::size_t equals = line.find_first_of("= ,\"");
  return equals != std::string_view::npos && equals > 0 && line[equals] == '=';
}

struct UnreadRow {
  UnreadFormat format;
  bool (*is)(std::string_view line);
};

constexpr UnreadRow kUnread[] = {
    {{"text in UTF-16", "iconv -f utf-16 -t utf-8"},
     [](std::string_view line) {
       return line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF");
     }},
    {{"a binary file", "the same log as text"},
     [](std::string_view line) {
       return Contains(line, {"\0", 1});
     }},
    {{"an array of JSON", "jq -c '.[]'"},
     [](std::string_view line) {
       const std::size_t next = line.find_first_not_of(" \t", 1);
       return line.starts_with('[') && (next == std::string_view::npos || line[next] == '{');
     }},
    {{"JSON of several lines", "jq -c ."}, [](std::string_view line) { return line == "{"; }},
    {{"Docker's file of a container's output", "docker logs, or jq -rj .log"},
     [](std::string_view line) {
       return line.starts_with(R"({"log":")") && Contains(line, R"("stream":"std)");
     }},
    {{"systemd's journal in JSON", "journalctl -o cat"},
     [](std::string_view line) {
       return line.starts_with('{') && Contains(line, R"("__REALTIME_TIMESTAMP")");
     }},
    {{"the log of an AWS load balancer", "awk '{print $2\",\"$4}' and --csv"}, IsBalancer},
    {{"a log of W3C's extended format", "awk for lines of time,key, and --csv"},
     [](std::string_view line) {
       return line.starts_with("#Software:") || line.starts_with("#Version:") ||
              line.starts_with("#Fields:");
     }},
    {{"nginx's log of errors", "its access log"},
     [](std::string_view line) { return HasShape(line, "9999/99/99 99:99:99 ["); }},
    {{"Apache's log of errors", "its access log"},
     [](std::string_view line) { return HasShape(line, "[AAA AAA 99 99:99:99"); }},
    {{"Caddy's console format", "`format json` in Caddy's log"},
     [](std::string_view line) { return HasShape(line, "9999/99/99 99:99:99.999\t"); }},
    {{"Envoy's format", "Envoy's json_format, with --json-fields"},
     [](std::string_view line) {
       return line.starts_with('[') && AfterIsoTime(line.substr(1)).starts_with("] \"");
     }},
    {{"the log of HAProxy", "`option httplog clf` in HAProxy, and what is behind its name"},
     [](std::string_view line) {
       const std::size_t time = std::min(line.find(" ["), line.size());
       return Contains(line, " haproxy[") ||
              HasShape(line.substr(time), " [99/AAA/9999:99:99:99.999] ");
     }},
    {{"syslog", "what is behind the program's name, as in sed 's/^.* nginx: //'"}, IsSyslog},
    {{"values with tabs", "tr '\\t' ',' and --csv"},
     [](std::string_view line) {
       const std::size_t tab = line.find('\t');
       return tab != std::string_view::npos && IsTime(line.substr(0, tab));
     }},
    {{"values with semicolons", "tr ';' ',' and --csv"},
     [](std::string_view line) {
       const std::size_t mark = line.find(';');
       return mark != std::string_view::npos && IsTime(line.substr(0, mark));
     }},
    {{"logfmt", "the same log as JSON, with --json-fields"}, IsLogfmt},
};

struct FormatNames {
  std::string_view word;
  std::string_view name;
};

// In the order of LogFormat.
constexpr auto kFormats = std::to_array<FormatNames>({{"access", "an access log"},
                                                      {"csv", "a CSV file"},
                                                      {"json", "JSON lines"},
                                                      {"monitor", "a capture of MONITOR"}});

const FormatNames& NamesOf(LogFormat format) {
  return kFormats.at(static_cast<std::size_t>(format));
}

}  // namespace

std::string_view WordOf(LogFormat format) { return NamesOf(format).word; }

std::string_view NameOf(LogFormat format) { return NamesOf(format).name; }

std::optional<LogFormat> TellFormat(std::string_view line) {
  if (line.starts_with('{')) return LogFormat::kJson;
  if (IsMonitor(line)) return LogFormat::kMonitor;
  if (IsCsv(line)) return LogFormat::kCsv;
  return std::nullopt;
}

std::optional<UnreadFormat> TellUnread(std::string_view line) {
  for (const UnreadRow& row : kUnread) {
    if (row.is(line)) return row.format;
  }
  return std::nullopt;
}

}  // namespace weir
