#include "server/json/json_verdict.h"

#include <cstddef>
#include <span>

#include "core/commands/reply_numbers.h"
#include "protocol/json_writer.h"

namespace weir {
namespace {

// Appends the fields behind the first one, which says whether the request is allowed.
void AppendFields(std::span<const char* const> names, std::span<const std::int64_t> numbers,
                  JsonWriter json) {
  for (std::size_t i = 1; i < names.size(); ++i) json.Field(names[i], numbers[i]);
}

// Appends a row for each decision of a verdict; `asked_at(i)` is the AskedLimit of decision i.
template <typename AskedAt>
void AppendRows(const Verdict& verdict, JsonWriter json, AskedAt asked_at) {
  json.Array("limits");
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    const AskedLimit asked = asked_at(i);
    const auto decided = DecisionNumbers(asked, verdict.decisions[i]);
    json.Object().Field("name", asked.name).Field("allowed", decided.front() != 0);
    AppendFields(std::span(kDecisionFields).first(DecisionFieldsOf(asked)), decided, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void AppendJsonVerdict(const ParsedRequest& request, std::int64_t first, const Verdict& verdict,
                       std::string& out) {
  const auto numbers = VerdictNumbers(verdict);
  JsonWriter json(out);
  json.Object().Field("allowed", numbers.front() != 0);
  if (request.upto > 0) json.Field("granted", first);
  AppendFields(kVerdictFields, numbers, json);
  if (request.checks.has_alternatives()) {
    const auto decider =
        static_cast<std::int64_t>(request.checks.AlternativeOf(verdict.limit_index));
    json.Field("alternative", verdict.allowed ? decider : -1);
  }
  if (request.with_limits) {
    AppendRows(verdict, json, [&](std::size_t i) { return AskedLimitAt(request, i); });
  }
  json.EndObject();
}

void AppendJsonSettled(const ParsedSettlement& request, const Settled& settled,
                       std::span<const AskedLimit> limits, std::string& out) {
  JsonWriter json(out);
  json.Object().Field("settled", settled.settled);
  AppendFields(kVerdictFields, VerdictNumbers(settled.verdict), json);
  if (request.with_limits) {
    AppendRows(settled.verdict, json, [&](std::size_t i) { return limits[i]; });
  }
  json.EndObject();
}

}  // namespace weir
