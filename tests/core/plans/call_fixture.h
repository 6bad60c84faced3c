// A fixture that decides calls in words, each rule of them `KEY=VALUE` and its way:
//
//     a=1     asks 1 token           a=1+5   reports 5       a=1-5   refunds 5
//     a=1*5   asks 5 tokens          a=1+0   looks
//     a=1@10/d  asks an inline limit that stands in the place of the rule
//     -       no rule matches        deny    no rule matches, and that denies
//
// Words stand between `; `. KEY names the rule, the whole is the key of the buckets. The answer is
// `r3` (passes, 3 remain) or `OVER` for each, and OK or OVER for the call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/limiter/call_decider.h"
#include "tests/core/limiter/limiter_fixture.h"

namespace weir {

class CallFixture : public LimiterFixture {
 protected:
  using LimiterFixture::LimiterFixture;

  struct Rule {
    std::vector<std::string> limits;
    bool shadow = false;
    bool quota = false;
  };
  // A limit of a rule has an owner, so that its number may change.
  void SetRule(const std::string& name, const Rule& rule) {
    OwnedRule& owned = rules_[name];
    if (owned.policy == 0) owned.policy = ++policies_;
    owned.rule = rule;
    owned.limits.clear();
    for (std::uint32_t i = 0; i < rule.limits.size(); ++i) {
      owned.limits.push_back(LimitOf(rule.limits[i]).OwnedBy({PolicyId{owned.policy}, i}));
    }
  }

  CallRequest CallOf(std::string_view words) {
    CallRequest call;
    for (const std::string& word : WordsOf(words)) {
      if (word == "-") {
        call.quota_passes = call.quota_passes || all_quota_;
      } else if (word == "deny") {
        call.is_over = true;
      } else {
        AddTo(call, word);
      }
    }
    return call;
  }
  absl::StatusOr<CallVerdict> Decide(const CallRequest& call) {
    return Limiter::CallDecider(*limiter_).Decide(call, now_);
  }
  CallVerdict VerdictOf(std::string_view words) { return *Decide(CallOf(words)); }

  std::string Call(std::string_view words) {
    const CallVerdict verdict = VerdictOf(words);
    std::string answer;
    std::size_t part = 0;
    for (const std::string& word : WordsOf(words)) {
      if (word == "-" || word == "deny") {
        absl::StrAppend(&answer, word == "-" ? "- " : "OVER ");
        continue;
      }
      const PartVerdict& one = verdict.parts[part++];
      const bool is_shadow = RuleOf(word).rule.shadow;
      if (one.over && !is_shadow) {
        absl::StrAppend(&answer, "OVER ");
      } else {
        absl::StrAppend(&answer, "r", one.over ? 0 : one.decision.remaining, " ");
      }
    }
    return answer + (verdict.over ? "OVER" : "OK");
  }

  // The tokens used in the first bucket of a key; 0 if there is none.
  std::int64_t Used(std::string_view key) {
    const std::vector<LiveBucket> live = limiter_->Inspect(key, now_);
    return live.empty() ? 0 : live.front().used;
  }

  bool all_shadow_ = false;  // as by the option rls-shadow
  bool all_quota_ = false;   // rls-quota

 private:
  struct OwnedRule {
    Rule rule;
    std::uint32_t policy = 0;
    std::vector<Limit> limits;
  };

  static std::vector<std::string> WordsOf(std::string_view words) {
    return absl::StrSplit(std::string(words), "; ");
  }
  const OwnedRule& RuleOf(const std::string& word) {
    return rules_.at(word.substr(0, word.find('=')));
  }

  void AddTo(CallRequest& call, const std::string& word) {
    const std::size_t end = word.find_first_of("+-*@");
    const std::string& key = *keys_.emplace(word.substr(0, end)).first;
    const char sign = end == word.npos ? '*' : word[end];
    const bool has_hits = sign != '@' && end != word.npos;
    const std::int64_t hits = has_hits ? std::stoll(word.substr(end + 1)) : 1;
    const OwnedRule& rule = sign == '@' ? Inline(word.substr(end + 1)) : RuleOf(word);
    CallPart part;
    part.shadow = rule.rule.shadow || all_shadow_;
    part.quota = rule.rule.quota || all_quota_;
    part.marks = rule.limits.size() == 1;
    if (sign == '+') part.way = hits == 0 ? Way::kLook : Way::kReport;
    if (sign == '-') part.way = Way::kRefund;
    Request checks;
    for (const Limit& limit : rule.limits) {
      checks.push_back({.key = key, .limit = &limit, .cost = hits, .hash = limiter_->Hash(key)});
    }
    call.Add(part, checks);
  }

  // The limit of a call: its number may change, another unit is another bucket.
  const OwnedRule& Inline(const std::string& text) {
    constexpr PolicyId kInline{1'000};
    OwnedRule& rule = inline_[text];
    if (rule.limits.empty()) {
      const auto position = static_cast<std::uint32_t>(text.back());
      const Limit limit =
          text.starts_with("0/") ? Limit::None() : LimitOf(absl::StrCat(text, ",fixed,aligned"));
      rule.limits.push_back(limit.OwnedBy({kInline, position}));
    }
    return rule;
  }

  std::uint32_t policies_ = 0;
  std::map<std::string, OwnedRule> rules_;
  std::map<std::string, OwnedRule> inline_;
  std::set<std::string, std::less<>> keys_;
};

}  // namespace weir
