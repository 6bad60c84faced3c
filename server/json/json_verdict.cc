#include "server/json/json_verdict.h"

#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"

#include "core/commands/reply_numbers.h"
#include "protocol/json_string.h"

namespace weir {
namespace {

// The first number of a verdict and of a decision says whether it is allowed.
const char* Allowed(std::int64_t number) noexcept {
  return number == 0 ? "\"allowed\":false" : "\"allowed\":true";
}

// Appends the fields behind the first one.
void AppendFields(std::span<const char* const> names, std::span<const std::int64_t> numbers,
                  std::string& out) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    absl::StrAppend(&out, ",\"", names[i], "\":", numbers[i]);
  }
}

// Appends a row for each decision of a verdict; `asked_at(i)` is the AskedLimit of decision i.
template <typename AskedAt>
void AppendRows(const Verdict& verdict, std::string& out, AskedAt asked_at) {
  out += ",\"limits\":[";
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    const AskedLimit asked = asked_at(i);
    const auto decided = DecisionNumbers(asked, verdict.decisions[i]);
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    AppendJsonString(asked.name, out);
    absl::StrAppend(&out, ",", Allowed(decided.front()));
    AppendFields(kDecisionFields, decided, out);
    out += '}';
  }
  out += ']';
}

}  // namespace

void AppendJsonVerdict(const ParsedRequest& request, std::int64_t first, const Verdict& verdict,
                       std::string& out) {
  const auto numbers = VerdictNumbers(verdict);
  absl::StrAppend(&out, "{", Allowed(numbers.front()));
  const bool takes = request.upto > 0;
  if (takes) absl::StrAppend(&out, ",\"granted\":", first);
  AppendFields(kVerdictFields, numbers, out);
  if (request.with_limits) {
    AppendRows(verdict, out, [&](std::size_t i) { return AskedLimitAt(request, i); });
  }
  out += '}';
}

void AppendJsonSettled(const ParsedSettlement& request, const Settled& settled,
                       std::span<const AskedLimit> limits, std::string& out) {
  out += settled.settled ? "{\"settled\":true" : "{\"settled\":false";
  AppendFields(kVerdictFields, VerdictNumbers(settled.verdict), out);
  if (request.with_limits) {
    AppendRows(settled.verdict, out, [&](std::size_t i) { return limits[i]; });
  }
  out += '}';
}

}  // namespace weir
