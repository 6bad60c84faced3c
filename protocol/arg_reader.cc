#include "protocol/arg_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/integer.h"

namespace weir {
namespace {

std::string Quoted(std::string_view word) {
  return absl::StrCat("'", AbslView(word.substr(0, kArgQuotedBytesMax)),
                      word.size() > kArgQuotedBytesMax ? "...'" : "'");
}

}  // namespace

std::string_view ArgReader::Word(std::string_view name) {
  if (AtEnd()) {
    Fail(absl::StrCat("syntax error, ", AbslView(name), " is missing"));
    return "";
  }
  const std::string_view word = rest_.front();
  rest_ = rest_.subspan(1);
  return word;
}

std::int64_t ArgReader::Integer(std::string_view name, std::int64_t min, std::int64_t max) {
  WEIR_CHECK(min <= max);
  const std::string_view word = Word(name);
  if (!failure_.ok()) return min;
  const std::optional<std::int64_t> number = ParseInteger(word);
  if (number.has_value() && *number >= min && *number <= max) return *number;
  Fail(absl::StrCat("invalid ", AbslView(name), " ", Quoted(word),
                    ": value is not an integer or out of range (", min, " to ", max, ")"));
  return min;
}

bool ArgReader::TryKeyword(std::string_view keyword) {
  if (AtEnd() || !absl::EqualsIgnoreCase(AbslView(rest_.front()), AbslView(keyword))) return false;
  rest_ = rest_.subspan(1);
  return true;
}

std::span<const std::string_view> ArgReader::Rest() noexcept { return std::exchange(rest_, {}); }

void ArgReader::Fail(std::string_view text) {
  WEIR_CHECK(!text.empty());
  if (failure_.ok()) failure_ = absl::InvalidArgumentError(AbslView(text));
  rest_ = {};
}

absl::Status ArgReader::Finish() {
  WEIR_CHECK(failure_.ok() || AtEnd());
  if (!AtEnd()) Fail("syntax error");
  return failure_;
}

}  // namespace weir
