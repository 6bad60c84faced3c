#include <string>

#include <nlohmann/json.hpp>

#include "replay/report.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t UnixNanos(Instant at) { return at.time_since_epoch().count(); }

Json JsonOf(const LogReport& log) {
  Json bad = Json::array();
  for (const BadLine& line : log.first_bad_lines) {
    bad.push_back({{"line", line.number}, {"error", line.error}});
  }
  return {{"name", log.name},
          {"format", WordOf(log.format)},
          {"lines", log.lines},
          {"requests", log.requests},
          {"refunds_and_resets", log.refunds},
          {"passed_over", log.passed_over},
          {"bad_lines", log.bad_lines},
          {"late_lines", log.late_lines},
          {"first_bad_lines", bad},
          {"begin_ns", UnixNanos(log.begin)},
          {"end_ns", UnixNanos(log.end)},
          {"end_line", log.end_line}};
}

Json JsonOf(const AskReport& ask) {
  Json limits = Json::array();
  for (const LimitReport& limit : ask.limits) {
    limits.push_back(
        {{"limit", limit.name}, {"denials", limit.denials}, {"decided", limit.decided}});
  }
  Json worst = Json::array();
  for (const DeniedKey& key : ask.worst_keys) {
    worst.push_back({{"key", key.key},
                     {"denials", key.denials},
                     {"longest_streak", key.longest_streak},
                     {"first_denial_ns", UnixNanos(key.first)}});
  }
  Json fits = Json::array();
  for (const FitReport& fit : ask.fits) {
    fits.push_back({{"limit", fit.limit}, {"burst", fit.burst ? Json(*fit.burst) : Json()}});
  }
  Json json = {{"ask", ask.ask},
               {"requests", ask.requests},
               {"admitted", ask.admitted},
               {"denied", ask.requests - ask.admitted},
               {"keys_denied", ask.keys_denied},
               {"limits", limits},
               {"worst_keys", worst},
               {"fits", fits}};
  if (!ask.by_alternative.empty()) json["admitted_by_alternative"] = ask.by_alternative;
  return json;
}

}  // namespace

std::string JsonOf(const Report& report) {
  Json json = {{"log", JsonOf(report.log)}, {"asks", Json::array()}};
  for (const AskReport& ask : report.asks) json["asks"].push_back(JsonOf(ask));
  if (report.comparison) {
    json["comparison"] = {{"both", report.comparison->both},
                          {"only_first", report.comparison->only_first},
                          {"only_second", report.comparison->only_second},
                          {"neither", report.comparison->neither}};
  }
  if (!report.fit_percent.empty()) json["fit_percent"] = report.fit_percent;
  json["caveats"] = Caveats(report.log);
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir
