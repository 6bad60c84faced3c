#include "server/page/limits_body.h"

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/commands/request_grammar.h"
#include "protocol/resp_parser.h"

namespace weir {

absl::Status LimitsBody::ReadLimits(std::string_view body) { return Read(body); }

absl::Status LimitsBody::ReadSimulation(std::string_view body) {
  simulates_ = true;
  WEIR_RETURN_IF_ERROR(Read(body));
  if (!arrivals_ms_.empty()) return absl::OkStatus();
  field_ = Field::kArrivals;
  return Refusal();
}

absl::Status LimitsBody::Read(std::string_view body) {
  WEIR_RETURN_IF_ERROR(ReadJson(body, *this));
  if (limits_.empty()) {
    field_ = Field::kLimits;
    return Refusal();
  }
  limit_views_.assign(limits_.begin(), limits_.end());
  return absl::OkStatus();
}

// The error for a value that the present field cannot have.
absl::Status LimitsBody::Refusal() const {
  switch (field_) {
    case Field::kLimits:
      return absl::InvalidArgumentError(
          absl::StrCat("invalid field 'limits': must be a list of 1 to ", kChecksMax,
                       R"( limits, as in ["10/s"])"));
    case Field::kArrivals:
      return absl::InvalidArgumentError(
          absl::StrCat("invalid field 'arrivals_ms': must be a list of 1 to ", kArrivalsMax,
                       " whole numbers from 0 to ", kArrivalMsMax, ", none below the one before"));
    case Field::kCost:
      return absl::InvalidArgumentError("invalid field 'cost': must be a whole number from 0");
    default:
      return absl::InvalidArgumentError(R"(the body must be an object with "limits")");
  }
}

absl::Status LimitsBody::OnBegin(char bracket) {
  ++depth_;
  if (depth_ == 1 && bracket == '{') return absl::OkStatus();
  const bool is_list = field_ == Field::kLimits || field_ == Field::kArrivals;
  return depth_ == 2 && bracket == '[' && is_list ? absl::OkStatus() : Refusal();
}

absl::Status LimitsBody::OnEnd(char /*bracket*/) {
  --depth_;
  return absl::OkStatus();
}

absl::Status LimitsBody::OnName(std::string_view name) {
  field_ = name == "limits" ? Field::kLimits : Field::kNone;
  if (simulates_ && name == "arrivals_ms") field_ = Field::kArrivals;
  if (simulates_ && name == "cost") field_ = Field::kCost;
  if (field_ == Field::kNone) {
    return absl::InvalidArgumentError(absl::StrCat("unknown field ", Quote(name),
                                                   ": known are limits",
                                                   simulates_ ? ", arrivals_ms, cost" : ""));
  }
  const unsigned bit = 1U << static_cast<unsigned>(field_);
  if ((seen_ & bit) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("field ", Quote(name), " stands there twice"));
  }
  seen_ |= bit;
  return absl::OkStatus();
}

absl::Status LimitsBody::OnText(std::string_view text) {
  if (depth_ != 2 || field_ != Field::kLimits || limits_.size() == kChecksMax) return Refusal();
  // Among the words of a request it would not be read as a limit.
  const bool is_word = !IsRequestKeyword(text) && text.size() <= kRespCaps.arg_bytes_max;
  if (!is_word) return absl::InvalidArgumentError(absl::StrCat("invalid limit ", Quote(text)));
  limits_.emplace_back(text);
  return absl::OkStatus();
}

absl::Status LimitsBody::OnNumber(std::string_view /*text*/, std::optional<std::int64_t> integer) {
  if (!integer || *integer < 0) return Refusal();
  if (depth_ == 1 && field_ == Field::kCost) {
    cost_ = *integer;
    return absl::OkStatus();
  }
  const bool is_next = depth_ == 2 && field_ == Field::kArrivals && *integer <= kArrivalMsMax &&
                       arrivals_ms_.size() < kArrivalsMax &&
                       (arrivals_ms_.empty() || arrivals_ms_.back() <= *integer);
  if (!is_next) return Refusal();
  arrivals_ms_.push_back(*integer);
  return absl::OkStatus();
}

absl::Status LimitsBody::OnLiteral(std::optional<bool> /*value*/) { return Refusal(); }

}  // namespace weir
