#include "server/rls/json_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "protocol/json_reader.h"
#include "protocol/json_writer.h"
#include "rls/call.h"
#include "rls/rls.pb.h"
#include "rls/units.h"

namespace weir {
namespace {

enum class CallPiece : std::uint8_t { kRequest, kDescriptor, kEntry, kLimit };

enum class CallField : std::uint8_t {
  kDomain,
  kDescriptors,
  kRequestHits,
  kEntries,
  kLimit,
  kHits,
  kIsNegative,
  kKey,
  kValue,
  kCount,
  kUnit,
  kMultiplier
};

struct CallFieldName {
  CallPiece message;
  CallField field;
  std::string_view json;
  std::string_view proto;
};

constexpr auto kCallFields = std::to_array<CallFieldName>({
    {CallPiece::kRequest, CallField::kDomain, "domain", "domain"},
    {CallPiece::kRequest, CallField::kDescriptors, "descriptors", "descriptors"},
    {CallPiece::kRequest, CallField::kRequestHits, "hitsAddend", "hits_addend"},
    {CallPiece::kDescriptor, CallField::kEntries, "entries", "entries"},
    {CallPiece::kDescriptor, CallField::kLimit, "limit", "limit"},
    {CallPiece::kDescriptor, CallField::kHits, "hitsAddend", "hits_addend"},
    {CallPiece::kDescriptor, CallField::kIsNegative, "isNegativeHits", "is_negative_hits"},
    {CallPiece::kEntry, CallField::kKey, "key", "key"},
    {CallPiece::kEntry, CallField::kValue, "value", "value"},
    {CallPiece::kLimit, CallField::kCount, "requestsPerUnit", "requests_per_unit"},
    {CallPiece::kLimit, CallField::kUnit, "unit", "unit"},
    {CallPiece::kLimit, CallField::kMultiplier, "unitMultiplier", "unit_multiplier"},
});

// A whole number that is written with a fraction or an exponent: 1.0, 1e2.
std::optional<std::int64_t> WholeNumberIn(std::string_view text) {
  constexpr double kExactMax = 9007199254740992;  // 2^53
  double number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  if (std::abs(number) > kExactMax || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::uint64_t> CallNumberIn(const JsonValue& value, std::uint64_t most) {
  if (value.kind != JsonKind::kText && value.kind != JsonKind::kNumber) return std::nullopt;
  std::optional<std::int64_t> number =
      value.kind == JsonKind::kText ? ParseDigits(value.text) : value.integer;
  if (!number) number = WholeNumberIn(value.text);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > most) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

struct OpenPiece {
  CallPiece message;
  std::uint32_t seen = 0;  // a bit for each field that stood in it
};

class JsonCallReader final : public JsonParts {
 public:
  [[nodiscard]] std::string Message() const { return request_.SerializeAsString(); }

  absl::Status OnBegin(char bracket) override {
    const bool is_list = bracket == '[';
    if (open_.empty()) {
      if (is_list) return absl::InvalidArgumentError("a call is an object");
      return Open(CallPiece::kRequest);
    }
    if (is_list) {
      if (in_list_ || !IsList()) return Wrong();
      in_list_ = true;
      return absl::OkStatus();
    }
    if (IsList() != in_list_) return Wrong();
    switch (field_) {
      case CallField::kDescriptors:
        if (request_.descriptors_size() == kCallDescriptorsMax) return TooMany("descriptors");
        request_.add_descriptors();
        return Open(CallPiece::kDescriptor);
      case CallField::kEntries:
        if (descriptor().entries_size() == kDescriptorEntriesMax) return TooMany("entries");
        descriptor().add_entries();
        return Open(CallPiece::kEntry);
      case CallField::kLimit:
        descriptor().mutable_limit();
        return Open(CallPiece::kLimit);
      default:
        return Wrong();
    }
  }

  absl::Status OnEnd(char bracket) override {
    if (bracket == ']') {
      in_list_ = false;
      return absl::OkStatus();
    }
    const CallPiece ended = open_.back().message;
    open_.pop_back();
    // It was an element of a list, which continues.
    in_list_ = ended == CallPiece::kDescriptor || ended == CallPiece::kEntry;
    field_ = ended == CallPiece::kEntry ? CallField::kEntries : CallField::kDescriptors;
    return absl::OkStatus();
  }

  absl::Status OnName(std::string_view name) override {
    const auto* const found = std::ranges::find_if(kCallFields, [&](const CallFieldName& known) {
      return known.message == open_.back().message && (known.json == name || known.proto == name);
    });
    if (found == kCallFields.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown field ", Quote(name)));
    }
    field_ = found->field;
    const std::uint32_t bit = 1U << static_cast<unsigned>(field_);
    if ((std::exchange(open_.back().seen, open_.back().seen | bit) & bit) != 0) {
      return absl::InvalidArgumentError(absl::StrCat("field ", Quote(name), " stands twice"));
    }
    return absl::OkStatus();
  }

  absl::Status OnValue(const JsonValue& value) override {
    if (open_.empty()) return absl::InvalidArgumentError("a call is an object");
    if (in_list_) return Wrong();
    if (value.kind == JsonKind::kNull) return absl::OkStatus();
    return Store(value) ? absl::OkStatus() : Wrong();
  }

 private:
  [[nodiscard]] bool IsList() const {
    return field_ == CallField::kDescriptors || field_ == CallField::kEntries;
  }
  rls::Descriptor& descriptor() {
    return *request_.mutable_descriptors(request_.descriptors_size() - 1);
  }
  rls::Entry& entry() { return *descriptor().mutable_entries(descriptor().entries_size() - 1); }

  absl::Status Open(CallPiece message) {
    open_.push_back({message});
    in_list_ = false;
    return absl::OkStatus();
  }
  [[nodiscard]] absl::Status Wrong() const {
    const auto* const known = std::ranges::find(kCallFields, field_, &CallFieldName::field);
    return absl::InvalidArgumentError(absl::StrCat("invalid field ", Quote(known->json)));
  }
  [[nodiscard]] static absl::Status TooMany(std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("too many ", AbslView(what)));
  }

  // False for a value of another kind.
  [[nodiscard]] bool Store(const JsonValue& value) {
    const bool is_text = value.kind == JsonKind::kText;
    const std::optional<std::uint64_t> number =
        CallNumberIn(value, field_ == CallField::kHits ? std::numeric_limits<std::int64_t>::max()
                                                       : std::numeric_limits<std::uint32_t>::max());
    const auto small = static_cast<std::uint32_t>(number.value_or(0));
    switch (field_) {
      case CallField::kDomain:
        request_.set_domain(std::string(value.text));
        return is_text;
      case CallField::kRequestHits:
        request_.set_hits_addend(small);
        return number.has_value();
      case CallField::kHits:
        descriptor().mutable_hits_addend()->set_value(number.value_or(0));
        return number.has_value();
      case CallField::kIsNegative:
        descriptor().set_is_negative_hits(value.integer == 1);
        return value.kind == JsonKind::kFlag;
      case CallField::kKey:
        entry().set_key(std::string(value.text));
        return is_text;
      case CallField::kValue:
        entry().set_value(std::string(value.text));
        return is_text;
      case CallField::kCount:
        descriptor().mutable_limit()->set_requests_per_unit(small);
        return number.has_value();
      case CallField::kMultiplier:
        descriptor().mutable_limit()->mutable_unit_multiplier()->set_value(small);
        return number.has_value();
      case CallField::kUnit: {
        const auto* const unit = std::ranges::find(kServiceUnitNames, value.text);
        const auto named = static_cast<int>(unit - kServiceUnitNames.begin());
        descriptor().mutable_limit()->set_unit(is_text ? named : static_cast<int>(small));
        return is_text ? unit != kServiceUnitNames.end() : number.has_value();
      }
      default:
        return false;
    }
  }

  rls::RateLimitRequest request_;
  std::vector<OpenPiece> open_;
  CallField field_ = CallField::kDomain;  // the present one of the innermost
  bool in_list_ = false;                  // between the elements of its list
};

std::string_view CodeText(bool is_over) { return is_over ? "OVER_LIMIT" : "OK"; }

void AppendCurrentLimit(const AnsweredLimit& limit, JsonWriter& json) {
  json.Object("currentLimit");
  if (limit.requests_per_unit != 0) json.Field("requestsPerUnit", limit.requests_per_unit);
  if (limit.unit != RuleUnit::kNone) {
    json.Field("unit", UnitName(limit.unit));
  }
  if (!limit.name.empty()) json.Field("name", limit.name);
  if (limit.unit_multiplier != 1) json.Field("unitMultiplier", limit.unit_multiplier);
  json.EndObject();
}

void AppendMap(const Metadata::Map& map, std::string& text);

// Metadata are text, number, truth, null, a list or a map.
void AppendMetadata(const Metadata& metadata, std::string& text) {
  JsonWriter json(text);
  if (const auto* const flag = std::get_if<bool>(&metadata.value)) {
    json.Value(*flag);
  } else if (const auto* const number = std::get_if<double>(&metadata.value)) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), *number).ptr;
    if (text.back() != '[' && text.back() != ':') text += ',';
    text.append(digits.begin(), end);
  } else if (const auto* const string = std::get_if<std::string>(&metadata.value)) {
    json.Value(*string);
  } else if (const auto* const list = std::get_if<Metadata::List>(&metadata.value)) {
    json.Array();
    for (const Metadata& element : *list) AppendMetadata(element, text);
    json.EndArray();
  } else if (const auto* const map = std::get_if<Metadata::Map>(&metadata.value)) {
    AppendMap(*map, text);
  } else {
    json.Value(std::nullopt);
  }
}

void AppendMap(const Metadata::Map& map, std::string& text) {
  JsonWriter json(text);
  json.Object();
  for (const auto& [key, metadata] : map) {
    json.Value(key);
    text += ':';
    AppendMetadata(metadata, text);
  }
  json.EndObject();
}

}  // namespace

absl::StatusOr<std::string> MessageOfJson(std::string_view json) {
  JsonCallReader reader;
  if (absl::Status read = ReadJson(json, reader); !read.ok()) return read;
  return reader.Message();
}

std::string JsonOf(const RateLimitAnswer& answer) {
  std::string text;
  JsonWriter json(text);
  json.Object().Field("overallCode", CodeText(answer.is_over)).Array("statuses");
  for (const DescriptorStatus& status : answer.statuses) {
    json.Object().Field("code", CodeText(status.is_over));
    if (status.limit) AppendCurrentLimit(*status.limit, json);
    if (status.remaining != 0) json.Field("limitRemaining", status.remaining);
    if (status.limit) {
      json.Field("durationUntilReset", absl::StrCat(status.reset_seconds, "s"));
    }
    json.EndObject();
  }
  json.EndArray();
  if (!answer.headers.empty()) {
    json.Array("responseHeadersToAdd");
    for (const auto& [name, value] : answer.headers) {
      json.Object().Field("key", name).Field("value", value).EndObject();
    }
    json.EndArray();
  }
  if (!answer.metadata.empty()) {
    json.Name("dynamicMetadata");
    AppendMap(answer.metadata, text);
  }
  json.EndObject();
  return text;
}

}  // namespace weir
