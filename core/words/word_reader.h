// The words of a command, read once from left to right. For the grammars of requests
// (request_grammar.h, settlement_grammar.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"

#include "core/base/instant.h"

namespace weir {

// The words that are never limits, in any case.
enum class Keyword {
  kNone,
  kAnd,
  kOr,
  kCost,
  kWithLimits,
  kAt,
  kUpto,
  kTimeout,
  kHold,
  kTtl,
  kNeed,
  kUnit
};

namespace word_reader_internal {
[[nodiscard]] Keyword FindKeyword(std::string_view word) noexcept;
}  // namespace word_reader_internal

// Inline, as most limits begin with a digit.
[[nodiscard]] inline Keyword KeywordOf(std::string_view word) noexcept {
  const bool is_name =
      !word.empty() && absl::ascii_isalpha(static_cast<unsigned char>(word.front()));
  return is_name ? word_reader_internal::FindKeyword(word) : Keyword::kNone;
}

// The error of an OR in a command that has no alternatives.
[[nodiscard]] absl::Status NoAlternatives();

class WordReader {
 public:
  // Views the words.
  explicit WordReader(std::span<const std::string_view> words) : words_(words) {}

  [[nodiscard]] bool AtEnd() const noexcept { return next_ == words_.size(); }
  // The words that were read.
  [[nodiscard]] std::span<const std::string_view> before() const { return words_.first(next_); }
  // Reads the next word. Requires: not AtEnd().
  std::string_view Read() noexcept { return words_[next_++]; }
  // True if the next word is no keyword, so that it may be a limit.
  [[nodiscard]] bool HasLimit() { return !AtEnd() && PeekKeyword() == Keyword::kNone; }
  // The next word's keyword; kNone at the end, too.
  [[nodiscard]] Keyword PeekKeyword() {
    if (AtEnd()) return Keyword::kNone;
    if (peeked_ != &words_[next_]) {
      peeked_ = &words_[next_];
      keyword_ = KeywordOf(*peeked_);
    }
    return keyword_;
  }
  // Reads the keyword if it is the next word.
  bool TryKeyword(Keyword keyword) {
    if (PeekKeyword() != keyword) return false;
    ++next_;
    return true;
  }

  // The error of an AND or OR that was read last, and behind which nothing comes.
  [[nodiscard]] absl::Status NoKey() const;

  // Read the word after a keyword. Fail with kInvalidArgument and an error that names it.
  [[nodiscard]] absl::StatusOr<std::int64_t> ReadNumber(std::string_view name, std::int64_t min,
                                                        std::int64_t max);
  [[nodiscard]] absl::StatusOr<std::int64_t> ReadCost() { return ReadNumber("COST", 0, INT64_MAX); }
  [[nodiscard]] absl::Status ReadAt(std::optional<Instant>& at);
  [[nodiscard]] absl::Status ReadMillis(std::string_view name, std::int64_t min, Nanos max,
                                        Nanos& span);
  [[nodiscard]] absl::Status ReadHoldId(std::string_view& id);

 private:
  const std::span<const std::string_view> words_;
  std::size_t next_ = 0;
  // The word whose keyword was asked for last, since a grammar asks several times; may be null.
  const std::string_view* peeked_ = nullptr;
  Keyword keyword_ = Keyword::kNone;
};

}  // namespace weir
