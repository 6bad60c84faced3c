#include "server/page/limits_body.h"

#include <array>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/commands/request_grammar.h"
#include "core/policies/policy.h"
#include "protocol/resp_parser.h"

namespace weir {
namespace {

enum BodyField : std::size_t { kLimitsField, kArrivalsField, kCostField };

constexpr auto kBodyFields = std::to_array<FieldRow>({
    {"limits", JsonKind::kText, R"(a list of 1 to 64 limits, as in ["10/s"])", true},
    {"arrivals_ms", JsonKind::kNumber,
     "a list of 1 to 10000 whole numbers from 0 to 31622400000, none below the one before", true},
    {"cost", JsonKind::kNumber, "a whole number from 0"},
});
static_assert(kChecksMax == 64 && kArrivalsMax == 10'000 && kArrivalMsMax == 31'622'400'000);

}  // namespace

LimitsBody::LimitsBody() : FieldReader(kBodyFields) {}

absl::Status LimitsBody::ReadLimits(std::string_view body) {
  WEIR_RETURN_IF_ERROR(Read(body));
  limit_views_.assign(limits_.begin(), limits_.end());
  return limits_.empty() ? Refuse(kLimitsField) : absl::OkStatus();
}

absl::Status LimitsBody::ReadSimulation(std::string_view body) {
  simulates_ = true;
  WEIR_RETURN_IF_ERROR(ReadLimits(body));
  return arrivals_ms_.empty() ? Refuse(kArrivalsField) : absl::OkStatus();
}

bool LimitsBody::IsKnown(std::size_t field) const { return simulates_ || field == kLimitsField; }

absl::Status LimitsBody::NoObject() {
  return absl::InvalidArgumentError(R"(the body must be an object with "limits")");
}

absl::Status LimitsBody::Store(std::size_t field, const JsonValue& value) {
  if (field == kLimitsField) {
    if (limits_.size() == kChecksMax) return Refuse(field);
    // Among the words of a request it would not be read as a limit.
    const bool is_word =
        !IsRequestKeyword(value.text) && value.text.size() <= kRespCaps.arg_bytes_max;
    if (!is_word) return Fail(absl::StrCat("invalid limit ", Quote(value.text)));
    limits_.emplace_back(value.text);
  } else if (field == kArrivalsField) {
    const std::int64_t first = arrivals_ms_.empty() ? 0 : arrivals_ms_.back();
    const bool fits = arrivals_ms_.size() < kArrivalsMax && *value.integer >= first &&
                      *value.integer <= kArrivalMsMax;
    if (!fits) return Refuse(field);
    arrivals_ms_.push_back(*value.integer);
  } else {
    cost_ = *value.integer;
  }
  return absl::OkStatus();
}

}  // namespace weir
