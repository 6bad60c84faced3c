#include "server/json/limit_request_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/request_grammar.h"
#include "core/words/limit_grammar.h"
#include "server/json/json_body.h"

namespace weir {
namespace {

constexpr char kNoRequest[] = "a request must be an object with key and limits";

enum class LimitField : std::uint8_t {
  kKey,
  kLimits,
  kCost,
  kAnd,
  kOr,
  kDetails,
  kUpto,
  kHold,
  kTtl,
  kDo,
  kRequests
};
using enum LimitField;

// The fields, by LimitField.
constexpr auto kFields = std::to_array<FieldRow>({
    {"key", JsonKind::kText, "a string"},
    {"limits", JsonKind::kText, "a list of limits, as in [\"10/s\"]", true},
    {"cost", JsonKind::kNumber, "a whole number from 0 to 9223372036854775807"},
    {"and", JsonKind::kObject, "a list of objects, each with key, limits and cost", true},
    {"or", JsonKind::kObject, "a list of objects, each with key, limits, cost and and", true},
    {"details", JsonKind::kFlag, "true or false"},
    {"upto", JsonKind::kNumber, "a whole number from 1 to 9223372036854775807", false, 1},
    {"hold", JsonKind::kText, "a string, the id of a hold"},
    {"ttl_ms", JsonKind::kNumber, "a whole number from 1 to 86400000", false, 1},
    {"do", JsonKind::kText, kLimitCommandNames},
    {"requests", JsonKind::kObject, "a list of requests", true},
});
constexpr std::size_t At(LimitField field) { return static_cast<std::size_t>(field); }
constexpr FieldSet kOfGroups = {kKey, kLimits, kCost};
constexpr FieldSet kOfOthers = {kKey, kLimits, kCost, kAnd};

constexpr FieldSet kOfAll = {kKey, kLimits, kCost, kAnd, kDetails};
constexpr FieldSet kOfChoices = {kKey, kLimits, kCost, kAnd, kOr, kDetails};
constexpr FieldSet kAsked = {kKey, kLimits};
constexpr FieldSet kSettled = {kKey, kHold};

constexpr auto kLimitCommands = std::to_array<LimitCommand>({
    {"allow", "RL.ALLOW", kOfChoices, kAsked},
    {"cancel", "RL.CANCEL", {kKey, kAnd, kDetails, kHold}, kSettled},
    {"charge", "RL.CHARGE", kOfAll, kAsked},
    {"commit", "RL.COMMIT", {kKey, kLimits, kCost, kAnd, kDetails, kHold}, kSettled},
    {"peek", "RL.PEEK", kOfChoices, kAsked},
    {"refund", "RL.REFUND", kOfAll, kAsked},
    {"reserve",
     "RL.RESERVE",
     {kKey, kLimits, kCost, kAnd, kOr, kDetails, kHold, kTtl},
     {kKey, kLimits, kHold, kTtl}},
    {"take",
     "RL.TAKE",
     {kKey, kLimits, kCost, kAnd, kDetails, kUpto, kHold, kTtl},
     {kKey, kLimits, kUpto}},
});

std::string Missing(std::string_view name) {
  return absl::StrCat("field '", AbslView(name), "' is missing");
}

}  // namespace

const LimitCommand* FindLimitCommand(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kLimitCommands, name, &LimitCommand::name);
  return found == kLimitCommands.end() ? nullptr : found;
}

LimitRequestReader::LimitRequestReader(std::string_view body)
    : FieldReader(kFields), body_(body), words_(body) {}

absl::Status LimitRequestReader::ReadRequest(const LimitCommand& command) {
  command_ = &command;
  return Read(body_);
}

absl::Status LimitRequestReader::ReadBatch() {
  is_batch_ = true;
  WEIR_RETURN_IF_ERROR(Read(body_));
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

bool LimitRequestReader::InAnd() const noexcept {
  return GroupDepth() > 0 && FieldOf(objects() - 2) == At(kAnd);
}

std::size_t LimitRequestReader::GroupIndex() const noexcept {
  if (GroupDepth() == 0) return 0;
  return InAnd() ? groups_.size() - 1 : other_;
}

// The name of a field in errors: "key", "and[0].key" of the second group, "or[0].and[0].key".
std::string LimitRequestReader::FieldName(std::size_t field, std::size_t index) const {
  std::string name(kFields[field].name);
  if (index == 0) return name;
  const Group& group = groups_[index];
  std::string place;
  if (group.alternative > 0) absl::StrAppend(&place, "or[", group.alternative - 1, "].");
  if (group.is_and) {
    const auto before =
        std::ranges::count_if(std::span(groups_).first(index), [&](const Group& earlier) {
          return earlier.is_and && earlier.alternative == group.alternative;
        });
    absl::StrAppend(&place, "and[", before, "].");
  }
  return place + name;
}

// In a batch, the command may come behind its fields.
bool LimitRequestReader::IsKnown(std::size_t field) const {
  if (InBatch()) return field == At(kRequests);
  if (field == At(kRequests)) return false;
  if (GroupDepth() > 0 && !(InAnd() ? kOfGroups : kOfOthers).Has(field)) return false;
  if (field == At(kLimits)) return true;  // it may be empty
  return is_batch_ || command_->takes.Has(field);
}

std::string LimitRequestReader::KnownText() const {
  return InBatch() ? "a batch has requests" : FieldReader::KnownText();
}

std::string LimitRequestReader::NameOf(std::size_t field) const {
  return FieldName(field, GroupIndex());
}

bool LimitRequestReader::KeepsMistake(std::string_view what) {
  if (is_batch_) requests_.back().error = what;
  return is_batch_;
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
  other_ = 0;
  alternatives_ = 1;
  limits_.clear();
  details_ = false;
  return absl::OkStatus();
}

absl::Status LimitRequestReader::BeginObject() {
  if (InBatch()) return absl::OkStatus();
  if (GroupDepth() == 0) return BeginRequest();
  const bool in_other = GroupDepth() > 1 || !InAnd();
  if (!InAnd()) {
    other_ = groups_.size();
    ++alternatives_;
  }
  Group& group = groups_.emplace_back();
  group.alternative = in_other ? alternatives_ - 1 : 0;
  group.is_and = InAnd();
  return absl::OkStatus();
}

absl::Status LimitRequestReader::EndObject(FieldSet seen) {
  if (InBatch()) {
    seen_requests_ = seen.Has(kRequests);
    return absl::OkStatus();
  }
  groups_[GroupIndex()].seen = seen;
  return GroupDepth() > 0 ? absl::OkStatus() : FinishRequest();
}

absl::Status LimitRequestReader::NoObject() {
  if (objects() == 0 && is_batch_) {
    return absl::InvalidArgumentError("a batch must be an object: {\"requests\":[...]}");
  }
  if (objects() > 0 && !InBatch()) return Refuse(FieldOf(objects() - 1));
  WEIR_RETURN_IF_ERROR(BeginRequest());
  return Fail(kNoRequest);
}

absl::Status LimitRequestReader::Store(std::size_t field, const JsonValue& value) {
  Group& group = groups_[GroupIndex()];
  static_assert(kFields.size() == std::tuple_size_v<decltype(group.values)>);
  switch (static_cast<LimitField>(field)) {
    case kLimits:
      // Among the words it would not be read as a limit.
      if (IsRequestKeyword(value.text)) {
        return Fail(StdView(ParseLimitWord(value.text).status().message()));
      }
      if (group.limits_begin == group.limits_end) group.limits_begin = limits_.size();
      limits_.push_back(words_.Keep(value.text));
      group.limits_end = limits_.size();
      return absl::OkStatus();
    case kDetails:
      details_ = value.integer == 1;
      return absl::OkStatus();
    case kDo:
      command_ = FindLimitCommand(value.text);
      return command_ ? absl::OkStatus() : Refuse(field);
    default:
      group.values[field] = words_.Keep(value.text);
      return absl::OkStatus();
  }
}

std::string LimitRequestReader::Mistake() const {
  for (std::size_t i = groups_.size(); i-- > 0;) {
    std::string mistake = MistakeIn(i);
    if (!mistake.empty()) return mistake;
  }
  const FieldSet& seen = groups_.front().seen;
  if (!command_->takes.Has(kTtl) || seen.Has(kHold) == seen.Has(kTtl)) return {};
  return Missing(seen.Has(kHold) ? "ttl_ms" : "hold");
}

std::string LimitRequestReader::MistakeIn(std::size_t index) const {
  const Group& group = groups_[index];
  const bool has_limits = group.limits_begin != group.limits_end;
  // Most requests have all that they need, and nothing else.
  if (has_limits && group.seen.HasAll(command_->needs) && command_->takes.HasAll(group.seen)) {
    return {};
  }
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const bool is_seen = group.seen.Has(i);
    const bool is_empty = i == At(kLimits) && !has_limits;
    if (command_->needs.Has(i) && (index == 0 || kOfGroups.Has(i))) {
      if (!is_seen) return Missing(FieldName(i, index));
      if (is_empty) return Refusal(FieldName(i, index), i);
    }
    if (!is_seen || is_empty || i == At(kDo) || command_->takes.Has(i)) continue;
    return absl::StrCat("field '", FieldName(i, index), "' is not for ", AbslView(command_->name));
  }
  return {};
}

void LimitRequestReader::AddGroup(const Group& group) {
  words_.Add(group.values[At(kKey)]);
  for (std::size_t i = group.limits_begin; i < group.limits_end; ++i) words_.Add(limits_[i]);
  if (group.seen.Has(kCost)) AddOption("COST", group.values[At(kCost)]);
}

void LimitRequestReader::AddOption(std::string_view name, std::string_view value) {
  words_.Add(name);
  words_.Add(value);
}

absl::Status LimitRequestReader::FinishRequest() {
  if (const std::string mistake = Mistake(); !mistake.empty()) return Fail(mistake);
  words_.Add(command_->command);
  // "or" may stand before "and".
  if (alternatives_ > 1) std::ranges::stable_sort(groups_, {}, &Group::alternative);
  const Group& request = groups_.front();
  AddGroup(request);
  for (const Group& other : std::span(groups_).subspan(1)) {
    words_.Add(other.is_and ? "AND" : "OR");
    AddGroup(other);
  }
  if (request.seen.Has(kUpto)) AddOption("UPTO", request.values[At(kUpto)]);
  if (request.seen.Has(kHold)) AddOption("HOLD", request.values[At(kHold)]);
  if (request.seen.Has(kTtl)) AddOption("TTL", request.values[At(kTtl)]);
  if (details_) words_.Add("WITHLIMITS");
  requests_.back().command = words_.size();
  const absl::Status ended = words_.EndCommand();
  return ended.ok() ? ended : Fail(StdView(ended.message()));
}

}  // namespace weir
