#include "core/words/word_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/table/hold.h"
#include "core/words/number_word.h"

namespace weir {

Keyword word_reader_internal::FindKeyword(std::string_view word) noexcept {
  const auto upper = [](char c) { return absl::ascii_toupper(static_cast<unsigned char>(c)); };
  const auto is = [&](std::string_view text) {
    return std::ranges::equal(word, text, {}, upper);  // not absl's: inlined
  };
  switch (word.size()) {
    case 2:
      if (is("OR")) return Keyword::kOr;
      return is("AT") ? Keyword::kAt : Keyword::kNone;
    case 3:
      if (is("AND")) return Keyword::kAnd;
      return is("TTL") ? Keyword::kTtl : Keyword::kNone;
    case 4:
      if (is("COST")) return Keyword::kCost;
      if (is("HOLD")) return Keyword::kHold;
      if (is("UPTO")) return Keyword::kUpto;
      if (is("NEED")) return Keyword::kNeed;
      return is("UNIT") ? Keyword::kUnit : Keyword::kNone;
    case 7:
      return is("TIMEOUT") ? Keyword::kTimeout : Keyword::kNone;
    case 10:
      return is("WITHLIMITS") ? Keyword::kWithLimits : Keyword::kNone;
    default:
      return Keyword::kNone;
  }
}

absl::Status WordReader::NoKey() const {
  const bool is_or = next_ > 0 && KeywordOf(words_[next_ - 1]) == Keyword::kOr;
  return absl::InvalidArgumentError(absl::StrCat("expected a key after ", is_or ? "OR" : "AND"));
}

absl::Status NoAlternatives() {
  return absl::InvalidArgumentError(
      "OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won");
}

absl::StatusOr<std::int64_t> WordReader::ReadNumber(std::string_view name, std::int64_t min,
                                                    std::int64_t max) {
  if (AtEnd()) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " needs a number after it"));
  }
  return weir::ReadNumber(name, Read(), min, max);
}

absl::Status WordReader::ReadAt(std::optional<Instant>& at) {
  const auto nanos = ReadNumber("AT", 0, kInstantMax.time_since_epoch().count());
  if (nanos.ok()) at = Instant{Nanos{*nanos}};
  return nanos.status();
}

absl::Status WordReader::ReadMillis(std::string_view name, std::int64_t min, Nanos max,
                                    Nanos& span) {
  using std::chrono::milliseconds;
  const auto millis = ReadNumber(name, min, std::chrono::duration_cast<milliseconds>(max).count());
  if (millis.ok()) span = milliseconds{*millis};
  return millis.status();
}

absl::Status WordReader::ReadHoldId(std::string_view& id) {
  if (AtEnd()) return absl::InvalidArgumentError("HOLD needs an id after it");
  id = Read();
  if (!id.empty() && id.size() <= kHoldIdBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("invalid HOLD ", Quote(id), ": an id has 1 to ", kHoldIdBytesMax, " bytes"));
}

}  // namespace weir
