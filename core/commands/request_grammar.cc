#include "core/commands/request_grammar.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/table/hold.h"
#include "core/words/limit_grammar.h"
#include "core/words/word_reader.h"

namespace weir {
namespace {

// The words that may follow the COST of a key, for errors.
absl::string_view WhatFollowsCost(RequestKind kind) {
  switch (kind) {
    case RequestKind::kTake:
      return "then AND key limit ..., then UPTO, HOLD, TTL, WITHLIMITS and AT once each";
    case RequestKind::kWait:
      return "then AND key limit ..., then TIMEOUT and WITHLIMITS once each";
    case RequestKind::kReserve:
      return "then AND or OR key limit ..., then HOLD, TTL, WITHLIMITS and AT once each";
    case RequestKind::kSlice:
      return "then NEED, UNIT, UPTO, HOLD, TTL and AT once each";
    case RequestKind::kChange:
      return "then AND key limit ..., then WITHLIMITS and AT once each";
    case RequestKind::kDecide:
    case RequestKind::kLook:
      break;
  }
  return "then AND or OR key limit ..., then WITHLIMITS and AT once each";
}

// The limits of the key's override of the word's policy, or null.
std::shared_ptr<const PolicyLimits> OverrideOf(const LimitMemo::Entry& entry,
                                               std::string_view key) {
  return entry.overrides && !entry.overrides->empty() ? entry.overrides->Find(key) : nullptr;
}

// The text of the words: equal texts, equal words.
std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words)
    absl::StrAppend(&text, word.size(), ":", AbslView(word));
  return text;
}

class RequestReader {
 public:
  RequestReader(std::span<const std::string_view> words, LimitMemo& memo, KeyHashes hashes,
                RequestKind kind, ParsedRequest& parsed)
      : words_(words), memo_(memo), hashes_(hashes), kind_(kind), parsed_(parsed) {}
  RequestReader(std::span<const std::string_view> words, LimitMemo& memo, KeyHashes hashes,
                ParsedSlice& slice)
      : RequestReader(words, memo, hashes, RequestKind::kSlice, slice) {}

  absl::Status Read() {
    do {
      WEIR_RETURN_IF_ERROR(ReadGroup());
    } while (TryNextGroup());
    const std::span<const std::string_view> groups = words_.before();
    while (!words_.AtEnd()) WEIR_RETURN_IF_ERROR(ReadOption());
    if (kind_ == RequestKind::kTake && !Seen(Keyword::kUpto)) {
      return absl::InvalidArgumentError("RL.TAKE needs UPTO tokens");
    }
    if (kind_ == RequestKind::kWait && !Seen(Keyword::kTimeout)) {
      return absl::InvalidArgumentError("RL.WAIT needs TIMEOUT milliseconds");
    }
    return kind_ == RequestKind::kTake || kind_ == RequestKind::kReserve ? CheckHold(groups)
                                                                         : absl::OkStatus();
  }
  // Requires: made with a slice.
  absl::Status ReadSlice() {
    WEIR_RETURN_IF_ERROR(Read());
    using enum Keyword;
    for (const Keyword option : {kNeed, kUnit, kUpto, kHold, kTtl}) {
      if (Seen(option)) continue;
      return absl::InvalidArgumentError(
          "RL.SLICE needs NEED units UNIT units UPTO units HOLD id TTL milliseconds");
    }
    return CheckSlice(Slice());
  }

 private:
  // All that it reads of a slicing request is read into a slice.
  [[nodiscard]] ParsedSlice& Slice() const {
    WEIR_DCHECK(kind_ == RequestKind::kSlice);
    return static_cast<ParsedSlice&>(parsed_);
  }

  static absl::Status CheckSlice(const ParsedSlice& slice) {
    if (slice.begins_group != 0) {
      return absl::InvalidArgumentError("RL.SLICE is about one key: AND does not stand in it");
    }
    if (slice.with_limits) {
      return absl::InvalidArgumentError("RL.SLICE always has the rows of WITHLIMITS: leave it out");
    }
    if (slice.upto < slice.need) {
      return absl::InvalidArgumentError("UPTO is below NEED, which is a part of it");
    }
    if (slice.need == 0 || slice.unit <= slice.need) return absl::OkStatus();
    return absl::InvalidArgumentError("UNIT is above NEED, which it is a part of");
  }

  // key limit [limit ...] [COST n]
  absl::Status ReadGroup() {
    if (words_.AtEnd()) return words_.NoKey();
    const std::string_view key = words_.Read();
    const KeyHash hash = hashes_.Next(key);
    const std::size_t first = parsed_.checks.size();
    while (words_.HasLimit()) WEIR_RETURN_IF_ERROR(ReadChecks(key, hash));
    if (parsed_.checks.size() == first) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a limit as in 10/s after the key ", Quote(key)));
    }
    if (!words_.TryKeyword(Keyword::kCost)) return absl::OkStatus();
    const absl::StatusOr<std::int64_t> cost = words_.ReadCost();
    if (!cost.ok()) return cost.status();
    for (std::size_t i = first; i < parsed_.checks.size(); ++i) {
      if (!parsed_.limits[i]->cost) parsed_.checks[i].cost = *cost;
    }
    return absl::OkStatus();
  }

  // Reads one word: one check, or the checks of a policy.
  absl::Status ReadChecks(std::string_view key, const KeyHash& hash) {
    if (parsed_.checks.size() == kChecksMax) return TooManyLimits();
    const std::string_view text = words_.Read();
    absl::StatusOr<LimitMemo::Entry*> entry = memo_.Read(text);
    if (ABSL_PREDICT_FALSE(!entry.ok())) {
      return WithPeriod(entry.status(), text, words_.HasLimit() ? words_.Read() : "");
    }
    std::span<CachedLimit> limits = (*entry)->limits;
    if (const auto own = OverrideOf(**entry, key)) {
      parsed_.overridden.push_back(std::make_unique<absl::InlinedVector<CachedLimit, 1>>(
          memo_.Expand((*entry)->word, *own)));
      limits = *parsed_.overridden.back();
    }
    if (parsed_.checks.size() + limits.size() > kChecksMax) return TooManyLimits();
    for (std::size_t i = 0; i < limits.size(); ++i) {
      CachedLimit& known = limits[i];
      if (ABSL_PREDICT_FALSE(known.limit.is_held())) WEIR_RETURN_IF_ERROR(CheckHoldable());
      if (kind_ == RequestKind::kWait) WEIR_RETURN_IF_ERROR(CheckWaitable(text, known));
      parsed_.checks.push_back({key, &known.limit, known.cost.value_or(1),
                                HintOf(**entry, known, i), hash, known.keep.value_or(0)});
      parsed_.limits.push_back(&known);
    }
    return absl::OkStatus();
  }

  static absl::Status TooManyLimits() {
    return absl::InvalidArgumentError(
        absl::StrCat("too many limits: a request has at most ", kChecksMax));
  }

  // A held limit gets its tokens back from the hold that took them only.
  absl::Status CheckHoldable() {
    has_held_ = true;
    const bool may_hold = kind_ == RequestKind::kLook || kind_ == RequestKind::kReserve ||
                          kind_ == RequestKind::kTake;
    return may_hold ? absl::OkStatus() : NeedsReserve();
  }
  static absl::Status NeedsReserve() {
    return absl::InvalidArgumentError("a held limit needs RL.RESERVE");
  }

  // Checks HOLD and TTL, after all words are read. `groups`: the words before the options.
  absl::Status CheckHold(std::span<const std::string_view> groups) {
    if (!Seen(Keyword::kHold) && !Seen(Keyword::kTtl) && kind_ == RequestKind::kTake) {
      return has_held_ ? NeedsReserve() : absl::OkStatus();
    }
    if (!Seen(Keyword::kHold) || !Seen(Keyword::kTtl)) {
      return absl::InvalidArgumentError(kind_ == RequestKind::kTake
                                            ? "RL.TAKE with a hold needs HOLD id TTL milliseconds"
                                            : "RL.RESERVE needs HOLD id TTL milliseconds");
    }
    std::string text = Joined(groups);
    if (kind_ == RequestKind::kTake) absl::StrAppend(&text, "UPTO ", parsed_.upto);
    parsed_.hold.words = hashes_.HashOfWords(text);
    return absl::OkStatus();
  }

  static absl::Status CheckWaitable(std::string_view text, const CachedLimit& known) {
    if (known.limit.has_bucket() && known.limit.shape().algorithm != Algorithm::kTokenBucket) {
      return absl::InvalidArgumentError(absl::StrCat(
          "limit ", Quote(text), ": a window cannot be waited for, use a token bucket"));
    }
    if (known.keep) {
      return absl::InvalidArgumentError(
          "keep= does not stand in RL.WAIT: tokens reserved ahead would be taken from those whom "
          "it protects");
    }
    return absl::OkStatus();
  }

  // Returns where the id of a limit is remembered. A limit of an override usually has the id of the
  // policy's limit in the same position.
  static LimitHint* HintOf(LimitMemo::Entry& entry, CachedLimit& known, std::size_t position) {
    if (position >= entry.limits.size() || &entry.limits[position] == &known) return &known.hint;
    CachedLimit& regular = entry.limits[position];
    return regular.limit.SharesBucketsWith(known.limit) ? &regular.hint : &known.hint;
  }

  absl::Status ReadOption() {
    const Keyword keyword = words_.PeekKeyword();
    const std::string_view word = words_.Read();
    if (keyword == Keyword::kOr && !TakesAlternatives()) return NoAlternatives();
    if (!Takes(keyword) || Seen(keyword)) {
      return absl::InvalidArgumentError(absl::StrCat("unexpected ", Quote(word),
                                                     ": after the limits of a key come COST once, ",
                                                     WhatFollowsCost(kind_)));
    }
    seen_ |= 1U << static_cast<unsigned>(keyword);
    switch (keyword) {
      case Keyword::kAt:
        return words_.ReadAt(parsed_.at);
      case Keyword::kUpto:
        return ReadUnits("UPTO", 1, parsed_.upto);
      case Keyword::kNeed:
        return ReadUnits("NEED", 0, Slice().need);
      case Keyword::kUnit:
        return ReadUnits("UNIT", 1, Slice().unit);
      case Keyword::kTimeout:
        return words_.ReadMillis("TIMEOUT", 0, kMaxWaitMax, parsed_.timeout);
      case Keyword::kHold:
        return words_.ReadHoldId(parsed_.hold.id);
      case Keyword::kTtl:
        return words_.ReadMillis("TTL", 1, kHoldMax, parsed_.hold.ttl);
      default:
        parsed_.with_limits = true;
        return absl::OkStatus();
    }
  }

  absl::Status ReadUnits(std::string_view name, std::int64_t least, std::int64_t& units) {
    const absl::StatusOr<std::int64_t> read = words_.ReadNumber(name, least, INT64_MAX);
    if (read.ok()) units = *read;
    return read.status();
  }

  [[nodiscard]] bool Takes(Keyword option) const {
    switch (option) {
      case Keyword::kWithLimits:
        return true;
      case Keyword::kAt:
        return kind_ != RequestKind::kWait;
      case Keyword::kUpto:
        return kind_ == RequestKind::kTake || kind_ == RequestKind::kSlice;
      case Keyword::kNeed:
      case Keyword::kUnit:
        return kind_ == RequestKind::kSlice;
      case Keyword::kTimeout:
        return kind_ == RequestKind::kWait;
      case Keyword::kHold:
      case Keyword::kTtl:
        return kind_ == RequestKind::kTake || kind_ == RequestKind::kReserve ||
               kind_ == RequestKind::kSlice;
      default:
        return false;
    }
  }
  [[nodiscard]] bool Seen(Keyword option) const {
    return (seen_ >> static_cast<unsigned>(option) & 1U) != 0;
  }

  [[nodiscard]] bool TakesAlternatives() const {
    return kind_ == RequestKind::kDecide || kind_ == RequestKind::kLook ||
           kind_ == RequestKind::kReserve;
  }

  // Reads AND or OR, behind which the checks of another key begin.
  bool TryNextGroup() {
    const Keyword next = words_.PeekKeyword();
    if (next == Keyword::kOr && TakesAlternatives()) {
      parsed_.checks.BeginAlternative();
    } else if (next != Keyword::kAnd) {
      return false;
    }
    words_.Read();
    const std::size_t last = parsed_.checks.size() - 1;
    parsed_.begins_group |= std::uint64_t{2} << last;  // no bit if there is no room for a check
    return true;
  }

  WordReader words_;
  LimitMemo& memo_;
  KeyHashes hashes_;
  const RequestKind kind_;
  unsigned seen_ = 0;      // options, by Keyword
  bool has_held_ = false;  // a held limit is among the checks
  ParsedRequest& parsed_;
};

// The fast path: reads a key and a limit that was read lately, which is no policy's, as most
// requests are. Otherwise returns false and changes nothing. (It takes half of the instructions.)
bool ReadPlain(std::span<const std::string_view> words, LimitMemo& memo, KeyHashes hashes,
               RequestKind kind, ParsedRequest& parsed) {
  const bool needs_no_option =
      kind == RequestKind::kDecide || kind == RequestKind::kChange || kind == RequestKind::kLook;
  if (words.size() != 2 || !needs_no_option) return false;
  LimitMemo::Entry* const entry = memo.FindRecent(words[1]);  // A keyword is in no memo.
  if (!entry || entry->word.kind == LimitWord::Kind::kPolicy) return false;
  CachedLimit& known = entry->limits.front();
  if (known.limit.is_held()) return false;
  parsed.checks.push_back({words[0], &known.limit, known.cost.value_or(1), &known.hint,
                           hashes.Next(words[0]), known.keep.value_or(0)});
  parsed.limits.push_back(&known);
  return true;
}

absl::Status TooManyLimits() {
  return absl::InvalidArgumentError(absl::StrCat("too many limits: at most ", kChecksMax));
}

}  // namespace

bool IsRequestKeyword(std::string_view word) { return KeywordOf(word) != Keyword::kNone; }

absl::StatusOr<ParsedRequest> ParseRequest(std::span<const std::string_view> words, LimitMemo& memo,
                                           KeyHashes hashes, RequestKind kind) {
  memo.BeginRequest();
  absl::StatusOr<ParsedRequest> parsed(absl::in_place);
  if (ReadPlain(words, memo, hashes, kind, *parsed)) return parsed;
  absl::Status read = RequestReader(words, memo, hashes, kind, *parsed).Read();
  if (!read.ok()) {
    parsed = std::move(read);
    return parsed;
  }
  WEIR_DCHECK(!parsed->checks.empty());
  WEIR_DCHECK(parsed->checks.size() <= kChecksMax);
  WEIR_CHECK(parsed->checks.size() == parsed->limits.size());
  return parsed;
}

absl::StatusOr<ParsedSlice> ParseSlice(std::span<const std::string_view> words, LimitMemo& memo,
                                       KeyHashes hashes) {
  memo.BeginRequest();
  ParsedSlice slice;
  WEIR_RETURN_IF_ERROR(RequestReader(words, memo, hashes, slice).ReadSlice());
  return slice;
}

absl::StatusOr<absl::InlinedVector<Limit, 4>> ParseLimits(std::string_view key,
                                                          std::span<const std::string_view> words,
                                                          LimitMemo& memo) {
  memo.BeginRequest();
  if (words.size() > kChecksMax) return TooManyLimits();
  absl::InlinedVector<Limit, 4> limits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::StatusOr<LimitMemo::Entry*> entry = memo.Read(words[i]);
    if (!entry.ok()) {
      return WithPeriod(entry.status(), words[i], i + 1 < words.size() ? words[i + 1] : "");
    }
    for (const CachedLimit& known : (*entry)->limits) limits.push_back(known.limit);
    if (const auto own = OverrideOf(**entry, key)) {
      for (const CachedLimit& known : memo.Expand((*entry)->word, *own)) {
        limits.push_back(known.limit);
      }
    }
    // The limits of the policy and those of its override: up to twice as many as a request may
    // have.
    if (limits.size() > 2 * kChecksMax) return TooManyLimits();
  }
  return limits;
}

}  // namespace weir
