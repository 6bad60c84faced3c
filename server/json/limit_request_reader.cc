#include "server/json/limit_request_reader.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/request_grammar.h"
#include "server/json/json_body.h"

namespace weir {
namespace {

constexpr auto kLimitCommands = std::to_array<LimitCommand>({
    {.name = "allow", .command = "RL.ALLOW"},
    {.name = "charge", .command = "RL.CHARGE"},
    {.name = "peek", .command = "RL.PEEK"},
    {.name = "refund", .command = "RL.REFUND"},
    {.name = "take", .command = "RL.TAKE", .takes_upto = true},
});

constexpr char kNoRequest[] = "a request must be an object with key and limits";

// The names of the fields, and their values, by Field.
struct FieldRow {
  std::string_view name;
  std::string_view value;
};
constexpr auto kFields = std::to_array<FieldRow>({
    {"", ""},
    {"key", "a string"},
    {"limits", "a list of limits, as in [\"10/s\"]"},
    {"cost", "a whole number from 0 to 9223372036854775807"},
    {"and", "a list of objects, each with key, limits and cost"},
    {"details", "true or false"},
    {"upto", "a whole number from 1 to 9223372036854775807"},
    {"do", "allow, charge, peek, refund or take"},
});

}  // namespace

const LimitCommand* FindLimitCommand(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kLimitCommands, name, &LimitCommand::name);
  return found == kLimitCommands.end() ? nullptr : found;
}

absl::Status LimitRequestReader::ReadRequest(const LimitCommand& command) {
  command_ = &command;
  return ReadJson(body_, *this);
}

absl::Status LimitRequestReader::ReadBatch() {
  is_batch_ = true;
  WEIR_RETURN_IF_ERROR(ReadJson(body_, *this));
  if (seen_requests_) return absl::OkStatus();
  return absl::InvalidArgumentError("field 'requests' is missing: it must be a list of requests");
}

std::vector<std::span<const std::string_view>> LimitRequestReader::commands() const {
  std::vector<std::span<const std::string_view>> commands;
  commands.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (error(i).empty()) commands.push_back(words(i));
  }
  return commands;
}

absl::Status LimitRequestReader::Fail(std::string_view what) {
  if (!is_batch_) return absl::InvalidArgumentError(AbslView(what));
  requests_.back().error = what;
  failed_ = depth_ > 0;
  if (!failed_) place_ = Place::kRequests;
  return absl::OkStatus();
}

absl::Status LimitRequestReader::Refuse(Field field) {
  return Fail(absl::StrCat("invalid field '", NameOf(field), "': must be ",
                           AbslView(kFields[static_cast<std::size_t>(field)].value)));
}

std::string LimitRequestReader::NameOf(Field field) const {
  const absl::string_view name = AbslView(kFields[static_cast<std::size_t>(field)].name);
  if (!in_and_) return std::string(StdView(name));
  return absl::StrCat("and[", groups_.size() - 2, "].", name);
}

// Whether a field may stand in the present object.
bool LimitRequestReader::Allows(Field field) const {
  switch (field) {
    case Field::kNone:
      return false;
    case Field::kUpto:
      return !in_and_ && (is_batch_ || command_->takes_upto);
    case Field::kDo:
      return !in_and_ && is_batch_;
    case Field::kAnd:
    case Field::kDetails:
      return !in_and_;
    default:
      return true;
  }
}

std::string LimitRequestReader::KnownFields() const {
  std::string known;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!Allows(static_cast<Field>(i))) continue;
    absl::StrAppend(&known, known.empty() ? "" : ", ", AbslView(kFields[i].name));
  }
  return known;
}

absl::Status LimitRequestReader::BeginRequest() {
  if (requests_.size() == kJsonRequestsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("too many requests: a batch has at most ", kJsonRequestsMax));
  }
  requests_.emplace_back();
  if (is_batch_) command_ = kLimitCommands.data();
  groups_.assign(1, Group());
  limits_.clear();
  in_and_ = false;
  details_ = false;
  upto_ = {};
  return absl::OkStatus();
}

absl::Status LimitRequestReader::OnBegin(char bracket) {
  const bool begins_request =
      !failed_ && place_ == (is_batch_ ? Place::kRequests : Place::kOutside);
  if (begins_request) WEIR_RETURN_IF_ERROR(BeginRequest());
  if (begins_request || depth_ > 0) ++depth_;
  if (failed_) return absl::OkStatus();
  if (begins_request) {
    if (bracket != '{') return Fail(kNoRequest);
    place_ = Place::kRequest;
  } else if (place_ == Place::kOutside && bracket == '{') {
    place_ = Place::kBatch;
  } else if (place_ == Place::kBatch && bracket == '[') {
    place_ = Place::kRequests;
  } else if (place_ == Place::kAnd && bracket == '{') {
    place_ = Place::kGroup;
    in_and_ = true;
    groups_.emplace_back();
  } else if (field_ == Field::kLimits && bracket == '[' && place_ != Place::kLimits) {
    place_ = Place::kLimits;
    group().limits_begin = limits_.size();
  } else if (field_ == Field::kAnd && bracket == '[' && place_ == Place::kRequest) {
    place_ = Place::kAnd;
  } else {
    return OnScalar();
  }
  return absl::OkStatus();
}

absl::Status LimitRequestReader::OnEnd(char /*bracket*/) {
  if (depth_ > 0) --depth_;
  if (failed_) {
    if (depth_ > 0) return absl::OkStatus();
    failed_ = false;
    place_ = Place::kRequests;
    return absl::OkStatus();
  }
  switch (place_) {
    case Place::kRequest:
      return FinishRequest();
    case Place::kLimits:
      place_ = in_and_ ? Place::kGroup : Place::kRequest;
      group().limits_end = limits_.size();
      if (group().limits_end == group().limits_begin) return Refuse(Field::kLimits);
      return absl::OkStatus();
    case Place::kGroup:
      WEIR_RETURN_IF_ERROR(CheckFields(group()));
      place_ = Place::kAnd;
      field_ = Field::kAnd;
      in_and_ = false;
      return absl::OkStatus();
    case Place::kAnd:
      place_ = Place::kRequest;
      return absl::OkStatus();
    case Place::kRequests:
      place_ = Place::kBatch;
      return absl::OkStatus();
    default:
      place_ = Place::kOutside;
      return absl::OkStatus();
  }
}

absl::Status LimitRequestReader::OnName(std::string_view name) {
  if (failed_) return absl::OkStatus();
  if (place_ == Place::kBatch) {
    if (name != "requests") {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown field ", Quote(name), ": a batch has requests"));
    }
    if (seen_requests_) return absl::InvalidArgumentError("field 'requests' stands there twice");
    seen_requests_ = true;
    return absl::OkStatus();
  }
  const auto* const found = std::ranges::find(kFields, name, &FieldRow::name);
  field_ = found == kFields.end() ? Field::kNone : static_cast<Field>(found - kFields.begin());
  if (!Allows(field_)) {
    return Fail(absl::StrCat("unknown field ", Quote(name), ": known are ", KnownFields()));
  }
  if (Has(group(), field_)) {
    return Fail(absl::StrCat("field '", NameOf(field_), "' stands there twice"));
  }
  group().seen |= 1U << static_cast<unsigned>(field_);
  return absl::OkStatus();
}

// A value that does not fit its place.
absl::Status LimitRequestReader::OnScalar() {
  switch (place_) {
    case Place::kOutside:
      return absl::InvalidArgumentError(
          is_batch_ ? "a batch must be an object: {\"requests\":[...]}" : kNoRequest);
    case Place::kBatch:
      return absl::InvalidArgumentError("invalid field 'requests': must be a list of requests");
    case Place::kRequests:
      WEIR_RETURN_IF_ERROR(BeginRequest());
      return Fail(kNoRequest);
    default:
      return Refuse(field_);
  }
}

absl::Status LimitRequestReader::OnText(std::string_view text) {
  if (failed_) return absl::OkStatus();
  if (place_ == Place::kLimits) {
    // Among the words it would not be read as a limit.
    if (IsRequestKeyword(text)) return Fail(StdView(ParseLimitWord(text).status().message()));
    limits_.push_back(words_.Keep(text));
    return absl::OkStatus();
  }
  const bool in_object = place_ == Place::kRequest || place_ == Place::kGroup;
  if (in_object && field_ == Field::kKey) {
    group().key = words_.Keep(text);
    return absl::OkStatus();
  }
  if (in_object && field_ == Field::kDo) {
    command_ = FindLimitCommand(text);
    return command_ ? absl::OkStatus() : Refuse(field_);
  }
  return OnScalar();
}

absl::Status LimitRequestReader::OnNumber(std::string_view text,
                                          std::optional<std::int64_t> integer) {
  if (failed_) return absl::OkStatus();
  const bool in_object = place_ == Place::kRequest || place_ == Place::kGroup;
  if (in_object && field_ == Field::kCost && integer && *integer >= 0) {
    group().cost = words_.Keep(text);
    return absl::OkStatus();
  }
  if (in_object && field_ == Field::kUpto && integer && *integer >= 1) {
    upto_ = words_.Keep(text);
    return absl::OkStatus();
  }
  return OnScalar();
}

absl::Status LimitRequestReader::OnLiteral(std::optional<bool> value) {
  if (failed_) return absl::OkStatus();
  if (place_ != Place::kRequest || field_ != Field::kDetails || !value) return OnScalar();
  details_ = *value;
  return absl::OkStatus();
}

absl::Status LimitRequestReader::CheckFields(const Group& group) {
  for (const Field field : {Field::kKey, Field::kLimits}) {
    if (!Has(group, field)) return Fail(absl::StrCat("field '", NameOf(field), "' is missing"));
  }
  return absl::OkStatus();
}

void LimitRequestReader::AddGroup(const Group& group) {
  words_.Add(group.key);
  for (std::size_t i = group.limits_begin; i < group.limits_end; ++i) words_.Add(limits_[i]);
  if (group.cost.empty()) return;
  words_.Add("COST");
  words_.Add(group.cost);
}

absl::Status LimitRequestReader::FinishRequest() {
  place_ = is_batch_ ? Place::kRequests : Place::kOutside;
  const Group& first = groups_.front();
  if (!Has(first, Field::kKey) || !Has(first, Field::kLimits)) return CheckFields(first);
  if (upto_.empty() == command_->takes_upto) {
    return Fail(absl::StrCat("field 'upto' ", command_->takes_upto ? "is missing" : "is for take"));
  }
  words_.Add(command_->command);
  AddGroup(first);
  for (const Group& other : std::span(groups_).subspan(1)) {
    words_.Add("AND");
    AddGroup(other);
  }
  if (!upto_.empty()) {
    words_.Add("UPTO");
    words_.Add(upto_);
  }
  if (details_) words_.Add("WITHLIMITS");
  requests_.back().command = words_.size();
  const absl::Status ended = words_.EndCommand();
  return ended.ok() ? ended : Fail(StdView(ended.message()));
}

}  // namespace weir
