#include "core/request_grammar.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/quote.h"
#include "core/status.h"

namespace weir {
namespace {

enum class Keyword { kNone, kAnd, kCost, kWithLimits, kAt };

Keyword KeywordOf(std::string_view word) {
  const absl::string_view text = AbslView(word);
  if (absl::EqualsIgnoreCase(text, "AND")) return Keyword::kAnd;
  if (absl::EqualsIgnoreCase(text, "COST")) return Keyword::kCost;
  if (absl::EqualsIgnoreCase(text, "WITHLIMITS")) return Keyword::kWithLimits;
  if (absl::EqualsIgnoreCase(text, "AT")) return Keyword::kAt;
  return Keyword::kNone;
}

// The parts of the grammar that are read, so that their spelling is settled, and not decided by
// this version.
absl::Status CheckBuilt(const LimitWord& word, std::string_view text) {
  const auto not_built = [text](std::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("limit ", Quote(text), ": ", AbslView(what),
                     " not built yet, use a token bucket as in 10/s,burst=20"));
  };
  switch (word.kind) {
    case LimitWord::Kind::kPolicy:
      return not_built("policies are");
    case LimitWord::Kind::kUnlimited:
    case LimitWord::Kind::kNone:
      return not_built("'unlimited' and 'none' are");
    case LimitWord::Kind::kLimit:
      break;
  }
  if (word.limit->shape().algorithm == Algorithm::kFixedWindow)
    return not_built("fixed windows are");
  if (word.limit->shape().algorithm == Algorithm::kSlidingWindow) {
    return not_built("sliding windows are");
  }
  if (word.shadow) return not_built("shadow limits are");
  return absl::OkStatus();
}

absl::StatusOr<LimitMemo::Entry*> ReadLimit(std::string_view text, LimitMemo& memo) {
  absl::StatusOr<LimitMemo::Entry*> entry = memo.Read(text);
  if (entry.ok()) WEIR_RETURN_IF_ERROR(CheckBuilt((*entry)->word, text));
  return entry;
}

// Walks over the words once, from left to right.
class RequestReader {
 public:
  RequestReader(std::span<const std::string_view> words, LimitMemo& memo)
      : words_(words), memo_(memo) {}

  absl::StatusOr<ParsedRequest> Read() {
    do {
      WEIR_RETURN_IF_ERROR(ReadGroup());
    } while (TryKeyword(Keyword::kAnd));
    while (next_ < words_.size()) WEIR_RETURN_IF_ERROR(ReadOption());
    return std::move(parsed_);
  }

 private:
  // key limit [limit ...] [COST n]
  absl::Status ReadGroup() {
    if (next_ == words_.size()) return absl::InvalidArgumentError("expected a key after AND");
    const std::string_view key = words_[next_++];
    const std::size_t first = parsed_.checks.size();
    while (next_ < words_.size() && KeywordOf(words_[next_]) == Keyword::kNone) {
      WEIR_RETURN_IF_ERROR(ReadCheck(key));
    }
    if (parsed_.checks.size() == first) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a limit as in 10/s after the key ", Quote(key)));
    }
    if (!TryKeyword(Keyword::kCost)) return absl::OkStatus();
    const absl::StatusOr<std::int64_t> cost = ReadNumber("COST", INT64_MAX);
    if (!cost.ok()) return cost.status();
    for (std::size_t i = first; i < parsed_.checks.size(); ++i) {
      if (!parsed_.words[i]->cost) parsed_.checks[i].cost = *cost;
    }
    return absl::OkStatus();
  }

  absl::Status ReadCheck(std::string_view key) {
    if (parsed_.checks.size() == kChecksMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("too many limits: a request has at most ", kChecksMax));
    }
    absl::StatusOr<LimitMemo::Entry*> entry = ReadLimit(words_[next_], memo_);
    if (!entry.ok()) return entry.status();
    ++next_;
    const LimitWord& word = (*entry)->word;
    parsed_.checks.push_back({key, &*word.limit, word.cost.value_or(1), &(*entry)->hint});
    parsed_.words.push_back(&word);
    return absl::OkStatus();
  }

  absl::Status ReadOption() {
    const std::string_view word = words_[next_];
    if (!parsed_.with_limits && TryKeyword(Keyword::kWithLimits)) {
      parsed_.with_limits = true;
      return absl::OkStatus();
    }
    if (!parsed_.at && TryKeyword(Keyword::kAt)) {
      const absl::StatusOr<std::int64_t> at =
          ReadNumber("AT", kInstantMax.time_since_epoch().count());
      if (!at.ok()) return at.status();
      parsed_.at = Instant{Nanos{*at}};
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected ", Quote(word),
                     ": after the limits of a key come COST once, then AND key limit ..., then "
                     "WITHLIMITS and AT once each"));
  }

  absl::StatusOr<std::int64_t> ReadNumber(std::string_view name, std::int64_t max) {
    if (next_ == words_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " needs a number after it"));
    }
    const std::string_view word = words_[next_++];
    const std::optional<std::int64_t> number = ParseDigits(word);
    if (number && *number <= max) return *number;
    return absl::InvalidArgumentError(
        absl::StrCat("invalid ", AbslView(name), " ", Quote(word),
                     ": value is not an integer or out of range (0 to ", max, ")"));
  }

  bool TryKeyword(Keyword keyword) {
    if (next_ == words_.size() || KeywordOf(words_[next_]) != keyword) return false;
    ++next_;
    return true;
  }

  const std::span<const std::string_view> words_;
  LimitMemo& memo_;
  std::size_t next_ = 0;
  ParsedRequest parsed_;
};

}  // namespace

absl::StatusOr<ParsedRequest> ParseRequest(std::span<const std::string_view> words,
                                           LimitMemo& memo) {
  memo.BeginRequest();
  return RequestReader(words, memo).Read();
}

absl::StatusOr<absl::InlinedVector<Limit, 4>> ParseLimits(std::span<const std::string_view> words,
                                                          LimitMemo& memo) {
  memo.BeginRequest();
  if (words.size() > kChecksMax) {
    return absl::InvalidArgumentError(absl::StrCat("too many limits: at most ", kChecksMax));
  }
  absl::InlinedVector<Limit, 4> limits;
  for (const std::string_view word : words) {
    absl::StatusOr<LimitMemo::Entry*> entry = ReadLimit(word, memo);
    if (!entry.ok()) return entry.status();
    limits.push_back(*(*entry)->word.limit);
  }
  return limits;
}

}  // namespace weir
