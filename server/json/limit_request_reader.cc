#include "server/json/limit_request_reader.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/commands/request_grammar.h"
#include "core/words/limit_grammar.h"
#include "server/json/json_body.h"

namespace weir {
namespace {

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
    {"hold", "a string, the id of a hold"},
    {"ttl_ms", "a whole number from 1 to 86400000"},
    {"do", kLimitCommandNames},
});
constexpr LimitFields kOfGroups = {LimitField::kKey, LimitField::kLimits, LimitField::kCost};

}  // namespace

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

absl::Status LimitRequestReader::Refuse(Field field) { return Fail(Refusal(field, GroupIndex())); }

std::string LimitRequestReader::Refusal(Field field, std::size_t group) {
  return absl::StrCat("invalid field '", NameOf(field, group), "': must be ",
                      AbslView(kFields[static_cast<std::size_t>(field)].value));
}

std::string LimitRequestReader::NameOf(Field field, std::size_t group) {
  const absl::string_view name = AbslView(kFields[static_cast<std::size_t>(field)].name);
  if (group == 0) return std::string(StdView(name));
  return absl::StrCat("and[", group - 1, "].", name);
}

// Whether a field may stand in the present object. In a batch, the command may come behind it.
bool LimitRequestReader::Allows(Field field) const {
  if (field == Field::kNone) return false;
  if (in_and_ && !kOfGroups.Has(field)) return false;
  if (field == Field::kLimits) return true;  // it may be empty
  return is_batch_ || command_->takes.Has(field);
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
  if (is_batch_) command_ = FindLimitCommand("allow");
  groups_.clear();
  groups_.emplace_back();
  limits_.clear();
  in_and_ = false;
  details_ = false;
  upto_ = {};
  hold_ = {};
  ttl_ = {};
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
      return absl::OkStatus();
    case Place::kGroup:
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
  if (group().seen.Has(field_)) {
    return Fail(absl::StrCat("field '", NameOf(field_, GroupIndex()), "' stands there twice"));
  }
  group().seen.Add(field_);
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
  if (!InObject()) return OnScalar();
  switch (field_) {
    case Field::kKey:
      group().key = words_.Keep(text);
      return absl::OkStatus();
    case Field::kHold:
      hold_ = words_.Keep(text);
      return absl::OkStatus();
    case Field::kDo:
      command_ = FindLimitCommand(text);
      return command_ ? absl::OkStatus() : Refuse(field_);
    default:
      return OnScalar();
  }
}

// Where a number of the present object is kept; null for a field that is no number.
std::string_view* LimitRequestReader::NumberOf(Field field) {
  switch (field) {
    case Field::kCost:
      return &group().cost;
    case Field::kUpto:
      return &upto_;
    case Field::kTtl:
      return &ttl_;
    default:
      return nullptr;
  }
}

absl::Status LimitRequestReader::OnNumber(std::string_view text,
                                          std::optional<std::int64_t> integer) {
  if (failed_) return absl::OkStatus();
  std::string_view* const number = InObject() ? NumberOf(field_) : nullptr;
  const std::int64_t min = field_ == Field::kCost ? 0 : 1;
  if (!number || !integer || *integer < min) return OnScalar();
  *number = words_.Keep(text);
  return absl::OkStatus();
}

absl::Status LimitRequestReader::OnLiteral(std::optional<bool> value) {
  if (failed_) return absl::OkStatus();
  if (place_ != Place::kRequest || field_ != Field::kDetails || !value) return OnScalar();
  details_ = *value;
  return absl::OkStatus();
}

std::string LimitRequestReader::Mistake() const {
  for (std::size_t i = groups_.size(); i-- > 0;) {
    std::string mistake = MistakeIn(i);
    if (!mistake.empty()) return mistake;
  }
  const LimitFields& seen = groups_.front().seen;
  if (!command_->takes.Has(Field::kTtl) || seen.Has(Field::kHold) == seen.Has(Field::kTtl)) {
    return {};
  }
  return absl::StrCat("field '", NameOf(seen.Has(Field::kHold) ? Field::kTtl : Field::kHold, 0),
                      "' is missing");
}

std::string LimitRequestReader::MistakeIn(std::size_t index) const {
  const Group& group = groups_[index];
  const bool has_limits = group.limits_begin != group.limits_end;
  // Most requests have all that they need, and nothing else.
  if (has_limits && group.seen.HasAll(command_->needs) && command_->takes.HasAll(group.seen)) {
    return {};
  }
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const auto field = static_cast<Field>(i);
    const bool is_seen = group.seen.Has(field);
    if (command_->needs.Has(field) && (index == 0 || kOfGroups.Has(field))) {
      if (!is_seen) return absl::StrCat("field '", NameOf(field, index), "' is missing");
      if (field == Field::kLimits && !has_limits) return Refusal(field, index);
    }
    const bool is_empty = field == Field::kLimits && !has_limits;
    if (!is_seen || is_empty || field == Field::kDo || command_->takes.Has(field)) continue;
    return absl::StrCat("field '", NameOf(field, index), "' is not for ", AbslView(command_->name));
  }
  return {};
}

void LimitRequestReader::AddGroup(const Group& group) {
  words_.Add(group.key);
  for (std::size_t i = group.limits_begin; i < group.limits_end; ++i) words_.Add(limits_[i]);
  if (group.seen.Has(Field::kCost)) AddOption("COST", group.cost);
}

void LimitRequestReader::AddOption(std::string_view name, std::string_view value) {
  words_.Add(name);
  words_.Add(value);
}

absl::Status LimitRequestReader::FinishRequest() {
  place_ = is_batch_ ? Place::kRequests : Place::kOutside;
  if (const std::string mistake = Mistake(); !mistake.empty()) return Fail(mistake);
  words_.Add(command_->command);
  AddGroup(groups_.front());
  for (const Group& other : std::span(groups_).subspan(1)) {
    words_.Add("AND");
    AddGroup(other);
  }
  const LimitFields& seen = groups_.front().seen;
  if (seen.Has(Field::kUpto)) AddOption("UPTO", upto_);
  if (seen.Has(Field::kHold)) AddOption("HOLD", hold_);
  if (seen.Has(Field::kTtl)) AddOption("TTL", ttl_);
  if (details_) words_.Add("WITHLIMITS");
  requests_.back().command = words_.size();
  const absl::Status ended = words_.EndCommand();
  return ended.ok() ? ended : Fail(StdView(ended.message()));
}

}  // namespace weir
