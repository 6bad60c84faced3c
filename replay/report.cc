#include "replay/report.h"

#include <chrono>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status.h"
#include "core/base/wide.h"

namespace weir {
namespace {

// 2026-11-25 02:36:56.250 UTC: milliseconds, and only if there are some.
std::string TimeText(Instant at) {
  const auto since_epoch = at.time_since_epoch();
  const auto days = std::chrono::floor<std::chrono::days>(since_epoch);
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(since_epoch - days).count();
  const auto second = millis / 1000;
  std::string text =
      absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                      second / 3600, second / 60 % 60, second % 60);
  if (millis % 1000 != 0) absl::StrAppendFormat(&text, ".%03d", millis % 1000);
  return text + " UTC";
}

// "99.999 %", rounded down, so that 100 % are all.
std::string Share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  const auto thousandths =
      static_cast<std::uint64_t>(static_cast<Wide>(part) * 100'000 / static_cast<Wide>(whole));
  return absl::StrFormat("%d.%03d %%", thousandths / 1000, thousandths % 1000);
}

// "1 line", "2 lines".
std::string Count(std::uint64_t number, std::string_view noun) {
  return absl::StrCat(number, " ", AbslView(noun), number == 1 ? "" : "s");
}

void AppendLog(std::string& text, const LogReport& log) {
  absl::StrAppend(&text, Printable(log.name), ": ", Count(log.lines, "line"), ", ",
                  Count(log.requests, "request"));
  if (log.refunds > 0) {
    absl::StrAppend(&text, ", ", log.refunds, log.refunds == 1 ? " refund or" : " refunds and",
                    log.refunds == 1 ? " reset" : " resets");
  }
  absl::StrAppend(&text, "\nfrom ", TimeText(log.begin), " to ", TimeText(log.end), "\n");
  if (log.format != LogFormat::kAccess) {
    absl::StrAppend(&text, "read as ", AbslView(NameOf(log.format)), "\n");
  }
  if (log.passed_over > 0) {
    absl::StrAppend(&text, Count(log.passed_over, "line"), " passed over: no request\n");
  }
  if (log.bad_lines == 0) return;
  absl::StrAppend(&text, Count(log.bad_lines, "bad line"), " left out:\n");
  for (const BadLine& line : log.first_bad_lines) {
    absl::StrAppend(&text, "  line ", line.number, ": ", Printable(line.error), "\n");
  }
  if (log.bad_lines > log.first_bad_lines.size()) absl::StrAppend(&text, "  ...\n");
  if (log.late_lines == 0) return;
  absl::StrAppend(&text, log.late_lines, log.late_lines == 1 ? " of these goes" : " of these go",
                  " back in time too far; the latest time is that of line ", log.end_line, "\n");
}

void AppendRow(std::string& text, std::string_view name, std::uint64_t number,
               std::string_view more) {
  absl::StrAppendFormat(&text, "  %-15s %14d", AbslView(name), number);
  if (!more.empty()) absl::StrAppendFormat(&text, "  %10s", AbslView(more));
  text += '\n';
}

void AppendAsk(std::string& text, const AskReport& ask, std::string_view fit_percent) {
  const std::uint64_t denied = ask.requests - ask.admitted;
  absl::StrAppend(&text, "\n", Printable(ask.ask), "\n");
  AppendRow(text, "requests", ask.requests, "");
  AppendRow(text, "admitted", ask.admitted, Share(ask.admitted, ask.requests));
  for (std::size_t i = 0; i < ask.by_alternative.size(); ++i) {
    AppendRow(text, absl::StrCat("  alternative ", i), ask.by_alternative[i],
              Share(ask.by_alternative[i], ask.requests));
  }
  AppendRow(text, "denied", denied, Share(denied, ask.requests));
  AppendRow(text, "keys denied", ask.keys_denied, "");
  absl::StrAppendFormat(&text, "\n  %14s %14s  limit\n", "its denials", "decided");
  for (const LimitReport& limit : ask.limits) {
    absl::StrAppendFormat(&text, "  %14d %14d  %s\n", limit.denials, limit.decided,
                          Printable(limit.name));
  }
  if (!ask.worst_keys.empty()) {
    absl::StrAppendFormat(&text, "\n  %14s %14s  %-27s  key\n", "denials", "in a row",
                          "first denial");
  }
  for (const DeniedKey& key : ask.worst_keys) {
    absl::StrAppendFormat(&text, "  %14d %14d  %-27s  %s\n", key.denials, key.longest_streak,
                          TimeText(key.first), Printable(key.key));
  }
  if (fit_percent.empty()) return;
  absl::StrAppend(&text, "\n  the smallest burst that admits ", AbslView(fit_percent),
                  " %, each limit alone\n");
  for (const FitReport& fit : ask.fits) {
    absl::StrAppendFormat(&text, "  %14s  %s\n", fit.burst ? absl::StrCat(*fit.burst) : "none",
                          Printable(fit.limit));
  }
  if (ask.fits.empty()) absl::StrAppend(&text, "  no limit of this ask has a burst\n");
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  for (const char byte : text) {
    if (byte == '\\') {
      printable += "\\\\";
    } else if (byte >= ' ' && byte <= '~') {
      printable += byte;
    } else {
      absl::StrAppendFormat(&printable, "\\x%02x", static_cast<unsigned char>(byte));
    }
  }
  return printable;
}

std::vector<std::string> Caveats(const LogReport& log) {
  std::vector<std::string> caveats;
  caveats.emplace_back(
      "Clients react to denials by waiting, repeating or giving up; a log does not.");
  if (log.format == LogFormat::kMonitor) {
    caveats.emplace_back(
        "MONITOR cuts words after 512 bytes and costs the server a line for each request: capture "
        "briefly.");
  }
  return caveats;
}

std::string TableOf(const Report& report) {
  std::string text;
  AppendLog(text, report.log);
  for (const AskReport& ask : report.asks) AppendAsk(text, ask, report.fit_percent);
  if (report.comparison) {
    absl::StrAppend(&text, "\nadmitted by\n");
    AppendRow(text, "both", report.comparison->both, "");
    AppendRow(text, "only the first", report.comparison->only_first, "");
    AppendRow(text, "only the second", report.comparison->only_second, "");
    AppendRow(text, "neither", report.comparison->neither, "");
  }
  text += '\n';
  for (const std::string& caveat : Caveats(report.log)) absl::StrAppend(&text, caveat, "\n");
  return text;
}

}  // namespace weir
