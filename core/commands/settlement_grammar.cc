#include "core/commands/settlement_grammar.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/request.h"
#include "core/words/word_reader.h"

namespace weir {
namespace {

bool IsHeld(const TrueCost& named) { return named.limit && named.limit->is_held(); }

absl::Status HeldTakesNoCost() {
  return absl::InvalidArgumentError("a held limit takes no cost here");
}

class SettlementReader {
 public:
  SettlementReader(std::span<const std::string_view> words, LimitMemo& memo,
                   const Policies& policies, KeyHashes hashes, SettlementKind kind,
                   ParsedSettlement& parsed)
      : words_(words),
        memo_(memo),
        policies_(policies),
        hashes_(hashes),
        kind_(kind),
        parsed_(parsed) {}

  absl::Status Read() {
    do {
      WEIR_RETURN_IF_ERROR(ReadGroup());
    } while (words_.TryKeyword(Keyword::kAnd));
    while (!words_.AtEnd()) WEIR_RETURN_IF_ERROR(ReadOption());
    if (!parsed_.id.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(kind_ == SettlementKind::kCancel ? "RL.CANCEL needs HOLD id"
                                                                       : "RL.COMMIT needs HOLD id");
  }

 private:
  // key [limit ...] [COST n], or a key.
  absl::Status ReadGroup() {
    if (words_.AtEnd()) return words_.NoKey();
    const std::string_view text = words_.Read();
    const HashedKey key{text, hashes_.Next(text)};
    const std::size_t place = PlaceOf(key);
    if (place == kChecksMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("too many keys: a hold has at most ", kChecksMax));
    }
    if (kind_ == SettlementKind::kCancel) {
      parsed_.keys[place].cost = 0;
      return absl::OkStatus();
    }
    const std::size_t first = parsed_.named.size();
    while (words_.HasLimit()) WEIR_RETURN_IF_ERROR(ReadLimit(key));
    if (!words_.TryKeyword(Keyword::kCost)) return absl::OkStatus();
    const absl::StatusOr<std::int64_t> cost = words_.ReadCost();
    if (!cost.ok()) return cost.status();
    if (first == parsed_.named.size()) {
      if (parsed_.keys[place].cost) {
        return absl::InvalidArgumentError(
            absl::StrCat("COST of the key ", Quote(text), " is given twice"));
      }
      parsed_.keys[place].cost = *cost;
    }
    bool is_of_any = first == parsed_.named.size();
    for (TrueCost& named : std::span(parsed_.named).subspan(first)) {
      if (IsHeld(named)) continue;
      is_of_any = true;
      if (!named.cost) named.cost = *cost;
    }
    return is_of_any ? absl::OkStatus() : HeldTakesNoCost();
  }

  // Returns the index of a key, which is added if it is new.
  std::size_t PlaceOf(const HashedKey& key) {
    const auto known = std::ranges::find(
        parsed_.keys, key.hash, [](const SettledKey& settled) { return settled.key.hash; });
    const auto place = static_cast<std::size_t>(known - parsed_.keys.begin());
    if (known == parsed_.keys.end() && place < kChecksMax) parsed_.keys.push_back({key, {}});
    return place;
  }

  absl::Status ReadLimit(const HashedKey& key) {
    if (parsed_.named.size() == kChecksMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("too many limits: a request has at most ", kChecksMax));
    }
    const std::string_view text = words_.Read();
    if (text.starts_with('@')) return ReadPolicy(key, text);
    const absl::StatusOr<LimitMemo::Entry*> entry = memo_.Read(text);
    if (!entry.ok()) {
      return WithPeriod(entry.status(), text, words_.HasLimit() ? words_.Read() : "");
    }
    WEIR_CHECK((*entry)->limits.size() == 1);
    const CachedLimit& known = (*entry)->limits.front();
    if (known.limit.is_held() && known.cost) return HeldTakesNoCost();
    Add({.key = key, .limit = &known.limit, .cost = known.cost}, known.name);
    return absl::OkStatus();
  }

  // A retired policy has holds, too.
  absl::Status ReadPolicy(const HashedKey& key, std::string_view text) {
    const absl::StatusOr<LimitWord> word = ParseLimitWord(text);
    if (!word.ok()) return word.status();
    WEIR_RETURN_IF_ERROR(CheckLabel(word->label, text));
    const std::shared_ptr<const Policy> policy = policies_.Find(word->policy);
    if (!policy) return UnknownPolicyAmong(word->policy, policies_, "@");
    Add({.key = key, .policy = policy->id, .cost = word->cost}, NameOf(*word));
    return absl::OkStatus();
  }

  void Add(const TrueCost& named, std::string name) {
    parsed_.named.push_back(named);
    parsed_.names.push_back(std::move(name));
  }

  absl::Status ReadOption() {
    const Keyword keyword = words_.PeekKeyword();
    const std::string_view word = words_.Read();
    if (keyword == Keyword::kOr) return NoAlternatives();
    if (keyword == Keyword::kHold && parsed_.id.empty()) return words_.ReadHoldId(parsed_.id);
    if (keyword == Keyword::kAt && !parsed_.at) return words_.ReadAt(parsed_.at);
    if (keyword == Keyword::kWithLimits && !parsed_.with_limits) {
      parsed_.with_limits = true;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "unexpected ", Quote(word),
        kind_ == SettlementKind::kCancel ? ": after a key come AND key ..."
                                         : ": after the limits of a key come COST once, then AND "
                                           "key [limit ...] ...",
        ", then HOLD, WITHLIMITS and AT once each"));
  }

  WordReader words_;
  LimitMemo& memo_;
  const Policies& policies_;
  KeyHashes hashes_;
  const SettlementKind kind_;
  ParsedSettlement& parsed_;
};

}  // namespace

absl::StatusOr<ParsedSettlement> ParseSettlement(std::span<const std::string_view> words,
                                                 LimitMemo& memo, const Policies& policies,
                                                 KeyHashes hashes, SettlementKind kind) {
  memo.BeginRequest();
  absl::StatusOr<ParsedSettlement> parsed(absl::in_place);
  absl::Status read = SettlementReader(words, memo, policies, hashes, kind, *parsed).Read();
  if (!read.ok()) {
    parsed = std::move(read);
    return parsed;  // the one variable that is returned, so that it is made in its place
  }
  WEIR_CHECK(!parsed->keys.empty());
  WEIR_CHECK(parsed->named.size() == parsed->names.size());
  return parsed;
}

}  // namespace weir
