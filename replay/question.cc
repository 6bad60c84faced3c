#include "replay/question.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/commands/request_grammar.h"
#include "protocol/inline_words.h"

namespace weir {
namespace {

constexpr absl::string_view kPlaceholder = "{key}";

// Fails if a key has a placeholder other than {key}.
absl::Status CheckPieces(std::span<const std::string> pieces) {
  for (const std::string& piece : pieces) {
    const std::size_t end = piece.find('}', std::min(piece.find('{'), piece.size()));
    if (end == std::string::npos) continue;
    const std::size_t begin = piece.rfind('{', end);
    return absl::InvalidArgumentError(absl::StrCat("unknown placeholder ",
                                                   Quote(piece.substr(begin, end + 1 - begin)),
                                                   ": known is ", kPlaceholder));
  }
  return absl::OkStatus();
}

bool IsWord(std::string_view word, absl::string_view keyword) {
  return absl::EqualsIgnoreCase(AbslView(word), keyword);
}

// Whether RL.WAIT takes the limits of these words. (No word of a limit is long.)
absl::Status TryToWait(std::vector<std::string_view> words, const Policies* policies) {
  words.insert(words.end(), {"TIMEOUT", "0"});
  LimitMemo memo(policies);
  const KeyHasher hasher{HashSecret{}};
  return ParseRequest(words, memo, KeyHashes(hasher), RequestKind::kWait).status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Question>> Question::Parse(std::string_view text,
                                                          const Policies* policies) {
  std::unique_ptr<Question> question(new Question(text, policies));
  const absl::Status read = question->Read(policies);
  if (read.ok()) return question;
  absl::string_view what = read.message();
  const bool is_unknown = absl::ConsumeSuffix(&what, ": RL.POLICY SET makes one");
  return absl::Status(read.code(),
                      absl::StrCat("--ask ", Quote(text), ": ", what,
                                   is_unknown ? ": the file of --policies does not have it" : ""));
}

absl::Status Question::Read(const Policies* policies) {
  std::vector<std::string_view> words;
  WEIR_RETURN_IF_ERROR(
      SplitInlineWords(text_, std::numeric_limits<std::size_t>::max(), words, unquoted_));
  if (words.empty()) return absl::InvalidArgumentError("expected a key and a limit");
  const KeyHasher hasher{HashSecret{}};  // The hashes of these keys are not used.
  const absl::StatusOr<ParsedRequest> parsed = ParseRequest(words, memo_, KeyHashes(hasher));
  if (!parsed.ok()) return parsed.status();
  if (parsed->with_limits || parsed->at) {
    return absl::InvalidArgumentError("WITHLIMITS and AT have no place here");
  }
  checks_ = parsed->checks;
  for (const CachedLimit* limit : parsed->limits) names_.push_back(limit->name);
  WEIR_RETURN_IF_ERROR(ReadParts(words));
  WEIR_CHECK(parts_.size() == checks_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parsed->limits[i]->cost) parts_[i].takes_logged_cost = false;
    if (!patterns_[parts_[i].pattern].is_constant()) ++of_each_key_;
  }
  may_wait_ = TryToWait(std::move(words), policies);
  return absl::OkStatus();
}

// Finds the key and the word of each check. Requires: the words of a request.
absl::Status Question::ReadParts(std::span<const std::string_view> words) {
  for (std::size_t next = 0; next < words.size(); ++next) {
    patterns_.push_back({absl::StrSplit(AbslView(words[next++]), kPlaceholder)});
    WEIR_RETURN_IF_ERROR(CheckPieces(patterns_.back().pieces));
    const std::size_t first = parts_.size();
    for (std::size_t position = 0; next < words.size(); ++next) {
      if (IsWord(words[next], "AND") || IsWord(words[next], "OR")) break;
      if (IsWord(words[next], "COST")) {
        for (Part& part : std::span(parts_).subspan(first)) part.takes_logged_cost = false;
        ++next;
        continue;
      }
      const absl::StatusOr<LimitMemo::Entry*> entry = memo_.Read(words[next]);
      if (!entry.ok()) return entry.status();
      parts_.insert(parts_.end(), (*entry)->limits.size(), {patterns_.size() - 1, position, true});
      ++position;
    }
  }
  return absl::OkStatus();
}

absl::Status Question::MayAsk(const LoggedRequest& logged) const {
  if (!AsksForTokens(logged.action) && logged.action != LoggedAction::kRefund) {
    return absl::OkStatus();
  }
  WEIR_CHECK(!logged.keys.empty());
  if (checks_.has_alternatives() && logged.action != LoggedAction::kAllow) {
    return absl::InvalidArgumentError("an --ask with OR asks what RL.ALLOW asks, and nothing else");
  }
  if (checks_.size() + (logged.keys.size() - 1) * of_each_key_ > kChecksMax) {
    return absl::InvalidArgumentError(absl::StrCat("with ", logged.keys.size(), " keys --ask ",
                                                   Quote(text_), " has more than ", kChecksMax,
                                                   " limits"));
  }
  return logged.action == LoggedAction::kWait ? may_wait_ : absl::OkStatus();
}

std::string Question::KeyPattern::Expand(std::string_view logged_key) const {
  return absl::StrJoin(pieces, AbslView(logged_key));
}

// Finds the places of the checks of a request with that many keys.
void Question::PlaceChecks(std::size_t keys) {
  places_.clear();
  for (std::size_t first = 0; first < checks_.size();) {
    const std::size_t end = checks_.AlternativeWith(first).end;
    for (std::size_t key = 0; key < keys; ++key) {
      for (std::size_t limit = first; limit < end; ++limit) {
        const bool is_asked = key == 0 || !patterns_[parts_[limit].pattern].is_constant();
        if (is_asked) places_.push_back({.limit = limit, .key = key});
      }
    }
    first = end;
  }
  placed_keys_ = keys;
}

const Request& Question::RequestFor(const LoggedRequest& logged, const KeyHasher& hasher) {
  request_.clear();
  keys_.resize(logged.keys.size() * patterns_.size());
  if (logged.keys.size() != placed_keys_) PlaceChecks(logged.keys.size());
  WEIR_CHECK(places_.size() <= kChecksMax);
  Place before{.limit = 0, .key = logged.keys.size()};  // none
  std::string_view text;
  KeyHash hash;
  for (const Place& place : places_) {
    const LoggedKey& key = logged.keys[place.key];
    const Part& part = parts_[place.limit];
    if (place.key != before.key || part.pattern != parts_[before.limit].pattern) {
      text = key.key;
      hash = key.hash;
      if (!patterns_[part.pattern].is_logged_key()) {
        std::string& own = keys_[place.key * patterns_.size() + part.pattern];
        own = patterns_[part.pattern].Expand(key.key);
        text = own;
        hash = hasher(text);
      }
    }
    if (!request_.empty() && AlternativeOf(place.limit) != AlternativeOf(before.limit)) {
      request_.BeginAlternative();
    }
    before = place;
    Check check = checks_[place.limit];
    check.key = text;
    check.hash = hash;
    if (part.takes_logged_cost) check.cost = key.CostOfWord(part.position);
    request_.push_back(check);
  }
  return request_;
}

}  // namespace weir
