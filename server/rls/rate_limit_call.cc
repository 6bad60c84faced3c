#include "server/rls/rate_limit_call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/commands/decision_events.h"
#include "core/limiter/call_decider.h"
#include "core/rules/top_keys.h"
#include "rls/answer_metadata.h"
#include "rls/rule_policies.h"
#include "rls/units.h"
#include "server/commands/command_table.h"
#include "server/rls/reference_count.h"
#include "server/session/observers.h"

namespace weir {
namespace {

using Matched = MatchedDescriptor::Answer;

// RuleMatch::visits of a unit of work: 10 us.
constexpr std::uint64_t kVisitsPerUnit = 32 * 1024;

constexpr std::string_view kNoRules = "LOADING no rules yet: the control plane has sent none";
constexpr std::string_view kNotInForce = "LOADING the rules of this server are not in force yet";

// The command that takes tokens in this way, whose right a call needs.
const CommandSpec& CommandOf(Way way) {
  static const std::map<Way, const CommandSpec*> kCommands = {
      {Way::kAsk, FindCommand("RL.ALLOW")},
      {Way::kLook, FindCommand("RL.PEEK")},
      {Way::kReport, FindCommand("RL.CHARGE")},
      {Way::kRefund, FindCommand("RL.REFUND")}};
  return *kCommands.at(way);
}

// The limits of the key's override of a rule; null if there is none. A call takes no held limits,
// so an override that has one does not count.
std::shared_ptr<const PolicyLimits> OverrideOf(const LimitMemo::Entry& entry,
                                               std::string_view key) {
  if (!entry.overrides || entry.overrides->empty()) return nullptr;
  std::shared_ptr<const PolicyLimits> own = entry.overrides->Find(key);
  const bool is_held = own && std::ranges::any_of(*own, [](const PolicyLimit& limit) {
                         return limit.limit.is_held();
                       });
  return is_held ? nullptr : own;
}

std::int64_t InlineCount(const CallLimit& limit) {
  return std::min<std::int64_t>(limit.requests_per_unit, kWindowCountMax);
}

// After a promotion a policy may be another server's of the same name until the rules are in force.
bool HasHeldLimit(std::span<const CachedLimit> policy) {
  return std::ranges::any_of(policy,
                             [](const CachedLimit& known) { return known.limit.is_held(); });
}

// True if a policy has the windows of that period at a position, as kInlinePolicy does.
bool IsInlineLimit(std::span<const CachedLimit> policy, std::size_t position, Nanos period) {
  if (position >= policy.size()) return false;
  const LimitShape& shape = policy[position].limit.shape();
  return shape.algorithm == Algorithm::kFixedWindow && shape.aligned && shape.period == period &&
         !shape.shadow && shape.ban == Nanos{0};
}

std::string WrittenWord(std::string_view text) {
  return absl::StrReplaceAll(AbslView(text), {{"%", "%25"}, {",", "%2C"}, {"=", "%3D"}});
}

// A call as MONITOR and SLOWLOG show it: rls shop user=7,path=/x +5 #2. `+n` are a descriptor's own
// hits, `-n` negative ones, `#n` those of the call. In keys and values % , = are written %XX.
std::vector<std::string> WordsOf(const RateLimitCall& call) {
  std::vector<std::string> words = {"rls", std::string(call.domain())};
  for (const CallDescriptor& descriptor : call.descriptors()) {
    std::string& text = words.emplace_back();
    for (const auto& [key, value] : descriptor.entries) {
      absl::StrAppend(&text, text.empty() ? "" : ",", WrittenWord(key), "=", WrittenWord(value));
    }
    const char* const sign = descriptor.gives_back ? "-" : "+";
    if (descriptor.hits) words.push_back(absl::StrCat(sign, *descriptor.hits));
  }
  if (call.hits() != 0) words.push_back(absl::StrCat("#", call.hits()));
  return words;
}

absl::Status TooManyRuleLimits() {
  return absl::InvalidArgumentError(absl::StrCat("ERR a call has at most ", kChecksMax, " limits"));
}

}  // namespace

std::string RateLimitDecision::Decide(const RateLimitCall& call) {
  session_.work().RestartStopwatch();
  session_.worker().counters["total_commands_processed"].Add();
  session_.client().record().last_command.store(&RateLimitCallSpec(), std::memory_order_relaxed);
  if (!rules_) return std::string(kNoRules);
  const MatchedCall matched(rules_->tree, call);
  std::string error = DecideMatched(call, matched);
  ShowToObservers(call, !error.empty());
  return error;
}

void RateLimitDecision::ShowToObservers(const RateLimitCall& call, bool is_error) {
  TurnWork& work = session_.work();
  const Nanos begin = work.command_begin();
  work.RestartStopwatch();
  const Nanos duration = std::max(work.command_begin() - begin, Nanos{0});
  CommandCounters& counters = session_.worker().command_counters.Of(RateLimitCallSpec());
  counters.times.Count(duration);
  counters.nanos.Add(static_cast<std::uint64_t>(duration.count()));
  if (is_error) counters.failed.Add();
  Observers& observers = services().observers;
  if (!observers.AreInterested(duration)) return;
  const std::vector<std::string> texts = WordsOf(call);
  const std::vector<std::string_view> words(texts.begin(), texts.end());
  observers.Show(RateLimitCallSpec(), words, now_, session_, duration);
}

std::string RateLimitDecision::DecideMatched(const RateLimitCall& call,
                                             const MatchedCall& matched) {
  Worker& worker = session_.worker();
  session_.work().Charge(call.descriptors().size() - 1 + matched.visits() / kVisitsPerUnit);
  if (absl::Status why = Refusal(matched); !why.ok()) return std::string(StdView(why.message()));
  worker.memo.BeginRequest();
  for (const MatchedPart& part : matched.parts()) {
    if (absl::Status why = Add(part); !why.ok()) return std::string(StdView(why.message()));
  }
  const bool is_quota = services().settings.Get(&Options::rls_quota);
  const bool is_shadow = services().settings.Get(&Options::rls_shadow);
  request_.is_over = !is_shadow && matched.Has(Matched::kDenied);
  request_.quota_passes = is_quota && matched.Has(Matched::kNoLimit);
  for (CallPart& part : request_.parts) {
    part.quota = part.quota || is_quota;
    part.shadow = part.shadow || is_shadow;
  }
  TurnWork& work = session_.work();
  work.BeginCommand();
  const absl::StatusOr<CallVerdict> verdict =
      Limiter::CallDecider(services().limiter)
          .Decide(request_, now_, session_.client().introducer());
  if (!verdict.ok()) return absl::StrCat("OOM ", verdict.status().message());
  Count(call, matched, *verdict);
  work.ChargeVisits();
  // As after a command: a restart must not find the hold open again.
  if (work.has_expired_holds()) session_.delay().AwaitSaveOfChange();
  AnswerWith(matched, *verdict);
  if (services().settings.Get(&Options::rls_metadata)) {
    answer_.metadata = MetadataOf(call, matched, answer_);
  }
  return {};
}

void RateLimitDecision::AnswerWith(const MatchedCall& matched, const CallVerdict& verdict) {
  answer_.is_over = verdict.over;
  for (const MatchedDescriptor& descriptor : matched.descriptors()) {
    DescriptorStatus& status = answer_.statuses.emplace_back();
    if (descriptor.answer == Matched::kDenied) status.is_over = true;
    if (descriptor.answer == Matched::kUnlimited) status.remaining = kRemainingMax;
    if (descriptor.answer == Matched::kPart) {
      status = StatusOfPart(descriptor.part, matched, verdict);
    }
  }
  answer_.headers = Headers(matched, verdict);
}

std::vector<AnsweredHeader> RateLimitDecision::Headers(const MatchedCall& matched,
                                                       const CallVerdict& verdict) const {
  const RlsHeaders kind = session_.worker().services.settings.Get(&Options::rls_headers);
  const auto shown = kind == RlsHeaders::kNone ? std::nullopt : StatusOfHeaders(answer_);
  if (!shown) return {};
  if (kind == RlsHeaders::kReference) return ReferenceHeaders(answer_.statuses[*shown]);
  std::vector<std::size_t> checks = {verdict.parts[matched.descriptors()[*shown].part].decider};
  for (std::size_t i = 0; i < request_.checks.size(); ++i) {
    const std::size_t part = parts_[i];
    // Of the limits that calls bring for one bucket, the one that decides has the numbers.
    const std::size_t check = request_.parts[part].checks == 1 ? verdict.parts[part].decider : i;
    const bool is_repeated = check == i && (verdict.repeated >> i & 1) != 0;
    if (!is_repeated && std::ranges::count(checks, check) == 0) checks.push_back(check);
  }
  std::vector<ToldLimit> told;
  for (const std::size_t check : checks) {
    const bool is_shadow = matched.parts()[parts_[check]].is_shadow;
    if (is_shadow || limits_[check]->limit.shape().shadow) continue;
    told.push_back(Tell(check, matched, verdict));
  }
  return LimitHeaders(told, answer_.is_over, verdict.now);
}

ToldLimit RateLimitDecision::Tell(std::size_t check, const MatchedCall& matched,
                                  const CallVerdict& verdict) const {
  const Rule* const rule = matched.parts()[parts_[check]].rule;
  const bool is_named = rule != nullptr && !rule->limit->name.empty();
  return {.name = is_named ? rule->limit->name : limits_[check]->name,
          .limit = &limits_[check]->limit,
          .decision = verdict.decisions[check],
          .is_over = !verdict.decisions[check].allowed,
          .is_quota = request_.parts[parts_[check]].quota,
          .part = parts_[check]};
}

absl::Status RateLimitDecision::Refusal(const MatchedCall& matched) {
  const CommandAdmission admission = services().admission();
  if (absl::Status why = admission.StateError(CommandOf(Way::kAsk).flags); !why.ok()) return why;
  if (!session_.client().user()) {
    return absl::UnauthenticatedError("NOAUTH Authentication required.");
  }
  bool changes = false;
  for (const MatchedPart& part : matched.parts()) {
    const CommandSpec& command = CommandOf(part.way);
    const auto words = std::to_array<std::string_view>({command.name, part.key, "1/s"});
    if (absl::Status why = session_.PermissionError(command, words); !why.ok()) return why;
    changes = changes || part.way != Way::kLook;
  }
  if (changes && admission.refuses_changes()) return admission.ChangeError();
  if (matched.parts().size() < 2 || !services().limiter.has_open_holds()) return absl::OkStatus();
  absl::InlinedVector<KeyHash, 4> keys;
  for (const MatchedPart& part : matched.parts()) {
    keys.push_back(services().limiter.Hash(part.key));
  }
  absl::Status expired = services().upkeep.ExpireAhead(keys, now_);
  if (expired.ok()) return expired;
  return absl::UnavailableError(absl::StrCat("LOADING ", expired.message()));
}

absl::Status RateLimitDecision::Add(const MatchedPart& part) {
  checks_.clear();
  absl::Status added = part.rule ? AddRule(part) : AddInline(part);
  if (!added.ok()) return added;
  if (request_.checks.size() + checks_.size() > kChecksMax) return TooManyRuleLimits();
  request_.Add({.way = part.way,
                .shadow = part.is_shadow,
                .quota = part.is_quota,
                .marks = !part.rule || part.rule->limit->unit != RuleUnit::kNone},
               checks_);
  return absl::OkStatus();
}

void RateLimitDecision::AddLimit(const MatchedPart& part, CachedLimit& limit, LimitHint& hint) {
  checks_.push_back({.key = part.key,
                     .limit = &limit.limit,
                     .cost = part.hits,
                     .hint = &hint,
                     .hash = services().limiter.Hash(part.key)});
  limits_.push_back(&limit);
  parts_.push_back(request_.parts.size());
}

absl::Status RateLimitDecision::AddRule(const MatchedPart& part) {
  LimitMemo& memo = session_.worker().memo;
  const absl::StatusOr<LimitMemo::Entry*> read =
      memo.Read(rules_->words[rules_->tree.PlaceOf(*part.rule)]);
  if (!read.ok()) return absl::UnavailableError(AbslView(kNotInForce));
  LimitMemo::Entry& entry = **read;
  const std::shared_ptr<const PolicyLimits> own = OverrideOf(entry, part.key);
  if (!own && HasHeldLimit(entry.limits)) return absl::UnavailableError(AbslView(kNotInForce));
  const bool has_metric_values = rules_->tree.HasMetricValues(*part.rule);
  if (!own && !has_metric_values) {
    for (CachedLimit& limit : entry.limits) AddLimit(part, limit, limit.hint);
    return absl::OkStatus();
  }
  owned_.push_back(std::make_unique<absl::InlinedVector<CachedLimit, 1>>(
      own ? memo.Expand(entry.word, *own) : entry.limits));
  if (has_metric_values) CountByValue(part, *owned_.back());
  for (std::size_t i = 0; i < owned_.back()->size(); ++i) {
    CachedLimit& limit = (*owned_.back())[i];
    AddLimit(part, limit, own ? limit.hint : entry.limits[i].hint);
  }
  return absl::OkStatus();
}

// Statistics and metrics count the limits under names that have values of the descriptor.
void RateLimitDecision::CountByValue(const MatchedPart& part,
                                     absl::InlinedVector<CachedLimit, 1>& limits) const {
  std::string name = "@";
  rules_->tree.AppendMetricName(*part.rule, part.entries, name);
  for (CachedLimit& limit : limits) {
    const std::size_t position = limit.counted_as.rfind('#');
    const std::string end = position == std::string::npos ? "" : limit.counted_as.substr(position);
    // As long as a label may be, so that a name that is cut keeps its position there, too.
    const std::size_t most = kTopKeyBytesMax - std::min(end.size(), kTopKeyBytesMax);
    limit.counted_as = absl::StrCat(AbslView(std::string_view(name).substr(0, most)), end);
    limit.counts = {};
  }
}

absl::Status RateLimitDecision::AddInline(const MatchedPart& part) {
  LimitMemo& memo = session_.worker().memo;
  const CallLimit& asked = *part.inline_limit;
  const std::int64_t count = InlineCount(asked);
  const Nanos period = UnitPeriod(asked.unit) * asked.unit_multiplier;
  if (asked.unit_multiplier != 1) {
    const std::string text =
        count == 0 ? "none"
                   : absl::StrCat(count, "/", period / std::chrono::seconds{1}, "s,fixed,aligned");
    const absl::StatusOr<LimitMemo::Entry*> read = memo.Read(text);
    WEIR_CHECK(read.ok());
    AddLimit(part, (*read)->limits.front(), (*read)->limits.front().hint);
    return absl::OkStatus();
  }
  const absl::StatusOr<LimitMemo::Entry*> read =
      memo.Read(absl::StrCat("@", AbslView(kInlinePolicy)));
  const std::size_t position = InlinePosition(asked.unit);
  if (!read.ok() || !IsInlineLimit((*read)->limits, position, period)) {
    return absl::UnavailableError(AbslView(kNotInForce));
  }
  CachedLimit& of_unit = (*read)->limits[position];
  owned_.push_back(std::make_unique<absl::InlinedVector<CachedLimit, 1>>(1, of_unit));
  CachedLimit& limit = owned_.back()->front();
  LimitShape shape = limit.limit.shape();
  shape.count = count;
  limit.limit = count == 0 ? Limit::None() : Limit::Create(shape)->OwnedBy(of_unit.limit.owner());
  AddLimit(part, limit, count == 0 ? limit.hint : of_unit.hint);
  return absl::OkStatus();
}

// A call that has changed something waits as any change does.
void RateLimitDecision::Count(const RateLimitCall& call, const MatchedCall& matched,
                              const CallVerdict& verdict) {
  const auto add = [](std::atomic<std::uint64_t>& count, std::uint64_t n = 1) {
    if (n > 0) count.fetch_add(n, std::memory_order_relaxed);
  };
  add(services().rls.calls);
  if (verdict.over) add(services().rls.over_limit);
  const std::span<const RuleDomain> domains = rules_->tree.domains();
  RlsDomainCounts& of_domain =
      matched.domain()
          ? *rules_->counts[static_cast<std::size_t>(matched.domain() - domains.data())]
          : services().rls.unknown;
  add(verdict.over ? of_domain.over_limit : of_domain.ok);
  add(of_domain.no_match, static_cast<std::uint64_t>(std::ranges::count_if(
                              matched.descriptors(), [](const MatchedDescriptor& descriptor) {
                                return !descriptor.rule && descriptor.answer != Matched::kPart;
                              })));
  if (rules_->reference) {
    CountForReference(*rules_, call, matched, request_, verdict,
                      services().settings.Get(&Options::rls_shadow), services().rls_reference);
  }
  Worker& worker = session_.worker();
  worker.request_counters.CountCall(request_, limits_, verdict);
  if (services().channels.IsHeard(static_cast<std::size_t>(EventKind::kDenied))) {
    const Nanos interval = services().settings.Get(&Options::notify_interval);
    worker.events.CollectCall(request_, limits_, verdict, {.now = now_, .interval = interval});
    session_.work().Charge(worker.PublishEvents());
  }
  if (verdict.changes) session_.delay().AwaitChange();
}

DescriptorStatus RateLimitDecision::StatusOfPart(std::size_t part, const MatchedCall& matched,
                                                 const CallVerdict& verdict) const {
  const PartVerdict& said = verdict.parts[part];
  const Limit& limit = *request_.checks[said.decider].limit;
  if (limit.shape().algorithm == Algorithm::kUnlimited) return {.remaining = kRemainingMax};
  const MatchedPart& decider = matched.parts()[parts_[said.decider]];
  AnsweredLimit shown;
  if (!decider.rule) {
    shown = ShownLimit(*decider.inline_limit);
  } else {
    const RuleLimit& rule = *decider.rule->limit;
    const bool is_plain =
        rule.unit != RuleUnit::kNone && rule.limits.front().limit.shape() == limit.shape();
    shown = is_plain ? ShownLimit(rule) : ShownLimit(limit);
    shown.name = rule.name;
  }
  DescriptorStatus status = StatusOf(limit, shown, said.decision, said.over, verdict.now);
  status.is_quota = request_.parts[part].quota;
  if (matched.parts()[part].is_shadow) {
    status.is_over = false;
    status.retry_after.reset();
  }
  return status;
}

}  // namespace weir
