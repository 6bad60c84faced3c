#include "server/json/field_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

constexpr std::size_t kElementsDepth = 2;  // of brackets around elements that are skipped

}  // namespace

absl::Status FieldReader::Fail(std::string_view what) {
  const bool in_element = objects_ > 0 && open_.front().in_list;
  if (!in_element || !KeepsMistake(what)) return absl::InvalidArgumentError(AbslView(what));
  skips_ = depth_ > kElementsDepth;
  return absl::OkStatus();
}

absl::Status FieldReader::Refuse(std::size_t field) { return Fail(Refusal(NameOf(field), field)); }

std::string FieldReader::Refusal(std::string_view name, std::size_t field) const {
  return absl::StrCat("invalid field '", AbslView(name), "': must be ",
                      AbslView(fields_[field].must_be));
}

std::string FieldReader::KnownText() const {
  std::string text = "known are ";
  std::string_view separator;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!IsKnown(i)) continue;
    text.append(std::exchange(separator, ", ")).append(fields_[i].name);
  }
  return text;
}

std::string FieldReader::NameOf(std::size_t field) const {
  return std::string(fields_[field].name);
}

absl::Status FieldReader::OnBegin(char bracket) {
  ++depth_;
  if (skips_) return absl::OkStatus();
  if (WantsObject()) {
    if (bracket != '{') return NoObject();
    ++objects_;
    object() = {};
    return BeginObject();
  }
  if (bracket != '[' || !row().is_list || object().in_list) return Refuse(object().field);
  object().in_list = true;
  return absl::OkStatus();
}

absl::Status FieldReader::OnEnd(char bracket) {
  --depth_;
  if (skips_) {
    skips_ = depth_ > kElementsDepth;
    if (!skips_) objects_ = 1;
    return absl::OkStatus();
  }
  if (bracket == ']') {
    object().in_list = false;
    return absl::OkStatus();
  }
  absl::Status status = EndObject(object().seen);
  --objects_;
  return status;
}

absl::Status FieldReader::OnName(std::string_view name) {
  if (skips_) return absl::OkStatus();
  const auto found = std::ranges::find(fields_, name, &FieldRow::name);
  const auto field = static_cast<std::size_t>(found - fields_.begin());
  if (found == fields_.end() || !IsKnown(field)) {
    return Fail(absl::StrCat("unknown field ", Quote(name), ": ", KnownText()));
  }
  Object& present = object();
  if (present.seen.Has(field)) {
    return Fail(absl::StrCat("field '", NameOf(field), "' stands there twice"));
  }
  present.seen.Add(field);
  present.field = field;
  return absl::OkStatus();
}

absl::Status FieldReader::OnValue(const JsonValue& value) {
  if (skips_) return absl::OkStatus();
  const bool fits = objects_ > 0 && row().kind == value.kind && row().is_list == object().in_list &&
                    (value.kind == JsonKind::kText || value.integer >= row().number_min);
  if (fits) return Store(object().field, value);
  return WantsObject() ? NoObject() : Refuse(object().field);
}

}  // namespace weir
